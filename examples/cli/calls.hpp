// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include <backsight/analysis/call_tree.hpp>
#include <backsight/analysis/function_table.hpp>
#include <backsight/analysis/run.hpp>
#include <backsight/core/call_trace.hpp>
#include <backsight/emit/chrome_json.hpp>
#include <backsight/emit/dot.hpp>
#include <backsight/emit/folded.hpp>
#include <backsight/emit/perfetto.hpp>
#include <backsight/emit/timeline.hpp>

#include "fault_notes.hpp"
#include "program.hpp"

// The commands that every trace of calls has: report, stacks, graph and export, over backsight::call_trace.
namespace cli {

/// What a table shows of functions and times.
struct call_texts {
  std::function<std::string_view(std::uint64_t function)> name;
  std::function<std::uint64_t(std::uint64_t ticks)> to_ns;
  const char* unit = "ns";
};
template <backsight::call_trace T>
[[nodiscard]] call_texts texts_of(const T& trace) {
  return {[&trace](std::uint64_t function) { return std::string_view(trace.function_name(function)); },
          [&trace](std::uint64_t ticks) { return trace.to_ns(ticks); }, backsight::unit_name(trace.unit())};
}

/// There is a column of the report to sort by as asked for; says so and gives usage when there is none.
int check_sort(const arguments& asked);
/// Says on stderr what could not be made into calls, if anything.
void say_call_faults(const std::string& path, const backsight::analysis::call_faults& faults);

void print_report(output& out, const arguments& asked, backsight::analysis::function_table& table,
                  const call_texts& texts);
void print_stacks(output& out, const arguments& asked, const backsight::analysis::call_tree& tree,
                  const call_texts& texts);

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
  void merge(with_progress& other) { inner_.merge(other.inner_); }
  [[nodiscard]] A& get() noexcept { return inner_; }

 private:
  A inner_;
  progress* shown_;
  std::uint64_t count_ = 0;
};

/// Runs an analyzer over a trace of so many bytes.
template <class A, backsight::call_trace T>
[[nodiscard]] A analyze(const T& trace, std::uint64_t bytes, unsigned jobs, fault_notes& notes) {
  progress shown(bytes);
  trace.for_each_fault([&](std::string_view file, const backsight::fault& fault) { notes.add(file, fault); });
  auto done = backsight::analysis::run(
      trace, with_progress<A>(A(), shown),
      [&](std::string_view file, const backsight::fault& fault) { notes.add(file, fault); }, jobs);
  return std::move(done.get());
}

// The commands; `notes` takes what is damaged, and the exit code is that of the output and the damage.

template <backsight::call_trace T>
int report_calls(const T& trace, std::uint64_t bytes, const arguments& asked, fault_notes& notes) {
  auto table = analyze<backsight::analysis::function_table>(trace, bytes, asked.jobs, notes);
  output out("-");
  print_report(out, asked, table, texts_of(trace));
  const int code = out.close(notes.report(asked.path()));
  say_call_faults(asked.path(), table.faults());
  return code;
}

template <backsight::call_trace T>
int show_stacks(const T& trace, std::uint64_t bytes, const arguments& asked, fault_notes& notes) {
  const auto tree = analyze<backsight::analysis::call_tree>(trace, bytes, asked.jobs, notes);
  output out("-");
  print_stacks(out, asked, tree, texts_of(trace));
  return out.close(notes.report(asked.path()));
}

template <backsight::call_trace T>
int write_graph(const T& trace, std::uint64_t bytes, const arguments& asked, fault_notes& notes) {
  output out(asked.output);
  const auto tree = analyze<backsight::analysis::call_tree>(trace, bytes, asked.jobs, notes);
  backsight::emit::dot(output_iterator(out), tree, trace);
  return out.close(notes.report(asked.path()));
}

/// folded, chrome, perfetto and dot.
template <backsight::call_trace T>
int export_calls(const T& trace, std::uint64_t bytes, const arguments& asked, fault_notes& notes) {
  using namespace backsight;
  if (asked.to == "dot") return write_graph(trace, bytes, asked, notes);
  output out(asked.output);
  const auto write = [&](auto emitter) {
    const auto note = [&](std::string_view file, const fault& found) { notes.add(file, found); };
    trace.for_each_fault(note);
    emit::timeline(emitter, trace, note);
    emitter.finish();
  };
  if (asked.to == "chrome") write(emit::chrome_json(output_iterator(out)));
  else if (asked.to == "perfetto") write(emit::perfetto(output_iterator(out)));
  else emit::folded(output_iterator(out), analyze<analysis::call_tree>(trace, bytes, asked.jobs, notes), trace);
  return out.close(notes.report(asked.path()));
}

}  // namespace cli
