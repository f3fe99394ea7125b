// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>

namespace backsight {

/// A checksum that tells changed or mixed-up files from good ones, several bytes for each clock tick; none against
/// intent. FNV-1a over words of eight bytes, little-endian, the last one filled with zeros: files of different size
/// that end with zeros may have one checksum, so compare the sizes as well.
[[nodiscard]] constexpr std::uint64_t checksum(byte_view bytes) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325U;
  std::size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    hash = (hash ^ load<std::uint64_t, order::little>(bytes.data() + i)) * 0x100000001b3U;
    hash ^= hash >> 29;
  }
  std::uint64_t last = 0;
  for (unsigned shift = 0; i < bytes.size(); ++i, shift += 8) last |= std::to_integer<std::uint64_t>(bytes[i]) << shift;
  hash = (hash ^ last) * 0x100000001b3U;
  return hash ^ hash >> 32;
}

}  // namespace backsight
