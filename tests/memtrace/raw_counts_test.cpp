// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <backsight/memtrace/raw_counts.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::raw_builder;

namespace {

trace_error count(byte_view file, raw_counter& counter, std::size_t piece) {
  trace_error error;
  for (std::size_t at = 0; at < file.size() && !error; at += piece)
    error = counter.feed(file.subspan(at, std::min(piece, file.size() - at)));
  const trace_error at_end = counter.finish();
  return error ? error : at_end;
}

}  // namespace

TEST_CASE("each kind of raw entry is counted in its window, whatever the pieces") {
  raw_builder built;
  built.header(9)
      .time(1)
      .unit(10, 0)
      .block(5)
      .block(7, raw_type::pc_top_bit_or_iflush)
      .memref(1)
      .entry(raw_type::memref_high, 2);
  built.marker(marker_type::split_value, 1).marker(marker_type::kernel_event, 2);
  built.time(11).unit(12, 0).block(1).unit(20, 4).block(2).marker(marker_type::syscall, 1).footer();
  raw_window_counts head, zero, four;
  head.entries = 5, head.timestamps = 1;
  zero.window = 0, zero.entries = 3 + 4 + 2 + 2 + 3 + 1, zero.blocks = 3, zero.instructions = 13, zero.memrefs = 2,
  zero.timestamps = 3, zero.window_markers = 2;
  four.window = 4, four.entries = 6, four.blocks = 1, four.instructions = 2, four.timestamps = 1,
  four.window_markers = 1, four.footers = 1;
  for (const std::size_t piece : {std::size_t{8}, std::size_t{16}, std::size_t{24}, built.view().size()}) {
    raw_counter counter;
    CHECK_FALSE(count(built.view(), counter, piece));
    CHECK(counter.tid() == 9);
    CHECK(counter.windows() == std::vector<raw_window_counts>{head, zero, four});
  }
  raw_window_counts sum = zero;
  sum += four;
  CHECK(sum.window == 0U);
  sum.window.reset();
  raw_window_counts expected;
  expected.entries = zero.entries + 6, expected.blocks = 4, expected.instructions = 15, expected.memrefs = 2,
  expected.timestamps = 4, expected.window_markers = 3, expected.footers = 1;
  CHECK(sum == expected);
  raw_counter waiting;
  CHECK_FALSE(count(built.view().first(32), waiting, 8));
  CHECK(waiting.windows().back().timestamps == 1);
  CHECK(waiting.windows().back().entries == 4);
}

TEST_CASE("an entry of no known kind, or without its second one, is an error with its place in any feed") {
  struct one {
    const char* what;
    raw_builder file;
    trace_error error;
  };
  const auto start = [](std::uint64_t type = 0xc40) { return raw_builder{}.header(9, type).time(1).block(3); };
  const std::uint64_t place = start().here();
  const std::uint64_t arm = file_type::arm32;
  std::vector<one> cases;
  cases.push_back({"unknown",
                   start().marker(marker_type{}, 0, static_cast<raw_extension>(6)).footer(),
                   {errc::unknown_record, place}});
  cases.push_back({"last known", start().marker(marker_type{}, 0, static_cast<raw_extension>(5)).footer(), {}});
  cases.push_back({"half of a value",
                   start().marker(marker_type::split_value, 1).block(1).footer(),
                   {errc::unpaired_record, place}});
  cases.push_back({"two halves of a value",
                   start().marker(marker_type::split_value, 1).marker(marker_type::split_value, 1).footer(),
                   {errc::unpaired_record, place}});
  cases.push_back(
      {"half and footer", start().marker(marker_type::split_value, 1).footer(), {errc::unpaired_record, place}});
  cases.push_back({"half at the end", start().marker(marker_type::split_value, 1), {errc::truncated, place}});
  cases.push_back(
      {"half and whole", start().marker(marker_type::split_value, 1).marker(marker_type::kernel_xfer, 1).footer(), {}});
  cases.push_back({"start of a flush",
                   start(arm).entry(raw_type::pc_top_bit_or_iflush, 1).block(1).footer(),
                   {errc::unpaired_record, place}});
  cases.push_back(
      {"start of a flush at the end", start(arm).entry(raw_type::pc_top_bit_or_iflush, 1), {errc::truncated, place}});
  cases.push_back({"two flushes",
                   start(arm)
                       .entry(raw_type::pc_top_bit_or_iflush, 1)
                       .entry(raw_type::pc_top_bit_or_iflush, 2)
                       .entry(raw_type::pc_top_bit_or_iflush, 3)
                       .entry(raw_type::pc_top_bit_or_iflush, 4)
                       .footer(),
                   {}});
  for (const one& now : cases) {
    for (const std::size_t piece : {std::size_t{8}, std::size_t{24}, now.file.view().size()}) {
      CAPTURE(now.what, piece);
      raw_counter counter;
      CHECK(count(now.file.view(), counter, piece) == now.error);
      CHECK(counter.windows().back().instructions == 3);
      // The same as the typed entries say.
      const auto head = read_raw_header(now.file.view());
      REQUIRE(head);
      CHECK(raw_range(now.file.view(), head->context()).validate() == now.error);
    }
  }
}
