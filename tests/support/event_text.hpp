// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <backsight/core/call_trace.hpp>

#include <support/call_parts.hpp>

namespace backsight::test {

/// The events of a trace as text: "+1@0" for the entry of function 1 at 0, "-" for an exit, "." for a mark.
template <call_trace T>
[[nodiscard]] std::string events_of(const T& trace) {
  std::string text;
  for (std::size_t part = 0; part < trace.part_count(); ++part) {
    if (part != 0) text += "| ";
    trace.part(part).for_each_event(
        [&](const call_event& event) {
          if (event.kind == event_kind::mark) text += '.';
          else text += (event.kind == event_kind::enter ? "+" : "-") + std::to_string(event.function);
          text += '@' + std::to_string(event.time) + ' ';
        },
        [&](std::string_view, const fault& found) { text += "!" + std::to_string(found.offset) + ' '; });
  }
  if (!text.empty()) text.pop_back();
  return text;
}

/// main (1) calls a (2), which calls b (3), and then b, which calls a.
[[nodiscard]] inline call_parts nested_calls() {
  return {.parts = {{mark(0), enter(1, 0), enter(2, 1), enter(3, 2), mark(3), exit(3, 4), exit(2, 5), enter(3, 6),
                     enter(2, 7), exit(2, 17), exit(3, 18), exit(1, 20)}},
          .damage = {fault{errc::bad_size, 77, 0}}};
}

}  // namespace backsight::test
