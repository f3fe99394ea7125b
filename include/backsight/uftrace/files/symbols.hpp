// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/core/lines.hpp>

// The files *.sym. Source: uftrace's utils/symbol.c.
namespace backsight::uftrace {

/// One symbol of an object file. The name is a view into the file's bytes, as the file spells it.
struct symbol {
  std::uint64_t address = 0;  ///< relative to the object file's first mapping
  std::uint64_t size = 0;
  std::string_view name;
  char type = 0;  ///< T t w functions, P entries of the procedure linkage table, K kernel, D d v u data
};

/// The symbols of an object file, sorted by address. Copies share them.
class symbol_table {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  symbol_table() = default;
  /// The table of these symbols, which are sorted by address.
  explicit symbol_table(std::vector<symbol> sorted)
      : symbols_(std::make_shared<const std::vector<symbol>>(std::move(sorted))) {}

  /// The index of the symbol that covers `address`, or none. A binary search.
  [[nodiscard]] std::size_t find(std::uint64_t address) const noexcept {
    const std::vector<symbol>& all = *symbols_;
    const auto after = std::upper_bound(all.begin(), all.end(), address,
                                        [](std::uint64_t a, const symbol& s) { return a < s.address; });
    if (after == all.begin()) return none;
    const auto index = static_cast<std::size_t>(after - all.begin()) - 1;
    return address - all[index].address < all[index].size ? index : none;
  }
  [[nodiscard]] const std::vector<symbol>& symbols() const noexcept { return *symbols_; }
  /// The path of the object file and its build-id as the file's comments tell them; empty where they do not.
  [[nodiscard]] std::string_view path() const noexcept { return path_; }
  [[nodiscard]] std::string_view build_id() const noexcept { return build_id_; }
  /// Lines that are not symbols.
  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return faults_; }

 private:
  friend symbol_table read_symbols(byte_view bytes);
  std::shared_ptr<const std::vector<symbol>> symbols_ = std::make_shared<const std::vector<symbol>>();
  std::string_view path_, build_id_;
  std::vector<fault> faults_;
};

/// Path and build-id from the comments at the start of a .sym or .dbg file.
struct object_identity {
  std::string_view path, build_id;
};
[[nodiscard]] inline object_identity read_object_identity(byte_view bytes) noexcept {
  object_identity identity;
  text::lines text(text::as_text(bytes));
  while (text.next()) {
    std::string_view line = text.line();
    if (!line.starts_with('#')) break;
    if (text::take(line, "# path name: ")) identity.path = line;
    else if (text::take(line, "# build-id: ")) identity.build_id = line;
  }
  return identity;
}

namespace detail {

/// `sys_read` is better than `SyS_read`, `__x64_sys_read` better than `__ia32_sys_read`.
[[nodiscard]] inline bool is_better_call_name(std::string_view name, std::string_view than) noexcept {
  if (name.starts_with("sys_") && than.starts_with("SyS_")) return name.substr(4) == than.substr(4);
  return name.starts_with("__x64") && than.starts_with("__ia32") && name.substr(5) == than.substr(6);
}

}  // namespace detail

/// Reads a .sym file, with or without sizes, or a copy of /proc/kallsyms. Allocates the table.
[[nodiscard]] inline symbol_table read_symbols(byte_view bytes) {
  symbol_table table;
  const object_identity identity = read_object_identity(bytes);
  table.path_ = identity.path;
  table.build_id_ = identity.build_id;
  text::lines text(text::as_text(bytes));
  std::uint64_t last_address = ~std::uint64_t{0};
  char last_type = 0;
  std::vector<symbol> symbols;
  symbols.reserve(bytes.size() / 40);
  std::uint64_t promised = 0,
                lines = 0;  // The number that the file tells leaves out end marks, so there can be more lines.
  while (text.next()) {
    std::string_view rest = text.line();
    if (text::take(rest, "# symbols: ")) promised = text::take_number(rest, 10).value_or(0);
    if (rest.empty() || text.line().front() == '#') continue;
    ++lines;
    const auto bad = [&] { table.faults_.push_back({errc::bad_text, text.offset(), text.line().size() + 1}); };
    symbol item;
    const auto address = text::take_number(rest, 16);
    if (!address || !text::take(rest, " ") || rest.empty()) {
      bad();
      continue;
    }
    item.address = *address;
    // A digit cannot be a type, so it begins a size.
    if (rest.front() >= '0' && rest.front() <= '9') {
      const auto size = text::take_number(rest, 16);
      if (!size || !text::take(rest, " ")) {
        bad();
        continue;
      }
      item.size = *size;
    }
    if (rest.size() < 3 || rest[1] != ' ') {
      bad();
      continue;
    }
    item.type = rest.front();
    item.name = rest.substr(2);
    item.name = item.name.substr(0, item.name.find('\t'));  // Kernel modules are named behind a tab.
    if (item.address == last_address && item.type == last_type) {
      // Of the names of a system call the one that is the same on all machines is kept.
      if (!symbols.empty() && detail::is_better_call_name(item.name, symbols.back().name))
        symbols.back().name = item.name;
      continue;
    }
    last_address = item.address;
    last_type = item.type;
    if (!symbols.empty() && symbols.back().size == 0 && item.address > symbols.back().address) {
      symbols.back().size = item.address - symbols.back().address;
    }
    const bool end_mark =
        item.type == '?' || item.name == "__sym_end" || item.name == "__dynsym_end" || item.name == "__func_end";
    constexpr std::string_view types = "TtwPKDdvu";
    if (!end_mark && types.find(item.type) != std::string_view::npos) symbols.push_back(item);
  }
  if (lines < promised || text::cut_at(text::as_text(bytes)))
    table.faults_.push_back({errc::truncated, bytes.size(), 0});
  // Names are views of one text, so where they are tells the order of the lines. (Clang 19 warns of libstdc++ 12's
  // stable_sort.)
  std::sort(symbols.begin(), symbols.end(), [](const symbol& a, const symbol& b) {
    return a.address != b.address ? a.address < b.address : a.name.data() < b.name.data();
  });
  table.symbols_ = std::make_shared<const std::vector<symbol>>(std::move(symbols));
  return table;
}

}  // namespace backsight::uftrace
