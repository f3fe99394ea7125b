// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <variant>

#include <backsight/analysis/run.hpp>

#include "calls.hpp"

// What is compiled for each format of the commands over calls: the analyses, over its own events.
namespace cli {

/// An analyzer that shows progress for another one.
template <class A>
class with_progress {
 public:
  with_progress(A inner, progress& shown) : inner_(std::move(inner)), shown_(&shown) {}
  template <class Event>
  void on(const Event& event) {
    if ((++count_ & (events_between_updates - 1)) == 0) shown_->add(bytes_between_updates);
    inner_.on(event);
  }
  template <class Part>
  void end_part(const Part& part) {
    inner_.end_part(part);
  }
  void merge(with_progress& later) { inner_.merge(later.inner_); }
  [[nodiscard]] A& get() { return inner_; }

 private:
  A inner_;
  progress* shown_;
  std::uint64_t count_ = 0;
};

/// Runs an analysis over the trace; the notes take what is damaged.
template <backsight::call_trace T>
void analyze_all(const T& trace, call_input& input, call_analysis& analysis) {
  progress shown(input.bytes);
  const auto note = [&](std::string_view file, const backsight::fault& found) { input.notes.add(file, found); };
  trace.for_each_fault(note);
  std::visit(
      [&]<class A>(A& made) {
        auto done = backsight::analysis::run(trace, with_progress<A>(std::move(made), shown), note, input.jobs());
        analysis.emplace<A>(std::move(done.get()));
      },
      analysis);
}

/// The same, compiled once.
void analyze_any(const backsight::any_call_trace& trace, call_input& input, call_analysis& analysis);

/// Gives what is left of the trace by filters that the user asked for to the task.
[[nodiscard]] int run_filtered(const backsight::any_call_trace& trace, call_input& input, const call_task& task);

/// What each format's with_calls ends with: gives the task what the user's filters leave of the trace.
template <backsight::call_trace T>
[[nodiscard]] int run_task(const T& trace, call_input& input, const call_task& task) {
  input.path = input.asked.path();
  if (input.asked.any()) return run_filtered(trace, input, task);
  input.analyze = [&](call_analysis& analysis) {
    // Values are told of events of any trace.
    if (shows_values(input.asked)) analyze_any(trace, input, analysis);
    else analyze_all(trace, input, analysis);
  };
  return task(trace, input);
}

}  // namespace cli
