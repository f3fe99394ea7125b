// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/cfi/placed_rule.hpp>
#include <backsight/cfi/table_format.hpp>
#include <backsight/cfi/table_search.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>
#include <backsight/core/saved_index.hpp>

namespace backsight::cfi::detail {

/// Where the parts of a table lie, and whether they are sound.
class table_parts {
 public:
  table_parts() = default;

  /// Finds the parts by the header; looks at nothing else.
  [[nodiscard]] static result<table_parts> find_parts(byte_view bytes) noexcept;
  /// Checks all that look-ups rely on.
  [[nodiscard]] trace_error check() const noexcept;

  [[nodiscard]] record<table_header, order::little> header() const noexcept {
    return record<table_header, order::little>(bytes_.data() + saved_index_head::size);
  }
  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }
  /// Precondition: it has a header.
  [[nodiscard]] saved_index<table_header> head() const noexcept {
    return open_saved_index<table_header>(bytes_, unwind_table_kind).partial();
  }

 protected:
  [[nodiscard]] byte_view general_at(any_rule r) const noexcept {
    const auto offset = static_cast<std::uint32_t>(r[unwind_rule::cfa_offset]);
    return has_text(r[unwind_rule::shape]) && offset < general_.size() ? general_.subspan(offset) : byte_view{};
  }

  /// The number of a rule by an id that has others in front.
  [[nodiscard]] std::size_t rare_number(const std::byte* at) const noexcept {
    const auto id = std::to_integer<std::size_t>(*at);
    if (id == id_rarest) return load<std::uint16_t, order::little>(at - 2);
    return first_sequence_ + (id - first_rare_) * 256 + std::to_integer<std::size_t>(at[-1]);
  }

  byte_view bytes_;
  byte_view general_;
  const std::byte* runs_ = nullptr;
  const std::byte* pages_ = nullptr;
  const std::byte* blocks_ = nullptr;
  const std::byte* rules_ = nullptr;
  const std::byte* sequences_ = nullptr;
  std::size_t run_count_ = 0;
  std::size_t page_count_ = 0;
  std::size_t rule_count_ = 0;
  std::size_t rule_bytes_ = 0;
  std::size_t block_bytes_ = 0;
  granule granule_;
  std::uint8_t first_sequence_ = id_aligned_gap;
  std::uint8_t first_rare_ = id_aligned_gap;

 private:
  [[nodiscard]] std::uint64_t offset_of(const std::byte* at) const noexcept {
    return static_cast<std::uint64_t>(at - bytes_.data());
  }
  [[nodiscard]] bool is_rule(std::uint8_t id) const noexcept { return id < first_sequence_ && id < rule_count_; }
  [[nodiscard]] bool is_sound_rule(any_rule r) const noexcept;
  [[nodiscard]] bool is_sound_sequence(const std::byte* sequence) const noexcept;
  [[nodiscard]] std::uint32_t extent_of(const std::byte* last, std::uint64_t count) const noexcept;
  [[nodiscard]] trace_error check_blocks() const noexcept;
};

inline result<table_parts> table_parts::find_parts(byte_view bytes) noexcept {
  const auto head = open_saved_index<table_header>(bytes, unwind_table_kind);
  if (!head) return head.error();
  if (head->entries.size() != 1)
    return {errc::bad_size, backsight::offset_of<saved_index_head>(saved_index_head::count)};
  table_parts t;
  t.bytes_ = bytes;
  const auto h = t.header();
  if (h[table_header::file_bytes] > bytes.size()) return {errc::truncated, bytes.size()};
  if (h[table_header::file_bytes] < table_head_bytes)
    return {errc::bad_size, offset_in_table(table_header::file_bytes)};
  t.bytes_ = bytes = bytes.first(static_cast<std::size_t>(h[table_header::file_bytes]));
  t.rule_bytes_ = h[table_header::rule_bytes];
  const int granule_bits = h[table_header::granule_bits];
  t.granule_ = granule(granule_bits);
  t.run_count_ = h[table_header::run_count];
  t.page_count_ = h[table_header::page_count];
  t.rule_count_ = h[table_header::rule_count];
  t.block_bytes_ = h[table_header::block_bytes];
  if (granule_bits > granule::most_bits || granule_bits < granule::least_bits)
    return {errc::bad_value, offset_in_table(table_header::granule_bits)};
  if (t.rule_bytes_ < unwind_rule::size) return {errc::bad_value, offset_in_table(table_header::rule_bytes)};
  if (h[table_header::build_id_bytes] > h[table_header::build_id].size())
    return {errc::bad_value, offset_in_table(table_header::build_id_bytes)};
  const std::size_t sequences = h[table_header::sequence_count];
  const std::size_t rare_ids = h[table_header::rare_ids];
  if (sequences > most_sequences) return {errc::bad_value, offset_in_table(table_header::sequence_count)};
  if (rare_ids > most_rare_ids) return {errc::bad_value, offset_in_table(table_header::rare_ids)};
  t.first_rare_ = static_cast<std::uint8_t>(id_aligned_gap - rare_ids);
  t.first_sequence_ = static_cast<std::uint8_t>(t.first_rare_ - sequences);
  // Six parts behind the head, none aligned: runs, pages, rules, sequences, general rules, blocks.
  const std::array<std::uint64_t, 6> sizes{std::uint64_t{t.run_count_} * size_of<table_run>,
                                           std::uint64_t{t.page_count_} * size_of<table_page>,
                                           std::uint64_t{t.rule_count_} * t.rule_bytes_,
                                           std::uint64_t{sequences} * size_of<table_sequence>,
                                           h[table_header::general_bytes],
                                           std::uint64_t{t.block_bytes_}};
  std::array<std::uint64_t, 7> offsets{table_head_bytes};
  for (std::size_t i = 0; i < sizes.size(); ++i) offsets[i + 1] = offsets[i] + sizes[i];
  if (offsets[6] != bytes.size()) return {errc::bad_size, offset_in_table(table_header::file_bytes)};
  const auto part = [&](std::size_t i) { return bytes.data() + offsets[i]; };
  t.runs_ = part(0);
  t.pages_ = part(1);
  t.rules_ = part(2);
  t.sequences_ = part(3);
  t.general_ = {part(4), static_cast<std::size_t>(sizes[4])};
  t.blocks_ = part(5);
  return t;
}

inline trace_error table_parts::check() const noexcept {
  if (const trace_error changed = head().verify()) return changed;
  if (block_bytes_ < 1 + block_slack) return {errc::bad_size, offset_in_table(table_header::block_bytes)};
  std::uint64_t next_page = 0, previous_end = 0;
  for (std::size_t i = 0; i < run_count_; ++i) {
    const record<table_run, order::little> r(runs_ + i * size_of<table_run>);
    const std::uint64_t begin = r[table_run::begin], pages = r[table_run::page_count];
    if (r[table_run::first_page] != next_page || pages == 0 || pages > page_count_ - next_page ||
        (i != 0 && begin < previous_end)) {
      return {errc::out_of_range, offset_of(runs_ + i * size_of<table_run>)};
    }
    next_page += pages;
    previous_end = begin + granule_.bytes(pages << 12);
  }
  if (next_page != page_count_) return {errc::out_of_range, table_head_bytes};
  for (std::size_t i = 0; i < rule_count_; ++i) {
    const std::byte* rule = rules_ + i * rule_bytes_;
    if (!is_sound_rule(any_rule(rule))) return {errc::out_of_range, offset_of(rule)};
  }
  for (std::size_t i = first_sequence_; i < first_rare_; ++i) {
    const std::byte* sequence = sequences_ + (i - first_sequence_) * size_of<table_sequence>;
    if (!is_sound_sequence(sequence)) return {errc::out_of_range, offset_of(sequence)};
  }
  return check_blocks();
}

/// The shape is known and its text is there; what was worked out from the text is what it says.
inline bool table_parts::is_sound_rule(any_rule r) const noexcept {
  const rule_shape shape = r[unwind_rule::shape];
  if (shape < rule_shape::common || shape > rule_shape::signal) return false;
  if (!has_text(shape)) return true;
  const byte_view from = general_at(r);
  if (from.empty()) return false;
  if (shape == rule_shape::general) return true;
  const std::size_t others = std::to_integer<std::size_t>(from[0]);
  if (1 + 2 * others > from.size()) return false;
  std::array<std::int8_t, 256> word_of{};
  std::array<bool, 256> occurs{};
  std::size_t count = 0;
  const auto placed = place_rule(from.subspan(1 + 2 * others), header()[table_header::address_size], ~std::uint64_t{0},
                                 [&](std::uint32_t reg, std::int8_t words) {
                                   if (reg > 255 || ++count > 256) return false;
                                   word_of[reg] = words;
                                   occurs[static_cast<std::uint8_t>(words)] = true;
                                   return true;
                                 });
  if (!placed || placed->shape != shape || placed->reg != r[unwind_rule::cfa_register] ||
      placed->cfa_saved != r[unwind_rule::cfa_saved] || placed->cfa_word != r[unwind_rule::cfa_word] ||
      placed->return_address_word != r[unwind_rule::return_address_word]) {
    return false;
  }
  for (std::size_t i = unwind_rule::size; i < rule_bytes_; ++i) {
    const std::byte word = r.bytes()[i];
    if (word != std::byte{0} && !occurs[std::to_integer<std::size_t>(word)]) return false;
  }
  for (std::size_t i = 0; i < others; ++i) {
    const std::byte* pair = from.data() + 1 + 2 * i;
    const auto words = load<std::int8_t, order::little>(pair + 1);
    if (words == 0 || word_of[std::to_integer<std::size_t>(pair[0])] != words) return false;
  }
  return true;
}

/// Its rows ascend, and each has a rule or none; only the last may be a gap that ends at a multiple of 16.
inline bool table_parts::is_sound_sequence(const std::byte* sequence) const noexcept {
  const auto more = std::to_integer<std::size_t>(sequence[0]);
  if (more >= most_sequence_rows) return false;
  for (std::size_t k = 0; k <= more; ++k) {
    if (k > 0 && sequence[k] <= (k == 1 ? std::byte{0} : sequence[k - 1])) return false;
    const auto id = std::to_integer<std::uint8_t>(sequence[16 + k]);
    const bool known = id == id_gap || is_rule(id) || (id == id_aligned_gap && k == more && rule_count_ != 0);
    if (!known) return false;
  }
  return true;
}

/// The last of `count` ids that begin together is known, with what those in front of it say of its rule. Gives how many
/// granules behind its start its last row begins; 256 when it is not good.
inline std::uint32_t table_parts::extent_of(const std::byte* last, std::uint64_t count) const noexcept {
  const auto id = std::to_integer<std::uint8_t>(*last);
  if (id == id_rarest || (id >= first_rare_ && id < id_aligned_gap)) {
    return count == (id == id_rarest ? 3U : 2U) && rare_number(last) < rule_count_ ? 0 : 256;
  }
  if (count != 1) return 256;
  if (id == id_aligned_gap) return rule_count_ != 0 ? 0 : 256;
  if (id == id_gap) return 0;
  if (id < first_sequence_) return id < rule_count_ ? 0 : 256;
  const std::byte* sequence = sequences_ + (id - std::size_t{first_sequence_}) * size_of<table_sequence>;
  const auto more = std::to_integer<std::size_t>(sequence[0]);
  return more == 0 ? 0 : std::to_integer<std::uint32_t>(sequence[more]);
}

/// Blocks follow each other; in each, starts ascend, sequences end before the next start, and ids are known.
inline trace_error table_parts::check_blocks() const noexcept {
  const std::uint64_t end = block_bytes_ - block_slack;
  std::uint64_t position = 1;
  if (extent_of(blocks_, 1) > 255) return {errc::out_of_range, offset_of(blocks_)};
  for (std::size_t i = 0; i < page_count_; ++i) {
    const std::byte* page = pages_ + i * size_of<table_page>;
    if (load<std::uint32_t, order::little>(page) != position) return {errc::out_of_range, offset_of(page)};
    for (std::size_t bucket = 0; bucket < buckets_per_page; ++bucket) {
      const auto count = std::to_integer<std::uint64_t>(page[4 + bucket]);
      if (2 * count > end - position) return {errc::out_of_range, offset_of(page)};
      const std::byte* starts = blocks_ + position;
      std::uint32_t free = 0;  // The first granule of the bucket behind all rows so far.
      for (std::uint64_t k = 0; k < count;) {
        std::uint64_t together = 1;
        while (k + together < count && starts[k + together] == starts[k]) ++together;
        const std::byte* last = starts + count + k + together - 1;
        const std::uint32_t extent = extent_of(last, together);
        if (extent > 255) return {errc::out_of_range, offset_of(last)};
        const auto start = std::to_integer<std::uint32_t>(starts[k]);
        if (start < free || start + extent > 255) return {errc::out_of_range, offset_of(starts + k)};
        free = start + extent + 1;
        k += together;
      }
      position += 2 * count;
    }
  }
  if (position != end) return {errc::bad_size, offset_of(blocks_)};
  return {};
}

}  // namespace backsight::cfi::detail
