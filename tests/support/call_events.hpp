// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <backsight/core/event.hpp>

namespace backsight::test {

/// The smallest type that models backsight::call_event.
struct call_event {
  event_kind kind = event_kind::mark;
  std::uint64_t function = 0;
  std::uint64_t time = 0;
  std::uint64_t thread = 1;
  std::int64_t process = 1;
};
static_assert(backsight::call_event<call_event>);

constexpr call_event enter(std::uint64_t function, std::uint64_t time) { return {event_kind::enter, function, time}; }
constexpr call_event exit(std::uint64_t function, std::uint64_t time) { return {event_kind::exit, function, time}; }
constexpr call_event tail_exit(std::uint64_t function, std::uint64_t time) {
  return {event_kind::tail_exit, function, time};
}
constexpr call_event mark(std::uint64_t time) { return {event_kind::mark, 0, time}; }

}  // namespace backsight::test
