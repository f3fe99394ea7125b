// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/saved_index.hpp>
#include <backsight/core/schema.hpp>

namespace backsight::cfi {

/// Which registers the rules of a table recover.
enum class table_profile : std::uint8_t {
  callee_saved,  ///< Return address, stack pointer and what a callee preserves; all registers of signal frames.
  all,           ///< Every register that the sections name.
};

/// What a table is to hold, and the build-id to store in it.
struct table_options {
  table_profile profile = table_profile::callee_saved;
  byte_view build_id;
  /// Look for runs of rows that come again and again, which makes a table a third smaller. Worth its time where a table
  /// is kept or is large; false for tables of parts that are used a few times.
  bool find_sequences = true;
};

/// An unwind table is a saved index (core/saved_index.hpp) of this kind with one entry, its table_header; the parts
/// follow. It is about the sections that it was built of.
inline constexpr saved_index_kind unwind_table_kind("BSUWNTAB", 3);

/// The entry of an unwind table's head. All numbers of the format are little-endian.
struct table_header {
  static constexpr const char* name = "table_header";
  static constexpr std::size_t size = 80;
  static constexpr field<"file_bytes", std::uint64_t> file_bytes{};  ///< of the table, its head among them
  static constexpr field<"machine", std::uint16_t> machine{};
  static constexpr field<"address_size", std::uint8_t> address_size{};
  static constexpr field<"granule_bits", std::int8_t> granule_bits{};
  static constexpr field<"rule_bytes", std::uint8_t> rule_bytes{};
  static constexpr field<"profile", table_profile> profile{};
  static constexpr field<"sequence_count", std::uint8_t> sequence_count{};
  static constexpr field<"rare_ids", std::uint8_t> rare_ids{};
  static constexpr field<"run_count", std::uint32_t> run_count{};
  static constexpr field<"page_count", std::uint32_t> page_count{};
  static constexpr field<"rule_count", std::uint32_t> rule_count{};
  static constexpr field<"general_bytes", std::uint32_t> general_bytes{};
  static constexpr field<"block_bytes", std::uint32_t> block_bytes{};
  static constexpr field<"build_id_bytes", std::uint8_t> build_id_bytes{};
  static constexpr padding<24> reserved{};
  static constexpr field<"row_count", std::uint64_t> row_count{};
  static constexpr field<"build_id", std::array<std::byte, 32>> build_id{};
  static constexpr layout fields{file_bytes,     machine,        address_size, granule_bits, rule_bytes, profile,
                                 sequence_count, rare_ids,       run_count,    page_count,   rule_count, general_bytes,
                                 block_bytes,    build_id_bytes, reserved,     row_count,    build_id};
};
static_assert(schema<table_header>);

namespace detail {

/// The head of a table and its one entry.
inline constexpr std::size_t table_head_bytes = saved_index_head::size + table_header::size;

/// Where a member of the header lies in a table.
template <class Member>
[[nodiscard]] constexpr std::uint64_t offset_in_table(Member member) noexcept {
  return saved_index_head::size + offset_of<table_header>(member);
}

}  // namespace detail

/// Ids of rows. From 0 on the most frequent rules, by number; then sequences; then ids of rare rules, of which each
/// stands for 256 by the id in front; then these.
inline constexpr std::uint8_t id_aligned_gap = 253;  ///< Nothing up to the next multiple of 16, then rule 0: entries'.
inline constexpr std::uint8_t id_gap = 254;          ///< Nothing.
inline constexpr std::uint8_t id_rarest = 255;       ///< The rule whose number the two ids in front are.

/// A stretch of code without long holes: `page_count` pages from link address `begin` on.
struct table_run {
  static constexpr const char* name = "table_run";
  static constexpr std::size_t size = 16;
  static constexpr field<"begin", std::uint64_t> begin{};
  static constexpr field<"first_page", std::uint32_t> first_page{};
  static constexpr field<"page_count", std::uint32_t> page_count{};
  static constexpr layout fields{begin, first_page, page_count};
};
static_assert(schema<table_run>);

/// 16 buckets of 256 granules of code: where their rows begin among the blocks, and the number of ids in each.
struct table_page {
  static constexpr const char* name = "table_page";
  static constexpr std::size_t size = 20;
  static constexpr field<"block", std::uint32_t> block{};
  static constexpr field<"counts", std::array<std::byte, 16>> counts{};
  static constexpr layout fields{block, counts};
};
static_assert(schema<table_page>);

/// Several rows that one id stands for, as prologues and epilogues repeat them: the number of rows behind the first,
/// how many granules from the first each of those begins, and the ids of all, the first among them.
struct table_sequence {
  static constexpr const char* name = "table_sequence";
  static constexpr std::size_t size = 32;
  static constexpr field<"more", std::uint8_t> more{};
  static constexpr field<"distances", std::array<std::byte, 15>> distances{};
  static constexpr field<"ids", std::array<std::byte, 16>> ids{};
  static constexpr layout fields{more, distances, ids};
};
static_assert(schema<table_sequence>);

}  // namespace backsight::cfi
