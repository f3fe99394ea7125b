// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/analysis/call_filter.hpp>
#include <backsight/analysis/call_stack.hpp>
#include <backsight/analysis/run.hpp>
#include <backsight/core/call_trace.hpp>
#include <backsight/memtrace/calls.hpp>
#include <backsight/uftrace/calls.hpp>
#include <backsight/xray/calls.hpp>

#include "fault_notes.hpp"
#include "program.hpp"

// The commands that every trace of calls has, over backsight::call_trace: report, stacks, graph, calls, replay, export and diff.
namespace cli {

/// What a table shows of a trace, whatever its format.
struct call_texts {
  std::function<std::string_view(std::uint64_t function)> name;
  std::function<std::string_view(std::int64_t process, std::uint64_t thread)> thread;
  std::function<std::string_view(std::int64_t process)> process;
  std::function<std::uint64_t(std::uint64_t ticks)> to_ns;
  std::function<std::uint64_t(std::uint64_t ns)> first_tick_at;
  std::uint64_t start = 0;  ///< As to_ns() gives it.
  backsight::clock_unit unit = backsight::clock_unit::nanoseconds;
};
template <backsight::call_trace T>
[[nodiscard]] call_texts texts_of(const T& trace) {
  return {[&trace](std::uint64_t function) { return std::string_view(trace.function_name(function)); },
          [&trace](std::int64_t process, std::uint64_t thread) { return std::string_view(trace.thread_name(process, thread)); },
          [&trace](std::int64_t process) { return std::string_view(trace.process_name(process)); },
          [&trace](std::uint64_t ticks) { return trace.to_ns(ticks); },
          [&trace](std::uint64_t ns) { return backsight::analysis::first_tick_at(trace, ns); },
          trace.to_ns(trace.start()),
          trace.unit()};
}

/// The calls that the user's filters leave, with note of the patterns that fit nothing.
class call_filter {
 public:
  /// Says what is wrong and gives usage or bad_input, else success.
  [[nodiscard]] int set(const call_filters& asked, const call_texts& texts);
  [[nodiscard]] const backsight::analysis::call_choice& choice() const { return choice_; }
  /// Names of functions are asked for while parts are walked.
  [[nodiscard]] bool by_name() const { return choice_.only || choice_.without || choice_.hidden; }
  /// Says which pattern fits no function and gives usage, else success.
  [[nodiscard]] int report_idle(const std::string& path) const;

 private:
  struct pattern;
  [[nodiscard]] int add(const std::vector<std::string>& asked, const char* option, const call_filters& from,
                        const call_texts& texts, std::function<bool(std::uint64_t)>& to);
  backsight::analysis::call_choice choice_;
  std::vector<std::shared_ptr<pattern>> patterns_;
};

/// An opened trace for a task.
struct call_input {
  const arguments& asked;
  std::uint64_t bytes;
  fault_notes& notes;
  bool unreadable = false;  ///< Some of its files could not be read, which was said.
  bool has_ids = true;      ///< Numbers of functions mean something beyond the program.
  std::string path{};
  const call_filter* filter = nullptr;
  /// How many records the recorder says that it lost; empty where a format does not tell.
  std::function<std::uint64_t()> lost{};

  [[nodiscard]] unsigned jobs() const { return filter != nullptr && filter->by_name() ? 1 : asked.jobs; }
  /// Reports what was damaged, and patterns that fit nothing; the exit code.
  [[nodiscard]] int finish() const;
};

/// What a command does with a trace of calls. Each format gives its own kind to on().
class call_task {
 public:
  call_task() = default;
  call_task(const call_task&) = delete;
  call_task& operator=(const call_task&) = delete;
  virtual ~call_task() = default;
  virtual int on(const backsight::xray::calls& trace, call_input& input) = 0;
  virtual int on(const backsight::uftrace::calls& trace, call_input& input) = 0;
  virtual int on(const backsight::memtrace::calls& trace, call_input& input) = 0;
};

/// A task whose body is a template: `body(trace, input)` gets the calls that the filters leave, and gives an exit code.
template <class Body>
class task_of final : public call_task {
 public:
  explicit task_of(Body body) : body_(std::move(body)) {}
  int on(const backsight::xray::calls& trace, call_input& input) override { return filtered(trace, input); }
  int on(const backsight::uftrace::calls& trace, call_input& input) override { return filtered(trace, input); }
  int on(const backsight::memtrace::calls& trace, call_input& input) override { return filtered(trace, input); }

 private:
  template <class T>
  int filtered(const T& trace, call_input& input) {
    input.path = input.asked.path();
    if (!input.asked.any()) return body_(trace, input);
    call_filter filter;
    if (const int code = filter.set(input.asked, texts_of(trace)); code != success) return code;
    input.filter = &filter;
    const int code = body_(backsight::analysis::chosen(trace, filter.choice()), input);
    input.filter = nullptr;
    return code;
  }
  Body body_;
};

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

/// Runs an analyzer over the trace; the notes take what is damaged.
template <backsight::call_trace T, class A>
[[nodiscard]] A analyze(const T& trace, const call_input& input, A analyzer) {
  progress shown(input.bytes);
  const auto note = [&](std::string_view file, const backsight::fault& found) { input.notes.add(file, found); };
  trace.for_each_fault(note);
  auto done = backsight::analysis::run(trace, with_progress<A>(std::move(analyzer), shown), note, input.jobs());
  return std::move(done.get());
}

/// Says on stderr what could not be made into calls, if anything.
void say_call_faults(const std::string& path, const backsight::analysis::call_faults& faults);

// The commands; each opens the trace by the format's with_calls.
int report_calls(const arguments& asked, const trace_format& format);
int check_calls(const arguments& asked, const trace_format& format);
int show_stacks(const arguments& asked, const trace_format& format);
int show_graph(const arguments& asked, const trace_format& format);
int list_calls(const arguments& asked, const trace_format& format);
int replay_calls(const arguments& asked, const trace_format& format);
int export_calls(const arguments& asked, const trace_format& format);
/// `other` is the format of the second trace.
int diff_calls(const arguments& asked, const trace_format& format, const trace_format& other);

}  // namespace cli
