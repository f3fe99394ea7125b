// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <backsight/analysis/call_filter.hpp>
#include <backsight/analysis/call_list.hpp>
#include <backsight/analysis/call_tree.hpp>
#include <backsight/analysis/joined_traces.hpp>
#include <backsight/analysis/time_table.hpp>
#include <backsight/core/any_call_trace.hpp>

#include "fault_notes.hpp"
#include "program.hpp"

// The commands that every trace of calls has, over backsight::any_call_trace: report, stacks, graph, calls, replay,
// export and diff.
namespace cli {

/// The calls that the user's filters leave, with note of the patterns that fit nothing.
class call_filter {
 public:
  /// Says what is wrong and gives usage or bad_input, else success.
  [[nodiscard]] int set(const call_filters& asked, const backsight::any_call_trace& trace);
  [[nodiscard]] const backsight::analysis::call_choice& choice() const { return choice_; }
  /// Names of functions are asked for while parts are walked.
  [[nodiscard]] bool by_name() const { return choice_.only || choice_.without || choice_.hidden; }
  /// Says which pattern fits no function and gives usage, else success.
  [[nodiscard]] int report_idle(const std::string& path) const;
  /// The patterns that fit nothing, each with its option.
  [[nodiscard]] std::vector<std::string> idle() const;

 private:
  struct pattern;
  [[nodiscard]] int add(const std::vector<std::string>& asked, const char* option, const call_filters& from,
                        const backsight::any_call_trace& trace, std::function<bool(std::uint64_t)>& to);
  backsight::analysis::call_choice choice_;
  std::vector<std::shared_ptr<pattern>> patterns_;
};

/// What the commands make of all calls before they print.
using call_analysis =
    std::variant<backsight::analysis::time_table, backsight::analysis::call_tree, backsight::analysis::call_list>;

/// An opened trace for a task.
struct call_input {
  const arguments& asked;
  std::uint64_t bytes;
  fault_notes& notes;
  bool unreadable = false;  ///< Some of its files could not be read, which was said.
  bool has_ids = true;      ///< Numbers of functions mean something beyond the program.
  /// Why it is not known which modules functions are in; empty where it is.
  std::string no_modules{};
  std::string path{};
  const call_filter* filter = nullptr;
  /// Several traces at once.
  const backsight::analysis::joined_traces* joined = nullptr;
  bool asks_names = false;  ///< Names of functions are asked for while parts are walked.
  /// In place of finish(), where it is not of one trace.
  std::function<int()> finish_all{};
  /// Gives all calls that the filters leave to an analysis.
  std::function<void(call_analysis&)> analyze{};

  [[nodiscard]] unsigned jobs() const {
    return asks_names || (filter != nullptr && filter->by_name()) ? 1 : asked.jobs;
  }
  /// Reports what was damaged, and patterns that fit nothing; the exit code.
  [[nodiscard]] int finish() const;
};

/// The analysis of all calls that the filters leave; the notes take what is damaged.
template <class A>
[[nodiscard]] A analyze(const call_input& input, A empty) {
  call_analysis made(std::move(empty));
  input.analyze(made);
  return std::get<A>(std::move(made));
}

/// What a trace lacks, as far as an analysis tells.
struct lacking {
  backsight::analysis::call_faults calls{};
  std::uint64_t lost_records = 0;
  std::uint64_t functions = 0, unnamed = 0;  ///< Those that were called, and of these those without a name.
};
[[nodiscard]] lacking what_lacks(const backsight::any_call_trace& trace, backsight::analysis::time_table& of);
[[nodiscard]] lacking what_lacks(const backsight::any_call_trace& trace, const backsight::analysis::call_tree& of);
[[nodiscard]] lacking what_lacks(const backsight::any_call_trace& trace, const backsight::analysis::call_list& of);

/// Says it on stderr, if it is anything.
void say_what_lacks(const std::string& path, const lacking& what);

/// What was given to calls and what they gave back is to be told, too: what commands ask a format for by the fields.
[[nodiscard]] arguments with_values(const arguments& asked);
[[nodiscard]] bool shows_values(const arguments& asked);

/// Several traces as one format, for the commands below: those at arguments::paths, each of the format at its place;
/// null for one that has none, which was said. Valid until the next call.
[[nodiscard]] const trace_format& joined_format(std::vector<const trace_format*> found);

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
