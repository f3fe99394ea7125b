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

namespace detail {

template <architecture... All>
struct architectures {};

/// All that are known.
using known_architectures = architectures<arch::x86_64, arch::i386, arch::aarch64, arch::riscv64, arch::arm>;

template <class F>
constexpr decltype(auto) with_one_of(elf::machine, architectures<>, F&& f) {
  return f(arch::generic{});
}
template <class F, class First, class... Rest>
constexpr decltype(auto) with_one_of(elf::machine machine, architectures<First, Rest...>, F&& f) {
  if (static_cast<std::uint16_t>(machine) == First::elf_machine) return f(First{});
  return with_one_of(machine, architectures<Rest...>{}, f);
}

}  // namespace detail

/// Calls `f(architecture)` with the architecture of an ELF machine, or with arch::generic for one that has no header.
template <class F>
constexpr decltype(auto) with_arch(elf::machine machine, F&& f) {
  return detail::with_one_of(machine, detail::known_architectures{}, f);
}

}  // namespace backsight::cfi
