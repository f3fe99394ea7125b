// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include <backsight/analysis/call_stack.hpp>
#include <backsight/core/event.hpp>

namespace backsight::analysis {

/// The calls that take `least` or longer, in the ticks of a trace, and those that do not end: holds calls back until
/// that is known. Keeps a stack for each thread, and the calls on top of it that are held back with what came behind
/// them.
template <call_event Event>
class long_calls {
 public:
  explicit long_calls(std::uint64_t least) : least_(least) {}

  template <class Next>
  void on(const Event& event, Next&& next) {
    thread& of = threads_[{static_cast<std::int64_t>(event.process), static_cast<std::uint64_t>(event.thread)}];
    // Callers are held back no longer than what they call: they began earlier.
    while (!of.events.empty() && (!of.events.front().held || lasts(of.events.front().event, event.time)))
      of.release(next);
    bool dropped = false;
    of.stack.on(
        event,
        [&](const call_stack::frame&, std::size_t) {
          of.held.push_back(of.first + of.events.size());
          of.events.push_back({event, true, false});
        },
        [&](const finished_call&, const call_stack::frame&) {
          // The calls that are held back are the innermost ones.
          dropped = !of.held.empty();
          if (!dropped) return;
          held_event& enter = of.events[static_cast<std::size_t>(of.held.back() - of.first)];
          enter.dropped = true;
          enter.held = false;
          of.held.pop_back();
        });
    if (event.kind == event_kind::enter || dropped) return;
    if (of.events.empty()) next(event);
    else of.events.push_back({event, false, false});
  }
  /// What is still open has no duration that would be too short.
  template <class Next>
  void finish(Next&& next) {
    for (auto& [key, of] : threads_) {
      while (!of.events.empty()) of.release(next);
    }
  }

 private:
  struct held_event {
    Event event;
    bool held = false;  ///< A call whose duration is not known yet.
    bool dropped = false;
  };
  struct thread {
    call_stack stack;
    std::deque<held_event> events;
    std::uint64_t first = 0;         ///< The number of events.front().
    std::deque<std::uint64_t> held;  ///< The numbers of calls that are held back, the outermost first.

    template <class Next>
    void release(Next&& next) {
      if (events.front().held) held.pop_front();
      if (!events.front().dropped) next(static_cast<const Event&>(events.front().event));
      events.pop_front();
      ++first;
    }
  };
  [[nodiscard]] bool lasts(const Event& enter, std::uint64_t now) const noexcept {
    return now >= enter.time && now - enter.time >= least_;
  }

  std::uint64_t least_;
  std::map<std::pair<std::int64_t, std::uint64_t>, thread> threads_;
};

}  // namespace backsight::analysis
