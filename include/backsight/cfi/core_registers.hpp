// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/arch/arm.hpp>
#include <backsight/cfi/arch/i386.hpp>
#include <backsight/cfi/arch/riscv64.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi {

/// Where the registers of a machine lie among those of a core file's thread, counted in words. Source: struct
/// user_regs_struct (x86), user_pt_regs (AArch64), user_regs (ARM), user_regs_struct (RISC-V) of Linux.
template <class Arch>
struct core_registers;

template <>
struct core_registers<arch::x86_64> {
  static constexpr std::size_t pc = 16;
  /// The place of each register of DWARF.
  static constexpr std::array<std::uint8_t, 16> of{10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0};
};
template <>
struct core_registers<arch::i386> {
  static constexpr std::size_t pc = 12;
  static constexpr std::array<std::uint8_t, 8> of{6, 1, 2, 0, 15, 5, 3, 4};
};
template <>
struct core_registers<arch::aarch64> {
  static constexpr std::size_t pc = 32;
  static constexpr std::array<std::uint8_t, 32> of{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
};
template <>
struct core_registers<arch::arm> {
  static constexpr std::size_t pc = 15;
  static constexpr std::array<std::uint8_t, 16> of{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
};
template <>
struct core_registers<arch::riscv64> {
  static constexpr std::size_t pc = 0;
  /// The pc lies where x0 would, which is always zero.
  static constexpr std::array<std::uint8_t, 32> of{0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                                                   16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
};

/// The innermost frame of a core file's thread from its registers as the kernel lays them out
/// (elf::core_thread::registers); absent where there are too few bytes. Registers that are not among them are lost.
template <class Arch>
[[nodiscard]] constexpr std::optional<frame<Arch>> first_frame(byte_view registers, order byte_order) noexcept {
  using places = core_registers<Arch>;
  constexpr std::size_t size = Arch::address_size;
  const auto word = [&](std::size_t place) {
    return with_order(byte_order, [&](auto o) -> std::uint64_t {
      if constexpr (size == 8) return load<std::uint64_t, o()>(registers.data() + place * size);
      else return load<std::uint32_t, o()>(registers.data() + place * size);
    });
  };
  std::size_t last = places::pc;
  for (const std::uint8_t place : places::of) last = place > last ? place : last;
  if (registers.size() < (last + 1) * size) return std::nullopt;
  frame<Arch> f;
  f.pc = word(places::pc);
  for (std::size_t i = 0; i < f.value.size(); ++i) {
    if (i < places::of.size()) f.value[i] = word(places::of[i]);
    else f.undefined[i / 64] |= std::uint64_t{1} << i % 64;
  }
  if constexpr (Arch::return_address_is_pc) {
    f.value[Arch::return_address] = f.pc;
    f.undefined[Arch::return_address / 64] &= ~(std::uint64_t{1} << Arch::return_address % 64);
  }
  if constexpr (places::pc == 0) f.value[0] = 0;
  return f;
}

}  // namespace backsight::cfi
