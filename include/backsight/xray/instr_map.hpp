// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <backsight/elf/sections.hpp>
#include <backsight/elf/symbols.hpp>

namespace backsight::xray {

/// What a sled is for. Source: compiler-rt/lib/xray/xray_interface_internal.h.
enum class sled_kind : std::uint8_t {
  enter = 0,
  exit = 1,
  tail_exit = 2,
  log_args_enter = 3,
  custom_event = 4,
  typed_event = 5
};

[[nodiscard]] constexpr const char* enumerator_name(sled_kind kind) noexcept {
  switch (kind) {
    case sled_kind::enter: return "enter";
    case sled_kind::exit: return "exit";
    case sled_kind::tail_exit: return "tail_exit";
    case sled_kind::log_args_enter: return "log_args_enter";
    case sled_kind::custom_event: return "custom_event";
    case sled_kind::typed_event: return "typed_event";
  }
  return nullptr;
}

/// One entry of the ELF section xray_instr_map: 32 bytes in 64-bit files, 16 in 32-bit ones.
/// Source: llvm/lib/XRay/InstrumentationMap.cpp and xray_interface_internal.h.
template <class Word>
struct sled_entry {
  static constexpr const char* name = "sled";
  static constexpr std::size_t size = sizeof(Word) * 4;
  static constexpr field<"address", Word> address{};
  static constexpr field<"function", Word> function{};
  static constexpr field<"kind", sled_kind> kind{};
  static constexpr field<"always_instrument", std::uint8_t> always_instrument{};
  static constexpr field<"version", std::uint8_t> version{};
  static constexpr layout fields{address,           function, kind,
                                 always_instrument, version,  padding<(sizeof(Word) * 2 - 3) * 8>{}};
};
static_assert(schema<sled_entry<std::uint32_t>> && schema<sled_entry<std::uint64_t>>);

/// A place in the program that the recorder patches; link-time addresses.
struct sled {
  std::uint64_t address = 0;
  std::uint64_t function = 0;
  std::uint32_t function_id = 0;
  sled_kind kind{};
  bool always_instrument = false;
  std::uint8_t version = 0;
};

/// The instrumentation map of a program: its sleds, and the address of the function of each id.
/// Owns 32 bytes a sled and 8 a function; nothing points into the file.
class instr_map {
 public:
  [[nodiscard]] const std::vector<sled>& sleds() const noexcept { return sleds_; }
  /// Ids run from 1 to this number.
  [[nodiscard]] std::size_t function_count() const noexcept { return functions_.size(); }
  /// The link-time address of the function of that id; nothing when the map has no such id.
  [[nodiscard]] std::optional<std::uint64_t> address_of(std::uint32_t function_id) const noexcept {
    if (function_id == 0 || function_id > functions_.size()) return std::nullopt;
    return functions_[function_id - 1];
  }

 private:
  friend result<instr_map> read_instr_map(const elf::image& file);
  std::vector<sled> sleds_;
  std::vector<std::uint64_t> functions_;
};

namespace detail {

/// Words of the map that the linker or loader fills in, by their place in the section.
class relocated_words {
 public:
  relocated_words(const elf::image& file, const elf::section& map) : word_(file.address_size()) {
    constexpr std::uint16_t relocatable = 1;  // ET_REL
    for (const elf::section s : file.sections()) {
      if (s.type != elf::section_rela) continue;
      const bool of_map =
          file.type() == relocatable ? s.info == map.index : s.info == 0 || (s.flags & elf::section_alloc) != 0;
      if (!of_map) continue;
      const auto relocations = elf::relocations_of(file, s);
      if (!relocations) continue;
      const std::uint64_t base = file.type() == relocatable ? 0 : map.address;
      elf::symbol_range symbols;
      if (s.link < file.sections().size()) {
        if (const auto table = elf::symbols_of(file, file.sections()[s.link])) symbols = *table;
      }
      for (const elf::relocation r : *relocations) {
        const std::uint64_t place = r.offset - base;
        if (place >= map.size) continue;
        values_.resize(static_cast<std::size_t>(map.size / word_) + 1);
        std::uint64_t value = static_cast<std::uint64_t>(r.addend);
        if (r.symbol != 0 && r.symbol < symbols.size()) value += symbols[r.symbol].value;
        if (is_relative_to_place(file.machine(), r.type)) value -= map.address + place;
        if (place % word_ == 0) values_[static_cast<std::size_t>(place / word_)] = value;
      }
    }
  }
  [[nodiscard]] std::uint64_t value_or(std::uint64_t place, std::uint64_t stored) const noexcept {
    const auto index = static_cast<std::size_t>(place / word_);
    if (index >= values_.size() || !values_[index]) return stored;
    return *values_[index];
  }

 private:
  [[nodiscard]] static bool is_relative_to_place(elf::machine machine, std::uint32_t type) noexcept {
    return (machine == elf::machine::x86_64 && type == 24) ||  // R_X86_64_PC64
           (machine == elf::machine::aarch64 && type == 260);  // R_AARCH64_PREL64
  }

  std::size_t word_;
  std::vector<std::optional<std::uint64_t>> values_;
};

}  // namespace detail

/// Reads the section xray_instr_map. Entries of version 2 and later hold addresses relative to their own place; those
/// of versions 0 and 1 hold absolute ones, which in position-independent and relocatable files lie in relocations. Ids
/// count from 1 and grow whenever the function differs from that of the entry before. One pass over the section.
/// Errors: errc::missing_section; errc::bad_size when the section is no whole number of entries; errc::bad_value for an
/// unknown kind of sled (the map up to there is kept); those of elf::image::section_bytes.
[[nodiscard]] inline result<instr_map> read_instr_map(const elf::image& file) {
  const auto section = file.find_section("xray_instr_map");
  if (!section) return {errc::missing_section, 0};
  const auto bytes = file.section_bytes(*section);
  if (!bytes) return bytes.error();
  const std::size_t word = file.address_size();
  const std::size_t entry = word == 8 ? size_of<sled_entry<std::uint64_t>> : size_of<sled_entry<std::uint32_t>>;
  if (bytes->size() % entry != 0) return {errc::bad_size, section->offset};
  const std::uint64_t mask = word == 8 ? ~std::uint64_t{0} : 0xffffffffU;

  const detail::relocated_words relocated(file, *section);
  instr_map map;
  map.sleds_.reserve(bytes->size() / entry);
  for (std::size_t at = 0; at < bytes->size(); at += entry) {
    sled found = file.read_as<sled_entry>(bytes->data() + at, [&](auto raw) {
      using s = typename decltype(raw)::schema_type;
      return sled{.address = relocated.value_or(at, raw[s::address]),
                  .function = relocated.value_or(at + word, raw[s::function]),
                  .kind = raw[s::kind],
                  .always_instrument = raw[s::always_instrument] != 0,
                  .version = raw[s::version]};
    });
    if (found.kind > sled_kind::typed_event)
      return {std::move(map), trace_error{errc::bad_value, section->offset + at}};
    if (found.version >= 2) {
      found.address = (found.address + section->address + at) & mask;
      found.function = (found.function + section->address + at + word) & mask;
    }
    if (map.functions_.empty() || map.functions_.back() != found.function) map.functions_.push_back(found.function);
    found.function_id = static_cast<std::uint32_t>(map.functions_.size());
    map.sleds_.push_back(found);
  }
  return map;
}

}  // namespace backsight::xray
