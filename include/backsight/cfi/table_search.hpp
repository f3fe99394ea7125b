// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <backsight/core/bytes.hpp>

namespace backsight::cfi::detail {

inline constexpr std::size_t buckets_per_page = 16;
inline constexpr std::size_t block_slack = 16;  // A look-up reads 16 bytes at a time.
inline constexpr std::size_t most_sequences = 120;
inline constexpr std::size_t most_sequence_rows = 16;
inline constexpr std::size_t most_rare_ids = 8;
/// The unit in which rows of a table begin: a power of two, from a quarter of a byte to 16 bytes. Parts of a byte are
/// for code where a row begins at nearly every address.
class granule {
 public:
  static constexpr int least_bits = -2, most_bits = 4;

  granule() = default;
  explicit granule(int bits) noexcept
      : down_(static_cast<std::uint8_t>(bits > 0 ? bits : 0)), up_(static_cast<std::uint8_t>(bits < 0 ? -bits : 0)) {}

  /// How many granules so many bytes are, but at most the multiple of whole bytes at or below `most`.
  [[nodiscard]] std::uint64_t count(std::uint64_t bytes, std::uint64_t most) const noexcept {
    const std::uint64_t wide = bytes >> down_;
    return (wide < most >> up_ ? wide : most >> up_) << up_;
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t bytes) const noexcept { return bytes >> down_ << up_; }
  [[nodiscard]] std::uint64_t bytes(std::uint64_t granules) const noexcept { return granules << down_ >> up_; }

 private:
  std::uint8_t down_ = 0, up_ = 0;
};

/// The sum of the first `count` (below 16) of 16 bytes.
[[nodiscard]] inline std::uint32_t sum_before(const std::byte* counts, std::size_t count) noexcept {
#if defined(__SSE2__)
  alignas(32) static constexpr std::array<std::uint8_t, 32> window = [] {
    std::array<std::uint8_t, 32> mask{};
    for (std::size_t i = 0; i < 16; ++i) mask[i] = 0xff;
    return mask;
  }();
  const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(counts));
  const __m128i mask = _mm_loadu_si128(reinterpret_cast<const __m128i*>(window.data() + 16 - count));
  const __m128i sums = _mm_sad_epu8(_mm_and_si128(values, mask), _mm_setzero_si128());
  return static_cast<std::uint32_t>(_mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4));
#else
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 16; ++i) sum += i < count ? std::to_integer<std::uint32_t>(counts[i]) : 0U;
  return sum;
#endif
}

/// How many of `count` ascending bytes are at most `key`; 16 bytes may be read beyond them.
[[nodiscard]] inline std::uint32_t count_at_most(const std::byte* starts, std::uint32_t count,
                                                 std::uint8_t key) noexcept {
#if defined(__SSE2__)
  const __m128i keys = _mm_set1_epi8(static_cast<char>(key));
  std::uint32_t below = 0;
  for (;;) {
    const __m128i values = _mm_loadu_si128(reinterpret_cast<const __m128i*>(starts));
    const auto hits = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(values, keys), values)));
    if (count <= 16) [[likely]] {
      return below + static_cast<std::uint32_t>(std::popcount(hits & ((std::uint32_t{1} << count) - 1)));
    }
    below += static_cast<std::uint32_t>(std::popcount(hits));
    if (hits != 0xffffU) return below;
    starts += 16;
    count -= 16;
  }
#else
  std::uint32_t below = 0;
  for (std::uint32_t i = 0; i < count; ++i) below += std::to_integer<std::uint8_t>(starts[i]) <= key ? 1U : 0U;
  return below;
#endif
}

}  // namespace backsight::cfi::detail
