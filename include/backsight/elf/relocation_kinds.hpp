// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <backsight/elf/sections.hpp>

namespace backsight::elf {

/// What a relocation of a machine does to its place. S is the symbol's address, A the addend, P the place's address, V
/// what the place holds.
struct relocation_kind {
  enum class action : std::uint8_t {
    unknown,
    none,
    absolute,       // S + A
    relative,       // S + A - P
    add,            // V + S + A
    subtract,       // V - S - A
    set,            // S + A, cut to the width
    set6,           // S + A in the lower six bits
    subtract6,      // V - S - A in the lower six bits
    set_uleb,       // the first of a pair: S + A
    subtract_uleb,  // the second: what the first gave - S - A, as an unsigned LEB128 number of the length that is there
  };
  action what = action::unknown;
  std::uint8_t bytes = 0;
};

/// The kinds of relocations that assemblers emit for call frame information. Sources: the processor supplements of the
/// System V ABI for AMD64, i386, AArch64, ARM ("ELF for the Arm Architecture"), z/Architecture and RISC-V.
[[nodiscard]] constexpr relocation_kind kind_of(machine of, std::uint32_t type) noexcept {
  using enum relocation_kind::action;
  switch (of) {
    case machine::x86_64:
      switch (type) {
        case 0: return {none, 0};       // R_X86_64_NONE
        case 1: return {absolute, 8};   // R_X86_64_64
        case 2: return {relative, 4};   // R_X86_64_PC32
        case 10:                        // R_X86_64_32
        case 11: return {absolute, 4};  // R_X86_64_32S
        case 24: return {relative, 8};  // R_X86_64_PC64
        default: return {};
      }
    case machine::i386:
      switch (type) {
        case 0: return {none, 0};      // R_386_NONE
        case 1: return {absolute, 4};  // R_386_32
        case 2: return {relative, 4};  // R_386_PC32
        default: return {};
      }
    case machine::aarch64:
      switch (type) {
        case 0:
        case 256: return {none, 0};      // R_AARCH64_NONE, in both its forms
        case 257: return {absolute, 8};  // R_AARCH64_ABS64
        case 258: return {absolute, 4};  // R_AARCH64_ABS32
        case 260: return {relative, 8};  // R_AARCH64_PREL64
        case 261: return {relative, 4};  // R_AARCH64_PREL32
        default: return {};
      }
    case machine::arm:
      switch (type) {
        case 0: return {none, 0};      // R_ARM_NONE
        case 2: return {absolute, 4};  // R_ARM_ABS32
        case 3: return {relative, 4};  // R_ARM_REL32
        default: return {};
      }
    case machine::s390:
      switch (type) {
        case 0: return {none, 0};       // R_390_NONE
        case 4: return {absolute, 4};   // R_390_32
        case 5: return {relative, 4};   // R_390_PC32
        case 22: return {absolute, 8};  // R_390_64
        case 23: return {relative, 8};  // R_390_PC64
        default: return {};
      }
    case machine::riscv:
      switch (type) {
        case 0:
        case 51: return {none, 0};           // R_RISCV_NONE, R_RISCV_RELAX
        case 1: return {absolute, 4};        // R_RISCV_32
        case 2: return {absolute, 8};        // R_RISCV_64
        case 33: return {add, 1};            // R_RISCV_ADD8
        case 34: return {add, 2};            // R_RISCV_ADD16
        case 35: return {add, 4};            // R_RISCV_ADD32
        case 36: return {add, 8};            // R_RISCV_ADD64
        case 37: return {subtract, 1};       // R_RISCV_SUB8
        case 38: return {subtract, 2};       // R_RISCV_SUB16
        case 39: return {subtract, 4};       // R_RISCV_SUB32
        case 40: return {subtract, 8};       // R_RISCV_SUB64
        case 52: return {subtract6, 1};      // R_RISCV_SUB6
        case 53: return {set6, 1};           // R_RISCV_SET6
        case 54: return {set, 1};            // R_RISCV_SET8
        case 55: return {set, 2};            // R_RISCV_SET16
        case 56: return {set, 4};            // R_RISCV_SET32
        case 57: return {relative, 4};       // R_RISCV_32_PCREL
        case 60: return {set_uleb, 1};       // R_RISCV_SET_ULEB128
        case 61: return {subtract_uleb, 1};  // R_RISCV_SUB_ULEB128
        default: return {};
      }
    default: return {};
  }
}

/// A section of an object file (ET_REL) that relocations are to be applied to before its bytes mean anything.
[[nodiscard]] constexpr bool needs_relocation(const image& file, const section& s) noexcept {
  constexpr std::uint16_t relocatable = 1;
  if (file.type() != relocatable) return false;
  for (const section r : file.sections()) {
    if ((r.type == section_rela || r.type == section_rel) && r.info == s.index && r.size != 0) return true;
  }
  return false;
}

}  // namespace backsight::elf
