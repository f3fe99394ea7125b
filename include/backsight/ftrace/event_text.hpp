// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

#include <backsight/core/bytes.hpp>
#include <backsight/core/lines.hpp>
#include <backsight/core/text.hpp>
#include <backsight/ftrace/event_format.hpp>
#include <backsight/ftrace/print_expression.hpp>

// The data of events as text. Sources: Linux, Documentation/trace/events.rst, "Event formats" ("print fmt"); printf(3)
// for the conversions.
namespace backsight::ftrace {

namespace detail {

/// Writes a number as printf does, for the conversions d i u x X o c p.
[[nodiscard]] inline bool append_number(std::string& out, std::uint64_t number, char kind, unsigned bits,
                                        std::string_view flags, std::size_t width,
                                        std::optional<std::size_t> precision) {
  const auto has = [&](char flag) { return flags.find(flag) != flags.npos; };
  std::string digits, sign;
  const unsigned unused = 64 - bits;
  std::uint64_t magnitude = number << unused >> unused;
  if (kind == 'd' || kind == 'i') {
    const auto value = static_cast<std::int64_t>(number << unused) >> unused;
    magnitude = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    sign = value < 0 ? "-" : has('+') ? "+" : has(' ') ? " " : "";
  }
  const unsigned base = kind == 'x' || kind == 'X' || kind == 'p' ? 16 : kind == 'o' ? 8 : 10;
  if (kind == 'p') magnitude = number;
  if (kind == 'p' || (base == 16 && has('#') && magnitude != 0)) sign = kind == 'X' ? "0X" : "0x";
  for (std::uint64_t left = magnitude; left != 0 || digits.empty(); left /= base) {
    const char digit = (kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[left % base];
    digits.insert(digits.begin(), digit);
  }
  if (precision && digits.size() < *precision) digits.insert(0, *precision - digits.size(), '0');
  const std::size_t size = sign.size() + digits.size();
  const std::size_t pad = width > size ? width - size : 0;
  if (has('-')) out += sign + digits + std::string(pad, ' ');
  else if (has('0') && !precision) out += sign + std::string(pad, '0') + digits;
  else out += std::string(pad, ' ') + sign + digits;
  return true;
}

}  // namespace detail

/// Appends the data of an event as its print format says: texts, members, expressions of C, tables of names.
/// `long_bytes` is the size of a long of the recorded machine. False, and nothing appended, where the format holds what
/// is not known here (names of functions, bytes in hexadecimal); then append_event_members is the way.
[[nodiscard]] inline bool append_event_text(std::string& out, const event_format& format, byte_view data, order o,
                                            unsigned long_bytes = 8) {
  std::string_view arguments = format.print_format;
  if (!text::take(arguments, "\"")) return false;
  // The text ends at the first quote without a backslash.
  std::size_t end = 0;
  while (end < arguments.size() && arguments[end] != '"') end += arguments[end] == '\\' ? 2U : 1U;
  if (end >= arguments.size()) return false;
  std::string_view pattern = arguments.substr(0, end);
  arguments.remove_prefix(end + 1);
  detail::print_expression values(format, data, o);
  std::string made;
  while (!pattern.empty()) {
    const char c = pattern.front();
    pattern.remove_prefix(1);
    if (c == '\\' && !pattern.empty()) {
      made += pattern.front() == 'n' ? '\n' : pattern.front() == 't' ? '\t' : pattern.front();
      pattern.remove_prefix(1);
      continue;
    }
    if (c != '%' || text::take(pattern, "%")) {
      made += c;
      continue;
    }
    const std::size_t flags_end = std::min(pattern.find_first_not_of("-+ #0"), pattern.size());
    const std::string_view flags = pattern.substr(0, flags_end);
    pattern.remove_prefix(flags_end);
    constexpr std::size_t widest = 256;
    const auto digits = [&] {
      return static_cast<std::size_t>(std::min<std::uint64_t>(text::take_number(pattern, 10).value_or(0), widest));
    };
    const std::size_t width = digits();
    std::optional<std::size_t> precision;
    if (text::take(pattern, ".")) precision = digits();
    unsigned bits = 32;
    for (; !pattern.empty() && std::string_view("hlzjLt").find(pattern.front()) != std::string_view::npos;
         pattern.remove_prefix(1)) {
      if (pattern.front() == 'h') bits = bits == 16 ? 8 : 16;
      else bits = pattern.front() == 'l' && bits == 32 ? long_bytes * 8 : 64;
    }
    if (pattern.empty() || std::string_view("diuxXocps").find(pattern.front()) == std::string_view::npos) return false;
    const char kind = pattern.front();
    pattern.remove_prefix(1);
    // %pS and its like are the names of functions.
    if (kind == 'p' && !pattern.empty() &&
        ((pattern.front() >= 'a' && pattern.front() <= 'z') || (pattern.front() >= 'A' && pattern.front() <= 'Z')))
      return false;
    while (arguments.starts_with(' ')) arguments.remove_prefix(1);
    if (!text::take(arguments, ",")) return false;
    const auto value = values.read(arguments);
    if (!value || value->is_text != (kind == 's')) return false;
    if (kind == 's' || kind == 'c') {
      const std::string one = kind == 's' ? value->text : std::string(1, static_cast<char>(value->number));
      const std::string_view shown = std::string_view(one).substr(0, precision.value_or(one.size()));
      const std::size_t pad = width > shown.size() ? width - shown.size() : 0;
      const bool left = flags.find('-') != flags.npos;
      if (!left) made.append(pad, ' ');
      made += shown;
      if (left) made.append(pad, ' ');
    } else if (!detail::append_number(made, value->number, kind, bits, flags, width, precision)) {
      return false;
    }
  }
  while (arguments.starts_with(' ')) arguments.remove_prefix(1);
  if (!arguments.empty()) return false;
  out += made;
  return true;
}

/// Appends `name=value` for each member that not all events have, numbers in decimal, others in hexadecimal.
inline void append_event_members(std::string& out, const event_format& format, byte_view data, order o) {
  bool first = true;
  for (const event_field& field : format.fields) {
    if (field.name.starts_with("common_")) continue;
    if (!first) out += ' ';
    first = false;
    out += field.name;
    out += '=';
    const auto value = field.value(data, o);
    if (!value || field.is_array) (void)text::hex_bytes(std::back_inserter(out), field.bytes(data));
    else
      (void)detail::append_number(out, *value, field.is_signed ? 'd' : 'u', static_cast<unsigned>(field.size) * 8, {},
                                  0, {});
  }
}

}  // namespace backsight::ftrace
