// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>

namespace backsight::dwarf {

/// How a pointer of .eh_frame and .eh_frame_hdr is stored: the low four bits are the format, the next three what is
/// added, and the top bit says that the result is the address of the pointer. Source: Linux Standard Base core,
/// "DWARF Exception Header Encoding"; libgcc unwind-pe.h.
struct pointer_encoding {
  std::uint8_t byte = 0;

  static constexpr std::uint8_t omitted_byte = 0xff;
  static constexpr std::uint8_t aligned_byte = 0x50;
  static constexpr std::uint8_t usual_byte = 0x1b;  // pcrel | sdata4: what compilers write nearly everywhere.

  [[nodiscard]] constexpr bool omitted() const noexcept { return byte == omitted_byte; }
  [[nodiscard]] constexpr bool indirect() const noexcept { return !omitted() && (byte & 0x80U) != 0; }
  [[nodiscard]] constexpr unsigned format() const noexcept { return byte & 0x0fU; }
  [[nodiscard]] constexpr unsigned application() const noexcept { return byte & 0x70U; }
  /// The encoding of a length in the same place: the same format, unsigned, with nothing added.
  [[nodiscard]] constexpr pointer_encoding of_range() const noexcept {
    return {static_cast<std::uint8_t>(byte == aligned_byte ? 0 : byte & 0x0fU)};
  }
  [[nodiscard]] friend constexpr bool operator==(pointer_encoding, pointer_encoding) = default;
};

/// What the relative encodings add.
struct pointer_bases {
  std::uint64_t section = 0;   ///< Address of the first byte of the cursor's bytes, for pcrel and aligned.
  std::uint64_t text = 0;      ///< For textrel.
  std::uint64_t data = 0;      ///< For datarel.
  std::uint64_t function = 0;  ///< For funcrel.
};

/// A value and whether it was stored as zero, which stands for "no pointer" whatever is added.
struct encoded_pointer {
  std::uint64_t address = 0;
  bool stored_zero = true;
};

/// Cuts `value` to the address size.
[[nodiscard]] constexpr std::uint64_t wrap(std::uint64_t value, unsigned address_size) noexcept {
  return address_size >= 8 ? value : value & ((std::uint64_t{1} << (address_size * 8)) - 1);
}

namespace detail {

template <order O>
[[nodiscard]] constexpr encoded_pointer read_any_pointer(cursor<O>& from, pointer_encoding encoding,
                                                         unsigned address_size, const pointer_bases& bases) noexcept {
  if (encoding.omitted()) return {};
  if (encoding.byte == pointer_encoding::aligned_byte) {
    const std::uint64_t here = bases.section + from.position();
    from.skip((address_size - here % address_size) % address_size);
    const std::uint64_t value = from.read_unsigned(address_size);
    return {value, value == 0};
  }
  const std::uint64_t field_address = bases.section + from.position();
  std::uint64_t value = 0;
  const auto sign_extended = [](std::uint64_t v, unsigned bytes) {
    const std::uint64_t sign = std::uint64_t{1} << (bytes * 8 - 1);
    return (v ^ sign) - sign;
  };
  switch (encoding.format()) {
    case 0x0: value = from.read_unsigned(address_size); break;
    case 0x1: value = from.uleb128(); break;
    case 0x2: value = from.read_unsigned(2); break;
    case 0x3: value = from.read_unsigned(4); break;
    case 0x4: value = from.read_unsigned(8); break;
    case 0x8: value = sign_extended(from.read_unsigned(address_size), address_size); break;
    case 0x9: value = static_cast<std::uint64_t>(from.sleb128()); break;
    case 0xa: value = sign_extended(from.read_unsigned(2), 2); break;
    case 0xb: value = sign_extended(from.read_unsigned(4), 4); break;
    case 0xc: value = from.read_unsigned(8); break;
    default: from.fail(errc::bad_value); return {};
  }
  const bool stored_zero = value == 0;
  switch (encoding.application()) {
    case 0x00: break;
    case 0x10: value += field_address; break;
    case 0x20: value += bases.text; break;
    case 0x30: value += bases.data; break;
    case 0x40: value += bases.function; break;
    default: from.fail(errc::bad_value); return {};
  }
  return {wrap(value, address_size), stored_zero};
}

}  // namespace detail

/// Reads a pointer. The indirect flag is not followed. Errors of the cursor: errc::truncated, errc::number_too_large,
/// and errc::bad_value for an encoding that is not defined. `address_size` is 2, 4 or 8.
template <order O>
[[nodiscard]] constexpr encoded_pointer read_pointer(cursor<O>& from, pointer_encoding encoding, unsigned address_size,
                                                     const pointer_bases& bases) noexcept {
  if (encoding.byte == pointer_encoding::usual_byte) [[likely]] {
    const std::uint64_t here = bases.section + from.position();
    const std::int64_t value = from.template read<std::int32_t>();
    return {wrap(here + static_cast<std::uint64_t>(value), address_size), value == 0};
  }
  return detail::read_any_pointer(from, encoding, address_size, bases);
}

/// Reads the length that belongs to a pointer of that encoding: the same format read as unsigned, nothing added.
template <order O>
[[nodiscard]] constexpr std::uint64_t read_range(cursor<O>& from, pointer_encoding encoding,
                                                 unsigned address_size) noexcept {
  if (encoding.byte == pointer_encoding::usual_byte) [[likely]]
    return from.template read<std::uint32_t>();
  const pointer_encoding plain = encoding.of_range();
  const std::uint64_t value = read_pointer(from, plain, address_size, {}).address;
  switch (plain.format()) {
    case 0xa: return value & 0xffffU;
    case 0xb: return value & 0xffffffffU;
    case 0x9: return (value >> 63) != 0 ? value & 0xffffffffU : value;
    default: return value;
  }
}

}  // namespace backsight::dwarf
