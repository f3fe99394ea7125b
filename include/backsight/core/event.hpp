// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>

namespace backsight {

/// What an event of a call trace means for the stack of its thread.
enum class event_kind : std::uint8_t {
  enter,      ///< A function is entered.
  exit,       ///< A function returns.
  tail_exit,  ///< A function is left by a jump to another one.
  mark,       ///< Something else at a point in time: a custom event, a note.
};

/// An event of a call trace, whatever its format: every analyzer and exporter works on ranges of these.
/// `time` counts ticks of the trace's clock (the trace tells how many make a second); `function` identifies a function
/// within the trace; `process` and `thread` name the stack that the event belongs to.
template <class E>
concept call_event = requires(const E& event) {
  { event.kind } -> std::convertible_to<event_kind>;
  { event.function } -> std::convertible_to<std::uint64_t>;
  { event.time } -> std::convertible_to<std::uint64_t>;
  { event.thread } -> std::convertible_to<std::uint64_t>;
  { event.process } -> std::convertible_to<std::int64_t>;
};

}  // namespace backsight
