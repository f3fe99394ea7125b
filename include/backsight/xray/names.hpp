// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <backsight/elf/symbols.hpp>
#include <backsight/xray/instr_map.hpp>

namespace backsight::xray {

/// The names of functions by id, from the traced program; without one, the ids. The program's bytes must outlive it.
/// Names are made when they are asked for first and kept. Not for use by several threads at once.
class function_names {
 public:
  /// Makes a readable name of a linkage name.
  using demangler = std::string (*)(const std::string& linkage_name);

  struct entry {
    /// "#ID" without a program or for an id that its map has not, "@(ADDRESS)" without a symbol, as llvm-xray has it.
    std::string function;
    std::string_view source;  ///< The source file that the symbol table names; empty when there is none.
    bool named = false;       ///< A symbol covers the function's address.
  };

  /// No program.
  function_names() = default;
  /// Reads the instrumentation map and the symbols of a program. Errors: those of elf::open and read_instr_map.
  [[nodiscard]] static result<function_names> open(byte_view program, demangler demangle = nullptr) {
    const auto image = elf::open(program);
    if (!image) return image.error();
    auto map = read_instr_map(*image);
    if (!map) return map.error();
    function_names opened;
    opened.map_ = std::move(map).value();
    opened.symbols_ = elf::symbol_index(*image, elf::symbols(*image));
    opened.demangle_ = demangle;
    return opened;
  }

  /// A program was given and its map knows the id, though maybe no name.
  [[nodiscard]] bool knows(std::uint64_t function) const noexcept {
    return map_.address_of(static_cast<std::uint32_t>(function)).has_value();
  }

  /// What is known of a function; valid as long as this.
  [[nodiscard]] const entry& operator[](std::uint64_t function) const {
    const auto [at, inserted] = known_.try_emplace(function);
    if (inserted) find(function, at->second);
    return at->second;
  }

 private:
  void find(std::uint64_t function, entry& to) const {
    const auto address = map_.address_of(static_cast<std::uint32_t>(function));
    if (!address) {
      to.function = "#" + std::to_string(function);
    } else if (const auto symbol = symbols_.find(*address)) {
      std::string name(symbol->found.name);
      to.function = demangle_ == nullptr ? std::move(name) : demangle_(name);
      to.source = symbol->file;
      to.named = true;
    } else {
      char text[24];
      std::snprintf(text, sizeof text, "@(%llx)", static_cast<unsigned long long>(*address));
      to.function = text;
    }
  }

  instr_map map_;
  elf::symbol_index symbols_;
  demangler demangle_ = nullptr;
  mutable std::unordered_map<std::uint64_t, entry> known_;
};

}  // namespace backsight::xray
