// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <backsight/cfi/arch.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi::arch {

/// AArch64, little-endian. Register numbers: DWARF for the Arm 64-bit Architecture, section 4.1.
/// 0..30 x0..x30, 31 sp, 32 pc, 34 RA_SIGN_STATE, 64..95 v0..v31. A frame holds the low halves of v8..v15 too.
struct aarch64 {
  static constexpr const char* name = "AArch64";
  static constexpr std::uint16_t elf_machine = 183;
  static constexpr order byte_order = order::little;
  static constexpr unsigned address_size = 8;
  static constexpr unsigned register_count = 80;
  static constexpr unsigned stack_pointer = 31;
  static constexpr unsigned frame_pointer = 29;
  static constexpr unsigned return_address = 30;
  static constexpr std::array<std::uint8_t, 19> saved{19, 20, 21, 22, 23, 24, 25, 26, 27, 28,
                                                      29, 72, 73, 74, 75, 76, 77, 78, 79};
  static constexpr bool return_address_is_pc = false;
  static constexpr bool signs_return_addresses = true;
  static constexpr bool pushes_return_addresses = false;
  /// Clears what pointer authentication adds to an address of user space: bits 48 to 54 and 56 to 63; bit 55 selects
  /// the half of the address space and is what they are filled with (Arm ARM, "Pointer authentication").
  [[nodiscard]] static constexpr std::uint64_t code_address(std::uint64_t value) noexcept {
    constexpr std::uint64_t signature = 0xffff000000000000U;
    return (value & (std::uint64_t{1} << 55)) != 0 ? value | signature : value & ~signature;
  }
  static constexpr std::int64_t frame_record_offset = 0;
  static constexpr std::int64_t frame_record_return_address = 8;
  static constexpr std::int64_t frame_record_size = 16;
};
static_assert(architecture<aarch64>);

}  // namespace backsight::cfi::arch
