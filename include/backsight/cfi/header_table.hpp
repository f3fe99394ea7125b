// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/cfi/halving.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>
#include <backsight/core/schema.hpp>
#include <backsight/dwarf/pointer_encoding.hpp>

namespace backsight::cfi {

/// The first bytes of .eh_frame_hdr; the pointer to .eh_frame, the count and the pairs of the search table follow, in
/// the encodings named here. Source: Linux Standard Base core, "The .eh_frame_hdr section".
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

  /// Reads the header. `address` is that of its first byte. Without an error there is a table. Errors, at their offset
  /// in
  /// `bytes`: those of the cursor; unsupported_version; not_found (no table, as GNU ld writes when it cannot parse an
  /// input); unsupported_type (the numbers of the table have no fixed width, or are addresses of addresses); bad_size
  /// (more pairs than fit). With the last three the address of .eh_frame is there all the same.
  [[nodiscard]] static constexpr result<header_table> open(byte_view bytes, std::uint64_t address,
                                                           unsigned address_size) noexcept {
    if (bytes.size() < size_of<eh_frame_hdr>) return {errc::truncated, bytes.size()};
    const record<eh_frame_hdr, O> head(bytes.data());
    if (head[eh_frame_hdr::version] != 1) return {errc::unsupported_version, 0};
    const dwarf::pointer_encoding pointer{head[eh_frame_hdr::eh_frame_ptr_enc]};
    const dwarf::pointer_encoding count_encoding{head[eh_frame_hdr::fde_count_enc]};
    if (pointer.omitted() || pointer.indirect()) return {errc::unsupported_type, 1};
    cursor<O> from(bytes);
    from.skip(size_of<eh_frame_hdr>);
    header_table t;
    t.address_ = address;
    t.address_size_ = static_cast<std::uint8_t>(address_size);
    t.encoding_.byte = head[eh_frame_hdr::table_enc];
    t.eh_frame_address_ = dwarf::read_pointer(from, pointer, address_size, t.bases()).address;
    if (from.failed()) return from.error();
    if (count_encoding.omitted() || t.encoding_.omitted()) return {t, {errc::not_found, from.offset()}};
    if (count_encoding.indirect()) return {t, {errc::unsupported_type, 2}};
    t.width_ = static_cast<std::uint8_t>(width_of(t.encoding_, address_size));
    if (t.width_ == 0) return {t, {errc::unsupported_type, 3}};
    const std::uint64_t count = dwarf::read_pointer(from, count_encoding, address_size, t.bases()).address;
    if (from.failed()) return {t, from.error()};
    if (count > from.remaining() / t.stride()) return {t, {errc::bad_size, from.offset()}};
    t.table_offset_ = from.position();
    t.pairs_ = from.take(count * t.stride());
    t.has_table_ = true;
    return t;
  }

  /// False for a header without a table: FDEs are found by looking at all of them.
  [[nodiscard]] constexpr bool has_table() const noexcept { return has_table_; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return has_table_ ? pairs_.size() / stride() : 0; }
  [[nodiscard]] constexpr std::uint64_t eh_frame_address() const noexcept { return eh_frame_address_; }
  [[nodiscard]] constexpr std::uint64_t location(std::size_t i) const noexcept { return number(i * stride()); }
  [[nodiscard]] constexpr std::uint64_t fde_address(std::size_t i) const noexcept {
    return number(i * stride() + width_);
  }

  /// The index of the last pair that begins at or below `address`; size() when there is none. A binary search; in the
  /// usual encoding without branches on what it reads.
  [[nodiscard]] constexpr std::size_t find(std::uint64_t address) const noexcept {
    const std::size_t count = size();
    if (count == 0) return 0;
    if (!is_usual()) [[unlikely]]
      return find_any(address);
    const auto distance = static_cast<std::int64_t>(address - address_);
    if (load<std::int32_t, O>(pairs_.data()) > distance) return count;
    const std::byte* const pairs = pairs_.data();
    return detail::last_at_most(count, [&](std::size_t i) {
      return load<std::int32_t, O>(pairs + i * size_of<eh_frame_hdr_pair>) <= distance;
    });
  }

  /// Checks that the pairs ascend and that every FDE lies inside the section, an entry that begins where the pair says.
  /// One pass over the table and the heads of the FDEs. Errors: errc::out_of_range at the pointer to .eh_frame when
  /// that is not the section; errc::bad_transition, errc::out_of_range at the offset of a pair.
  [[nodiscard]] constexpr trace_error check(const section<O>& in) const noexcept {
    if (eh_frame_address_ != in.info().address) return {errc::out_of_range, size_of<eh_frame_hdr>};
    for (std::size_t i = 0; i < size(); ++i) {
      const std::uint64_t offset = fde_address(i) - in.info().address;
      const std::uint64_t pair_offset = table_offset_ + i * stride();
      if (i != 0 && location(i) < location(i - 1)) return {errc::bad_transition, pair_offset};
      if (offset > in.bytes().size() || in.bytes().size() - offset < 4) return {errc::out_of_range, pair_offset};
      const auto e = in.entry_at(offset);
      if (!e || e->is_cie || e->error != errc::ok) return {errc::out_of_range, pair_offset};
    }
    return {};
  }

 private:
  static constexpr std::uint8_t datarel_sdata4 = 0x3b;

  /// The bytes of a number; 0 when they are not always the same, or it is not the address itself.
  [[nodiscard]] static constexpr unsigned width_of(dwarf::pointer_encoding encoding, unsigned address_size) noexcept {
    if (encoding.indirect() || encoding.application() > 0x30) return 0;
    switch (encoding.format() & 7U) {
      case 0: return address_size;
      case 2: return 2;
      case 3: return 4;
      case 4: return 8;
      default: return 0;
    }
  }
  [[nodiscard]] constexpr bool is_usual() const noexcept {
    return encoding_.byte == datarel_sdata4 && address_size_ == 8;
  }
  [[nodiscard]] constexpr std::size_t stride() const noexcept { return std::size_t{2} * width_; }
  [[nodiscard]] constexpr dwarf::pointer_bases bases() const noexcept { return {address_, 0, address_, 0}; }
  [[nodiscard]] constexpr std::uint64_t number(std::size_t at) const noexcept {
    if (is_usual()) [[likely]]
      return address_ + static_cast<std::uint64_t>(std::int64_t{load<std::int32_t, O>(pairs_.data() + at)});
    cursor<O> from(pairs_);
    from.seek(at);
    auto where = bases();
    where.section += table_offset_;
    return dwarf::read_pointer(from, encoding_, address_size_, where).address;
  }
  [[nodiscard]] constexpr std::size_t find_any(std::uint64_t address) const noexcept {
    if (location(0) > address) return size();
    return detail::last_at_most(size(), [&](std::size_t i) { return location(i) <= address; });
  }

  byte_view pairs_;
  std::uint64_t address_ = 0;
  std::uint64_t eh_frame_address_ = 0;
  std::uint64_t table_offset_ = 0;
  dwarf::pointer_encoding encoding_{datarel_sdata4};
  std::uint8_t address_size_ = 8;
  std::uint8_t width_ = 4;
  bool has_table_ = false;
};

/// How many bytes of `from` are .eh_frame, when they are known to begin with it but reach further, as in a file without
/// section headers or a mapped image: up to the end of the last FDE that the header lists, or without a table up to the
/// first terminator. All of them where an entry is damaged before that.
template <order O>
[[nodiscard]] constexpr std::uint64_t eh_frame_extent(const section<O>& from, const header_table<O>& header) noexcept {
  const std::uint64_t size = from.bytes().size();
  std::uint64_t end = 0;
  if (header.has_table()) {
    for (std::size_t i = 0; i < header.size(); ++i) {
      const std::uint64_t offset = header.fde_address(i) - from.info().address;
      if (offset > size || size - offset < 4) continue;
      const auto e = from.entry_at(offset);
      if (!e) return size;
      if (e->end > end) end = e->end;
    }
    return end;
  }
  while (size - end >= 4) {
    const auto e = from.entry_at(end);
    if (!e || e->error != errc::ok) return size;
    if (e->is_terminator()) return end;
    end = e->end;
  }
  return size;
}

}  // namespace backsight::cfi
