// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

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
        dwarf::read_pointer(from, dwarf::pointer_encoding{head[eh_frame_hdr::eh_frame_ptr_enc]}, address_size, bases)
            .address;
    const dwarf::pointer_encoding count_encoding{head[eh_frame_hdr::fde_count_enc]};
    const std::uint64_t count = dwarf::read_pointer(from, count_encoding, address_size, bases).address;
    if (from.failed()) return from.error();
    constexpr std::uint8_t datarel_sdata4 = 0x3b;
    if (count_encoding.omitted() || head[eh_frame_hdr::table_enc] != datarel_sdata4)
      return {t, {errc::unsupported_type, 3}};
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

  /// The index of the last pair that begins at or below `address`; size() when there is none. A binary search without
  /// branches on what it reads.
  [[nodiscard]] constexpr std::size_t find(std::uint64_t address) const noexcept {
    const auto distance = static_cast<std::int64_t>(address - address_);
    std::size_t count = size();
    if (count == 0 || load<std::int32_t, O>(pairs_.data()) > distance) return size();
    const std::byte* low = pairs_.data();
    while (count > 1) {
      const std::size_t half = count / 2;
      const std::byte* middle = low + half * size_of<eh_frame_hdr_pair>;
      low = load<std::int32_t, O>(middle) <= distance ? middle : low;
      count -= half;
    }
    return static_cast<std::size_t>(low - pairs_.data()) / size_of<eh_frame_hdr_pair>;
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

}  // namespace backsight::cfi
