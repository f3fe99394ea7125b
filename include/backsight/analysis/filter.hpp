// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string_view>
#include <utility>

#include <backsight/analysis/call_stacks.hpp>
#include <backsight/core/call_trace.hpp>

namespace backsight::analysis {

/// A call_trace with events left out: `Stage` is copied for each part and has `on(event, next)`, which calls `next(event)` for
/// what stays, and may have `finish(next)` for the end of the part. A view: the trace must outlive it.
template <call_trace T, class Stage>
class filtered_trace {
 public:
  using event_type = typename T::event_type;

  class part_type {
   public:
    part_type(const T& from, std::size_t index, const Stage& stage) : part_(from.part(index)), stage_(&stage) {}
    template <class F, class OnFault>
    void for_each_event(F&& f, OnFault&& on_fault) const {
      Stage stage = *stage_;
      part_.for_each_event([&](const event_type& event) { stage.on(event, f); }, on_fault);
      if constexpr (requires { stage.finish(f); }) stage.finish(f);
    }

   private:
    decltype(std::declval<const T&>().part(0)) part_;
    const Stage* stage_;
  };

  filtered_trace(const T& from, Stage stage) : from_(&from), stage_(std::move(stage)) {}

  [[nodiscard]] std::size_t part_count() const { return from_->part_count(); }
  [[nodiscard]] part_type part(std::size_t index) const { return part_type(*from_, index, stage_); }
  [[nodiscard]] decltype(auto) function_name(std::uint64_t function) const { return from_->function_name(function); }
  [[nodiscard]] decltype(auto) thread_name(std::int64_t process, std::uint64_t thread) const {
    return from_->thread_name(process, thread);
  }
  [[nodiscard]] decltype(auto) process_name(std::int64_t process) const { return from_->process_name(process); }
  [[nodiscard]] clock_unit unit() const { return from_->unit(); }
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t time) const { return from_->to_ns(time); }
  [[nodiscard]] std::uint64_t start() const { return from_->start(); }
  template <class F>
  void for_each_fault(F&& f) const {
    from_->for_each_fault(f);
  }

 private:
  const T* from_;
  Stage stage_;
};

namespace detail {

/// Lets through what one event by itself tells.
template <class Wanted>
struct event_stage {
  Wanted wanted;
  template <class Event, class Next>
  void on(const Event& event, Next&& next) {
    if (wanted(event)) next(event);
  }
};

/// Lets through calls by their place on the stack. `Place` gives for a call that begins, from its function, its level and what
/// it gave for the caller (`outside` for none), a number of its own; calls with an odd one stay.
template <class Place>
class stack_stage {
 public:
  stack_stage(Place place, std::uint64_t outside) : place_(std::move(place)), outside_(outside) {}

  template <call_event Event, class Next>
  void on(const Event& event, Next&& next) {
    call_stack& stack = stacks_.of(event);
    const auto caller = [&](std::size_t depth) { return depth == 0 ? outside_ : stack.frames()[depth - 1].tag; };
    if (event.kind == event_kind::mark) {
      if ((caller(stack.frames().size()) & 1U) != 0) next(event);
      return;
    }
    bool shown = false, matched = false;
    stack.on(
        event,
        [&](call_stack::frame& frame, std::size_t depth) {
          frame.tag = place_(frame.function, depth, caller(depth));
          matched = true;
          shown = (frame.tag & 1U) != 0;
        },
        [&](const finished_call& call, const call_stack::frame& frame) {
          if (!call.has_exit) return;
          matched = true;
          shown = (frame.tag & 1U) != 0;
        });
    // An exit that ends nothing stays where a call of its function would: it tells that something is missing.
    if (!matched) shown = (place_(event.function, stack.frames().size(), caller(stack.frames().size())) & 1U) != 0;
    if (shown) next(event);
  }

 private:
  Place place_;
  std::uint64_t outside_;
  call_stacks stacks_;
};

/// Holds calls back until it is known that they take long enough. Keeps a stack for each thread, and the calls on top of it that
/// are held back with what came behind them.
template <call_event Event>
class duration_stage {
 public:
  explicit duration_stage(std::uint64_t least) : least_(least) {}

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

template <call_trace T, class Place>
[[nodiscard]] auto by_place(const T& trace, std::uint64_t outside, Place place) {
  return filtered_trace<T, stack_stage<Place>>(trace, stack_stage<Place>(std::move(place), outside));
}
template <call_trace T, class Wanted>
[[nodiscard]] auto by_event(const T& trace, Wanted wanted) {
  return filtered_trace<T, event_stage<Wanted>>(trace, event_stage<Wanted>{std::move(wanted)});
}

}  // namespace detail

// Each of these gives a call_trace, so that they can be combined; none allocates for an event that it lets through, but for
// at_least, which holds back events of calls that have not lasted long enough.

/// The events of threads for which `wanted(process, thread)` is true.
template <call_trace T, class Wanted>
[[nodiscard]] auto only_threads(const T& trace, Wanted wanted) {
  return detail::by_event(trace, [wanted = std::move(wanted)](const auto& event) {
    return wanted(static_cast<std::int64_t>(event.process), static_cast<std::uint64_t>(event.thread));
  });
}
/// The events with begin <= time < end, in the trace's own clock. Calls that began before have exits without entry.
template <call_trace T>
[[nodiscard]] auto only_times(const T& trace, std::uint64_t begin, std::uint64_t end) {
  return detail::by_event(trace, [begin, end](const auto& event) { return event.time >= begin && event.time < end; });
}
/// Calls of functions for which `wanted(function)` is true, and what they call.
template <call_trace T, class Wanted>
[[nodiscard]] auto only_below(const T& trace, Wanted wanted) {
  return detail::by_place(trace, 0,
                          [wanted = std::move(wanted)](std::uint64_t function, std::size_t, std::uint64_t caller) {
                            return static_cast<std::uint64_t>((caller & 1U) != 0 || wanted(function));
                          });
}
/// Leaves out calls of functions for which `unwanted(function)` is true, and what they call.
template <call_trace T, class Unwanted>
[[nodiscard]] auto without_below(const T& trace, Unwanted unwanted) {
  // Bit 1: below one that is left out.
  return detail::by_place(trace, 1,
                          [unwanted = std::move(unwanted)](std::uint64_t function, std::size_t, std::uint64_t caller) {
                            return static_cast<std::uint64_t>((caller & 2U) != 0 || unwanted(function) ? 2U : 1U);
                          });
}
/// Leaves out calls of functions for which `unwanted(function)` is true, but not what they call: their time becomes the caller's.
template <call_trace T, class Unwanted>
[[nodiscard]] auto without_functions(const T& trace, Unwanted unwanted) {
  return detail::by_event(trace, [unwanted = std::move(unwanted)](const auto& event) {
    return event.kind == event_kind::mark || !unwanted(std::uint64_t{event.function});
  });
}
/// Calls on the first `levels` levels of their stacks.
template <call_trace T>
[[nodiscard]] auto up_to_depth(const T& trace, std::size_t levels) {
  return detail::by_place(trace, 1, [levels](std::uint64_t, std::size_t depth, std::uint64_t) {
    return static_cast<std::uint64_t>(depth < levels);
  });
}
/// Calls that take `least` or longer, in the trace's own clock, and those that do not end.
template <call_trace T>
[[nodiscard]] auto at_least(const T& trace, std::uint64_t least) {
  using stage = detail::duration_stage<typename T::event_type>;
  return filtered_trace<T, stage>(trace, stage(least));
}

}  // namespace backsight::analysis
