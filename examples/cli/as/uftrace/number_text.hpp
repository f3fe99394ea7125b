// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <string_view>

#include <backsight/core/text.hpp>
#include <backsight/uftrace/values.hpp>

// The bytes of values as numbers and text. Source: uftrace's cmds/replay.c (get_argspec_string) and cmds/dump.c.
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

[[gnu::format(printf, 2, 3)]] inline void add_format(std::string& out, const char* format, ...) {
  char text[512];
  std::va_list list;
  va_start(list, format);
  const int size = std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (size > 0) out.append(text, std::min(static_cast<std::size_t>(size), sizeof text - 1));
}

inline void add_hex(std::string& out, std::uint64_t value, bool prefix = true) {
  if (prefix) out += "0x";
  (void)text::hexadecimal(std::back_inserter(out), value);
}
inline void add_decimal(std::string& out, std::int64_t value) { (void)text::decimal(std::back_inserter(out), value); }

/// A floating-point number of 4, 8 or 10 bytes (the extended format of x87) with six decimals.
inline void add_floating(std::string& out, byte_view bytes, order o) {
  if (bytes.size() == 4) {
    const auto bits = static_cast<std::uint32_t>(unsigned_of(bytes, o));
    return add_format(out, "%f", static_cast<double>(std::bit_cast<float>(bits)));
  }
  if (bytes.size() < 10) return add_format(out, "%f", std::bit_cast<double>(unsigned_of(bytes, o)));
  const std::uint64_t mantissa = unsigned_of(bytes.first(8), o);
  const auto top = static_cast<unsigned>(unsigned_of(bytes.subspan(8, 2), o));
  const int exponent = static_cast<int>(top & 0x7fff);
  if (exponent == 0x7fff) {
    const bool infinite = mantissa << 1 == 0;
    return add_format(out, "%s%s", (top & 0x8000) != 0 ? "-" : "", infinite ? "inf" : "nan");
  }
  long double value = std::ldexp(static_cast<long double>(mantissa), exponent - 16383 - 63);
  if ((top & 0x8000) != 0) value = -value;
  // The largest number has 4933 digits before the point.
  char text[5000];
  const int size = std::snprintf(text, sizeof text, "%Lf", value);
  if (size > 0) out.append(text, std::min(static_cast<std::size_t>(size), sizeof text - 1));
}

/// One byte inside a JSON string of a JSON string, as uftrace writes it.
inline void add_chrome_byte(std::string& out, unsigned char c) {
  switch (c) {
    case '\n': out += "\\\\n"; break;
    case '\t': out += "\\\\t"; break;
    case '\\': out += "\\\\"; break;
    case '"': out += "\\\""; break;
    default:
      if (c >= 0x20 && c <= 0x7e) out += static_cast<char>(c);
      else add_format(out, "\\\\x%02x", c);
  }
}

}  // namespace cli::as_uftrace
