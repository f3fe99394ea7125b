// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace backsight::emit::unwinder_c {

/// Which registers emitted code recovers.
enum class registers : std::uint8_t {
  return_address,  ///< Return address, stack and frame pointer, rbx or its like, and what the object's CFAs read.
  all,             ///< Every register that a context holds.
};

/// Where a context of emitted code holds the registers of a machine: slot 0 is the pc, 1 the stack pointer, 2 the frame
/// pointer, 3 rbx (x86) or the link register; then the others by number, those from 32 on only when callees preserve
/// them.
template <class Arch>
struct slots {
  static constexpr std::uint8_t none = 0xff;
  static constexpr std::size_t pc = 0, stack_pointer = 1, frame_pointer = 2, base = 3;
  static constexpr unsigned base_register = Arch::return_address_is_pc ? 3 : Arch::return_address;

  struct numbering {
    std::array<std::uint8_t, Arch::register_count> slot_of{};
    std::array<std::uint8_t, Arch::register_count + 1> register_of{};
    std::size_t count = 4;
  };
  static constexpr numbering numbers = [] {
    numbering n;
    n.slot_of.fill(none);
    n.register_of.fill(none);
    if (Arch::return_address_is_pc) n.slot_of[Arch::return_address] = pc, n.register_of[pc] = Arch::return_address;
    const auto put = [&](unsigned reg, std::size_t slot) {
      n.slot_of[reg] = static_cast<std::uint8_t>(slot);
      n.register_of[slot] = static_cast<std::uint8_t>(reg);
    };
    put(Arch::stack_pointer, stack_pointer);
    put(Arch::frame_pointer, frame_pointer);
    put(base_register, base);
    for (unsigned reg = 0; reg < Arch::register_count && reg < 32; ++reg) {
      if (n.slot_of[reg] == none) put(reg, n.count++);
    }
    for (const std::uint8_t reg : Arch::saved) {
      if (n.slot_of[reg] == none) put(reg, n.count++);
    }
    return n;
  }();
  static constexpr std::size_t count = numbers.count;
  static_assert(count <= 60);

  /// The slot of a register; `none` when contexts do not hold it.
  [[nodiscard]] static constexpr std::uint8_t of(std::uint64_t reg) noexcept {
    return reg < Arch::register_count ? numbers.slot_of[static_cast<std::size_t>(reg)] : none;
  }
  /// The bit of a slot among the flags of a context: the first four are the seed's, bit 7 says error, 4 and 5 are
  /// below.
  [[nodiscard]] static constexpr std::uint64_t flag(std::size_t slot) noexcept {
    return std::uint64_t{1} << (slot < 4 ? slot : slot + 4);
  }
};

/// Bits of a context's flags besides those of registers.
inline constexpr std::uint64_t flag_pc_is_next = 0x10, flag_end = 0x20, flag_error = 0x80;

}  // namespace backsight::emit::unwinder_c
