// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

// What one would write by hand for the formats of bench_schema, every read checked against the end.
namespace baseline {

struct sums {
  std::uint64_t records = 0;
  std::uint64_t values = 0;
  bool failed = false;
  friend bool operator==(const sums&, const sums&) = default;
};

template <class T>
inline T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// u64 time, u32 id, u16 kind below 8, u16 flags.
inline sums fixed(const std::byte* at, const std::byte* end) {
  sums found;
  while (at != end) {
    if (static_cast<std::size_t>(end - at) < 16 || (load<std::uint16_t>(at + 12) >= 8))
      return found.failed = true, found;
    found.values += load<std::uint64_t>(at) + load<std::uint32_t>(at + 8);
    ++found.records;
    at += 16;
  }
  return found;
}

/// u16 tag, u16 length, that many bytes; the tag 0 has no length.
inline sums tlv(const std::byte* at, const std::byte* end) {
  sums found;
  while (at != end) {
    const auto left = static_cast<std::size_t>(end - at);
    if (left < 4) return found.failed = true, found;
    const auto tag = load<std::uint16_t>(at);
    const std::size_t length = load<std::uint16_t>(at + 2);
    if (left - 4 < length) return found.failed = true, found;
    found.values += tag + length;
    if (length != 0) found.values += std::to_integer<unsigned>(at[4]);
    ++found.records;
    at += 4 + length;
  }
  return found;
}

/// The pointer loop for seven bits a byte; null at the end.
inline const std::byte* uleb(const std::byte* at, const std::byte* end, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; at != end; shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(*at++);
    if (shift == 63 && byte > 1) return nullptr;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return at;
  }
  return nullptr;
}

/// Two numbers.
inline sums pairs(const std::byte* at, const std::byte* end) {
  sums found;
  while (at != end) {
    std::uint64_t a = 0, b = 0;
    at = uleb(at, end, a);
    if (at != nullptr) at = uleb(at, end, b);
    if (at == nullptr) return found.failed = true, found;
    found.values += a ^ b;
    ++found.records;
  }
  return found;
}

/// protobuf fields: numbers, and bytes with a length.
inline sums fields(const std::byte* at, const std::byte* end) {
  sums found;
  while (at != end) {
    std::uint64_t tag = 0, value = 0;
    at = uleb(at, end, tag);
    if (at != nullptr) at = uleb(at, end, value);
    if (at == nullptr) return found.failed = true, found;
    found.values += tag + value;
    if ((tag & 7U) == 2) {
      if (value > static_cast<std::size_t>(end - at)) return found.failed = true, found;
      if (value != 0) found.values += std::to_integer<unsigned>(*at);
      at += value;
    } else if ((tag & 7U) != 0) {
      return found.failed = true, found;
    }
    ++found.records;
  }
  return found;
}

}  // namespace baseline
