// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The numbers of ELF files that the library knows, by the names of System V gABI, "Object Files".
namespace backsight::elf {

/// Machines (e_machine) that the library knows more about than their number.
enum class machine : std::uint16_t {
  i386 = 3,
  mips = 8,
  ppc = 20,
  ppc64 = 21,
  s390 = 22,
  arm = 40,
  sparc64 = 43,
  x86_64 = 62,
  aarch64 = 183,
  riscv = 243,
};

inline constexpr std::uint32_t segment_load = 1;               ///< PT_LOAD
inline constexpr std::uint32_t segment_note = 4;               ///< PT_NOTE
inline constexpr std::uint32_t segment_eh_frame = 0x6474e550;  ///< PT_GNU_EH_FRAME
inline constexpr std::uint32_t segment_executable = 1;         ///< PF_X
inline constexpr std::uint32_t section_symbols = 2;            ///< SHT_SYMTAB
inline constexpr std::uint32_t section_rela = 4;               ///< SHT_RELA
inline constexpr std::uint32_t section_note = 7;               ///< SHT_NOTE
inline constexpr std::uint32_t section_no_bits = 8;            ///< SHT_NOBITS
inline constexpr std::uint32_t section_rel = 9;                ///< SHT_REL
inline constexpr std::uint32_t section_dynamic_symbols = 11;   ///< SHT_DYNSYM
inline constexpr std::uint64_t section_alloc = 2;              ///< SHF_ALLOC
inline constexpr std::uint64_t section_executable = 4;         ///< SHF_EXECINSTR
inline constexpr std::uint64_t section_compressed = 0x800;     ///< SHF_COMPRESSED
inline constexpr std::uint8_t symbol_function = 2;             ///< STT_FUNC
inline constexpr std::uint8_t symbol_file = 4;                 ///< STT_FILE
inline constexpr std::uint8_t symbol_indirect_function = 10;   ///< STT_GNU_IFUNC
inline constexpr std::uint8_t symbol_local = 0;                ///< STB_LOCAL
inline constexpr std::uint16_t section_undefined = 0;          ///< SHN_UNDEF
inline constexpr std::uint16_t section_reserved = 0xff00;   ///< SHN_LORESERVE: from here on no section has the number.
inline constexpr std::uint16_t section_absolute = 0xfff1;   ///< SHN_ABS
inline constexpr std::uint16_t section_extended = 0xffff;   ///< SHN_XINDEX: the number is in section 0.
inline constexpr std::uint16_t segments_extended = 0xffff;  ///< PN_XNUM: the number of segments is in section 0.
inline constexpr std::uint32_t note_build_id = 3;           ///< NT_GNU_BUILD_ID

}  // namespace backsight::elf
