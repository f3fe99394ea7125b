// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <backsight/cfi/arch.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi::arch {

/// i386. Register numbers: System V ABI, Intel386 Architecture Processor Supplement, table 2.14.
/// 0 eax 1 ecx 2 edx 3 ebx 4 esp 5 ebp 6 esi 7 edi 8 eip.
struct i386 {
  static constexpr const char* name = "i386";
  static constexpr std::uint16_t elf_machine = 3;
  static constexpr order byte_order = order::little;
  static constexpr unsigned address_size = 4;
  static constexpr unsigned register_count = 9;
  static constexpr unsigned stack_pointer = 4;
  static constexpr unsigned frame_pointer = 5;
  static constexpr unsigned return_address = 8;
  static constexpr std::array<std::uint8_t, 4> saved{3, 5, 6, 7};
  static constexpr bool return_address_is_pc = true;
  static constexpr bool signs_return_addresses = false;
  static constexpr bool pushes_return_addresses = true;
  [[nodiscard]] static constexpr std::uint64_t code_address(std::uint64_t value) noexcept { return value; }
  static constexpr std::int64_t frame_record_offset = 0;
  static constexpr std::int64_t frame_record_return_address = 4;
  static constexpr std::int64_t frame_record_size = 8;
};
static_assert(architecture<i386>);

}  // namespace backsight::cfi::arch
