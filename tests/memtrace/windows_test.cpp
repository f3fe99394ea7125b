// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>

#include <backsight/memtrace/raw_counts.hpp>
#include <backsight/memtrace/windows.hpp>

#include "expected_tables.hpp"
#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::raw_builder;
using test::table;
using test::trace_builder;
using test::windows_of;
using test::yield_files;

static_assert(std::ranges::forward_range<window_range> && std::ranges::view<window_range>);

namespace {}  // namespace

TEST_CASE("the windows of a merged trace are found with their numbers") {
  const auto file = load_trace("single/drmemtrace.single.10508.3099.trace.gz");
  const auto all = windows_of(file);
  REQUIRE(all.size() == 5);
  const std::vector<std::uint64_t> instructions{7707, 11129, 7364, 7687, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(all[i].ordinal == i);
    CHECK(all[i].tid == 10508);
    CHECK(all[i].instructions == instructions[i]);
    CHECK(all[i].gap() == (i != 0));
    CHECK(all[i].end == (i == 4 ? file.size() : all[i + 1].begin));
  }
  // A direct jump that was held back stands between the last window's TIMESTAMP and its WINDOW_ID.
  CHECK(all[4].begin - all[4].opening == 24);
  CHECK(all[3].begin - all[3].opening == 12);
  CHECK(all[1].idle_time == 547);
}

TEST_CASE("a trace without windows is one window without ordinal") {
  trace_builder built;
  built.header().time(100).instruction(1, 1).instruction(2, 1).exit();
  const auto all = windows_of(built.view());
  REQUIRE(all.size() == 1);
  CHECK_FALSE(all[0].ordinal);
  CHECK(all[0].instructions == 2);
  CHECK_FALSE(all[0].gap());
}

TEST_CASE("a window is split into a warm-up of that many instructions and the rest") {
  const auto file = load_trace("single/drmemtrace.single.10508.3099.trace.gz");
  const auto all = windows_of(file);
  const window_part whole = part_of(file, all[1]);
  const auto count = [](const window_part& part) {
    std::uint64_t instructions = 0;
    for (const auto item : part.entries())
      instructions += is_instruction(item[entry_record::type]) && item[entry_record::size] != 0;
    return instructions;
  };
  for (const std::uint64_t warm_up : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{5000},
                                      std::uint64_t{11129}, std::uint64_t{99999}}) {
    const auto [first, second] = whole.split_at(warm_up);
    CHECK(count(first) == std::min<std::uint64_t>(warm_up, 11129));
    CHECK(count(first) + count(second) == 11129);
    CHECK(first.bytes.size() + second.bytes.size() == whole.bytes.size());
    CHECK(second.base == first.base + first.bytes.size());
    // Encodings and branch targets go with the instruction behind them.
    if (!first.bytes.empty()) {
      const auto last = first.entries()[first.entries().size() - 1];
      CHECK(last[entry_record::type] != trace_type::encoding);
    }
  }
}

TEST_CASE("window_at goes to one window and none that is not there") {
  const auto file = load_trace("yield/drmemtrace.yield.24340.6622.trace.zip");
  const auto trace = final_trace::open(file);
  REQUIRE(trace);
  CHECK_FALSE(trace->window_at(0));
  REQUIRE(trace->window_at(6));
  CHECK(trace->window_at(6)->ordinal == 6);
}

TEST_CASE("the units of raw traces have window, thread and time, and join to windows") {
  const auto expected = table("yield.raw_windows.tsv");
  for (const std::string& name : yield_files) {
    const auto file = load_trace("yield/drmemtrace.yield." + name + ".raw");
    const auto head = read_raw_header(file);
    REQUIRE(head);
    std::uint64_t units = 0, windows = 0, joined = 0;
    std::size_t end = head->size;
    for (const raw_unit& unit : raw_units(file, *head)) {
      CHECK(unit.begin == end);
      CHECK(unit.tid == head->tid);
      CHECK(unit.window);
      CHECK(unit.time > 13439699000000000);
      end = unit.end;
      ++units;
    }
    CHECK(end == file.size());
    raw_counter counter;
    CHECK_FALSE(counter.feed(file));
    counter.finish();
    for_each_raw_window(file, *head, [&](const window& one) {
      ++windows;
      joined += one.units;
      CHECK(one.ordinal == counter.windows().at(windows).window);
      CHECK(one.instructions == counter.windows().at(windows).instructions);
    });
    CHECK(joined == units);
    CHECK(windows + 1 == counter.windows().size());
  }
}

TEST_CASE("every number of every window of a hand-made raw trace is right") {
  raw_builder built;
  built.header(9);
  window zero, three, four, two;
  zero.ordinal = 0, zero.tid = 9, zero.begin = zero.opening = built.here(), zero.first_time = 1000;
  built.unit(1000, 0)
      .block(5)
      .memref(0x7000)
      .block(7, raw_type::pc_top_bit_or_iflush)
      .unit(1010, 0)
      .block(2)
      .time(1020);
  zero.end = built.here(), zero.last_time = 1020, zero.instructions = 14, zero.units = 2;
  three.ordinal = 3, three.tid = 9, three.begin = three.opening = zero.end, three.first_time = 1500,
  three.first_instruction = 14;
  three.skipped = 2, three.idle_time = 480, three.has_predecessor = true;
  built.unit(1500, 3).block(1).time(1600);
  three.end = built.here(), three.last_time = 1600, three.instructions = 1, three.units = 1;
  // A unit header's time may lie before the last one.
  four.ordinal = 4, four.tid = 9, four.begin = four.opening = three.end, four.first_time = 1590,
  four.first_instruction = 15;
  four.has_predecessor = true;
  built.unit(1590, 4).block(4095);
  four.end = built.here(), four.last_time = 1590, four.instructions = 4095, four.units = 1;
  two.ordinal = 2, two.tid = 9, two.begin = two.opening = four.end, two.first_time = 1591, two.first_instruction = 4110;
  two.idle_time = 1, two.has_predecessor = true;
  built.unit(1591, 2).footer();
  two.end = built.here(), two.last_time = 1591, two.units = 1;

  const auto head = read_raw_header(built.view());
  REQUIRE(head);
  std::vector<window> found;
  for_each_raw_window(built.view(), *head, [&](const window& one) { found.push_back(one); });
  CHECK(found == std::vector<window>{zero, three, four, two});
}

TEST_CASE("a raw trace without windows is one, and one of 32-bit ARM has flushes where others have blocks") {
  raw_builder built;
  built.header(9, file_type::arm32)
      .time(50)
      .block(3)
      .entry(raw_type::pc_top_bit_or_iflush, 0x1000)
      .entry(raw_type::pc_top_bit_or_iflush, 0x1040)
      .time(60)
      .footer();
  const auto head = read_raw_header(built.view());
  REQUIRE(head);
  window only;
  only.tid = 9, only.begin = only.opening = 24, only.end = built.here(), only.first_time = 50, only.last_time = 60,
  only.instructions = 3, only.units = 1;
  std::vector<window> found;
  for_each_raw_window(built.view(), *head, [&](const window& one) { found.push_back(one); });
  CHECK(found == std::vector<window>{only});
}

TEST_CASE("a part is split in front of what belongs to the next instruction") {
  trace_builder built;
  built.put(trace_type::encoding, 1, 0x90)
      .instruction(0x10, 1)
      .put(trace_type::read, 8, 0x7000)
      .marker(marker_type::timestamp, 5);
  // A PC alone is no instruction.
  built.instruction(0x11, 0).put(trace_type::read, 8, 0x7008);
  built.marker(marker_type::branch_target, 0x20)
      .put(trace_type::encoding, 1, 0xc3)
      .instruction(0x12, 1, trace_type::instr_return);
  // At the start of a chunk the two come the other way round.
  built.put(trace_type::encoding, 2, 0xe0ff)
      .marker(marker_type::branch_target, 0x30)
      .instruction(0x20, 2, trace_type::instr_indirect_jump);
  // What is left over at the end.
  built.put(trace_type::encoding, 1, 0x90).marker(marker_type::branch_target, 0x40);
  const window_part whole{built.view(), 1200};
  const std::vector<std::size_t> cuts{0, 6, 9, 14, 14};
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    CAPTURE(i);
    const auto [first, rest] = whole.split_at(i);
    CHECK(first.base == 1200);
    CHECK(first.bytes.data() == built.view().data());
    CHECK(first.bytes.size() == cuts[i] * 12);
    CHECK(rest.base == 1200 + cuts[i] * 12);
    CHECK(rest.bytes.size() == built.view().size() - cuts[i] * 12);
  }
  const auto [none, nothing] = window_part{{}, 24}.split_at(3);
  CHECK(none.bytes.empty());
  CHECK(nothing.base == 24);
}

TEST_CASE("a range of windows ends at damage and says where; what came before is there") {
  trace_builder built;
  built.header().unit(10, 0).instruction(1, 1).unit(20, 1).instruction(2, 1);
  const std::uint64_t place = built.here();
  built.put(static_cast<trace_type>(77), 0, 0).unit(30, 2).exit();
  auto it = window_range(built.view()).begin();
  REQUIRE(it != std::default_sentinel);
  CHECK(it->ordinal == 0);
  CHECK_FALSE(it.error());
  ++it;
  REQUIRE(it != std::default_sentinel);
  CHECK(it->ordinal == 1);
  CHECK(it->end == place);
  ++it;
  CHECK(it == std::default_sentinel);
  CHECK(it.error() == trace_error{errc::unknown_record, place});
  CHECK(window_range(byte_view{}).begin() == std::default_sentinel);
}

TEST_CASE("the bytes of a window are those from its begin up to its end") {
  trace_builder built;
  built.header().unit(10, 0).instruction(1, 1).unit(20, 1).instruction(2, 1).exit();
  for (const window& one : windows_of(built.view())) {
    const window_part part = part_of(built.view(), one);
    CHECK(part.base == one.begin);
    CHECK(part.bytes.data() == built.view().data() + one.begin);
    CHECK(part.bytes.size() == one.end - one.begin);
    CHECK((*part.records().begin()).offset() == one.begin);
  }
}
