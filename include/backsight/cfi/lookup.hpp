// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include <backsight/cfi/cie_reader.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/header_table.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cfi {

/// Finds FDEs by address: through the table of a .eh_frame_hdr, through a list that build() makes, or one after the
/// other.
template <order O>
class fde_index {
 public:
  fde_index() = default;
  /// Uses a header's table, which the caller has checked or trusts. Without a table in the header every find() looks at
  /// all FDEs of the section. Allocates nothing.
  fde_index(const section<O>& in, const header_table<O>& table) noexcept
      : section_(in), table_(table), how_(table.has_table() ? search::table : search::all) {}

  /// Makes the list by a scan of the section: 16 bytes for each FDE. FDEs in error, of no length, and discarded ones
  /// are left out.
  [[nodiscard]] static fde_index build(const section<O>& in) {
    fde_index made;
    made.section_ = in;
    cie_reader<O> cies(in);
    for (const entry& e : in.entries()) {
      if (e.is_cie || e.error != errc::ok) continue;
      if (const auto begin = begin_of(in, e, cies.at(e.cie_offset))) made.list_.push_back({*begin, e.offset});
    }
    std::sort(made.list_.begin(), made.list_.end(), [](const item& a, const item& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.offset < b.offset;
    });
    // Of FDEs with the same start the first in the section counts.
    made.list_.erase(std::unique(made.list_.begin(), made.list_.end(),
                                 [](const item& a, const item& b) { return a.begin == b.begin; }),
                     made.list_.end());
    return made;
  }

  [[nodiscard]] const section<O>& in() const noexcept { return section_; }

  /// The section offset of the FDE with the greatest start at or below `address`; absent when there is none. The FDE
  /// may end before the address. A binary search, but for a header without a table; allocates nothing.
  [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t address) const noexcept {
    if (how_ == search::all) return find_among_all(address);
    if (how_ == search::table) {
      std::size_t at = table_.find(address);
      if (at == table_.size()) return std::nullopt;
      // Several with one start: the first of them, as linkers sort them by their place.
      const std::uint64_t begin = table_.location(at);
      if (at > 0 && table_.location(at - 1) == begin) {
        const std::size_t before = begin == 0 ? table_.size() : table_.find(begin - 1);
        at = before == table_.size() ? 0 : before + 1;
      }
      return table_.fde_address(at) - section_.info().address;
    }
    const auto after = std::upper_bound(list_.begin(), list_.end(), address,
                                        [](std::uint64_t a, const item& i) { return a < i.begin; });
    if (after == list_.begin()) return std::nullopt;
    return after[-1].offset;
  }

 private:
  enum class search : std::uint8_t { list, table, all };
  struct item {
    std::uint64_t begin = 0;
    std::uint64_t offset = 0;
  };
  /// The start of an FDE that counts.
  [[nodiscard]] static std::optional<std::uint64_t> begin_of(const section<O>& in, const entry& e,
                                                             const result<cie>& c) noexcept {
    if (!c) return std::nullopt;
    const auto f = in.parse_fde(e, *c);
    if (!f || f->begin >= f->end || (f->begin == 0 && !in.info().code_at_zero)) return std::nullopt;
    return f->begin;
  }
  [[nodiscard]] std::optional<std::uint64_t> find_among_all(std::uint64_t address) const noexcept {
    std::optional<item> best;
    result<cie> c{errc::not_found, 0};
    std::uint64_t cie_offset = ~std::uint64_t{0};
    for (const entry& e : section_.entries()) {
      if (e.is_cie || e.error != errc::ok) continue;
      if (e.cie_offset != cie_offset) c = section_.cie_at(cie_offset = e.cie_offset);
      const auto begin = begin_of(section_, e, c);
      if (begin && *begin <= address && (!best || *begin > best->begin)) best = item{*begin, e.offset};
    }
    if (!best) return std::nullopt;
    return best->offset;
  }

  section<O> section_;
  header_table<O> table_;
  search how_ = search::list;
  std::vector<item> list_;
};

/// Unwinds straight from a section: finds the FDE, interprets it up to the row, applies the row. No table, no cache;
/// for one thread, because the interpreter works in `memory`, which must outlive it. Addresses are those of the
/// section.
template <class Arch, order O, class Context = context<>>
class section_unwinder {
 public:
  section_unwinder(const fde_index<O>& index, Context& memory) noexcept
      : index_(&index), machine_(index.in(), memory) {}

  /// The row for an address, and its CIE through cie(). Errors: errc::not_found, those of the section and interpreter.
  [[nodiscard]] result<const row*> find_row(std::uint64_t address) noexcept {
    const auto offset = index_->find(address);
    const section<O>& in = index_->in();
    if (!offset || *offset > in.bytes().size() || in.bytes().size() - *offset < 4) return {errc::not_found, 0};
    const auto e = in.entry_at(*offset);
    if (!e) return e.error();
    if (e->is_cie || e->error != errc::ok) return {errc::out_of_range, *offset};
    if (const trace_error error = machine_.load_cie(e->cie_offset)) return error;
    const auto f = in.parse_fde(*e, machine_.current_cie());
    if (!f) return f.error();
    if (!f->covers(address)) return {errc::not_found, *offset};
    machine_.begin(*f);
    if (machine_.find(address)) return &machine_.current();
    if (machine_.error()) return machine_.error();
    return {errc::not_found, *offset};
  }
  [[nodiscard]] const cfi::cie& cie() const noexcept { return machine_.current_cie(); }

  /// Turns a frame into its caller's. `bias` is the load address minus the section's address of the same byte.
  template <memory_reader Memory>
  [[nodiscard]] stop step(frame<Arch>& f, std::uint64_t bias, Memory&& memory) noexcept {
    // Finding the row takes longer than fetching the lines of the stack that it will lead to.
    if constexpr (requires { memory.prefetch(bias); }) {
      for (std::uint64_t ahead = 0; ahead < 1024; ahead += 64) memory.prefetch(f.stack_pointer() + ahead);
    }
    const auto found = find_row(f.lookup_address() - bias);
    if (!found) return found.error().code == errc::not_found ? stop::no_information : stop::bad_rule;
    return apply<Arch, O>(f, **found, cie().return_address_register, cie().signal_frame, index_->in().bytes(), memory);
  }

 private:
  const fde_index<O>* index_;
  row_machine<Arch, O, Context> machine_;
};

}  // namespace backsight::cfi
