// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/elf/constants.hpp>
#include <backsight/elf/schema.hpp>
#include <backsight/elf/sections.hpp>

namespace backsight::elf {

/// One symbol, widened to 64 bits. Its name points into the file and may be mangled.
struct symbol {
  std::uint32_t index = 0;
  std::string_view name;
  std::uint64_t value = 0;
  std::uint64_t size = 0;
  std::uint8_t type = 0;
  std::uint8_t binding = 0;
  std::uint8_t visibility = 0;
  std::uint16_t section = 0;

  [[nodiscard]] constexpr bool is_function() const noexcept {
    return type == symbol_function || type == symbol_indirect_function;
  }
};

/// One relocation; `addend` is 0 for SHT_REL, where it is what the place holds.
struct relocation {
  std::uint64_t offset = 0;
  std::uint32_t symbol = 0;
  std::uint32_t type = 0;
  std::int64_t addend = 0;
  bool has_addend = false;
};

namespace detail {

struct symbol_source {
  image file{};
  byte_view records{};
  byte_view names{};
  std::size_t stride = 1;

  [[nodiscard]] constexpr std::size_t size() const noexcept { return records.size() / stride; }
  [[nodiscard]] constexpr symbol operator[](std::size_t index) const noexcept {
    return decode(index, [&](std::uint32_t name) { return image::string_at(names, name); });
  }
  /// The same without its name, which is not looked at.
  [[nodiscard]] constexpr symbol unnamed(std::size_t index) const noexcept {
    return decode(index, [](std::uint32_t) { return std::string_view(); });
  }

 private:
  template <class Name>
  [[nodiscard]] constexpr symbol decode(std::size_t index, const Name& name) const noexcept {
    return file.read_as<wire::symbol>(records.data() + index * stride, [&](auto rec) {
      using s = typename decltype(rec)::schema_type;
      return symbol{static_cast<std::uint32_t>(index),
                    name(rec[s::name_offset]),
                    rec[s::value],
                    rec[s::bytes],
                    rec[s::type],
                    rec[s::binding],
                    rec[s::visibility],
                    rec[s::section]};
    });
  }
};

template <class Word>
using rela_of = wire::relocation_with_addend<Word, std::make_signed_t<Word>>;

struct relocation_source {
  image file{};
  byte_view records{};
  std::size_t stride = 1;
  bool has_addend = false;

  [[nodiscard]] constexpr std::size_t size() const noexcept { return records.size() / stride; }
  [[nodiscard]] constexpr relocation operator[](std::size_t index) const noexcept {
    const std::byte* at = records.data() + index * stride;
    relocation found = file.read_as<wire::relocation>(at, [&](auto rec) {
      using s = typename decltype(rec)::schema_type;
      return relocation{rec[s::offset], rec[s::symbol], rec[s::type], 0, has_addend};
    });
    if (has_addend) {
      found.addend = file.read_as<rela_of>(
          at, [](auto rec) { return static_cast<std::int64_t>(rec[decltype(rec)::schema_type::addend]); });
    }
    return found;
  }
};

}  // namespace detail

using symbol_range = indexed_range<detail::symbol_source>;
using relocation_range = indexed_range<detail::relocation_source>;

/// The symbols of a SHT_SYMTAB or SHT_DYNSYM section; a part of a record at its end is left out. A view of the file.
/// Errors: errc::unsupported_type for another section, those of image::section_bytes.
[[nodiscard]] constexpr result<symbol_range> symbols_of(const image& file, const section& table) noexcept {
  if (table.type != section_symbols && table.type != section_dynamic_symbols) {
    return {errc::unsupported_type, table.offset};
  }
  const auto records = file.section_bytes(table);
  if (!records) return records.error();
  byte_view names;
  if (table.link < file.sections().size()) {
    if (const auto found = file.section_bytes(file.sections()[table.link])) names = *found;
  }
  const std::size_t stride = file.size_as<wire::symbol>();
  return symbol_range(detail::symbol_source{file, *records, names, stride});
}

/// The symbols of the file: .symtab, or .dynsym when the file is stripped; empty when there is neither.
[[nodiscard]] constexpr symbol_range symbols(const image& file) noexcept {
  for (const std::uint32_t type : {section_symbols, section_dynamic_symbols}) {
    for (const section s : file.sections()) {
      if (s.type != type) continue;
      if (const auto found = symbols_of(file, s)) return *found;
    }
  }
  return {};
}

/// The relocations of a SHT_REL or SHT_RELA section. Errors as for symbols_of.
[[nodiscard]] constexpr result<relocation_range> relocations_of(const image& file, const section& table) noexcept {
  if (table.type != section_rela && table.type != section_rel) return {errc::unsupported_type, table.offset};
  const auto records = file.section_bytes(table);
  if (!records) return records.error();
  const bool rela = table.type == section_rela;
  const std::size_t word = file.address_size();
  return relocation_range(detail::relocation_source{file, *records, (rela ? 3 : 2) * word, rela});
}

/// A function found by address, and the source file that the symbol table names for it (locals only).
struct located_symbol {
  symbol found;
  std::string_view file;
};

/// The functions of a symbol table, sorted by address for look-up. Owns 12 bytes a function; the file must outlive it.
class symbol_index {
 public:
  symbol_index() = default;

  /// Takes the defined symbols of `table` that lie in code: functions, and untyped symbols of executable sections where
  /// no function begins at the same address. Of several at one address the largest counts, then the last in the table.
  symbol_index(const image& file, const symbol_range& table) : table_(table) {
    for (std::size_t i = 0; i < table.size(); ++i) {
      const symbol s = table[i];
      if (s.type == symbol_file) files_.push_back(static_cast<std::uint32_t>(i));
      if (s.section == section_undefined || s.name.empty()) continue;
      if (!s.is_function() && !(s.type == 0 && in_code(file, s))) continue;
      entries_.push_back({s.value, static_cast<std::uint32_t>(i)});
    }
    std::sort(entries_.begin(), entries_.end(), [&](const entry& a, const entry& b) {
      if (a.address != b.address) return a.address < b.address;
      const symbol x = table_[a.index], y = table_[b.index];
      if (x.is_function() != y.is_function()) return y.is_function();
      if (x.size != y.size) return x.size < y.size;
      return a.index < b.index;
    });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (i + 1 < entries_.size() && entries_[i + 1].address == entries_[i].address) continue;
      entries_[kept++] = entries_[i];
    }
    entries_.resize(kept);
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

  /// The function that covers a link-time address; one of size 0 reaches up to the next. Costs a binary search.
  [[nodiscard]] std::optional<located_symbol> find(std::uint64_t address) const noexcept {
    auto at = std::upper_bound(entries_.begin(), entries_.end(), address,
                               [](std::uint64_t a, const entry& e) { return a < e.address; });
    if (at == entries_.begin()) return std::nullopt;
    --at;
    const symbol s = table_[at->index];
    if (s.size != 0 && address - s.value >= s.size) return std::nullopt;
    return located_symbol{s, file_of(at->index)};
  }

 private:
  struct entry {
    std::uint64_t address = 0;
    std::uint32_t index = 0;
  };

  [[nodiscard]] static bool in_code(const image& file, const symbol& s) noexcept {
    if (s.section >= file.sections().size()) return false;
    // $a, $d, $t, $x mark code and data on ARM and RISC-V and are no functions.
    if (s.name.front() == '$') return false;
    return (file.sections()[s.section].flags & section_executable) != 0;
  }
  [[nodiscard]] std::string_view file_of(std::uint32_t index) const noexcept {
    // A STT_FILE symbol precedes the other local symbols of its file (gABI, "Symbol Table").
    if (table_[index].binding != symbol_local) return {};
    const auto after = std::upper_bound(files_.begin(), files_.end(), index);
    return after == files_.begin() ? std::string_view{} : table_[after[-1]].name;
  }

  symbol_range table_;
  std::vector<entry> entries_;
  std::vector<std::uint32_t> files_;
};

}  // namespace backsight::elf
