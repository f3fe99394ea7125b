// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/perf/samples.hpp>

namespace backsight::perf {

/// What perf calls the registers of a CPU. Source: arch/{x86,arm64}/include/uapi/asm/perf_regs.h of Linux.
template <class Arch>
struct register_numbers;

template <>
struct register_numbers<cfi::arch::x86_64> {
  static constexpr unsigned instruction_pointer = 8, stack_pointer = 7;
  /// perf's number of each register of DWARF: BX is 1 and CX is 2 here, as nowhere else.
  static constexpr std::array<std::uint8_t, 17> of{0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};
  static constexpr std::array<const char*, 24> names{"AX", "BX",    "CX",  "DX",  "SI",  "DI",  "BP",  "SP",
                                                     "IP", "FLAGS", "CS",  "SS",  "DS",  "ES",  "FS",  "GS",
                                                     "R8", "R9",    "R10", "R11", "R12", "R13", "R14", "R15"};
};
template <>
struct register_numbers<cfi::arch::aarch64> {
  static constexpr unsigned instruction_pointer = 32, stack_pointer = 31;
  static constexpr std::array<std::uint8_t, 32> of = [] {
    std::array<std::uint8_t, 32> same{};
    for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<std::uint8_t>(i);
    return same;
  }();
  static constexpr std::array<const char*, 33> names{"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",
                                                     "x9",  "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
                                                     "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26",
                                                     "x27", "x28", "x29", "lr",  "sp",  "pc"};
};

/// The innermost frame of a sample's user registers; absent when pc or stack pointer are not among them. Others that
/// were not recorded are lost.
template <class Arch>
[[nodiscard]] constexpr std::optional<cfi::frame<Arch>> first_frame(const register_values& from) noexcept {
  using numbers = register_numbers<Arch>;
  // All at once: to count the bits below each number would take longer than the rest.
  std::array<std::uint64_t, 64> value{};
  std::uint64_t known = 0;
  std::size_t position = 0;
  for (std::uint64_t left = from.mask; left != 0 && position < from.values.size(); left &= left - 1) {
    value[static_cast<std::size_t>(std::countr_zero(left))] = from.values[position++];
    known |= left & (~left + 1);
  }
  const auto has_register = [&](unsigned number) { return (known >> number & 1U) != 0; };
  if (!has_register(numbers::instruction_pointer) || !has_register(numbers::stack_pointer)) return std::nullopt;
  cfi::frame<Arch> f;
  f.pc = value[numbers::instruction_pointer];
  for (std::size_t i = 0; i < numbers::of.size() && i < f.value.size(); ++i) {
    if (has_register(numbers::of[i])) f.value[i] = value[numbers::of[i]];
    else f.undefined[i / 64] |= std::uint64_t{1} << i % 64;
  }
  return f;
}

}  // namespace backsight::perf
