// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

// Numbers of seven bits a byte, the least significant first; the top bit says that more follow. The readers take
// pointers and are inlined, so that a loop around them keeps everything in registers.
namespace backsight {

/// How a number of seven bits a byte is written.
enum class varint_form : std::uint8_t {
  uleb,    ///< unsigned LEB128 (DWARF 5, section 7.6)
  sleb,    ///< signed LEB128
  varint,  ///< protobuf: up to ten bytes; bits above the 64th are dropped
  zigzag,  ///< protobuf sint: the sign is the least significant bit
};

namespace detail {

/// The bits of a number of several bytes at `at`; null where it ends too late, for `code`.
template <varint_form Form>
[[nodiscard, gnu::always_inline]] constexpr const std::byte* read_long_varint(const std::byte* at, const std::byte* end,
                                                                              std::uint64_t& value,
                                                                              errc& code) noexcept {
  constexpr bool is_signed = Form == varint_form::sleb,
                 protobuf = Form == varint_form::varint || Form == varint_form::zigzag;
  std::uint64_t bits = 0;
  unsigned shift = 0;
  std::uint64_t byte = 0;
  do {
    if (at == end) [[unlikely]]
      return code = errc::truncated, nullptr;
    byte = std::to_integer<std::uint64_t>(*at++);
    const std::uint64_t digits = byte & 0x7fU;
    if (shift >= 63) [[unlikely]] {
      // The tenth byte has one bit left, and what follows it adds nothing.
      const std::uint64_t filled = is_signed && (shift == 63 ? digits : bits >> 63) != 0 ? 0x7fU : 0U;
      const bool fits = protobuf                   ? shift == 63 && byte < 0x80U
                        : is_signed || shift != 63 ? digits == filled
                                                   : digits <= 1;
      if (!fits) return code = errc::number_too_large, nullptr;
    }
    if (shift < 64) bits |= digits << shift;
    shift += 7;
  } while (byte >= 0x80U);
  if (is_signed && shift < 64 && (byte & 0x40U) != 0) bits |= ~std::uint64_t{0} << shift;
  value = bits;
  return at;
}

}  // namespace detail

/// Reads a number of that form below `end`, and gives where it ends; null where it is cut off or larger than 64 bits,
/// and `code` says which. `value` holds its bits, of a signed number in two's complement.
template <varint_form Form>
[[nodiscard, gnu::always_inline]] constexpr const std::byte* read_varint(const std::byte* at, const std::byte* end,
                                                                         std::uint64_t& value, errc& code) noexcept {
  if (at != end && std::to_integer<unsigned>(*at) < 0x80U) [[likely]] {
    // Most numbers have one byte.
    const auto byte = std::to_integer<std::uint64_t>(*at);
    value = Form == varint_form::sleb ? (byte ^ 0x40U) - 0x40U : byte;
    ++at;
  } else {
    at = detail::read_long_varint<Form>(at, end, value, code);
    if (at == nullptr) return nullptr;
  }
  if constexpr (Form == varint_form::zigzag) value = value >> 1 ^ (0 - (value & 1U));
  return at;
}

/// Writes a number of that form by `put(std::byte)`, in as few bytes as it needs.
template <varint_form Form, class Put>
constexpr void write_varint(std::uint64_t value, Put&& put) {
  if constexpr (Form == varint_form::zigzag) value = value << 1 ^ (0 - (value >> 63));
  if constexpr (Form == varint_form::sleb) {
    auto rest = static_cast<std::int64_t>(value);
    for (;;) {
      const auto digits = static_cast<unsigned>(rest & 0x7f);
      rest >>= 7;
      const bool last = rest == ((digits & 0x40U) != 0 ? -1 : 0);
      put(static_cast<std::byte>(last ? digits : digits | 0x80U));
      if (last) return;
    }
  } else {
    for (; value >= 0x80U; value >>= 7) put(static_cast<std::byte>((value & 0x7fU) | 0x80U));
    put(static_cast<std::byte>(value));
  }
}

}  // namespace backsight
