// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include <backsight/analysis/by_function.hpp>
#include <backsight/analysis/call_stacks.hpp>
#include <backsight/analysis/distribution.hpp>
#include <backsight/analysis/open_calls.hpp>

namespace backsight::analysis {

/// Calls and times by function, group of functions, thread or process, as a report shows them. Calls that do not end
/// have no time. In the total of a function that calls itself time counts once, however many of its calls are open; so
/// it does in that of a group, such as a module, whose functions call each other.
class time_table {
 public:
  enum class rows : std::uint8_t { functions, groups, threads, processes };
  struct row {
    distribution durations;  ///< Of each call that ended, callees included; ticks.
    std::uint64_t total =
        0;  ///< Of the calls that are not inside another one of the row that ended; of threads, all self times.
    std::uint64_t self = 0;  ///< Outside of callees.
  };
  /// A function or group, or the number of a process and a thread (0 for all of a process).
  using key = std::pair<std::int64_t, std::uint64_t>;

  /// Not for groups.
  explicit time_table(rows by = rows::functions) : by_(by) {}
  /// By groups: `group_of` gives the number of a function's, and is asked once for each function of each table.
  explicit time_table(std::function<std::uint64_t(std::uint64_t function)> group_of)
      : by_(rows::groups), group_of_(std::move(group_of)) {}

  template <call_event Event>
  void on(const Event& event) {
    call_stack& stack = stacks_.of(event);
    if (by_ > rows::groups && &stack != last_) {
      last_ = &stack;
      others_row_ = &others_[key{static_cast<std::int64_t>(event.process),
                                 by_ == rows::threads ? static_cast<std::uint64_t>(event.thread) : 0}];
    }
    stack.on(
        event,
        [&](call_stack::frame& frame, std::size_t) {
          if (by_ <= rows::groups) frame.tag = open_.enter(stack, row_of(frame.function));
        },
        [&](const finished_call& call, const call_stack::frame& frame) {
          const std::uint64_t number = row_of(call.function);
          row& at = by_ <= rows::groups ? functions_[number] : *others_row_;
          at.durations.add(call.duration);
          at.self += call.self;
          at.total += by_ <= rows::groups ? open_.leave(stack, number, frame.tag, call.duration) : call.self;
        });
  }
  /// The end of a part: calls that are open have no time, and stacks begin anew.
  template <class Part>
  void end_part(const Part&) {
    finish();
  }
  void finish() {
    stacks_.finish();
    last_ = nullptr;
    open_.clear();
  }
  [[nodiscard]] rows by() const noexcept { return by_; }
  /// What could not be made into calls, of finished parts.
  [[nodiscard]] const call_faults& faults() const noexcept { return stacks_.faults(); }

  /// Adds all of another table, which has the same rows.
  void merge(time_table& other) {
    other.functions_.for_each([&](std::uint64_t function, row& theirs) {
      if (!theirs.durations.empty()) add(functions_[function], theirs);
    });
    for (auto& [which, theirs] : other.others_) add(others_[which], theirs);
    stacks_.merge(other.stacks_);
  }
  /// The same by other numbers of functions: those to which `number_of(function)` gives one number are one row.
  template <class NumberOf>
  [[nodiscard]] time_table renumbered(NumberOf&& number_of) {
    time_table made(by_);
    for_each([&](const key& which, row& theirs) {
      row& ours = by_ <= rows::groups ? made.functions_[static_cast<std::uint64_t>(number_of(which.second))]
                                      : made.others_[which];
      add(ours, theirs);
    });
    made.stacks_.merge(stacks_);
    return made;
  }

  /// Calls `f(key, row)` for each that has calls; of functions and groups the key's second is their number.
  template <class F>
  void for_each(F&& f) {
    functions_.for_each([&](std::uint64_t function, row& at) {
      if (!at.durations.empty()) f(key{0, function}, at);
    });
    for (auto& [which, at] : others_) {
      if (!at.durations.empty()) f(which, at);
    }
  }

  time_table(const time_table& other)
      : by_(other.by_),
        group_of_(other.group_of_),
        groups_(other.groups_),
        stacks_(other.stacks_),
        functions_(other.functions_),
        others_(other.others_) {}
  time_table(time_table&& other) noexcept
      : by_(other.by_),
        group_of_(std::move(other.group_of_)),
        groups_(std::move(other.groups_)),
        stacks_(std::move(other.stacks_)),
        functions_(std::move(other.functions_)),
        others_(std::move(other.others_)) {}
  time_table& operator=(const time_table&) = delete;
  time_table& operator=(time_table&&) = delete;
  ~time_table() = default;

 private:
  static void add(row& ours, const row& theirs) {
    ours.durations.merge(theirs.durations);
    ours.total += theirs.total;
    ours.self += theirs.self;
  }
  [[nodiscard]] std::uint64_t row_of(std::uint64_t function) {
    if (by_ != rows::groups) return function;
    std::uint64_t& known = groups_[function];  // One more than the group's number.
    if (known == 0) known = group_of_(function) + 1;
    return known - 1;
  }

  rows by_;
  std::function<std::uint64_t(std::uint64_t)> group_of_;
  by_function<std::uint64_t> groups_;
  call_stacks stacks_;
  const call_stack* last_ = nullptr;
  row* others_row_ = nullptr;
  by_function<row> functions_;
  std::map<key, row> others_;
  open_calls open_;
};

}  // namespace backsight::analysis
