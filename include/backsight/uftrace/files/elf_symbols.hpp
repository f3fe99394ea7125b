// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/text.hpp>
#include <backsight/elf/symbols.hpp>
#include <backsight/uftrace/files/symbols.hpp>

// Symbols from a program or library itself, for those without a .sym file. Source: uftrace's utils/symbol.c
// (load_symtab, load_elf_dynsymtab, update_symtab_using_dynsym, sort_symtab).
namespace backsight::uftrace {

namespace detail {

/// How a .sym file spells the kind of an ELF symbol.
[[nodiscard]] inline char elf_symbol_type(const elf::symbol& s) noexcept {
  constexpr std::uint8_t object = 1, global = 1, weak = 2, unique = 10;
  const bool data = s.type == object;
  switch (s.binding) {
    case elf::symbol_local: return data ? 'd' : 't';
    case global: return data ? 'D' : 'T';
    case weak: return data ? 'v' : 'w';
    case unique: return data ? 'u' : '?';
    default: return '?';
  }
}

[[nodiscard]] inline bool is_named_symbol(const elf::symbol& s) noexcept {
  return s.section != elf::section_undefined && s.size != 0 && (s.is_function() || s.type == 1);
}

/// Sorts by address; symbols at one address keep their order. (Clang 19 warns of libstdc++ 12's stable_sort.)
inline void sort_by_address(std::vector<symbol>& symbols) {
  std::vector<std::size_t> order(symbols.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return symbols[a].address != symbols[b].address ? symbols[a].address < symbols[b].address : a < b;
  });
  std::vector<symbol> sorted;
  sorted.reserve(symbols.size());
  for (const std::size_t i : order) sorted.push_back(symbols[i]);
  symbols = std::move(sorted);
}

/// Of the symbols at one address the last is kept, under the first name, or the first one without an underscore where
/// that begins with one and is not mangled.
inline void keep_one_for_each_address(std::vector<symbol>& symbols) {
  sort_by_address(symbols);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < symbols.size();) {
    std::string_view best = symbols[i].name;
    std::size_t last = i;
    while (last + 1 < symbols.size() && symbols[last + 1].address == symbols[i].address) {
      ++last;
      if (best.starts_with('_') && !best.starts_with("_Z") && !symbols[last].name.starts_with('_'))
        best = symbols[last].name;
    }
    symbols[kept] = symbols[last];
    symbols[kept++].name = best;
    i = last + 1;
  }
  symbols.resize(kept);
}

/// Functions that are called through the global offset table alone have no code of their own: the recorder gives them
/// the addresses of their relocations. x86-64 only, as in uftrace's arch/x86_64/symbol.c.
inline void add_got_symbols(const elf::image& file, const elf::symbol_range& dynamic, std::uint64_t base,
                            std::vector<symbol>& out) {
  constexpr std::uint32_t glob_dat = 6;
  const auto section = file.find_section(".rela.dyn");
  if (file.machine() != elf::machine::x86_64 || !section || section->entry_size == 0) return;
  const auto entries = elf::relocations_of(file, *section);
  if (!entries) return;
  std::uint64_t at = section->address - base;
  for (const elf::relocation r : *entries) {
    if (r.type == glob_dat && r.symbol < dynamic.size()) {
      const elf::symbol s = dynamic[r.symbol];
      if (s.is_function() && !s.name.empty()) out.push_back({at, section->entry_size, s.name, 'P'});
    }
    at += section->entry_size;
  }
}

/// The entries of the procedure linkage table: as many as its relocations, one behind the other.
inline void add_plt_symbols(const elf::image& file, const elf::symbol_range& dynamic, std::uint64_t base,
                            std::vector<symbol>& out) {
  auto relocations = file.find_section(".rela.plt");
  if (!relocations) relocations = file.find_section(".rel.plt");
  const auto second = file.find_section(".plt.sec");
  const auto table = second ? second : file.find_section(".plt");
  if (!relocations || !table) return;
  const auto entries = elf::relocations_of(file, *relocations);
  if (!entries) return;
  std::uint64_t size = table->entry_size, at = table->address - base;
  switch (file.machine()) {
    case elf::machine::arm:
      at += 8;
      size = 12;
      break;
    case elf::machine::aarch64:
      at += 16;
      if (size == 0) size = 16;
      break;
    case elf::machine::i386: size += 12; break;
    case elf::machine::x86_64: size = 16; break;
    default: break;
  }
  // The first entry of .plt belongs to the loader; .plt.sec has none of that.
  if (second) at -= size;
  for (const elf::relocation r : *entries) {
    if (r.symbol >= dynamic.size()) continue;
    const elf::symbol s = dynamic[r.symbol];
    if (s.name.empty()) continue;
    at = s.value != 0 && s.section == elf::section_undefined ? s.value - base : at + size;
    out.push_back({at, size, s.name, 'P'});
  }
}

}  // namespace detail

/// The symbols of an ELF file as a .sym file would hold them: those of .symtab, else of .dynsym, and the entries of the
/// procedure linkage table; addresses relative to the first segment that is loaded. Empty for what is no ELF file or
/// another one: where `build_id` is not empty it must be that of the file. Names are views of `bytes`. Allocates.
[[nodiscard]] inline symbol_table read_elf_symbols(byte_view bytes, std::string_view build_id) {
  const auto file = elf::open(bytes);
  if (!file) return {};
  std::string id;
  (void)text::hex_bytes(std::back_inserter(id), file->build_id());
  if (!build_id.empty() && id != build_id) return {};
  std::uint64_t base = 0;
  for (const elf::segment s : file->segments()) {
    if (s.type != elf::segment_load) continue;
    base = s.address;
    break;
  }
  std::vector<symbol> symbols;
  const elf::symbol_range table = elf::symbols(*file);
  std::uint64_t before = ~std::uint64_t{0};
  for (const elf::symbol s : table) {
    if (!detail::is_named_symbol(s) || s.value == before) continue;
    before = s.value;
    symbols.push_back({s.value - base, s.size, s.name, detail::elf_symbol_type(s)});
  }
  detail::keep_one_for_each_address(symbols);
  elf::symbol_range dynamic;
  for (const elf::section s : file->sections()) {
    if (s.type != elf::section_dynamic_symbols) continue;
    if (const auto found = elf::symbols_of(*file, s)) dynamic = *found;
    break;
  }
  // Names that the loader knows are better than local ones.
  for (const elf::symbol s : dynamic) {
    if (!detail::is_named_symbol(s)) continue;
    const auto at = std::lower_bound(symbols.begin(), symbols.end(), s.value - base,
                                     [](const symbol& a, std::uint64_t address) { return a.address < address; });
    if (at == symbols.end() || at->address != s.value - base) continue;
    const bool worse = !at->name.starts_with('_') && s.name.starts_with('_');
    if (!worse && !(at->name.size() > 1 && at->name[1] == 'Z')) at->name = s.name;
  }
  detail::add_plt_symbols(*file, dynamic, base, symbols);
  detail::add_got_symbols(*file, dynamic, base, symbols);
  detail::sort_by_address(symbols);
  return symbol_table(std::move(symbols));
}

}  // namespace backsight::uftrace
