// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <backsight/cfi/arch.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi::arch {

/// RISC-V with 64-bit addresses. Register numbers: RISC-V ELF psABI, "DWARF Register Numbers".
/// 0..31 x0..x31 (1 ra, 2 sp, 8 s0/fp, 9 s1, 18..27 s2..s11), 32..63 f0..f31.
struct riscv64 {
  static constexpr const char* name = "RISC-V 64";
  static constexpr std::uint16_t elf_machine = 243;
  static constexpr order byte_order = order::little;
  static constexpr unsigned address_size = 8;
  static constexpr unsigned register_count = 64;
  static constexpr unsigned stack_pointer = 2;
  static constexpr unsigned frame_pointer = 8;
  static constexpr unsigned return_address = 1;
  static constexpr std::array<std::uint8_t, 24> saved{8,  9,  18, 19, 20, 21, 22, 23, 24, 25, 26, 27,
                                                      40, 41, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59};
  static constexpr bool return_address_is_pc = false;
  static constexpr bool signs_return_addresses = false;
  static constexpr bool pushes_return_addresses = false;
  [[nodiscard]] static constexpr std::uint64_t code_address(std::uint64_t value) noexcept { return value; }
  /// The frame pointer is the CFA: the return address lies 8 below, the frame pointer of the caller 16 below.
  static constexpr std::int64_t frame_record_offset = -16;
  static constexpr std::int64_t frame_record_return_address = 8;
  static constexpr std::int64_t frame_record_size = 16;
};
static_assert(architecture<riscv64>);

}  // namespace backsight::cfi::arch
