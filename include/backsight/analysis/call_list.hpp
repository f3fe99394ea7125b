// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include <backsight/analysis/call_stacks.hpp>
#include <backsight/core/call_trace.hpp>

namespace backsight::analysis {

/// One call of a trace, or a mark.
struct listed_call {
  static constexpr std::uint64_t none = std::numeric_limits<std::uint64_t>::max();
  std::int64_t process = 0;
  std::uint64_t thread = 0;
  std::uint64_t function = 0;
  std::uint64_t caller = none;    ///< The function that called it; none on the outermost level.
  std::uint64_t start = 0;        ///< Ticks.
  std::uint64_t duration = none;  ///< Callees included; none for a mark, and for what does not end.
  std::uint64_t self = 0;
  std::uint64_t end_order = none;  ///< Its number among the begins and ends of its part, which order those of one time.
  std::uint64_t order = 0;
  std::uint32_t depth = 0;   ///< 0 on the outermost level.
  std::uint32_t values = 0;  ///< One more than the number of its values in the list; 0 where none are known.
  bool is_mark = false;
  bool has_exit = false;  ///< False too when the exit of a caller ended it.
  bool is_leaf = true;    ///< It calls nothing, and nothing is marked in it.

  [[nodiscard]] bool has_ended() const noexcept { return duration != none; }
};

/// What was given to a call and what it gave back.
struct call_values {
  std::string_view arguments, result;
};

/// All calls of a trace, one by one: costs about a hundred bytes for each. With what was given to them and what they
/// gave back where events have `values`, as those of any_call_trace do.
class call_list {
 public:
  template <call_event Event>
  void on(const Event& event) {
    call_stack& stack = stacks_.of(event);
    const auto& frames = stack.frames();
    const auto add = [&](std::size_t depth) {
      listed_call made;
      made.process = static_cast<std::int64_t>(event.process);
      made.thread = static_cast<std::uint64_t>(event.thread);
      made.function = event.function;
      if (depth != 0) {
        made.caller = frames[depth - 1].function;
        calls_[static_cast<std::size_t>(frames[depth - 1].tag)].is_leaf = false;
      }
      made.start = event.time;
      made.depth = static_cast<std::uint32_t>(depth);
      made.order = order_++;
      calls_.push_back(made);
    };
    std::string_view values;
    if constexpr (requires {
                    { event.values } -> std::convertible_to<std::string_view>;
                  }) {
      values = event.values;
    }
    if (event.kind == event_kind::mark) {
      add(frames.size());
      calls_.back().is_mark = true;
      return;
    }
    stack.on(
        event,
        [&](call_stack::frame& frame, std::size_t depth) {
          add(depth);
          frame.tag = calls_.size() - 1;
          if (!values.empty()) values_of(calls_.back()).arguments = values;
        },
        [&](const finished_call& call, const call_stack::frame& frame) {
          listed_call& ended = calls_[static_cast<std::size_t>(frame.tag)];
          ended.duration = call.duration;
          ended.self = call.self;
          ended.has_exit = call.has_exit;
          if (call.has_exit && !values.empty()) values_of(ended).result = values;
          ended.end_order = order_++;
        });
  }
  template <class Part>
  void end_part(const Part&) {
    stacks_.finish();
  }
  void merge(const call_list& later) {
    const std::uint64_t before = order_;
    const auto values_before = static_cast<std::uint32_t>(values_.size());
    values_.insert(values_.end(), later.values_.begin(), later.values_.end());
    for (listed_call call : later.calls_) {
      call.order += before;
      if (call.values != 0) call.values += values_before;
      if (call.end_order != listed_call::none) call.end_order += before;
      calls_.push_back(call);
    }
    order_ += later.order_;
    stacks_.merge(later.stacks_);
  }

  /// In the order in which they begin in each part.
  [[nodiscard]] const std::vector<listed_call>& calls() const noexcept { return calls_; }
  /// Of a call of this list.
  [[nodiscard]] call_values values_of(const listed_call& call) const noexcept {
    return call.values == 0 ? call_values() : values_[call.values - 1];
  }
  /// Values of some calls are known.
  [[nodiscard]] bool has_values() const noexcept { return !values_.empty(); }
  [[nodiscard]] const call_faults& faults() const noexcept { return stacks_.faults(); }

  /// Sorts all by the time at which they begin; of one time as they stand in the trace.
  void sort_by_start() {
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const listed_call& a, const listed_call& b) { return a.start < b.start; });
  }

 private:
  [[nodiscard]] call_values& values_of(listed_call& call) {
    if (call.values == 0) {
      values_.emplace_back();
      call.values = static_cast<std::uint32_t>(values_.size());
    }
    return values_[call.values - 1];
  }

  call_stacks stacks_;
  std::vector<listed_call> calls_;
  std::vector<call_values> values_;
  std::uint64_t order_ = 0;
};

}  // namespace backsight::analysis
