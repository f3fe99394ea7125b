// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/event.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/xray/schema.hpp>

namespace backsight::xray {

/// The logged arguments of a call: a view of the argument records behind the function record.
class call_arguments {
 public:
  constexpr call_arguments() = default;
  /// Precondition: `count` records of `stride` bytes lie at `first`, each with its argument at `value_at`.
  constexpr call_arguments(const std::byte* first, std::size_t count, std::uint8_t stride, std::uint8_t value_at,
                           order byte_order) noexcept
      : first_(first), count_(count), stride_(stride), value_at_(value_at), order_(byte_order) {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr std::uint64_t operator[](std::size_t index) const noexcept {
    BACKSIGHT_ASSERT(index < count_);
    const std::byte* const at = first_ + index * stride_ + value_at_;
    return order_ == order::little ? load<std::uint64_t, order::little>(at) : load<std::uint64_t, order::big>(at);
  }

 private:
  const std::byte* first_ = nullptr;
  std::size_t count_ = 0;
  std::uint8_t stride_ = 0;
  std::uint8_t value_at_ = 0;
  order order_{};
};

namespace detail {

/// Those of `count` records of schema S side by side.
template <schema S, order O>
[[nodiscard]] constexpr call_arguments arguments_at(const std::byte* first, std::size_t count) noexcept {
  return {first, count, static_cast<std::uint8_t>(size_of<S>), static_cast<std::uint8_t>(offset_of<S>(S::argument)), O};
}

}  // namespace detail

/// What an event with event_kind::mark is.
enum class mark_kind : std::uint8_t { none, custom, typed };

/// Something that happened at a point in time, with all that the records before it say: models call_event.
/// A view: arguments and payload point into the log.
struct event {
  event_kind kind = event_kind::mark;
  mark_kind mark = mark_kind::none;
  bool with_arguments = false;  ///< An enter that logs arguments, even if none followed.
  std::uint16_t cpu = 0;
  std::uint16_t event_type = 0;  ///< Of a typed event.
  std::uint32_t function = 0;    ///< The function id; 0 for marks.
  std::int32_t thread = 0;
  std::int32_t process =
      0;  ///< FDR version 1 and basic versions 1 and 2: 0; FDR version 2: the thread id, as LLVM has it.
  std::uint64_t time = 0;      ///< Ticks of the log's clock; log::to_ns makes nanoseconds of them.
  std::uint64_t offset = 0;    ///< Of the record in the log.
  call_arguments arguments{};  ///< Of an enter, when they were logged.
  byte_view payload{};         ///< Of a mark.
};
static_assert(call_event<event>);

[[nodiscard]] constexpr event_kind kind_of_action(function_action action) noexcept {
  switch (action) {
    case function_action::exit: return event_kind::exit;
    case function_action::tail_exit: return event_kind::tail_exit;
    case function_action::enter:
    case function_action::enter_args: break;
  }
  return event_kind::enter;
}

}  // namespace backsight::xray
