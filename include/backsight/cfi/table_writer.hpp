// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <backsight/cfi/bucket_layout.hpp>
#include <backsight/cfi/packed_rows.hpp>
#include <backsight/cfi/row_sequences.hpp>
#include <backsight/cfi/table_format.hpp>
#include <backsight/cfi/table_search.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>
#include <backsight/core/saved_index.hpp>

namespace backsight::cfi::detail {

/// What a table is written of besides its rows.
struct table_contents {
  std::uint16_t machine = 0;
  std::uint8_t address_size = 0;
  std::uint8_t rule_bytes = 0;
  table_profile profile = table_profile::callee_saved;
  byte_view build_id;
  byte_view rules;    // By number.
  byte_view general;  // Their texts.
  bool find_sequences = true;
  fingerprint source;  // Of what the rows are from.
};

/// Writes rows and rules as a table.
class table_writer {
 public:
  table_writer(const table_contents& of, const packed_rows& rows) : of_(of), rows_(rows) {}

  [[nodiscard]] result<std::vector<std::byte>> write() {
    count_uses();
    rank_rules();
    // Most files have a granule that suits all of their code; where rows are too dense for it, a smaller one serves.
    for (;; --granule_bits_) {
      granule_ = granule(granule_bits_);
      const result<bool> fits = write_with_granule();
      if (!fits) return fits.error();
      if (*fits) return assemble();
    }
  }

 private:
  // Sequences are learnt from a sixteenth of the rows, 512 to 4096, in pieces from all over the file. 4096 of every
  // file take a tenth more time for tables that are half a percent smaller.
  static constexpr std::size_t sample_pieces = 16, least_piece = 32, largest_piece = 256;
  static constexpr std::uint64_t longest_hole = 64;  // Pages without a row that are worth storing to keep a run whole.

  [[nodiscard]] std::size_t rule_count() const noexcept { return of_.rules.size() / of_.rule_bytes; }
  [[nodiscard]] std::uint64_t page_bytes() const noexcept { return granule_.bytes(256 * buckets_per_page); }

  using window = row_window<packed_rows::reader>;

  void count_uses() {
    ranking_ = rule_ranking(rule_count());
    piece_rows_ = std::clamp(rows_.size() / (sample_pieces * sample_pieces), least_piece, largest_piece);
    const std::size_t between = std::max(rows_.size() / sample_pieces, piece_rows_);
    std::uint64_t bits = 0;
    std::size_t to_piece = 0;
    for (window at{packed_rows::reader(rows_)}; !at.done; --to_piece) {
      if (to_piece == 0) pieces_.push_back(window(at)), to_piece = between;
      bits |= at.now.start;
      if (at.now.rule != packed_rows::no_rule) ranking_.count(at.now.rule);
      else if (at.is_aligned_gap()) ranking_.count_entry(at.next.current().rule);
      at.advance();
    }
    granule_bits_ = granule_bits_of(bits);
  }
  /// The most frequent rules have one-byte ids.
  void rank_rules() {
    ranking_.rank();
    const std::size_t frequent = id_aligned_gap - most_sequences - most_rare_ids;
    const std::size_t rare = rule_count() > frequent ? rule_count() - frequent : 0;
    rare_ids_ = std::min((rare + 255) / 256, most_rare_ids);
  }

  /// Reads the rows of a bucket. Rules from `first_sequence` on have no id of their own; their numbers go to `rare_`.
  void read_bucket_rows(window& from, std::uint64_t begin, std::uint8_t first_sequence) {
    std::size_t count = 0;
    rare_.clear();
    const granule unit = granule_;
    const auto add = [&](std::uint64_t start, std::uint8_t id) {
      bucket_.starts[count] = static_cast<std::uint8_t>(unit.count(start));
      bucket_.ids[count++] = id;
    };
    // The row behind a gap may lie in the next bucket, where the last id of this one stands for it; not in the next
    // page, which may be the first of a run.
    const auto may_join = [&](std::uint64_t behind) { return (behind & (page_bytes() - 1)) != 0; };
    read_bucket(from, begin, granule_.bytes(256), ranking_.entry(), may_join, add,
                [&](std::uint64_t start, std::uint32_t rule) {
                  const std::uint16_t order = ranking_.order_of(rule);
                  add(start, order < first_sequence ? static_cast<std::uint8_t>(order) : bucket_rows::rare);
                  if (order >= first_sequence) rare_.push_back(order);
                });
    bucket_.count = count;
  }

  void learn_sequences() {
    sequences_ = {};
    if (!of_.find_sequences) return;
    sequence_learner learner(pieces_.size() * piece_rows_ + 256);
    std::size_t rows = 0;
    for (window at : pieces_) {
      rows += piece_rows_;
      const std::uint64_t bucket_bytes = granule_.bytes(256);
      while (!at.done && learner.size() < rows) {
        read_bucket_rows(at, at.now.start / bucket_bytes * bucket_bytes,
                         static_cast<std::uint8_t>(id_aligned_gap - rare_ids_ - most_sequences));
        learner.add(bucket_);
      }
    }
    sequences_ = row_sequences(learner.learn(rows_.size()));
  }

  /// Writes runs, pages and blocks; false when more rows begin in a bucket than it has room for.
  [[nodiscard]] result<bool> write_with_granule() {
    learn_sequences();
    const auto first_sequence = static_cast<std::uint8_t>(id_aligned_gap - rare_ids_ - sequences_.size());
    const std::uint64_t bucket_bytes = granule_.bytes(256);
    runs_.clear(), pages_.clear(), blocks_.clear();
    blocks_.reserve(rows_.size() + rows_.size() / 4 + block_slack);
    blocks_.push_back(std::byte{id_gap});
    struct {
      std::uint64_t begin = 0;
      std::uint32_t first_page = 0, pages = 0;
    } run;
    bool has_room = true;
    const auto end_run = [&] {
      if (run.pages == 0) return;
      append(runs_, owned_record<table_run, order::little>{}
                        .set(table_run::begin, run.begin)
                        .set(table_run::first_page, run.first_page)
                        .set(table_run::page_count, run.pages)
                        .bytes());
    };
    window at{packed_rows::reader(rows_)};
    const bool fits = for_each_unit(
        at, page_bytes(), longest_hole + 1,
        [&](std::uint64_t begin) {
          end_run();
          run = {begin, run.first_page + run.pages, 0};
        },
        [&](std::uint64_t begin) {
          std::array<std::byte, 16> counts{};
          has_room = blocks_.size() <= 0xffffffffU - 16 * 512;
          if (!has_room) return false;
          const auto block = static_cast<std::uint32_t>(blocks_.size());
          for (std::size_t bucket = 0; bucket < buckets_per_page; ++bucket, begin += bucket_bytes) {
            if (at.done || at.now.start - begin >= bucket_bytes) continue;
            read_bucket_rows(at, begin, first_sequence);
            join_sequences(first_sequence);
            const std::size_t ids = write_ids(first_sequence);
            if (ids > 255) return false;
            counts[bucket] = static_cast<std::byte>(ids);
          }
          append(pages_, owned_record<table_page, order::little>{}
                             .set(table_page::block, block)
                             .set(table_page::counts, counts)
                             .bytes());
          ++run.pages;
          return true;
        });
    if (!has_room) return {errc::capacity, 0};
    if (!fits) return false;
    end_run();
    blocks_.resize(blocks_.size() + block_slack);
    return true;
  }
  void join_sequences(std::uint8_t first_sequence) noexcept {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < bucket_.count; ++kept) {
      const std::uint8_t id = bucket_.ids[k];
      row_sequences::found found;
      if (sequences_.starts_with(id)) found = sequences_.match(bucket_, k);
      bucket_.starts[kept] = bucket_.starts[k];
      bucket_.ids[kept] = found.rows == 0 ? id : static_cast<std::uint8_t>(first_sequence + found.number);
      k += found.rows == 0 ? 1 : found.rows;
    }
    bucket_.count = kept;
  }
  /// Writes the starts and ids of the bucket; gives how many there are.
  [[nodiscard]] std::size_t write_ids(std::uint8_t first_sequence) {
    const std::size_t first_rare = id_aligned_gap - rare_ids_;
    const auto digits = [&](std::uint16_t rule) -> std::size_t {
      return rule < first_sequence + 256 * rare_ids_ ? 1 : 2;
    };
    std::size_t count = bucket_.count, next = 0;
    for (const std::uint16_t rule : rare_) count += digits(rule);
    const std::size_t begin = blocks_.size();
    blocks_.resize(begin + 2 * count);
    std::byte* starts = blocks_.data() + begin;
    std::byte* ids = starts + count;
    if (rare_.empty()) {
      std::memcpy(starts, bucket_.starts.data(), count);
      std::memcpy(ids, bucket_.ids.data(), count);
      return count;
    }
    const auto put = [&](std::size_t k, std::size_t id) {
      *starts++ = static_cast<std::byte>(bucket_.starts[k]);
      *ids++ = static_cast<std::byte>(id);
    };
    for (std::size_t k = 0; k < bucket_.count; ++k) {
      if (bucket_.ids[k] != bucket_rows::rare) [[likely]] {
        put(k, bucket_.ids[k]);
        continue;
      }
      const std::uint16_t rule = rare_[next++];
      if (digits(rule) == 1) {
        put(k, (rule - first_sequence) & 0xffU);
        put(k, first_rare + (rule - first_sequence) / 256U);
      } else {
        put(k, rule & 0xffU);
        put(k, rule >> 8U);
        put(k, id_rarest);
      }
    }
    return count;
  }

  template <class Bytes>
  static void append(std::vector<std::byte>& to, const Bytes& bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
  }
  [[nodiscard]] std::vector<std::byte> assemble() const {
    const std::size_t total = table_head_bytes + runs_.size() + pages_.size() + of_.rules.size() +
                              sequences_.size() * size_of<table_sequence> + of_.general.size() + blocks_.size();
    std::array<std::byte, 32> id{};
    const std::size_t id_bytes = std::min(of_.build_id.size(), id.size());
    std::copy_n(of_.build_id.begin(), id_bytes, id.begin());
    owned_record<table_header, order::little> header;
    header.set(table_header::file_bytes, total)
        .set(table_header::machine, of_.machine)
        .set(table_header::address_size, of_.address_size)
        .set(table_header::granule_bits, static_cast<std::int8_t>(granule_bits_))
        .set(table_header::rule_bytes, of_.rule_bytes)
        .set(table_header::profile, of_.profile)
        .set(table_header::run_count, static_cast<std::uint32_t>(runs_.size() / size_of<table_run>))
        .set(table_header::page_count, static_cast<std::uint32_t>(pages_.size() / size_of<table_page>))
        .set(table_header::rule_count, static_cast<std::uint32_t>(rule_count()))
        .set(table_header::general_bytes, static_cast<std::uint32_t>(of_.general.size()))
        .set(table_header::block_bytes, static_cast<std::uint32_t>(blocks_.size()))
        .set(table_header::build_id_bytes, static_cast<std::uint8_t>(id_bytes))
        .set(table_header::sequence_count, static_cast<std::uint8_t>(sequences_.size()))
        .set(table_header::rare_ids, static_cast<std::uint8_t>(rare_ids_))
        .set(table_header::build_id, id)
        .set(table_header::row_count, rows_.size());
    std::vector<std::byte> out;
    out.reserve(total);
    out.resize(saved_index_head::size);
    append(out, header.bytes());
    append(out, runs_);
    append(out, pages_);
    for (const std::uint32_t rule : ranking_.ranked()) {
      append(out, of_.rules.subspan(std::size_t{rule} * of_.rule_bytes, of_.rule_bytes));
    }
    for (std::size_t i = 0; i < sequences_.size(); ++i) append(out, sequences_.image(i).bytes());
    append(out, of_.general);
    append(out, blocks_);
    seal_saved_index<table_header>(out, unwind_table_kind, 1, of_.source);
    return out;
  }

  table_contents of_;
  const packed_rows& rows_;
  int granule_bits_ = 0;
  granule granule_;
  std::size_t rare_ids_ = 0;
  std::size_t piece_rows_ = least_piece;
  rule_ranking ranking_;
  std::vector<window> pieces_;
  row_sequences sequences_;
  bucket_rows bucket_;
  std::vector<std::uint16_t> rare_;  // The rules of the bucket that have no id of their own, in their order.
  std::vector<std::byte> runs_, pages_, blocks_;
};

}  // namespace backsight::cfi::detail
