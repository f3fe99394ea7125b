// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>

namespace backsight::memtrace {

/// The bytes of an x86 instruction that say what it does, without its prefixes, operands and immediate values: one to
/// three bytes of a legacy opcode (`89`, `0f 84`, `0f 38 f0`), or the opcode of a VEX, EVEX or XOP instruction behind
/// the map that it is in, spelled as the legacy escape of that map. Prefixes that are part of an opcode (66, f2, f3)
/// are left out too.
struct x86_opcode {
  std::array<std::byte, 3> bytes{};
  std::uint8_t size = 0;  ///< 0 when the bytes end before the opcode
  [[nodiscard]] friend constexpr bool operator==(const x86_opcode&, const x86_opcode&) = default;
};

/// Finds it. `is_64` tells the REX prefixes of 64-bit code from the one-byte INC and DEC of 32-bit code.
[[nodiscard]] constexpr x86_opcode x86_opcode_of(byte_view code, bool is_64 = true) noexcept {
  constexpr std::uint8_t prefixes[]{0x66, 0x67, 0xf2, 0xf3, 0xf0, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65};
  const auto at = [&](std::size_t i) { return std::to_integer<std::uint8_t>(code[i]); };
  std::size_t i = 0;
  const auto is_prefix = [&](std::uint8_t byte) {
    for (const std::uint8_t one : prefixes) {
      if (byte == one) return true;
    }
    return false;
  };
  while (i < code.size() && is_prefix(at(i))) ++i;
  if (is_64 && i < code.size() && (at(i) & 0xf0U) == 0x40) ++i;
  if (i == code.size()) return {};
  // Behind these bytes stands the opcode, in a map that they name: 1 is 0f, 2 is 0f 38, 3 is 0f 3a. In 32-bit code they
  // are other instructions when the next byte is not one that names registers.
  const std::uint8_t first = at(i);
  const bool escapes = i + 1 < code.size() && (is_64 || (at(i + 1) & 0xc0U) == 0xc0);
  const auto in_map = [&](std::size_t skipped, unsigned map) -> x86_opcode {
    if (i + skipped >= code.size()) return {};
    const std::byte opcode = code[i + skipped];
    if (map == 1) return {{std::byte{0x0f}, opcode}, 2};
    if (map == 2) return {{std::byte{0x0f}, std::byte{0x38}, opcode}, 3};
    if (map == 3) return {{std::byte{0x0f}, std::byte{0x3a}, opcode}, 3};
    return {{std::byte{static_cast<std::uint8_t>(map)}, opcode}, 2};
  };
  if (first == 0xc5 && escapes) return in_map(2, 1);
  if (first == 0xc4 && escapes) return in_map(3, at(i + 1) & 0x1fU);
  if (first == 0x62 && escapes) return in_map(4, at(i + 1) & 0x07U);
  if (first == 0x8f && i + 1 < code.size() && (at(i + 1) & 0x1fU) >= 8) return in_map(3, at(i + 1) & 0x1fU);
  if (first != 0x0f) return {{code[i]}, 1};
  if (i + 1 == code.size()) return {};
  const std::uint8_t second = at(i + 1);
  if (second != 0x38 && second != 0x3a) return {{code[i], code[i + 1]}, 2};
  return i + 2 == code.size() ? x86_opcode{} : x86_opcode{{code[i], code[i + 1], code[i + 2]}, 3};
}

}  // namespace backsight::memtrace
