// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <backsight/core/error.hpp>
#include <backsight/core/event.hpp>

namespace backsight {

/// What the times of a trace count.
enum class clock_unit : std::uint8_t {
  nanoseconds,   ///< to_ns() gives nanoseconds.
  ticks,         ///< Of a clock whose speed is not known; to_ns() gives them as they are.
  instructions,  ///< Instructions of the thread; to_ns() gives them as they are.
};

/// What stands behind a number that to_ns() gave.
[[nodiscard]] constexpr const char* unit_name(clock_unit unit) noexcept {
  switch (unit) {
    case clock_unit::ticks: return "ticks";
    case clock_unit::instructions: return "instructions";
    case clock_unit::nanoseconds: break;
  }
  return "ns";
}

namespace detail {

// What the concepts below are tried with.
struct take_any {
  template <class Item>
  void operator()(const Item&) const noexcept {}
};
struct take_fault {
  void operator()(std::string_view, const fault&) const noexcept {}
};

}  // namespace detail

/// A part of a trace that can be walked by itself, and at the same time as other parts: the blocks of a thread, the
/// file of a task, a window. `for_each_event(f, on_fault)` calls `f(event)` for what can be read, in the order in which
/// it is stored, and `on_fault(file, fault)` for what cannot: `file` names the file of the trace that offsets count in,
/// as long as the trace lives; it is empty where the trace is one file.
template <class P>
concept trace_part = requires(const P& part) { part.for_each_event(detail::take_any{}, detail::take_fault{}); };

/// What has parts, whatever their items are. Different parts may be walked by several threads at once.
template <class T>
concept parted_trace = requires(const T& trace, std::size_t index) {
  { trace.part_count() } -> std::convertible_to<std::size_t>;
  { trace.part(index) } -> trace_part;
};

/// A trace of calls, whatever its format: what every analyzer and exporter takes, and what a new format gives. Its
/// parts have items of `event_type`; all events of a thread's stack lie in one part, or the stack begins anew in each.
/// `function_name`, `thread_name(process, thread)` and `process_name` give text that is valid until the next call,
/// empty when nothing is known; functions always have one. They are for one thread, and not while parts are walked.
/// Times of events are made into what `unit()` says by `to_ns(time)`, durations too; `start()` is a time at or near the
/// first event, known without walking. `for_each_fault(on_fault)` tells what was found damaged when the trace was
/// opened.
template <class T>
concept call_trace = parted_trace<T> && requires(const T& trace, std::uint64_t number, std::int64_t process) {
  requires call_event<typename T::event_type>;
  { trace.function_name(number) } -> std::convertible_to<std::string_view>;
  { trace.thread_name(process, number) } -> std::convertible_to<std::string_view>;
  { trace.process_name(process) } -> std::convertible_to<std::string_view>;
  { trace.unit() } -> std::same_as<clock_unit>;
  { trace.to_ns(number) } -> std::same_as<std::uint64_t>;
  { trace.start() } -> std::same_as<std::uint64_t>;
  trace.for_each_fault(detail::take_fault{});
};

/// What some traces tell beside that: how many records the recorder could not write, of the parts that were walked to
/// their end.
template <class T>
concept tells_lost_records = call_trace<T> && requires(const T& trace) {
  { trace.lost_records() } -> std::same_as<std::uint64_t>;
};

/// The program or library that a function is in, where a format knows: empty for functions of which it does not.
template <class T>
concept tells_modules = call_trace<T> && requires(const T& trace, std::uint64_t function) {
  { trace.function_module(function) } -> std::convertible_to<std::string_view>;
};

/// What was given to a call, of its enter, and what it gave back, of its exit, as text that lives as long as the trace;
/// empty where that was not recorded. It is asked of the event that a part gives at that moment, by whoever walks the
/// part.
template <class T>
concept tells_values = call_trace<T> && requires(const T& trace, const typename T::event_type& event) {
  { trace.values_of(event) } -> std::same_as<std::string_view>;
};

/// What events have beside that in some formats.
template <class E>
concept has_cpu = call_event<E> && requires(const E& event) {
  { event.cpu } -> std::convertible_to<std::uint32_t>;
};
template <class E>
concept has_arguments = call_event<E> && requires(const E& event) {
  { event.arguments.size() } -> std::convertible_to<std::size_t>;
  { event.arguments[std::size_t{}] } -> std::convertible_to<std::uint64_t>;
};
/// The text of a mark.
template <class E>
concept has_text = call_event<E> && requires(const E& event) {
  { event.payload.data() } -> std::convertible_to<const std::byte*>;
  { event.payload.size() } -> std::convertible_to<std::size_t>;
};

/// The text of an event that is a mark, where its format has one.
template <call_event E>
[[nodiscard]] std::optional<std::string_view> mark_text(const E& event) noexcept {
  if constexpr (has_text<E>) {
    if (event.kind == event_kind::mark)
      return std::string_view(reinterpret_cast<const char*>(event.payload.data()), event.payload.size());
  } else if constexpr (requires {
                         { event.text } -> std::convertible_to<std::optional<std::string_view>>;
                       }) {
    return event.text;
  }
  return {};
}

}  // namespace backsight
