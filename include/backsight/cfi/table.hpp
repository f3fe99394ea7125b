// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/cfi/halving.hpp>
#include <backsight/cfi/table_format.hpp>
#include <backsight/cfi/table_parts.hpp>
#include <backsight/cfi/table_search.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>

namespace backsight::cfi {

/// An unwind table: built by build_table, or a mapped file of one. A view; the bytes must outlive it. Look-up needs no
/// parsing and allocates nothing; the format is docs/formats/unwind-table.md. Positions do not matter: copy, map or
/// embed it anywhere. Safe for any number of readers.
class table_view : private detail::table_parts {
 public:
  table_view() = default;

  /// Opens a table and checks all of it: a pass over the checksum and one over the pages. Look-ups rely on that and
  /// check nothing more. Errors: errc::truncated, bad_magic, unsupported_version, bad_size, checksum, out_of_range.
  [[nodiscard]] static result<table_view> open(byte_view bytes) noexcept;

  using detail::table_parts::bytes;
  using detail::table_parts::header;
  [[nodiscard]] bool empty() const noexcept { return run_count_ == 0; }
  [[nodiscard]] std::uint16_t machine() const noexcept { return header()[table_header::machine]; }
  [[nodiscard]] table_profile profile() const noexcept { return header()[table_header::profile]; }
  [[nodiscard]] std::uint64_t row_count() const noexcept { return header()[table_header::row_count]; }
  /// The build-id of the file that the table was made from; empty when it has none.
  [[nodiscard]] byte_view build_id() const noexcept {
    return bytes_.subspan(detail::offset_in_table(table_header::build_id), header()[table_header::build_id_bytes]);
  }
  /// The fingerprint of the sections that it was built of, fingerprint_of_ends of each together; zeros where the
  /// builder did not know them.
  [[nodiscard]] fingerprint source() const noexcept { return empty() ? fingerprint() : head().source; }

  /// The rule for a link-time address; none where there is no call frame information. About 15 loads and no call; the
  /// rule's bytes may be cached as long as the table lives.
  [[nodiscard]] any_rule find(std::uint64_t link_address) const noexcept {
    if (run_count_ == 0) return {};
    const std::byte* run = runs_;
    if (run_count_ > 1) [[unlikely]]
      run = find_run(link_address);
    const record<table_run, order::little> r(run);
    const std::uint64_t begin = r[table_run::begin];
    if (link_address < begin) return {};
    const std::uint64_t pages = r[table_run::page_count];
    // Behind the last page the last row is in force: a gap, or a long function.
    const std::uint64_t granules = granule_.count(link_address - begin, pages * (256 * detail::buckets_per_page) - 1);
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
    if (id < first_sequence_) [[likely]]
      return rule(id);
    // From a bucket before, the last row is in force, wherever it began.
    const std::uint32_t start = below == 0 ? before_bucket : std::to_integer<std::uint32_t>(block[below - 1]);
    if (id < first_rare_) return find_in_sequence(id, start, key);
    return find_special(id, at, start, key);
  }

  /// The rules, by number; rule_bytes() each.
  [[nodiscard]] std::size_t rule_count() const noexcept { return rule_count_; }
  [[nodiscard]] any_rule rule(std::size_t number) const noexcept { return any_rule(rules_ + number * rule_bytes_); }

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
            const auto start = std::to_integer<std::uint32_t>(block[i]);
            const auto row = [&](std::uint32_t at, std::uint8_t id, const std::byte* id_at) {
              const std::uint64_t address = bucket_begin + granule_.bytes(at);
              f(address, number_of(id < first_sequence_ ? this->rule(id)
                                                        : find_special(id, id_at, at, static_cast<std::uint8_t>(at))));
              if (id == id_aligned_gap) f((address | 15U) + 1, std::uint32_t{0});
            };
            // Of ids that begin together the last one counts.
            if (i + 1 < count && block[i] == block[i + 1]) continue;
            const auto id = std::to_integer<std::uint8_t>(block[count + i]);
            if (id < first_sequence_ || id >= first_rare_) {
              row(start, id, block + count + i);
              continue;
            }
            const std::byte* sequence = sequence_at(id);
            for (std::uint32_t k = 0; k <= std::to_integer<std::uint32_t>(sequence[0]); ++k) {
              row(start + (k == 0 ? 0 : std::to_integer<std::uint32_t>(sequence[k])),
                  std::to_integer<std::uint8_t>(sequence[16 + k]), sequence + 16 + k);
            }
          }
          block += 2 * count;
          bucket_begin += granule_.bytes(256);
        }
      }
    }
  }

  /// The text of a rule whose shape has one, and what lies behind it; walk_general_rule reads it. Empty for others.
  [[nodiscard]] byte_view text_of(any_rule rule) const noexcept {
    const byte_view from = general_at(rule);
    const std::size_t before = 1 + 2 * others_of(rule).count;
    if (rule[unwind_rule::shape] == rule_shape::general) return from;
    return from.subspan(before < from.size() ? before : from.size());
  }
  /// Registers that callees do not preserve, and that a rule of shape `aligned` or `signal` recovers: `count` pairs of
  /// a register and the signed word where it is saved, as lanes have it.
  struct other_registers {
    const std::byte* pairs = nullptr;
    std::size_t count = 0;
  };
  [[nodiscard]] other_registers others_of(any_rule rule) const noexcept {
    const rule_shape shape = rule[unwind_rule::shape];
    const byte_view from = general_at(rule);
    if (from.empty() || (shape != rule_shape::aligned && shape != rule_shape::signal)) return {};
    return {from.data() + 1, std::to_integer<std::size_t>(from[0])};
  }
  [[nodiscard]] std::size_t rule_bytes() const noexcept { return rule_bytes_; }

 private:
  [[nodiscard]] const std::byte* find_run(std::uint64_t link_address) const noexcept {
    const auto begins_before = [&](std::size_t i) {
      return load<std::uint64_t, order::little>(runs_ + i * size_of<table_run>) <= link_address;
    };
    return runs_ + detail::last_at_most(run_count_, begins_before) * size_of<table_run>;
  }
  static constexpr std::uint32_t before_bucket = 0xffffffffU;

  [[nodiscard]] const std::byte* sequence_at(std::uint8_t id) const noexcept {
    return sequences_ + std::size_t{id} * size_of<table_sequence> -
           std::size_t{first_sequence_} * size_of<table_sequence>;
  }
  [[nodiscard]] std::uint32_t number_of(any_rule rule) const noexcept {
    if (!rule) return no_rule;
    return static_cast<std::uint32_t>(static_cast<std::size_t>(rule.bytes() - rules_) / rule_bytes_);
  }
  /// Several rows in one, of which the first begins at granule `start` of the bucket.
  [[nodiscard]] any_rule find_in_sequence(std::uint8_t id, std::uint32_t start, std::uint8_t key) const noexcept {
    const std::byte* sequence = sequence_at(id);
    const auto more = std::to_integer<std::uint32_t>(sequence[0]);
    std::uint32_t which = more;
    if (start != before_bucket) [[likely]]
      which = detail::count_at_most(sequence + 1, more, static_cast<std::uint8_t>(key - start));
    const auto row_id = std::to_integer<std::uint8_t>(sequence[16 + which]);
    if (row_id < first_sequence_) [[likely]]
      return rule(row_id);
    if (row_id == id_gap) return {};
    // An aligned gap, which is the last row: `start` is its own from here on.
    if (start != before_bucket) start += more == 0 ? 0 : std::to_integer<std::uint32_t>(sequence[more]);
    return find_special(row_id, nullptr, start, key);
  }
  [[nodiscard]] any_rule find_special(std::uint8_t id, const std::byte* at, std::uint32_t start,
                                      std::uint8_t key) const noexcept {
    if (id == id_gap) return {};
    if (id == id_aligned_gap) {
      const std::uint8_t aligned = static_cast<std::uint8_t>(~(granule_.count(16) - 1U));
      // From a bucket before: buckets begin at multiples of 16, so rule 0 is in force already.
      if (start != before_bucket && (key & aligned) <= start) return {};
      return rule(0);
    }
    return rule(rare_number(at));
  }
  friend class table;
  table_view(const detail::table_parts& parts) noexcept : detail::table_parts(parts) {}  // NOLINT: of results
};

inline result<table_view> table_view::open(byte_view bytes) noexcept {
  const auto parts = find_parts(bytes);
  if (!parts) return parts.error();
  if (const trace_error error = parts->check()) return error;
  return table_view(*parts);
}

}  // namespace backsight::cfi
