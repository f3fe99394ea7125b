// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/core/lines.hpp>

// The descriptions of events: the files `events/SYSTEM/NAME/format` of tracefs, which recorders keep beside the data.
// Source: Linux, Documentation/trace/events.rst, "Event formats".
namespace backsight::ftrace {

namespace detail {

/// `size` bytes at `offset`; empty where the data is too short.
[[nodiscard]] inline byte_view part_of(byte_view data, std::size_t offset, std::size_t size) noexcept {
  return offset <= data.size() && size <= data.size() - offset ? data.subspan(offset, size) : byte_view{};
}

}  // namespace detail

/// One member of an event, as the kernel describes it. Views into the file's bytes.
struct event_field {
  std::string_view type;  ///< as declared, without the name: `unsigned char`, `__data_loc char[]`
  std::string_view name;
  std::size_t offset = 0;  ///< in the event's data
  std::size_t size = 0;
  bool is_signed = false;
  bool is_array = false;

  /// The bytes of the member; empty where the data is too short.
  [[nodiscard]] byte_view bytes(byte_view data) const noexcept { return detail::part_of(data, offset, size); }
  /// Its value without sign extension; nothing for other sizes than 1, 2, 4 and 8 and for data that is too short.
  [[nodiscard]] std::optional<std::uint64_t> value(byte_view data, order o) const noexcept {
    const byte_view raw = bytes(data);
    return with_order(o, [&](auto constant) -> std::optional<std::uint64_t> {
      switch (raw.size()) {
        case 1: return load<std::uint8_t, constant()>(raw.data());
        case 2: return load<std::uint16_t, constant()>(raw.data());
        case 4: return load<std::uint32_t, constant()>(raw.data());
        case 8: return load<std::uint64_t, constant()>(raw.data());
        default: return {};
      }
    });
  }
};

/// Where the data of a member of varying size lies, as the number in its place says: in its lower half the offset (from
/// the event on for `__data_loc`, from behind the member for `__rel_loc`), in its upper half the size.
struct data_place {
  std::size_t offset = 0, size = 0;

  explicit data_place(std::uint64_t told) noexcept
      : offset(static_cast<std::uint16_t>(told)), size(static_cast<std::uint16_t>(told >> 16)) {}
  /// Empty where the data is too short.
  [[nodiscard]] byte_view bytes(byte_view data) const noexcept { return detail::part_of(data, offset, size); }
};

/// A kind of event: its members and how the kernel prints it.
struct event_format {
  std::string_view system, name;  ///< `sched` and `sched_switch`
  std::uint32_t id = 0;
  std::vector<event_field> fields;
  std::string_view print_format;  ///< `"text", REC->member, ...`

  [[nodiscard]] const event_field* find(std::string_view field_name) const noexcept {
    for (const event_field& field : fields) {
      if (field.name == field_name) return &field;
    }
    return nullptr;
  }
};

namespace detail {

/// `field:TYPE NAME; offset:N; size:N; signed:N;`
[[nodiscard]] inline std::optional<event_field> read_event_field(std::string_view line) noexcept {
  const auto blanks = [](std::string_view& text) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  };
  blanks(line);
  if (!text::take(line, "field:")) return {};
  event_field field;
  const std::size_t end = line.find(';');
  if (end == std::string_view::npos) return {};
  std::string_view declaration = line.substr(0, end);
  line.remove_prefix(end + 1);
  blanks(declaration);
  if (const std::size_t bracket = declaration.rfind('[');
      bracket != std::string_view::npos && declaration.ends_with(']')) {
    field.is_array = true;
    declaration = declaration.substr(0, bracket);
  }
  const std::size_t blank = declaration.find_last_of(" *");
  field.name = blank == std::string_view::npos ? declaration : declaration.substr(blank + 1);
  field.type = declaration.substr(0, declaration.size() - field.name.size());
  const auto number = [&](std::string_view key, std::size_t& value) {
    blanks(line);
    if (!text::take(line, key)) return false;
    const auto read = text::take_number(line, 10);
    if (!read || *read > std::numeric_limits<std::size_t>::max() || !text::take(line, ";")) return false;
    value = static_cast<std::size_t>(*read);
    return true;
  };
  if (field.name.empty() || !number("offset:", field.offset) || !number("size:", field.size)) return {};
  // Kernels before 2.6.32 do not tell.
  std::size_t is_signed = 0;
  (void)number("signed:", is_signed);
  field.is_signed = is_signed != 0;
  return field;
}

}  // namespace detail

/// Reads a description of an event between the places `begin` and `end` of a text; `system` is not written in it. What
/// is malformed is left out and added to `faults` (bad_text), with its place in the text. Views into the text.
/// Allocates.
[[nodiscard]] inline event_format read_event_format(std::string_view text, std::size_t begin, std::size_t end,
                                                    std::vector<fault>& faults) {
  event_format event;
  for (text::lines all(text.substr(0, end), begin); all.next();) {
    std::string_view rest = all.line();
    if (text::take(rest, "name: ")) {
      event.name = rest;
    } else if (text::take(rest, "ID: ")) {
      event.id = static_cast<std::uint32_t>(text::take_number(rest, 10).value_or(0));
    } else if (text::take(rest, "print fmt: ")) {
      event.print_format = rest;
    } else if (rest.find("field:") != std::string_view::npos) {
      const auto field = detail::read_event_field(rest);
      if (field) event.fields.push_back(*field);
      else faults.push_back({errc::bad_text, all.offset(), all.line().size() + 1});
    }
  }
  return event;
}

}  // namespace backsight::ftrace
