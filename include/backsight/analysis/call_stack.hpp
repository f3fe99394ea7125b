// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <backsight/core/event.hpp>

namespace backsight::analysis {

/// A call that has ended: which function, on which level of the stack (0 is the outermost), how long it took, and how
/// much of that was its own. Times are ticks of the trace.
struct finished_call {
  std::uint64_t function = 0;
  std::size_t depth = 0;
  std::uint64_t start = 0;
  std::uint64_t duration = 0;
  std::uint64_t self = 0;
  bool has_exit = true;  ///< False when a caller's exit closed it.
};

/// What events could not be made into calls.
struct call_faults {
  std::uint64_t unmatched_exits = 0;  ///< Exits of a function that is not on the stack.
  std::uint64_t missing_exits = 0;    ///< Calls closed by the exit of a caller.
  std::uint64_t unfinished = 0;       ///< Calls that were open at the end.

  constexpr void add(const call_faults& other) noexcept {
    unmatched_exits += other.unmatched_exits;
    missing_exits += other.missing_exits;
    unfinished += other.unfinished;
  }
};

/// The stack of one thread, rebuilt from enters and exits: an exit closes the nearest open call of its function, and
/// with it all calls above, whose own exits are missing (an exception or longjmp left them, or the recorder lost them).
/// An exit of a function that is not open is counted and changes nothing. A tail exit ends its function as an exit
/// does. Each event costs O(1) when calls nest, and O(1) on average whatever the trace holds. Allocates only when the
/// stack grows beyond its deepest point so far, and in traces with very many exits of functions that are not open.
class call_stack {
 public:
  struct frame {
    std::uint64_t function = 0;
    std::uint64_t start = 0;
    std::uint64_t in_callees = 0;
    std::uint64_t tag = 0;  ///< The caller's own: set by `on_enter`.
  };

  /// Takes in an event. `on_enter(frame&, depth)` is called for each call that begins, when its frame is the top;
  /// `on_call(finished_call, frame)` for each that ends, the innermost first, while its callers are still on the stack.
  // GCC 12 calls it for each event otherwise: 7 % more instructions in a report.
  template <call_event Event, class OnEnter, class OnCall>
  [[gnu::always_inline]] void on(const Event& event, OnEnter&& on_enter, OnCall&& on_call) {
    const event_kind kind = event.kind;
    if (kind == event_kind::enter) {
      if (counting_) [[unlikely]]
        ++open_[event.function];
      frames_.push_back({event.function, event.time, 0, 0});
      on_enter(frames_.back(), frames_.size() - 1);
    } else if (kind != event_kind::mark) {
      leave(event.function, event.time, on_call);
    }
  }

  /// The open calls, the outermost first.
  [[nodiscard]] const std::vector<frame>& frames() const noexcept { return frames_; }
  [[nodiscard]] const call_faults& faults() const noexcept { return faults_; }

  /// Counts what is still open as unfinished and empties the stack.
  void finish() {
    faults_.unfinished += frames_.size();
    frames_.clear();
    open_.clear();
  }

 private:
  /// Steps that exits of functions that are not open may cost before it is counted what is open.
  static constexpr std::size_t patience = std::size_t{1} << 16;

  /// One more than the index of the nearest frame of the function; 0 when it is not open. Searches for what is open are
  /// paid for by the frames that then close; without counting, a hostile trace could have each exit search the whole
  /// stack in vain.
  [[nodiscard]] std::size_t find_below(std::uint64_t function) {
    if (counting_ && !open_.contains(function)) return 0;
    std::size_t match = frames_.size();
    while (match != 0 && frames_[match - 1].function != function) --match;
    if (match == 0 && (steps_in_vain_ += frames_.size()) > patience) {
      counting_ = true;
      for (const frame& f : frames_) ++open_[f.function];
    }
    return match;
  }
  void forget(std::uint64_t function) {
    const auto at = open_.find(function);
    if (--at->second == 0) open_.erase(at);
  }

  template <class OnCall>
  void leave(std::uint64_t function, std::uint64_t time, OnCall&& on_call) {
    std::size_t match = frames_.size();
    if (match != 0 && frames_[match - 1].function != function) match = find_below(function);
    if (match == 0) {
      ++faults_.unmatched_exits;
      return;
    }
    faults_.missing_exits += frames_.size() - match;
    while (frames_.size() >= match) {
      const frame top = frames_.back();
      // Clocks of different cpus may disagree: as llvm-xray does, take the distance.
      const std::uint64_t duration = time >= top.start ? time - top.start : top.start - time;
      const std::uint64_t self = duration > top.in_callees ? duration - top.in_callees : 0;
      const std::size_t depth = frames_.size() - 1;
      if (depth != 0) frames_[depth - 1].in_callees += duration;
      on_call(finished_call{top.function, depth, top.start, duration, self, frames_.size() == match}, top);
      frames_.pop_back();
      if (counting_) [[unlikely]]
        forget(top.function);
    }
  }

  std::vector<frame> frames_;
  call_faults faults_;
  bool counting_ = false;
  std::size_t steps_in_vain_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> open_;  ///< how often each function is open; kept while counting_
};

}  // namespace backsight::analysis
