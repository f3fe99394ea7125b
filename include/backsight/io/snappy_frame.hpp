// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include <snappy-c.h>

#include <backsight/io/container.hpp>

namespace backsight::io {

namespace detail {

/// CRC-32C (Castagnoli), as the snappy framing format wants it.
[[nodiscard]] inline std::uint32_t crc32c(std::span<const std::byte> bytes) noexcept {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ ((value & 1U) != 0 ? 0x82f63b78U : 0U);
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~0U;
  for (const std::byte byte : bytes) crc = table[(crc ^ std::to_integer<std::uint32_t>(byte)) & 0xffU] ^ crc >> 8;
  return ~crc;
}

}  // namespace detail

/// Unfolds the snappy framing format, and DynamoRIO's variant of it without checksums (chunk types 2 and 3), piece by
/// piece. Needs libsnappy. The compressed bytes must outlive the reader. Source: google/snappy, framing_format.txt;
/// DynamoRIO, clients/drcachesim/common/snappy_consts.h. Memory: one chunk of at most 64 KiB.
class snappy_reader {
 public:
  [[nodiscard]] static constexpr bool reads(container kind) noexcept { return kind == container::snappy; }
  explicit snappy_reader(byte_view packed, expansion_limit limit = {}) : packed_(packed), limit_(limit) {}

  /// Fills `out` as far as there is data; gives the number of bytes, less than out.size() only at the end or before an
  /// error. Errors, with the offset of the chunk: errc::truncated, errc::bad_value, errc::bad_size, errc::checksum,
  /// errc::expansion.
  [[nodiscard]] result<std::size_t> read(std::span<std::byte> out) {
    std::size_t filled = 0;
    while (filled < out.size() && !error_) {
      if (used_ == chunk_.size()) {
        if (position_ == packed_.size()) break;
        next_chunk();
        continue;
      }
      const std::size_t size = std::min(out.size() - filled, chunk_.size() - used_);
      std::memcpy(out.data() + filled, chunk_.data() + used_, size);
      filled += size;
      used_ += size;
    }
    return {filled, error_};
  }

 private:
  static constexpr std::size_t largest_chunk = 65536;

  void fail(errc code) { error_ = {code, position_}; }

  void next_chunk() {
    chunk_.clear();
    used_ = 0;
    const byte_view rest = packed_.subspan(position_);
    if (rest.size() < 4) return fail(errc::truncated);
    const auto head = load<std::uint32_t, order::little>(rest.data());
    const std::uint32_t type = head & 0xffU, size = head >> 8;
    if (size > rest.size() - 4) return fail(errc::truncated);
    byte_view body = rest.subspan(4, size);
    if (type == 0xff) {
      if (size != 6 || std::memcmp(body.data(), "sNaPpY", 6) != 0) return fail(errc::bad_magic);
      started_ = true;
    } else if (!started_) {
      return fail(errc::bad_magic);
    } else if (type <= 3) {
      const bool summed = type < 2, plain = type % 2 == 1;
      std::uint32_t expected = 0;
      if (summed) {
        if (body.size() < 4) return fail(errc::bad_size);
        expected = load<std::uint32_t, order::little>(body.data());
        body = body.subspan(4);
      }
      if (!unfold(body, plain)) return;
      const std::uint32_t crc = summed ? detail::crc32c(chunk_) : 0;
      // The stored value is rotated and offset, so that a checksum of checksums stays useful.
      if (summed && ((crc >> 15 | crc << 17) + 0xa282ead8U) != expected) {
        chunk_.clear();
        return fail(errc::checksum);
      }
    } else if (type < 0x80) {
      return fail(errc::unsupported_type);
    }
    const std::size_t next = position_ + 4 + size;
    unfolded_ += chunk_.size();
    if (!limit_.allows(next, unfolded_)) return fail(errc::expansion);
    position_ = next;
  }

  bool unfold(byte_view body, bool plain) {
    if (plain) {
      if (body.size() > largest_chunk) return fail(errc::bad_size), false;
      chunk_.assign(body.begin(), body.end());
      return true;
    }
    const char* const from = reinterpret_cast<const char*>(body.data());
    std::size_t size = 0;
    if (snappy_uncompressed_length(from, body.size(), &size) != SNAPPY_OK) return fail(errc::bad_value), false;
    if (size > largest_chunk) return fail(errc::bad_size), false;
    chunk_.resize(size);
    if (snappy_uncompress(from, body.size(), reinterpret_cast<char*>(chunk_.data()), &size) != SNAPPY_OK) {
      chunk_.clear();
      return fail(errc::bad_value), false;
    }
    return true;
  }

  byte_view packed_;
  expansion_limit limit_;
  std::vector<std::byte> chunk_;
  std::size_t used_ = 0, position_ = 0;
  std::uint64_t unfolded_ = 0;
  trace_error error_;
  bool started_ = false;
};

}  // namespace backsight::io
