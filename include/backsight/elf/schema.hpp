// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/schema.hpp>

// The records of ELF files. Source: System V gABI, "Object Files"; the 32-bit and the 64-bit records hold the same
// members, some in another order.
namespace backsight::elf::wire {

/// The first 16 bytes of every ELF file; they tell class and byte order of the rest.
struct identification {
  static constexpr const char* name = "e_ident";
  static constexpr std::size_t size = 16;
  static constexpr field<"magic0", std::uint8_t> magic0{};
  static constexpr field<"magic1", std::uint8_t> magic1{};
  static constexpr field<"magic2", std::uint8_t> magic2{};
  static constexpr field<"magic3", std::uint8_t> magic3{};
  static constexpr field<"class", std::uint8_t> file_class{};
  static constexpr field<"data", std::uint8_t> data{};
  static constexpr field<"version", std::uint8_t> version{};
  static constexpr field<"osabi", std::uint8_t> osabi{};
  static constexpr field<"abiversion", std::uint8_t> abiversion{};
  static constexpr padding<56> rest{};
  static constexpr layout fields{magic0, magic1, magic2, magic3, file_class, data, version, osabi, abiversion, rest};
};
static_assert(schema<identification>);

/// The file header behind e_ident; Word is the unsigned integer of the file's address size.
template <class Word>
struct file_header {
  static constexpr const char* name = "Ehdr";
  static constexpr field<"e_type", std::uint16_t> type{};
  static constexpr field<"e_machine", std::uint16_t> machine{};
  static constexpr field<"e_version", std::uint32_t> version{};
  static constexpr field<"e_entry", Word> entry{};
  static constexpr field<"e_phoff", Word> phoff{};
  static constexpr field<"e_shoff", Word> shoff{};
  static constexpr field<"e_flags", std::uint32_t> flags{};
  static constexpr field<"e_ehsize", std::uint16_t> ehsize{};
  static constexpr field<"e_phentsize", std::uint16_t> phentsize{};
  static constexpr field<"e_phnum", std::uint16_t> phnum{};
  static constexpr field<"e_shentsize", std::uint16_t> shentsize{};
  static constexpr field<"e_shnum", std::uint16_t> shnum{};
  static constexpr field<"e_shstrndx", std::uint16_t> shstrndx{};
  static constexpr layout fields{type,   machine,   version, entry,     phoff, shoff,   flags,
                                 ehsize, phentsize, phnum,   shentsize, shnum, shstrndx};
};
static_assert(schema<file_header<std::uint32_t>> && size_of<file_header<std::uint32_t>> == 36);
static_assert(schema<file_header<std::uint64_t>> && size_of<file_header<std::uint64_t>> == 48);

/// A section header.
template <class Word>
struct section_header {
  static constexpr const char* name = "Shdr";
  static constexpr field<"sh_name", std::uint32_t> name_offset{};
  static constexpr field<"sh_type", std::uint32_t> type{};
  static constexpr field<"sh_flags", Word> flags{};
  static constexpr field<"sh_addr", Word> address{};
  static constexpr field<"sh_offset", Word> offset{};
  static constexpr field<"sh_size", Word> bytes{};
  static constexpr field<"sh_link", std::uint32_t> link{};
  static constexpr field<"sh_info", std::uint32_t> info{};
  static constexpr field<"sh_addralign", Word> alignment{};
  static constexpr field<"sh_entsize", Word> entry_size{};
  static constexpr layout fields{name_offset, type, flags, address, offset, bytes, link, info, alignment, entry_size};
};
static_assert(schema<section_header<std::uint32_t>> && size_of<section_header<std::uint32_t>> == 40);
static_assert(schema<section_header<std::uint64_t>> && size_of<section_header<std::uint64_t>> == 64);

/// A program header; p_flags lies elsewhere in 32-bit files.
template <class Word>
struct program_header;
template <>
struct program_header<std::uint32_t> {
  static constexpr const char* name = "Phdr";
  static constexpr std::size_t size = 32;
  static constexpr field<"p_type", std::uint32_t> type{};
  static constexpr field<"p_offset", std::uint32_t> offset{};
  static constexpr field<"p_vaddr", std::uint32_t> address{};
  static constexpr field<"p_paddr", std::uint32_t> physical{};
  static constexpr field<"p_filesz", std::uint32_t> file_bytes{};
  static constexpr field<"p_memsz", std::uint32_t> memory_bytes{};
  static constexpr field<"p_flags", std::uint32_t> flags{};
  static constexpr field<"p_align", std::uint32_t> alignment{};
  static constexpr layout fields{type, offset, address, physical, file_bytes, memory_bytes, flags, alignment};
};
template <>
struct program_header<std::uint64_t> {
  static constexpr const char* name = "Phdr";
  static constexpr std::size_t size = 56;
  static constexpr field<"p_type", std::uint32_t> type{};
  static constexpr field<"p_flags", std::uint32_t> flags{};
  static constexpr field<"p_offset", std::uint64_t> offset{};
  static constexpr field<"p_vaddr", std::uint64_t> address{};
  static constexpr field<"p_paddr", std::uint64_t> physical{};
  static constexpr field<"p_filesz", std::uint64_t> file_bytes{};
  static constexpr field<"p_memsz", std::uint64_t> memory_bytes{};
  static constexpr field<"p_align", std::uint64_t> alignment{};
  static constexpr layout fields{type, flags, offset, address, physical, file_bytes, memory_bytes, alignment};
};
static_assert(schema<program_header<std::uint32_t>> && schema<program_header<std::uint64_t>>);

/// A symbol; the order of the members differs by class. Type and binding share st_info, and writers put it together by
/// shifts, so that the type lies in its lower bits in either byte order; so does the visibility in st_other.
template <class Word>
struct symbol;
template <>
struct symbol<std::uint32_t> {
  static constexpr const char* name = "Sym";
  static constexpr std::size_t size = 16;
  static constexpr field<"st_name", std::uint32_t> name_offset{};
  static constexpr field<"st_value", std::uint32_t> value{};
  static constexpr field<"st_size", std::uint32_t> bytes{};
  static constexpr field<"type", std::uint8_t, 4> type{};
  static constexpr field<"binding", std::uint8_t, 4> binding{};
  static constexpr field<"visibility", std::uint8_t, 2> visibility{};
  static constexpr field<"other", std::uint8_t, 6> other{};
  static constexpr field<"st_shndx", std::uint16_t> section{};
  static constexpr layout fields{name_offset, value, bytes, word_lsb<8>(type, binding), word_lsb<8>(visibility, other),
                                 section};
};
template <>
struct symbol<std::uint64_t> {
  static constexpr const char* name = "Sym";
  static constexpr std::size_t size = 24;
  static constexpr field<"st_name", std::uint32_t> name_offset{};
  static constexpr field<"type", std::uint8_t, 4> type{};
  static constexpr field<"binding", std::uint8_t, 4> binding{};
  static constexpr field<"visibility", std::uint8_t, 2> visibility{};
  static constexpr field<"other", std::uint8_t, 6> other{};
  static constexpr field<"st_shndx", std::uint16_t> section{};
  static constexpr field<"st_value", std::uint64_t> value{};
  static constexpr field<"st_size", std::uint64_t> bytes{};
  static constexpr layout fields{
      name_offset, word_lsb<8>(type, binding), word_lsb<8>(visibility, other), section, value, bytes};
};
static_assert(schema<symbol<std::uint32_t>> && schema<symbol<std::uint64_t>>);

/// What every relocation has. Type and symbol share r_info, of which the type takes 8 bits in 32-bit files and 32 in
/// 64-bit ones: the lower ones in either byte order.
template <class Word>
struct relocation_head {
  static constexpr std::size_t type_bits = sizeof(Word) == 8 ? 32 : 8;
  static constexpr field<"r_offset", Word> offset{};
  static constexpr field<"type", std::uint32_t, type_bits> type{};
  static constexpr field<"symbol", std::uint32_t, sizeof(Word) * 8 - type_bits> symbol{};
  static constexpr auto info = word_lsb<sizeof(Word) * 8>(type, symbol);
};

/// A relocation without addend; the addend is what the place holds.
template <class Word>
struct relocation : relocation_head<Word> {
  static constexpr const char* name = "Rel";
  using head = relocation_head<Word>;
  static constexpr layout fields{head::offset, head::info};
};
static_assert(schema<relocation<std::uint32_t>> && schema<relocation<std::uint64_t>>);

/// A relocation with addend.
template <class Word, class Addend>
struct relocation_with_addend : relocation_head<Word> {
  static constexpr const char* name = "Rela";
  using head = relocation_head<Word>;
  static constexpr field<"r_addend", Addend> addend{};
  static constexpr layout fields{head::offset, head::info, addend};
};
static_assert(schema<relocation_with_addend<std::uint32_t, std::int32_t>>);
static_assert(schema<relocation_with_addend<std::uint64_t, std::int64_t>>);

/// The head of a note; name and description follow, each padded to 4 bytes.
struct note_header {
  static constexpr const char* name = "Nhdr";
  static constexpr std::size_t size = 12;
  static constexpr field<"n_namesz", std::uint32_t> name_bytes{};
  static constexpr field<"n_descsz", std::uint32_t> description_bytes{};
  static constexpr field<"n_type", std::uint32_t> type{};
  static constexpr layout fields{name_bytes, description_bytes, type};
};
static_assert(schema<note_header>);

/// The head of a compressed section (SHF_COMPRESSED).
template <class Word>
struct compression_header;
template <>
struct compression_header<std::uint32_t> {
  static constexpr const char* name = "Chdr";
  static constexpr std::size_t size = 12;
  static constexpr field<"ch_type", std::uint32_t> type{};
  static constexpr field<"ch_size", std::uint32_t> bytes{};
  static constexpr field<"ch_addralign", std::uint32_t> alignment{};
  static constexpr layout fields{type, bytes, alignment};
};
template <>
struct compression_header<std::uint64_t> {
  static constexpr const char* name = "Chdr";
  static constexpr std::size_t size = 24;
  static constexpr field<"ch_type", std::uint32_t> type{};
  static constexpr padding<32> reserved{};
  static constexpr field<"ch_size", std::uint64_t> bytes{};
  static constexpr field<"ch_addralign", std::uint64_t> alignment{};
  static constexpr layout fields{type, reserved, bytes, alignment};
};
static_assert(schema<compression_header<std::uint32_t>> && schema<compression_header<std::uint64_t>>);

}  // namespace backsight::elf::wire
