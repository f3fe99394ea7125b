// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <backsight/core/bytes.hpp>

namespace backsight::test {

/// An event as the second, hand-written decoder of XRay logs finds it.
struct oracle_event {
  std::string kind;  ///< enter, exit, tail_exit, custom or typed.
  std::uint64_t offset = 0;
  std::int32_t thread = 0, process = 0;
  std::uint32_t cpu = 0, function = 0, type = 0;
  std::uint64_t time = 0;
  std::vector<std::uint64_t> arguments;
  std::string payload;

  friend bool operator==(const oracle_event&, const oracle_event&) = default;
};

/// A place in a log that the second decoder objects to.
struct oracle_fault {
  std::string what;
  std::uint64_t offset = 0;

  friend bool operator==(const oracle_fault&, const oracle_fault&) = default;
};

struct oracle_log {
  std::vector<oracle_event> events;
  std::vector<oracle_fault> faults;
};

/// Reads an XRay log in another way than the library does: byte by byte, with the layouts, the order of records and the
/// rules of salvage written out by hand. Slow and plain, to be compared with.
[[nodiscard]] oracle_log read_xray_by_hand(byte_view log);

/// One line of text for an event or a fault, for messages.
[[nodiscard]] std::string describe(const oracle_event& event);

}  // namespace backsight::test
