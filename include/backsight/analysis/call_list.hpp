// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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
  std::uint32_t depth = 0;  ///< 0 on the outermost level.
  bool is_mark = false;
  bool has_exit = false;  ///< False too when the exit of a caller ended it.
  bool is_leaf = true;    ///< It calls nothing, and nothing is marked in it.

  [[nodiscard]] bool has_ended() const noexcept { return duration != none; }
};

/// All calls of a trace, one by one: costs about a hundred bytes for each.
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
        },
        [&](const finished_call& call, const call_stack::frame& frame) {
          listed_call& ended = calls_[static_cast<std::size_t>(frame.tag)];
          ended.duration = call.duration;
          ended.self = call.self;
          ended.has_exit = call.has_exit;
          ended.end_order = order_++;
        });
  }
  template <class Part>
  void end_part(const Part&) {
    stacks_.finish();
  }
  void merge(const call_list& later) {
    const std::uint64_t before = order_;
    for (listed_call call : later.calls_) {
      call.order += before;
      if (call.end_order != listed_call::none) call.end_order += before;
      calls_.push_back(call);
    }
    order_ += later.order_;
    stacks_.merge(later.stacks_);
  }

  /// In the order in which they begin in each part.
  [[nodiscard]] const std::vector<listed_call>& calls() const noexcept { return calls_; }
  [[nodiscard]] const call_faults& faults() const noexcept { return stacks_.faults(); }

  /// Sorts all by the time at which they begin; of one time as they stand in the trace.
  void sort_by_start() {
    std::stable_sort(calls_.begin(), calls_.end(),
                     [](const listed_call& a, const listed_call& b) { return a.start < b.start; });
  }

 private:
  call_stacks stacks_;
  std::vector<listed_call> calls_;
  std::uint64_t order_ = 0;
};

}  // namespace backsight::analysis
