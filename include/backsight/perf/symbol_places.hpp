// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <backsight/elf/sections.hpp>
#include <backsight/elf/symbols.hpp>
#include <backsight/perf/symbol_table.hpp>

namespace backsight::perf {

namespace detail {

/// Marks of code and data inside of functions.
[[nodiscard]] inline bool is_mark(std::string_view name, elf::machine machine) noexcept {
  if (machine != elf::machine::arm && machine != elf::machine::aarch64 && machine != elf::machine::riscv) return false;
  return name.size() >= 2 && name[0] == '$' && (name.size() == 2 || name[2] == '.') &&
         std::string_view("adtx").find(name[1]) != std::string_view::npos;
}

}  // namespace detail

/// Turns link-time addresses of a file into places in it: the address itself where no segment has it.
class file_places {
 public:
  file_places() = default;
  explicit file_places(const elf::image& file) {
    for (const elf::segment s : file.segments()) {
      if (s.type != elf::segment_load) continue;
      const std::uint64_t size = std::max(s.memory_size, s.file_size);
      parts_.push_back({s.address, size, s.offset});
      if (size <= ~s.offset) end_ = std::max(end_, s.offset + size);
    }
  }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t address) const noexcept {
    for (const part& one : parts_) {
      if (address >= one.address && address - one.address < one.size) return address - one.address + one.offset;
    }
    return address;
  }
  /// Behind the last place that a segment has.
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }

 private:
  struct part {
    std::uint64_t address, size, offset;
  };
  std::vector<part> parts_;
  std::uint64_t end_ = 0;
};

/// The symbols of code and data of one table of an ELF file by where they lie, without reading their names or sorting
/// them: they are dealt into buckets, and what is asked for is looked for in one. Twice a pass over the table, 5 bytes
/// for each symbol.
class symbol_places {
 public:
  symbol_places() = default;
  /// Those of the table of that kind (elf::section_symbols, elf::section_dynamic_symbols) in `symbols`, the mapped file
  /// itself or a file of debug information for it, by their places in the mapped file. The bytes of `symbols` must
  /// outlive this.
  symbol_places(const elf::image& symbols, const elf::image& mapped, std::uint32_t kind)
      : place_(mapped), machine_(symbols.machine()) {
    const auto sections = symbols.sections();
    for (const elf::section table : sections) {
      if (table.type != kind) continue;
      const auto found = elf::symbols_of(symbols, table);
      if (!found) continue;
      list_ = *found;
      for (const elf::section s : sections) use_of_.push_back(use_of(s));
      deal();
      return;
    }
  }

  [[nodiscard]] bool empty() const noexcept { return order_.empty(); }

  /// The last place at or before `offset` at which a symbol begins.
  [[nodiscard]] std::optional<std::uint64_t> at_or_before(std::uint64_t offset) const noexcept {
    if (empty()) return std::nullopt;
    for (std::size_t bucket = bucket_of(offset);;) {
      std::optional<std::uint64_t> best;
      for (std::size_t i = last_at_or_before(bucket, offset); i-- > begins_[bucket];) {
        const std::uint64_t at = place_of(i);
        if (at > offset || (best && at <= *best) || !is_named(list_[order_[i]])) continue;
        best = at;
        if (is_sorted(bucket)) break;
      }
      if (best || begins_[bucket] == 0) return best;
      bucket = bucket_of(place_of(begins_[bucket] - 1));
    }
  }
  /// The first place behind `offset` at which a symbol begins.
  [[nodiscard]] std::optional<std::uint64_t> behind(std::uint64_t offset) const noexcept {
    if (empty()) return std::nullopt;
    for (std::size_t bucket = bucket_of(offset);;) {
      std::optional<std::uint64_t> best;
      for (std::size_t i = is_sorted(bucket) ? last_at_or_before(bucket, offset) : begins_[bucket];
           i < begins_[bucket + 1]; ++i) {
        const std::uint64_t at = place_of(i);
        if (at <= offset || (best && at >= *best) || !is_named(list_[order_[i]])) continue;
        best = at;
        if (is_sorted(bucket)) break;
      }
      if (best || begins_[bucket + 1] == order_.size()) return best;
      bucket = bucket_of(place_of(begins_[bucket + 1]));
    }
  }
  /// Adds the symbols that begin at `offset` in the order of their table.
  void add_those_at(std::uint64_t offset, symbol_table& to) const {
    if (empty()) return;
    const std::size_t bucket = bucket_of(offset);
    std::size_t first = begins_[bucket];
    if (is_sorted(bucket) && offset != 0) first = last_at_or_before(bucket, offset - 1);
    for (std::size_t i = first; i < begins_[bucket + 1]; ++i) {
      const std::uint64_t at = place_of(i);
      if (at > offset && is_sorted(bucket)) return;
      if (at != offset) continue;
      const elf::symbol s = list_[order_[i]];
      if (is_named(s)) to.add({at, at + s.size, s.name, s.binding});
    }
  }

 private:
  static constexpr std::size_t in_bucket = 8;  // Symbols, on average.
  static constexpr std::size_t searched = 64;  // Buckets with more are sorted.

  /// What may be taken from a section.
  enum class use : std::uint8_t { none, code_and_data, labels_too };
  [[nodiscard]] static use use_of(const elf::section& s) noexcept {
    if ((s.flags & elf::section_alloc) == 0) return use::none;
    const bool labels = s.name.find("text") != s.name.npos || s.name.find("data") != s.name.npos;
    return labels ? use::labels_too : use::code_and_data;
  }
  /// perf takes it for code or data, whatever its name is.
  [[nodiscard]] bool is_taken(const elf::symbol& s) const noexcept {
    constexpr std::uint8_t object = 1, untyped = 0, hidden = 2, internal = 1;
    if (s.section == elf::section_undefined || s.section >= use_of_.size()) return false;
    const use where = use_of_[s.section];
    if (where == use::none) return false;
    if (s.is_function() || s.type == object) return true;
    return s.type == untyped && s.visibility != hidden && s.visibility != internal && where == use::labels_too;
  }
  /// It has a name, which is no mark of code and data inside of functions.
  [[nodiscard]] bool is_named(const elf::symbol& s) const noexcept {
    return !s.name.empty() && !detail::is_mark(s.name, machine_);
  }

  [[nodiscard]] std::size_t bucket_of(std::uint64_t offset) const noexcept {
    return static_cast<std::size_t>(std::min<std::uint64_t>(offset >> shift_, begins_.size() - 2));
  }
  /// Where the symbol at that place of order_ begins.
  [[nodiscard]] std::uint64_t place_of(std::size_t i) const noexcept {
    return place_(list_.source().unnamed(order_[i]).value);
  }
  [[nodiscard]] bool is_sorted(std::size_t bucket) const noexcept {
    return begins_[bucket + 1] - begins_[bucket] > searched;
  }
  /// Behind the last of a bucket that may begin at or before `offset`.
  [[nodiscard]] std::size_t last_at_or_before(std::size_t bucket, std::uint64_t offset) const noexcept {
    const std::size_t end = begins_[bucket + 1];
    if (!is_sorted(bucket)) return end;
    const std::uint32_t* const from = order_.data();
    return static_cast<std::size_t>(std::upper_bound(from + begins_[bucket], from + end, offset,
                                                     [&](std::uint64_t value, std::uint32_t index) {
                                                       return value < place_(list_.source().unnamed(index).value);
                                                     }) -
                                    from);
  }

  /// Calls `f(index, place)` for what is taken.
  template <class F>
  void for_each(F&& f) const {
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(list_.size(), ~std::uint32_t{0}));
    for (std::uint32_t i = 0; i < count; ++i) {
      const elf::symbol s = list_.source().unnamed(i);
      if (is_taken(s)) f(i, place_(s.value));
    }
  }
  void deal() {
    const std::uint64_t buckets = list_.size() / in_bucket + 1;
    while (place_.end() >> shift_ > buckets) ++shift_;
    begins_.resize(static_cast<std::size_t>(place_.end() >> shift_) + 2);
    for_each([&](std::uint32_t, std::uint64_t at) { ++begins_[bucket_of(at) + 1]; });
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    order_.resize(begins_.back());
    // Each bucket's begin moves to its end while it is filled, which is where the next one began.
    for_each([&](std::uint32_t index, std::uint64_t at) { order_[begins_[bucket_of(at)]++] = index; });
    begins_.insert(begins_.begin(), 0);
    begins_.pop_back();
    for (std::size_t bucket = 0; bucket + 1 < begins_.size(); ++bucket) {
      if (!is_sorted(bucket)) continue;
      std::sort(order_.data() + begins_[bucket], order_.data() + begins_[bucket + 1],
                [&](std::uint32_t a, std::uint32_t b) {
                  const std::uint64_t x = place_(list_.source().unnamed(a).value),
                                      y = place_(list_.source().unnamed(b).value);
                  return x != y ? x < y : a < b;
                });
    }
  }

  file_places place_;
  elf::machine machine_{};
  elf::symbol_range list_;
  std::vector<use> use_of_;
  std::vector<std::uint32_t> begins_{0, 0};  // Of each bucket, in order_; one more at the end.
  std::vector<std::uint32_t> order_;         // Indices in list_, bucket by bucket.
  unsigned shift_ = 0;
};

/// The entries of a procedure linkage table, in the order of its relocations.
class plt_places {
 public:
  struct entry {
    std::uint64_t begin = 0, end = 0;
    std::string_view symbol;  ///< Empty for one without.
  };

  plt_places() = default;
  explicit plt_places(const elf::image& file) {
    const auto plt = file.find_section(".plt");
    auto relocations = file.find_section(".rela.plt");
    if (!relocations) relocations = file.find_section(".rel.plt");
    if (!plt || !relocations) return;
    const auto list = elf::relocations_of(file, *relocations);
    if (!list || relocations->link >= file.sections().size()) return;
    const auto names = elf::symbols_of(file, file.sections()[relocations->link]);
    if (!names) return;
    std::uint64_t head = plt->entry_size;
    size_ = plt->entry_size;
    if (file.machine() == elf::machine::aarch64) head = 32, size_ = 16;
    if (file.machine() == elf::machine::arm) head = 20, size_ = 12;
    if (size_ == 0 || head > ~plt->offset || list->size() > (~plt->offset - head) / size_) return;
    first_ = plt->offset + head;
    list_ = *list;
    names_ = *names;
  }

  /// The last entry that begins at or before `offset`.
  [[nodiscard]] std::optional<entry> at_or_before(std::uint64_t offset) const noexcept {
    if (list_.empty() || offset < first_) return std::nullopt;
    const std::uint64_t number = std::min<std::uint64_t>((offset - first_) / size_, list_.size() - 1);
    const elf::relocation r = list_[static_cast<std::size_t>(number)];
    const std::uint64_t begin = first_ + number * size_;
    return entry{begin, begin + size_, r.symbol < names_.size() ? names_[r.symbol].name : std::string_view()};
  }
  /// Where the first entry behind `offset` begins.
  [[nodiscard]] std::optional<std::uint64_t> behind(std::uint64_t offset) const noexcept {
    if (list_.empty()) return std::nullopt;
    if (offset < first_) return first_;
    const std::uint64_t number = (offset - first_) / size_ + 1;
    return number < list_.size() ? std::optional(first_ + number * size_) : std::nullopt;
  }

 private:
  elf::relocation_range list_;
  elf::symbol_range names_;
  std::uint64_t first_ = 0, size_ = 0;
};

}  // namespace backsight::perf
