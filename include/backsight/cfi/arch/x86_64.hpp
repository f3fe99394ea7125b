// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include <backsight/cfi/arch.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi::arch {

/// x86-64. Register numbers: System V ABI, AMD64 Architecture Processor Supplement, figure 3.36.
/// 0 rax 1 rdx 2 rcx 3 rbx 4 rsi 5 rdi 6 rbp 7 rsp 8..15 r8..r15 16 rip.
struct x86_64 {
  static constexpr const char* name = "x86-64";
  static constexpr std::uint16_t elf_machine = 62;
  static constexpr order byte_order = order::little;
  static constexpr unsigned address_size = 8;
  static constexpr unsigned register_count = 17;
  static constexpr unsigned stack_pointer = 7;
  static constexpr unsigned frame_pointer = 6;
  static constexpr unsigned return_address = 16;
  static constexpr std::array<std::uint8_t, 6> saved{3, 6, 12, 13, 14, 15};
  static constexpr bool return_address_is_pc = true;
  static constexpr bool signs_return_addresses = false;
  static constexpr bool pushes_return_addresses = true;
  [[nodiscard]] static constexpr std::uint64_t code_address(std::uint64_t value) noexcept { return value; }
  static constexpr std::int64_t frame_record_offset = 0;
  static constexpr std::int64_t frame_record_return_address = 8;
  static constexpr std::int64_t frame_record_size = 16;
};
static_assert(architecture<x86_64>);

}  // namespace backsight::cfi::arch
