// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight::io {

/// How a file is packed.
enum class container : std::uint8_t { plain, gzip, zlib, lz4, snappy, zip };

[[nodiscard]] constexpr const char* enumerator_name(container kind) noexcept {
  constexpr const char* names[]{"plain", "gzip", "zlib", "lz4", "snappy", "zip"};
  return names[static_cast<unsigned>(kind) % 6];
}

/// The packing of a file, told from its first bytes: ten are enough. Plain when it is none of the others.
[[nodiscard]] constexpr container container_of(byte_view head) noexcept {
  if (head.size() < 2) return container::plain;
  const auto pair = load<std::uint16_t, order::little>(head.data());
  if (pair == 0x8b1f) return container::gzip;
  if (head.size() >= 4) {
    const auto first = load<std::uint32_t, order::little>(head.data());
    if (first == 0x184d2204) return container::lz4;
    if (first == 0x04034b50 || first == 0x06054b50) return container::zip;
    if (first == 0x000006ff) return container::snappy;
  }
  // RFC 1950: method 8, a window of 32 KiB, and a header that is a multiple of 31.
  const auto method = pair & 0xffU;
  if (method == 0x78 && (method * 256 + (pair >> 8)) % 31 == 0) return container::zlib;
  return container::plain;
}

/// How much a compressed file may unfold: at most `ratio` bytes for each compressed byte, once it has given
/// `free_bytes`, and never more than `bytes`. The defaults let every trace pass that has some content, and stop bombs.
struct expansion_limit {
  std::uint64_t ratio = 500;
  std::uint64_t free_bytes = std::uint64_t{1} << 28;
  std::uint64_t bytes = ~std::uint64_t{0};

  [[nodiscard]] constexpr bool allows(std::uint64_t packed, std::uint64_t unfolded) const noexcept {
    if (unfolded > bytes) return false;
    return unfolded <= free_bytes || unfolded / ratio <= packed;
  }
};

}  // namespace backsight::io
