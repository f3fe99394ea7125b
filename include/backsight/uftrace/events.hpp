// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <vector>

#include <backsight/core/event.hpp>
#include <backsight/uftrace/depth_repair.hpp>
#include <backsight/uftrace/merged_records.hpp>

namespace backsight::uftrace {

/// A record as an event of a call trace, for the analyzers and exporters that know no format. `function` is the name's
/// number in the resolver; `time` counts nanoseconds of the trace clock.
struct call_event {
  event_kind kind = event_kind::mark;
  std::uint64_t function = 0;
  std::uint64_t time = 0;
  std::uint64_t thread = 0;  ///< tid
  std::int64_t process = 0;  ///< pid; the tid when task.txt does not name the task
  std::uint64_t depth = 0;   ///< the true one: also beyond 1023 levels
  bool ambiguous = false;    ///< libraries were loaded over one another there: the name is that of the newest
};
static_assert(backsight::call_event<call_event>);

/// What `for_each_call` asks which calls it gives: `consume` sees every record, `shows` every entry and exit behind
/// that.
template <class T>
concept call_choice = requires(T choice, const merged_record& r, resolver& names, const function& found) {
  choice.consume(r);
  { choice.shows(r, names, found) } -> std::same_as<bool>;
};

/// The process of a task; the task itself where task.txt does not name it.
[[nodiscard]] inline std::int64_t process_of(const recording& from, const task_data& of) noexcept {
  return of.task == task_data::no_task ? of.tid : from.tasks[of.task].pid;
}

/// All calls.
struct every_call {
  static void consume(const merged_record&) noexcept {}
  [[nodiscard]] static bool shows(const merged_record&, resolver&, const function&) noexcept { return true; }
};
static_assert(call_choice<every_call>);

/// Calls `f(call_event)`, or `f(call_event, merged_record, function)` if it takes these, for the entries and exits of a
/// recording in the order of time that `merging` leaves and `shown` chooses, with true depths and addresses. Damage is
/// passed over. Gives the faults. The resolver gives the names of the functions.
template <call_choice Shown, class F>
std::vector<task_fault> for_each_call(resolver& names, merge_options merging, Shown&& shown, F&& f) {
  merging.scheduler = false;
  merging.salvage = true;
  merged_records records(names, merging);
  std::vector<depth_repair> repair(names.source().data.size());
  std::vector<std::int64_t> processes;
  for (const task_data& each : names.source().data) processes.push_back(process_of(names.source(), each));
  merged_record r;
  while (records.next(r)) {
    shown.consume(r);
    if (r.type == record_type::lost && r.source == record_source::task_file) repair[r.data_index].forget();
    if (r.type != record_type::entry && r.type != record_type::exit) continue;
    // The kernel counts its own levels, on top of those of the program, and its addresses are whole.
    const auto [depth, address] = r.source == record_source::kernel_file
                                      ? depth_repair::result{repair[r.data_index].height() + r.depth, r.address}
                                      : repair[r.data_index](r.type, r.depth, r.address);
    const function& found = names.find(r.data_index, r.time, address);
    if (found.special == special_function::exec) repair[r.data_index].forget();
    if (!shown.shows(r, names, found)) continue;
    const bool ambiguous =
        !names.is_lasting(r.data_index, r.time) && names.candidates(r.data_index, r.time, address) > 1;
    const call_event made{r.type == record_type::entry ? event_kind::enter : event_kind::exit,
                          found.name,
                          r.time,
                          names.source().data[r.data_index].tid,
                          processes[r.data_index],
                          depth,
                          ambiguous};
    if constexpr (std::invocable<F&, const call_event&, const merged_record&, const function&>) f(made, r, found);
    else f(made);
  }
  return records.faults();
}

/// The same for all entries and exits that `merging` leaves.
template <class F>
std::vector<task_fault> for_each_call(resolver& names, const merge_options& merging, F&& f) {
  return for_each_call(names, merging, every_call(), f);
}
template <class F>
std::vector<task_fault> for_each_call(resolver& names, F&& f) {
  return for_each_call(names, {}, f);
}

}  // namespace backsight::uftrace
