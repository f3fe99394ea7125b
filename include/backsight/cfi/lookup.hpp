// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>
#include <backsight/core/schema.hpp>
#include <backsight/dwarf/pointer_encoding.hpp>

namespace backsight::cfi {

/// The first bytes of .eh_frame_hdr; the pointer to .eh_frame, the count and the pairs of the search table follow, in the
/// encodings named here. Source: Linux Standard Base core, "The .eh_frame_hdr section".
struct eh_frame_hdr {
  static constexpr const char* name = "eh_frame_hdr";
  static constexpr std::size_t size = 4;
  static constexpr field<"version", std::uint8_t> version{};
  static constexpr field<"eh_frame_ptr_enc", std::uint8_t> eh_frame_ptr_enc{};
  static constexpr field<"fde_count_enc", std::uint8_t> fde_count_enc{};
  static constexpr field<"table_enc", std::uint8_t> table_enc{};
  static constexpr layout fields{version, eh_frame_ptr_enc, fde_count_enc, table_enc};
};
static_assert(schema<eh_frame_hdr>);

/// A pair of the search table in the encoding that linkers write (0x3b): distances from the header's own address.
struct eh_frame_hdr_pair {
  static constexpr const char* name = "eh_frame_hdr_pair";
  static constexpr std::size_t size = 8;
  static constexpr field<"initial_location", std::int32_t> initial_location{};
  static constexpr field<"fde_address", std::int32_t> fde_address{};
  static constexpr layout fields{initial_location, fde_address};
};
static_assert(schema<eh_frame_hdr_pair>);

/// The search table of a .eh_frame_hdr section. A view.
template <order O>
class header_table {
 public:
  constexpr header_table() = default;

  /// Reads the header. `address` is that of its first byte. Errors, at their offset in `bytes`: unsupported_version,
  /// unsupported_type (no table, or one in another encoding than datarel sdata4), bad_size (more pairs than fit).
  [[nodiscard]] static constexpr result<header_table> open(byte_view bytes, std::uint64_t address,
                                                           unsigned address_size) noexcept {
    if (bytes.size() < size_of<eh_frame_hdr>) return {errc::truncated, bytes.size()};
    const record<eh_frame_hdr, O> head(bytes.data());
    if (head[eh_frame_hdr::version] != 1) return {errc::unsupported_version, 0};
    cursor<O> from(bytes);
    from.skip(size_of<eh_frame_hdr>);
    const dwarf::pointer_bases bases{address, 0, address, 0};
    header_table t;
    t.address_ = address;
    t.eh_frame_address_ =
        dwarf::read_pointer(from, dwarf::pointer_encoding{head[eh_frame_hdr::eh_frame_ptr_enc]}, address_size, bases).address;
    const dwarf::pointer_encoding count_encoding{head[eh_frame_hdr::fde_count_enc]};
    const std::uint64_t count = dwarf::read_pointer(from, count_encoding, address_size, bases).address;
    if (from.failed()) return from.error();
    constexpr std::uint8_t datarel_sdata4 = 0x3b;
    if (count_encoding.omitted() || head[eh_frame_hdr::table_enc] != datarel_sdata4) return {t, {errc::unsupported_type, 3}};
    if (count > from.remaining() / size_of<eh_frame_hdr_pair>) return {t, {errc::bad_size, from.offset()}};
    t.pairs_ = from.take(count * size_of<eh_frame_hdr_pair>);
    return t;
  }

  [[nodiscard]] constexpr std::size_t size() const noexcept { return pairs_.size() / size_of<eh_frame_hdr_pair>; }
  [[nodiscard]] constexpr std::uint64_t eh_frame_address() const noexcept { return eh_frame_address_; }
  [[nodiscard]] constexpr std::uint64_t location(std::size_t i) const noexcept {
    return address_ + static_cast<std::uint64_t>(std::int64_t{pair(i)[eh_frame_hdr_pair::initial_location]});
  }
  [[nodiscard]] constexpr std::uint64_t fde_address(std::size_t i) const noexcept {
    return address_ + static_cast<std::uint64_t>(std::int64_t{pair(i)[eh_frame_hdr_pair::fde_address]});
  }

  /// Checks that the pairs ascend and that every FDE lies inside the section, an entry that begins where the pair says.
  /// One pass over the table and the heads of the FDEs. errc::bad_transition, errc::out_of_range, with the pair's offset.
  [[nodiscard]] constexpr trace_error check(const section<O>& in) const noexcept {
    if (eh_frame_address_ != in.info().address) return {errc::out_of_range, size_of<eh_frame_hdr>};
    for (std::size_t i = 0; i < size(); ++i) {
      const std::uint64_t offset = fde_address(i) - in.info().address;
      const std::uint64_t pair_offset = 12 + i * size_of<eh_frame_hdr_pair>;
      if (i != 0 && location(i) < location(i - 1)) return {errc::bad_transition, pair_offset};
      if (offset > in.bytes().size() || in.bytes().size() - offset < 4) return {errc::out_of_range, pair_offset};
      const auto e = in.entry_at(offset);
      if (!e || e->is_cie || e->error != errc::ok) return {errc::out_of_range, pair_offset};
    }
    return {};
  }

 private:
  [[nodiscard]] constexpr record<eh_frame_hdr_pair, O> pair(std::size_t i) const noexcept {
    return record<eh_frame_hdr_pair, O>(pairs_.data() + i * size_of<eh_frame_hdr_pair>);
  }
  byte_view pairs_;
  std::uint64_t address_ = 0;
  std::uint64_t eh_frame_address_ = 0;
};

/// An FDE and its CIE.
struct found_fde {
  cfi::cie cie;
  cfi::fde fde;
};

/// Finds FDEs by address: through a .eh_frame_hdr, or through a list that build() makes.
template <order O>
class fde_index {
 public:
  fde_index() = default;
  /// Uses a header's table, which the caller has checked or trusts. Allocates nothing.
  fde_index(const section<O>& in, const header_table<O>& table) noexcept : section_(in), table_(table) {}

  /// Makes the list by a scan of the section: 16 bytes for each FDE. FDEs in error, of no length, and discarded ones are
  /// left out.
  [[nodiscard]] static fde_index build(const section<O>& in) {
    fde_index made;
    made.section_ = in;
    for (const entry& e : in.entries()) {
      if (e.is_cie || e.error != errc::ok) continue;
      const auto c = in.cie_at(e.cie_offset);
      if (!c) continue;
      const auto f = in.parse_fde(e, *c);
      if (!f || f->begin >= f->end || (f->begin == 0 && !in.info().code_at_zero)) continue;
      made.list_.push_back({f->begin, e.offset});
    }
    std::stable_sort(made.list_.begin(), made.list_.end(), [](const item& a, const item& b) { return a.begin < b.begin; });
    // Of FDEs with the same start the first in the section counts.
    made.list_.erase(std::unique(made.list_.begin(), made.list_.end(),
                                 [](const item& a, const item& b) { return a.begin == b.begin; }),
                     made.list_.end());
    return made;
  }

  [[nodiscard]] const section<O>& in() const noexcept { return section_; }

  /// The section offset of the FDE with the greatest start at or below `address`; absent when there is none. The FDE may
  /// end before the address. A binary search; allocates nothing.
  [[nodiscard]] std::optional<std::uint64_t> find(std::uint64_t address) const noexcept {
    const bool listed = table_.size() == 0;
    std::size_t low = 0, count = listed ? list_.size() : table_.size();
    const auto start = [&](std::size_t i) { return listed ? list_[i].begin : table_.location(i); };
    if (count == 0 || start(0) > address) return std::nullopt;
    while (count > 1) {
      const std::size_t half = count / 2;
      low = start(low + half) <= address ? low + half : low;
      count -= half;
    }
    // Several with one start: the first of them, as linkers sort them by their place.
    while (low > 0 && start(low - 1) == start(low)) --low;
    return listed ? list_[low].offset : table_.fde_address(low) - section_.info().address;
  }

 private:
  struct item {
    std::uint64_t begin = 0;
    std::uint64_t offset = 0;
  };
  section<O> section_;
  header_table<O> table_;
  std::vector<item> list_;
};

/// Unwinds straight from a section: finds the FDE, interprets it up to the row, applies the row. No table, no cache; for
/// one thread, because the interpreter works in `memory`, which must outlive it. Addresses are those of the section.
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
    while (machine_.next()) {
      const row& r = machine_.current();
      if (r.begin <= address && address < r.end) return &r;
    }
    if (machine_.error()) return machine_.error();
    return {errc::not_found, *offset};
  }
  [[nodiscard]] const cfi::cie& cie() const noexcept { return machine_.current_cie(); }

  /// Turns a frame into its caller's. `bias` is the load address minus the section's address of the same byte.
  template <memory_reader Memory>
  [[nodiscard]] stop step(frame<Arch>& f, std::uint64_t bias, Memory&& memory) noexcept {
    const auto found = find_row(f.lookup_address() - bias);
    if (!found) return found.error().code == errc::not_found ? stop::no_information : stop::bad_rule;
    return apply<Arch, O>(f, **found, cie().return_address_register, cie().signal_frame, index_->in().bytes(), memory);
  }

 private:
  const fde_index<O>* index_;
  row_machine<Arch, O, Context> machine_;
};

}  // namespace backsight::cfi
