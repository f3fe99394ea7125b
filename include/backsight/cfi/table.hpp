// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <backsight/cfi/table_format.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/checksum.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>

namespace backsight::cfi {

namespace detail {

inline constexpr std::uint64_t table_magic = 0x4241544e57555342U;  // "BSUWNTAB"
inline constexpr std::uint16_t table_version = 1;
inline constexpr std::size_t buckets_per_page = 16;
inline constexpr std::size_t block_slack = 16;  // A look-up reads 16 bytes at a time.
/// Row ids: below, the index of a rule.
inline constexpr std::uint8_t id_aligned_gap = 253;  ///< Nothing up to the next multiple of 16, then the entry rule.
inline constexpr std::uint8_t id_gap = 254;          ///< Nothing.
inline constexpr std::uint8_t id_exception = 255;    ///< The rule's number is in the list of exceptions.

using backsight::checksum;

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

}  // namespace detail

/// An unwind table: built by build_table, or a mapped file of one. A view; the bytes must outlive it. Look-up needs no
/// parsing and allocates nothing; the format is docs/formats/unwind-table.md. Positions do not matter: copy, map or
/// embed it anywhere. Safe for any number of readers.
class table_view {
 public:
  table_view() = default;

  /// Opens a table and checks all of it: a pass over the checksum and one over the pages. Look-ups rely on that and
  /// check nothing more. Errors: errc::truncated, bad_magic, unsupported_version, bad_size, checksum, out_of_range.
  [[nodiscard]] static result<table_view> open(byte_view bytes) noexcept;

  [[nodiscard]] record<table_header, order::little> header() const noexcept {
    return record<table_header, order::little>(bytes_.data());
  }
  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const noexcept { return run_count_ == 0; }
  [[nodiscard]] std::uint16_t machine() const noexcept { return header()[table_header::machine]; }
  [[nodiscard]] table_profile profile() const noexcept { return header()[table_header::profile]; }
  [[nodiscard]] std::uint64_t row_count() const noexcept { return header()[table_header::row_count]; }
  /// The build-id of the file that the table was made from; empty when it has none.
  [[nodiscard]] byte_view build_id() const noexcept {
    return bytes_.subspan(size_of<table_header> - 32 - 32, header()[table_header::build_id_bytes]);
  }

  /// The rule for a link-time address, as the pointer to its bytes; null where there is no call frame information.
  /// About 15 loads and no call; the rule's bytes may be cached as long as the table lives.
  [[nodiscard]] const std::byte* find(std::uint64_t link_address) const noexcept {
    if (run_count_ == 0) return nullptr;
    const std::byte* run = runs_;
    if (run_count_ > 1) [[unlikely]]
      run = find_run(link_address);
    const record<table_run, order::little> r(run);
    const std::uint64_t begin = r[table_run::begin];
    if (link_address < begin) return nullptr;
    const std::uint64_t pages = r[table_run::page_count];
    std::uint64_t granules = (link_address - begin) >> granule_bits_;
    // Behind the last page the last row is in force: a gap, or a long function.
    const std::uint64_t last = pages * (256 * detail::buckets_per_page) - 1;
    if (granules > last) [[unlikely]]
      granules = last;
    const std::byte* page = pages_ + (r[table_run::first_page] + (granules >> 12)) * size_of<table_page>;
    const std::size_t bucket = (granules >> 8) & 15U;
    const auto key = static_cast<std::uint8_t>(granules);
    const std::byte* block =
        blocks_ + load<std::uint32_t, order::little>(page) + std::size_t{2} * detail::sum_before(page + 4, bucket);
    const auto count = std::to_integer<std::uint32_t>(page[4 + bucket]);
    const std::uint32_t below = detail::count_at_most(block, count, key);
    // The row in force where a bucket begins is the last one of the bucket before, whose id lies just in front.
    const std::byte* at = below == 0 ? block - 1 : block + (std::size_t{count} + below - 1);
    const auto id = std::to_integer<std::uint8_t>(*at);
    if (id < detail::id_aligned_gap) [[likely]]
      return rules_ + std::size_t{id} * rule_bytes_;
    return find_special(id, at, block, below, key);
  }

  /// The rules, by number; rule_bytes() each.
  [[nodiscard]] std::size_t rule_count() const noexcept { return rule_count_; }
  [[nodiscard]] const std::byte* rule(std::size_t number) const noexcept { return rules_ + number * rule_bytes_; }

  /// What a row says when it says that there is no call frame information.
  static constexpr std::uint32_t no_rule = 0xffffffffU;
  /// Calls `f(link_address, rule_number)` for every row, ascending; a row is in force up to the next one.
  template <class F>
  void for_each_row(F&& f) const {
    for (std::size_t run = 0; run < run_count_; ++run) {
      const record<table_run, order::little> r(runs_ + run * size_of<table_run>);
      std::uint64_t bucket_begin = r[table_run::begin];
      for (std::uint32_t p = 0; p < r[table_run::page_count]; ++p) {
        const std::byte* page = pages_ + (r[table_run::first_page] + std::size_t{p}) * size_of<table_page>;
        const std::byte* block = blocks_ + load<std::uint32_t, order::little>(page);
        for (std::size_t bucket = 0; bucket < detail::buckets_per_page; ++bucket) {
          const auto count = std::to_integer<std::size_t>(page[4 + bucket]);
          for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t start = bucket_begin + (std::to_integer<std::uint64_t>(block[i]) << granule_bits_);
            const auto id = std::to_integer<std::uint8_t>(block[count + i]);
            const std::byte* rule_at = rules_ + std::size_t{id} * rule_bytes_;
            if (id >= detail::id_aligned_gap) {
              rule_at = find_special(id, block + count + i, block, static_cast<std::uint32_t>(i + 1),
                                     std::to_integer<std::uint8_t>(block[i]));
            }
            f(start, rule_at == nullptr
                         ? no_rule
                         : static_cast<std::uint32_t>(static_cast<std::size_t>(rule_at - rules_) / rule_bytes_));
            if (id == detail::id_aligned_gap) f((start | 15U) + 1, std::uint32_t{entry_rule_});
          }
          block += 2 * count;
          bucket_begin += std::uint64_t{256} << granule_bits_;
        }
      }
    }
  }

  /// Where find will look first, to be fetched ahead.
  [[nodiscard]] const std::byte* page_address(std::uint64_t link_address) const noexcept {
    const record<table_run, order::little> r(runs_);
    const std::uint64_t page = ((link_address - r[table_run::begin]) >> granule_bits_) >> 12;
    return pages_ + (page < r[table_run::page_count] ? page : 0) * size_of<table_page>;
  }

  /// The bytes from a general rule's offset on.
  [[nodiscard]] byte_view general_rule(std::uint32_t offset) const noexcept {
    return offset < general_.size() ? general_.subspan(offset) : byte_view{};
  }
  [[nodiscard]] std::size_t rule_bytes() const noexcept { return rule_bytes_; }

 private:
  [[nodiscard]] const std::byte* find_run(std::uint64_t link_address) const noexcept {
    std::size_t low = 0, count = run_count_;
    while (count > 1) {
      const std::size_t half = count / 2;
      if (load<std::uint64_t, order::little>(runs_ + (low + half) * size_of<table_run>) <= link_address) low += half;
      count -= half;
    }
    return runs_ + low * size_of<table_run>;
  }
  [[nodiscard]] const std::byte* find_special(std::uint8_t id, const std::byte* at, const std::byte* block,
                                              std::uint32_t below, std::uint8_t key) const noexcept {
    if (id == detail::id_gap) return nullptr;
    if (id == detail::id_aligned_gap) {
      const std::uint8_t aligned = static_cast<std::uint8_t>(~((16U >> granule_bits_) - 1U));
      // From a bucket before: buckets begin at multiples of 16, so the entry rule is in force already.
      if (below != 0 && (key & aligned) <= std::to_integer<std::uint8_t>(block[below - 1])) return nullptr;
      return rules_ + std::size_t{entry_rule_} * rule_bytes_;
    }
    const auto position = static_cast<std::uint32_t>(at - blocks_);
    std::size_t low = 0, count = exception_count_;
    while (count > 1) {
      const std::size_t half = count / 2;
      if (load<std::uint32_t, order::little>(exception_positions_ + 4 * (low + half)) <= position) low += half;
      count -= half;
    }
    if (count == 0 || load<std::uint32_t, order::little>(exception_positions_ + 4 * low) != position) return nullptr;
    return rules_ + std::size_t{load<std::uint16_t, order::little>(exception_rules_ + 2 * low)} * rule_bytes_;
  }
  friend class table;
  [[nodiscard]] static result<table_view> find_parts(byte_view bytes) noexcept;
  [[nodiscard]] trace_error check() const noexcept;

  byte_view bytes_;
  byte_view general_;
  const std::byte* runs_ = nullptr;
  const std::byte* pages_ = nullptr;
  const std::byte* blocks_ = nullptr;
  const std::byte* rules_ = nullptr;
  const std::byte* exception_positions_ = nullptr;
  const std::byte* exception_rules_ = nullptr;
  std::size_t run_count_ = 0;
  std::size_t page_count_ = 0;
  std::size_t rule_count_ = 0;
  std::size_t rule_bytes_ = 0;
  std::size_t exception_count_ = 0;
  std::size_t block_bytes_ = 0;
  std::uint8_t granule_bits_ = 0;
  std::uint8_t entry_rule_ = 0;
};

inline result<table_view> table_view::open(byte_view bytes) noexcept {
  const auto t = find_parts(bytes);
  if (!t) return t;
  if (detail::checksum(t->bytes_.subspan(16)) != t->header()[table_header::checksum]) return {errc::checksum, 8};
  if (const trace_error error = t->check()) return error;
  return t;
}

inline result<table_view> table_view::find_parts(byte_view bytes) noexcept {
  if (bytes.size() < size_of<table_header>) return {errc::truncated, bytes.size()};
  table_view t;
  t.bytes_ = bytes;
  const auto h = t.header();
  if (h[table_header::magic] != detail::table_magic) return {errc::bad_magic, 0};
  if (h[table_header::version] != detail::table_version) return {errc::unsupported_version, 24};
  if (h[table_header::file_bytes] > bytes.size()) return {errc::truncated, bytes.size()};
  t.bytes_ = bytes = bytes.first(static_cast<std::size_t>(h[table_header::file_bytes]));
  t.rule_bytes_ = h[table_header::rule_bytes];
  t.granule_bits_ = h[table_header::granule_bits];
  t.entry_rule_ = h[table_header::entry_rule];
  t.run_count_ = h[table_header::run_count];
  t.page_count_ = h[table_header::page_count];
  t.rule_count_ = h[table_header::rule_count];
  t.exception_count_ = h[table_header::exception_count];
  t.block_bytes_ = h[table_header::block_bytes];
  if (t.granule_bits_ > 4 || t.rule_bytes_ < unwind_rule::size || h[table_header::build_id_bytes] > 32) {
    return {errc::bad_value, 28};
  }
  // Six parts behind the header, none aligned: runs, pages, rules, positions and rules of exceptions, general, blocks.
  const std::uint64_t general_bytes = h[table_header::general_bytes];
  const std::array<std::uint64_t, 7> sizes{std::uint64_t{t.run_count_} * size_of<table_run>,
                                           std::uint64_t{t.page_count_} * size_of<table_page>,
                                           std::uint64_t{t.rule_count_} * t.rule_bytes_,
                                           std::uint64_t{t.exception_count_} * 4,
                                           std::uint64_t{t.exception_count_} * 2,
                                           general_bytes,
                                           std::uint64_t{t.block_bytes_}};
  std::array<std::uint64_t, 8> offsets{size_of<table_header>};
  for (std::size_t i = 0; i < sizes.size(); ++i) offsets[i + 1] = offsets[i] + sizes[i];
  if (offsets[7] != bytes.size()) return {errc::bad_size, 16};
  const auto part = [&](std::size_t i) { return bytes.data() + offsets[i]; };
  t.runs_ = part(0);
  t.pages_ = part(1);
  t.rules_ = part(2);
  t.exception_positions_ = part(3);
  t.exception_rules_ = part(4);
  t.general_ = {part(5), static_cast<std::size_t>(general_bytes)};
  t.blocks_ = part(6);
  return t;
}

inline trace_error table_view::check() const noexcept {
  const auto offset = [&](const std::byte* at) { return static_cast<std::uint64_t>(at - bytes_.data()); };
  if (block_bytes_ < 1 + detail::block_slack) return {errc::bad_size, 16};
  if (entry_rule_ >= rule_count_ && rule_count_ != 0) return {errc::out_of_range, 56};
  std::uint64_t next_page = 0, previous_end = 0;
  for (std::size_t i = 0; i < run_count_; ++i) {
    const record<table_run, order::little> r(runs_ + i * size_of<table_run>);
    const std::uint64_t begin = r[table_run::begin], pages = r[table_run::page_count];
    if (r[table_run::first_page] != next_page || pages == 0 || pages > page_count_ - next_page ||
        (i != 0 && begin < previous_end)) {
      return {errc::out_of_range, offset(runs_ + i * size_of<table_run>)};
    }
    next_page += pages;
    previous_end = begin + (pages << (12 + granule_bits_));
  }
  if (next_page != page_count_) return {errc::out_of_range, size_of<table_header>};
  const std::uint64_t end = block_bytes_ - detail::block_slack;
  std::uint64_t position = 1;
  std::size_t exceptions = 0;
  const auto good_id = [&](std::uint64_t at) {
    const auto id = std::to_integer<std::uint8_t>(blocks_[at]);
    if (id == detail::id_exception) {
      const bool good = exceptions < exception_count_ &&
                        load<std::uint32_t, order::little>(exception_positions_ + 4 * exceptions) == at &&
                        load<std::uint16_t, order::little>(exception_rules_ + 2 * exceptions) < rule_count_;
      ++exceptions;
      return good;
    }
    if (id == detail::id_aligned_gap) return rule_count_ != 0;
    return id == detail::id_gap || id < rule_count_;
  };
  if (!good_id(0)) return {errc::out_of_range, offset(blocks_)};
  for (std::size_t i = 0; i < page_count_; ++i) {
    const std::byte* page = pages_ + i * size_of<table_page>;
    if (load<std::uint32_t, order::little>(page) != position) return {errc::out_of_range, offset(page)};
    for (std::size_t bucket = 0; bucket < detail::buckets_per_page; ++bucket) {
      const auto count = std::to_integer<std::uint64_t>(page[4 + bucket]);
      if (2 * count > end - position) return {errc::out_of_range, offset(page)};
      for (std::uint64_t k = 0; k < count; ++k) {
        if (!good_id(position + count + k)) return {errc::out_of_range, offset(blocks_) + position + count + k};
      }
      position += 2 * count;
    }
  }
  if (position != end || exceptions != exception_count_) return {errc::bad_size, offset(blocks_)};
  return {};
}

}  // namespace backsight::cfi
