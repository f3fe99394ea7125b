// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <backsight/core/varying_record.hpp>

namespace backsight {

/// A member that holds a checksum over the members from First to Last, both with all their bytes: `checksum_over<"crc",
/// std::uint32_t, crc32, type, data>`. Function is called with these bytes. A record in which it differs is refused
/// with errc::bad_value; a record_builder fills it in. It stands in the layout where it stands in the record, inside or
/// behind; the members that it covers are not the payload, but named: counted_bytes<> or rest_bytes<>.
template <fixed_string Name, class T, auto Function, auto First, auto Last>
struct checksum_over : detail::field_base {
  static_assert(detail::member_value<T>, "backsight: a checksum is a number, an enumeration or an array of bytes");
  using value_type = T;
  static constexpr std::size_t bits = sizeof(T) * 8;
  static constexpr bool is_padding = false;
  static constexpr bool is_checksum = true;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr T operator()(const Record& record) const noexcept {
    return record[checksum_over{}];
  }
  /// The bytes that it covers. Precondition: record has First and Last.
  template <schema S, order O>
  [[nodiscard]] static constexpr byte_view covered(const record<S, O>& record) noexcept {
    using members = typename detail::layout_of<S>::members;
    constexpr std::size_t first = members::template index_of<std::remove_cv_t<decltype(First)>>;
    constexpr std::size_t last = members::template index_of<std::remove_cv_t<decltype(Last)>>;
    static_assert(first <= last, "backsight: a checksum covers the members from the first to the last");
    const member_place begin = detail::place_of_member<first>(record), end = detail::place_of_member<last>(record);
    return record.bytes().subspan(begin.offset, end.offset + end.size - begin.offset);
  }
  template <schema S, order O>
  [[nodiscard]] static constexpr T computed(const record<S, O>& record) noexcept {
    return static_cast<T>(Function(covered(record)));
  }
  template <schema S, order O>
  [[nodiscard]] static constexpr errc verify(const record<S, O>& record) noexcept {
    if constexpr (detail::varying<S>) {
      // What is not there is not covered.
      if (!record.has(First) || !record.has(Last)) return errc::ok;
    }
    return record[checksum_over{}] == computed(record) ? errc::ok : errc::bad_value;
  }
};

namespace detail {

inline constexpr auto crc32_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = rest >> 1 ^ ((rest & 1U) != 0 ? 0xedb88320U : 0U);
    table[byte] = rest;
  }
  return table;
}();

}  // namespace detail

/// The CRC-32 of gzip, zip, PNG and .gnu_debuglink (polynomial 0x04c11db7, bits turned). One byte after the other.
[[nodiscard]] constexpr std::uint32_t crc32(byte_view bytes) noexcept {
  std::uint32_t rest = 0xffffffffU;
  for (const std::byte byte : bytes)
    rest = rest >> 8 ^ detail::crc32_table[(rest ^ std::to_integer<std::uint32_t>(byte)) & 0xffU];
  return ~rest;
}

/// The Adler-32 of zlib (RFC 1950).
[[nodiscard]] constexpr std::uint32_t adler32(byte_view bytes) noexcept {
  std::uint32_t a = 1, b = 0;
  for (const std::byte byte : bytes) {
    a = (a + std::to_integer<std::uint32_t>(byte)) % 65521U;
    b = (b + a) % 65521U;
  }
  return b << 16 | a;
}

}  // namespace backsight
