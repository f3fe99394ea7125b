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

}  // namespace backsight::text
