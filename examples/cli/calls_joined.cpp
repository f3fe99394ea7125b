// SPDX-License-Identifier: Apache-2.0
// Several traces at once, as one for the commands over calls.
#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <backsight/analysis/joined_traces.hpp>

#include "call_analysis.hpp"

namespace cli {

using namespace backsight;

namespace {

/// Of the paths of the command line.
std::vector<const trace_format*> formats_of_paths;

/// Opens one trace inside of the other, as formats keep them open for a task, and gives the task all together.
class joining {
 public:
  joining(const arguments& asked, const call_task& task) : asked_(&asked), task_(&task) {}

  [[nodiscard]] int run(std::size_t index = 0) {
    if (index == asked_->paths.size()) return run_all();
    if (formats_of_paths[index] == nullptr) {
      code_ = bad_input;
      return run(index + 1);
    }
    arguments one = *asked_;
    one.paths = {asked_->paths[index]};
    bool is_open = false;
    const int code = formats_of_paths[index]->with_calls(one, [&](const any_call_trace& trace, call_input& input) {
      is_open = true;
      sources_.push_back({trace, one.path()});
      inputs_.push_back(&input);
      return run(index + 1);
    });
    if (is_open || code == usage) return code;
    code_ = std::max(code_, code);  // What is wrong with it was said; the others are shown.
    return run(index + 1);
  }

 private:
  [[nodiscard]] int run_all() {
    if (sources_.empty()) return code_;
    for (const auto& source : sources_) {
      const clock_unit first = sources_.front().trace.unit(), unit = source.trace.unit();
      if (unit == first) continue;
      say("backsight: the times of %s are %s and those of %s %s, which cannot be put together\n",
          sources_.front().name.c_str(), unit_name(first), source.name.c_str(), unit_name(unit));
      return usage;
    }
    const analysis::joined_traces joined(sources_);
    fault_notes notes;
    call_input all{.asked = *asked_, .bytes = 0, .notes = notes, .has_ids = false};
    for (const call_input* const each : inputs_) {
      all.bytes += each->bytes;
      all.path += (all.path.empty() ? "" : ", ") + each->path;
      all.asks_names = all.asks_names || (each->filter != nullptr && each->filter->by_name());
      if (all.no_modules.empty() && !each->no_modules.empty()) all.no_modules = each->path + ": " + each->no_modules;
    }
    all.joined = &joined;
    all.finish_all = [&] { return finish(notes); };
    const any_call_trace trace(joined);
    all.analyze = [&](call_analysis& made) {
      analyze_any(trace, all, made);
      by_name(trace, made);
    };
    return (*task_)(trace, all);
  }

  /// Functions of one name are one, whichever trace they are of.
  static void by_name(const any_call_trace& trace, call_analysis& made) {
    std::unordered_map<std::string, std::uint64_t> known;
    const auto number_of = [&](std::uint64_t function) {
      return known.try_emplace(std::string(trace.function_name(function)), function).first->second;
    };
    if (auto* const tree = std::get_if<analysis::call_tree>(&made)) {
      made = tree->renumbered(number_of);
    } else if (auto* const table = std::get_if<analysis::time_table>(&made)) {
      if (table->by() != analysis::time_table::rows::functions) return;
      auto renumbered = table->renumbered(number_of);
      made.emplace<analysis::time_table>(std::move(renumbered));
    }
  }

  /// Reports what was damaged, by the files of all, and patterns that fit nothing in any of them.
  [[nodiscard]] int finish(const fault_notes& notes) const {
    int code = code_;
    for (const auto& [place, fault] : notes.all()) {
      report_fault(place.first, fault);
      code = bad_input;
    }
    for (const call_input* const each : inputs_) {
      if (each->notes.report(each->path) != success || each->unreadable) code = bad_input;
    }
    if (inputs_.front()->filter == nullptr) return code;
    for (const std::string& pattern : inputs_.front()->filter->idle()) {
      const bool fits_none = std::ranges::all_of(inputs_, [&](const call_input* each) {
        if (each->filter == nullptr) return true;
        const auto idle = each->filter->idle();
        return std::ranges::find(idle, pattern) != idle.end();
      });
      if (!fits_none) continue;
      say("backsight: %s: no function is called like that\n", pattern.c_str());
      code = usage;
    }
    return code;
  }

  const arguments* asked_;
  const call_task* task_;
  std::vector<analysis::joined_traces::source> sources_;
  std::vector<call_input*> inputs_;
  int code_ = success;
};

int with_joined(const arguments& asked, const call_task& task) { return joining(asked, task).run(); }

}  // namespace

const trace_format& joined_format(std::vector<const trace_format*> found) {
  static const trace_format joined{.name = "several traces", .a_trace = "several traces", .with_calls = with_joined};
  formats_of_paths = std::move(found);
  return joined;
}

}  // namespace cli
