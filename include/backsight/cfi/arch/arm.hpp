// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <backsight/cfi/arch.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi::arch {

/// 32-bit ARM, little-endian, from .debug_frame. Register numbers: DWARF for the Arm Architecture, table 1.
/// 0..15 r0..r15 (11 fp, 13 sp, 14 lr, 15 pc). Floating-point registers are not tracked.
struct arm {
  static constexpr const char* name = "ARM";
  static constexpr std::uint16_t elf_machine = 40;
  static constexpr order byte_order = order::little;
  static constexpr unsigned address_size = 4;
  static constexpr unsigned register_count = 16;
  static constexpr unsigned stack_pointer = 13;
  static constexpr unsigned frame_pointer = 11;
  static constexpr unsigned return_address = 14;
  static constexpr std::array<std::uint8_t, 8> saved{4, 5, 6, 7, 8, 9, 10, 11};
  static constexpr bool return_address_is_pc = false;
  static constexpr bool signs_return_addresses = false;
  static constexpr bool pushes_return_addresses = false;
  /// Clears the Thumb bit.
  [[nodiscard]] static constexpr std::uint64_t code_address(std::uint64_t value) noexcept {
    return value & ~std::uint64_t{1};
  }
  static constexpr std::int64_t frame_record_offset = 0;
  static constexpr std::int64_t frame_record_return_address = 4;
  static constexpr std::int64_t frame_record_size = 8;
};
static_assert(architecture<arm>);

}  // namespace backsight::cfi::arch
