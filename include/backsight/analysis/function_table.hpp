// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <backsight/analysis/call_stacks.hpp>
#include <backsight/analysis/distribution.hpp>

namespace backsight::analysis {

/// A value for each function, found by function id in one load for ids below 65536 and by hashing beyond.
template <class Value>
class by_function {
 public:
  [[nodiscard]] Value& operator[](std::uint64_t function) {
    if (function < dense_.size()) [[likely]] return dense_[static_cast<std::size_t>(function)];
    if (function < dense_limit) {
      dense_.resize(static_cast<std::size_t>(function) + 1);
      return dense_.back();
    }
    return sparse_[function];
  }
  /// Calls `f(function, value)` for each function that has been asked for, and maybe for others below 65536.
  template <class F>
  void for_each(F&& f) {
    for (std::size_t i = 0; i < dense_.size(); ++i) f(std::uint64_t{i}, dense_[i]);
    for (auto& [function, value] : sparse_) f(function, value);
  }

 private:
  static constexpr std::uint64_t dense_limit = 65536;
  std::vector<Value> dense_;
  std::unordered_map<std::uint64_t, Value> sparse_;
};

/// Calls and times of each function of a trace.
class function_table {
 public:
  struct row {
    distribution durations;  ///< Of each call that ended, callees included; ticks.
    std::uint64_t self = 0;  ///< Ticks outside of callees.
  };

  /// Adds the next event of its thread.
  template <call_event Event>
  void on(const Event& event) {
    stacks_.of(event).on(
        event, [](const call_stack::frame&, std::size_t) {},
        [&](const finished_call& call, const call_stack::frame&) {
          row& at = rows_[call.function];
          at.durations.add(call.duration);
          at.self += call.self;
        });
  }
  /// The end of a part: calls that are open have no time, and stacks begin anew.
  template <class Part>
  void end_part(const Part&) {
    finish();
  }
  void finish() { stacks_.finish(); }
  /// What could not be made into calls, of finished parts.
  [[nodiscard]] const call_faults& faults() const noexcept { return stacks_.faults(); }

  /// Adds all of another table.
  void merge(function_table& other) {
    other.rows_.for_each([&](std::uint64_t function, row& theirs) {
      if (theirs.durations.empty()) return;
      row& ours = rows_[function];
      ours.durations.merge(theirs.durations);
      ours.self += theirs.self;
    });
    stacks_.merge(other.stacks_);
  }
  /// Calls `f(function, row)` for each function that was called.
  template <class F>
  void for_each(F&& f) {
    rows_.for_each([&](std::uint64_t function, row& at) {
      if (!at.durations.empty()) f(function, at);
    });
  }

 private:
  call_stacks stacks_;
  by_function<row> rows_;
};

}  // namespace backsight::analysis
