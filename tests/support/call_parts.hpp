// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/call_trace.hpp>

#include <support/call_events.hpp>

namespace backsight::test {

/// The smallest trace that models backsight::call_trace: parts of events that are written out; functions are named f1,
/// f2, ...
struct call_parts {
  using event_type = call_event;
  struct part_type {
    const call_parts* from;
    std::size_t index;
    template <class F, class OnFault>
    void for_each_event(F&& f, OnFault&& on_fault) const {
      for (const call_event& each : from->parts[index]) f(each);
      if (index < from->damage.size() && from->damage[index].code != errc::ok)
        on_fault(std::string_view(), from->damage[index]);
    }
  };

  std::vector<std::vector<call_event>> parts;
  std::vector<fault> damage;  ///< of the parts; errc::ok for none

  [[nodiscard]] std::size_t part_count() const { return parts.size(); }
  [[nodiscard]] part_type part(std::size_t index) const { return {this, index}; }
  [[nodiscard]] std::string function_name(std::uint64_t function) const { return "f" + std::to_string(function); }
  [[nodiscard]] std::string thread_name(std::int64_t, std::uint64_t thread) const {
    return thread == 1 ? "" : "t" + std::to_string(thread);
  }
  [[nodiscard]] std::string_view process_name(std::int64_t) const { return "it"; }
  [[nodiscard]] clock_unit unit() const { return clock_unit::nanoseconds; }
  [[nodiscard]] std::uint64_t to_ns(std::uint64_t time) const { return time * 10; }
  [[nodiscard]] std::uint64_t start() const { return 0; }
  template <class F>
  void for_each_fault(F&& f) const {
    f(std::string_view("it"), fault{errc::bad_value, 1, 2});
  }
};
static_assert(call_trace<call_parts>);

/// The same event of another thread.
constexpr call_event of_thread(call_event event, std::uint64_t thread) {
  event.thread = thread;
  return event;
}

}  // namespace backsight::test
