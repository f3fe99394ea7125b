// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/arch/arm.hpp>
#include <backsight/cfi/arch/i386.hpp>
#include <backsight/cfi/arch/riscv64.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/elf/sections.hpp>

namespace backsight::cfi::arch {

/// A machine of which nothing but its call frame instructions is known: rows can be read, frames cannot be unwound.
struct generic {
  static constexpr const char* name = "generic";
  static constexpr bool signs_return_addresses = false;
};

}  // namespace backsight::cfi::arch

namespace backsight::cfi {

/// Calls `f(architecture)` with the architecture of an ELF machine, or with arch::generic for one that has no header.
template <class F>
constexpr decltype(auto) with_arch(elf::machine machine, F&& f) {
  switch (machine) {
    case elf::machine::x86_64: return f(arch::x86_64{});
    case elf::machine::i386: return f(arch::i386{});
    case elf::machine::aarch64: return f(arch::aarch64{});
    case elf::machine::riscv: return f(arch::riscv64{});
    case elf::machine::arm: return f(arch::arm{});
    default: return f(arch::generic{});
  }
}

}  // namespace backsight::cfi
