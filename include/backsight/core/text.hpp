// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <backsight/core/bytes.hpp>

namespace backsight::text {

// Writes text to an output iterator of char; every function gives the iterator behind what it wrote. Nothing allocates.

/// The characters of a NUL-terminated text.
template <class Out>
constexpr Out literal(Out out, const char* characters) {
  for (; *characters != '\0'; ++characters) *out++ = *characters;
  return out;
}

/// An integer in decimal, at least `width` digits with zeros in front.
template <class Out, std::integral T>
constexpr Out decimal(Out out, T value, std::size_t width = 1) {
  std::uint64_t magnitude = static_cast<std::uint64_t>(value);
  if constexpr (std::is_signed_v<T>) {
    if (value < 0) {
      *out++ = '-';
      magnitude = 0 - magnitude;
    }
  }
  char digits[20]{};
  std::size_t count = 0;
  do {
    digits[count++] = static_cast<char>('0' + magnitude % 10);
    magnitude /= 10;
  } while (magnitude != 0);
  for (; width > count; --width) *out++ = '0';
  while (count != 0) *out++ = digits[--count];
  return out;
}

/// An unsigned integer in lower-case hexadecimal without prefix, at least `width` digits with zeros in front.
template <class Out>
constexpr Out hexadecimal(Out out, std::uint64_t value, std::size_t width = 1) {
  std::size_t digits = 1;
  while (digits < 16 && value >> (digits * 4) != 0) ++digits;
  if (digits < width) digits = width;
  for (std::size_t i = digits; i-- != 0;) *out++ = i >= 16 ? '0' : "0123456789abcdef"[value >> (i * 4) & 15U];
  return out;
}

/// Bytes as two hexadecimal digits each.
template <class Out>
constexpr Out hex_bytes(Out out, byte_view bytes) {
  for (const std::byte byte : bytes) out = hexadecimal(out, std::to_integer<std::uint64_t>(byte), 2);
  return out;
}

/// The length of the well-formed UTF-8 sequence of two to four bytes at `at`; 0 when there is none.
[[nodiscard]] constexpr std::size_t utf8_sequence(byte_view bytes, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[at + i]); };
  const std::size_t left = bytes.size() - at;
  const unsigned first = byte(0);
  const std::size_t size = first >= 0xc2 && first < 0xe0 ? 2U : first >= 0xe0 && first < 0xf0 ? 3U : first >= 0xf0 && first < 0xf5 ? 4U : 0U;
  if (size == 0 || size > left) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool outside = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || outside ? 0 : size;
}

/// Bytes as a quoted JSON text: printable ASCII and well-formed UTF-8 as they are, `\\ \" \n \r \t`, and any other byte as
/// `\u00NN`.
template <class Out>
constexpr Out quoted(Out out, byte_view bytes) {
  *out++ = '"';
  for (std::size_t i = 0; i < bytes.size();) {
    const auto c = std::to_integer<unsigned char>(bytes[i]);
    std::size_t size = 1;
    switch (c) {
      case '"': out = literal(out, "\\\""); break;
      case '\\': out = literal(out, "\\\\"); break;
      case '\n': out = literal(out, "\\n"); break;
      case '\r': out = literal(out, "\\r"); break;
      case '\t': out = literal(out, "\\t"); break;
      default:
        if (c >= 0x20 && c < 0x7f) {
          *out++ = static_cast<char>(c);
        } else if (const std::size_t sequence = c < 0x80 ? 0 : utf8_sequence(bytes, i)) {
          for (size = 0; size < sequence; ++size) *out++ = static_cast<char>(std::to_integer<unsigned char>(bytes[i + size]));
        } else {
          out = hexadecimal(literal(out, "\\u"), c, 4);
        }
    }
    i += size;
  }
  *out++ = '"';
  return out;
}

/// Characters as a quoted JSON text: see above.
template <class Out>
constexpr Out quoted(Out out, const char* characters, std::size_t size) {
  return quoted(out, byte_view(reinterpret_cast<const std::byte*>(characters), size));
}

}  // namespace backsight::text
