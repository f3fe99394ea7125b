// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>

namespace backsight::memtrace {

/// What the start of a file says, raw or final. Members that the file does not state are zero.
struct file_start {
  std::uint64_t version = 0;
  std::uint64_t file_type = 0;
  std::uint64_t tid = 0;
  std::uint64_t pid = 0;
  std::uint64_t cache_line_size = 0;
  std::uint64_t page_size = 0;
  std::uint64_t first_time = 0;  ///< The first TIMESTAMP, microseconds since 1601.
  std::size_t size = 0;          ///< Bytes up to the first record that is no part of it.
};

/// The beginning of `bytes` looks like a compressed file (gzip, zlib, LZ4 frame, snappy framing, zip).
[[nodiscard]] constexpr bool looks_compressed(byte_view bytes) noexcept {
  if (bytes.size() < 4) return false;
  const auto first = load<std::uint32_t, order::little>(bytes.data());
  const auto pair = first & 0xffffU;
  return pair == 0x8b1f || first == 0x184d2204 || first == 0x04034b50 || first == 0x06054b50 || first == 0x000006ff ||
         pair == 0x0178 || pair == 0x5e78 || pair == 0x9c78 || pair == 0xda78;
}

}  // namespace backsight::memtrace
