// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <backsight/memtrace/window_scanner.hpp>
#include <backsight/memtrace/windows.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::trace_builder;

namespace {

/// All windows, fed in pieces of that many bytes.
template <class Address = std::uint64_t>
std::vector<window> windows_of(byte_view file, std::size_t piece = ~std::size_t{0}, trace_error* error = nullptr) {
  basic_window_scanner<Address> scanner;
  std::vector<window> found;
  for (std::size_t at = 0; at < file.size() && !scanner.error(); at += std::min(piece, file.size() - at)) {
    byte_view rest = file.subspan(at, std::min(piece, file.size() - at));
    while (rest.size() >= size_of<basic_entry<Address>>) {
      rest = rest.subspan(scanner.feed(rest));
      if (scanner.done()) found.push_back(*scanner.done());
      else if (scanner.error()) break;
    }
  }
  found.push_back(scanner.last());
  if (error != nullptr) *error = scanner.error();
  return found;
}

/// A record of the 32-bit layout.
void put32(std::vector<std::byte>& to, trace_type type, std::uint16_t size, std::uint32_t value) {
  owned_record<basic_entry<std::uint32_t>, order::little> item;
  item.set(basic_entry<std::uint32_t>::type, type)
      .set(basic_entry<std::uint32_t>::size, size)
      .set(basic_entry<std::uint32_t>::addr, value);
  to.insert(to.end(), item.bytes().begin(), item.bytes().end());
}

}  // namespace

TEST_CASE("every number of every window of a hand-made trace is right, whatever the pieces") {
  trace_builder built;
  built.header(7);
  window zero, three, four, late;
  zero.ordinal = 0, zero.tid = 7, zero.opening = built.here(), zero.first_time = 1000;
  built.marker(marker_type::timestamp, 1000);
  zero.begin = built.here();
  built.marker(marker_type::window_id, 0).marker(marker_type::cpu_id, 0);
  built.instruction(0x10, 1).put(trace_type::read, 8, 0x7000).put(trace_type::write, 8, 0x7008);
  // Neither the PC of a data record nor a string instruction's further iterations are instructions.
  built.instruction(0x11, 0).put(trace_type::instr_no_fetch, 2, 0x12).instruction(0x12, 1);
  // Another buffer of the same window.
  built.unit(1010, 0).instruction(0x14, 1).time(1020);

  // Windows 1 and 2 are left out. The last instruction of window 0 was held back.
  three.ordinal = 3, three.tid = 7, three.opening = built.here(), three.first_time = 1500, three.skipped = 2,
  three.idle_time = 480;
  built.marker(marker_type::timestamp, 1500).instruction(0x15, 2, trace_type::instr_direct_jump);
  zero.end = three.begin = built.here();
  zero.last_time = 1020, zero.instructions = 4, zero.units = 2;
  three.has_predecessor = true, three.first_instruction = 4;
  built.marker(marker_type::window_id, 3).marker(marker_type::cpu_id, 0).instruction(0x20, 1);
  // The times of a chunk's start are repeated ones.
  const std::uint64_t chunk = built.here();
  built.chunk(20, 999999).instruction(0x21, 1).instruction(0x22, 1);
  built.time(1600);

  // The clock goes back, and two instructions stand behind the TIMESTAMP: it is not that of the window's unit header.
  built.marker(marker_type::timestamp, 1550).instruction(0x23, 1).instruction(0x24, 1);
  three.end = four.begin = four.opening = built.here();
  three.last_time = 1550, three.instructions = 5, three.units = 1;
  four.ordinal = 4, four.tid = 7, four.first_time = 1550, four.first_instruction = 9, four.chunk = chunk;
  four.has_predecessor = true;
  built.marker(marker_type::window_id, 4).instruction(0x30, 1).time(1700);

  // A smaller ordinal skips none, and a time that lies before the end of the last window leaves no idle time.
  late.opening = built.here(), late.ordinal = 2, late.tid = 7, late.first_time = 1650;
  built.marker(marker_type::timestamp, 1650);
  four.end = late.begin = built.here();
  four.last_time = 1700, four.instructions = 1, four.units = 1;
  late.first_instruction = 10, late.chunk = chunk, late.has_predecessor = true;
  built.marker(marker_type::window_id, 2).chunk(30, 888888).exit(7);
  late.end = built.here(), late.last_time = 1650, late.units = 1;

  const std::vector<window> expected{zero, three, four, late};
  for (const std::size_t piece :
       {std::size_t{12}, std::size_t{24}, std::size_t{36}, std::size_t{12 * 7}, built.view().size()}) {
    CAPTURE(piece);
    CHECK(windows_of(built.view(), piece) == expected);
  }
  CHECK_FALSE(expected[0].gap());
  CHECK(expected[1].gap());
}

TEST_CASE("a repeated THREAD record changes nothing") {
  trace_builder once, twice;
  once.header(7).unit(10, 0).instruction(1, 1).instruction(2, 1).exit(7);
  twice.header(7).unit(10, 0).instruction(1, 1).thread(7).instruction(2, 1).exit(7);
  auto expected = windows_of(once.view());
  expected.back().end += 24;
  CHECK(windows_of(twice.view()) == expected);
  REQUIRE(expected.size() == 1);
  CHECK(expected[0].tid == 7);
}

TEST_CASE("instructions in front of the first window are a window without ordinal") {
  trace_builder built;
  built.header(7).time(10).instruction(1, 1).instruction(2, 1);
  const std::uint64_t place = built.here() + 12;
  built.unit(20, 5).instruction(3, 1).exit();
  const auto found = windows_of(built.view());
  REQUIRE(found.size() == 2);
  CHECK_FALSE(found[0].ordinal);
  CHECK(found[0].begin == 0);
  CHECK(found[0].end == place);
  CHECK(found[0].instructions == 2);
  CHECK_FALSE(found[0].gap());
  CHECK(found[1].ordinal == 5);
  CHECK(found[1].begin == place);
  CHECK(found[1].first_instruction == 2);
  CHECK(found[1].instructions == 1);
  CHECK(found[1].skipped == 0);
  CHECK(found[1].idle_time == 0);
  CHECK(found[1].gap());
}

TEST_CASE("threads that take turns have their own windows, piece by piece") {
  trace_builder built;
  built.header(1, 7, 0xe40 | file_type::core_sharded);
  window a0, b0, a0_again, a2, b0_again, b1, c;
  a0.tid = 1, a0.ordinal = 0, a0.opening = built.here(), a0.begin = a0.opening + 12, a0.first_time = 100;
  built.unit(100, 0).instruction(1, 1).instruction(2, 1).time(150);
  // A thread that is new in the file begins with a header of its own.
  a0.end = built.here(), a0.last_time = 150, a0.instructions = 2, a0.units = 1;
  built.header(2, 7, 0xe40 | file_type::core_sharded);
  b0.tid = 2, b0.ordinal = 0, b0.opening = built.here(), b0.begin = b0.opening + 12, b0.first_time = 200,
  b0.first_instruction = 2;
  b0.has_predecessor = true;
  built.unit(200, 0).instruction(3, 1).instruction(4, 1).instruction(5, 1);
  b0.end = built.here(), b0.last_time = 200, b0.instructions = 3, b0.units = 1;
  // Back to the first: its window goes on, at its own time.
  a0_again.tid = 1, a0_again.ordinal = 0, a0_again.begin = a0_again.opening = built.here(), a0_again.first_time = 150;
  a0_again.first_instruction = 5, a0_again.has_predecessor = a0_again.continued = true;
  built.thread(1).instruction(6, 1).marker(marker_type::timestamp, 400);
  a0_again.end = built.here(), a0_again.last_time = 150, a0_again.instructions = 1;
  a2.tid = 1, a2.ordinal = 2, a2.begin = built.here(), a2.opening = a2.begin - 12, a2.first_time = 400,
  a2.first_instruction = 6;
  a2.skipped = 1, a2.idle_time = 250, a2.has_predecessor = true;
  built.marker(marker_type::window_id, 2).instruction(7, 1).time(450);
  a2.end = built.here(), a2.last_time = 450, a2.instructions = 1, a2.units = 1;
  b0_again.tid = 2, b0_again.ordinal = 0, b0_again.begin = b0_again.opening = built.here(), b0_again.first_time = 200;
  b0_again.first_instruction = 7, b0_again.has_predecessor = b0_again.continued = true;
  built.thread(2).marker(marker_type::timestamp, 500);
  b0_again.end = built.here(), b0_again.last_time = 200;
  b1.tid = 2, b1.ordinal = 1, b1.begin = built.here(), b1.opening = b1.begin - 12, b1.first_time = 500,
  b1.first_instruction = 7;
  b1.idle_time = 300, b1.has_predecessor = true;
  built.marker(marker_type::window_id, 1).instruction(8, 1).instruction(9, 1);
  b1.end = built.here(), b1.last_time = 500, b1.instructions = 2, b1.units = 1;
  // A thread without a header, which is in no window.
  c.tid = 3, c.begin = c.opening = built.here(), c.first_time = 600, c.first_instruction = 9, c.has_predecessor = true;
  built.thread(3).time(600).instruction(10, 1).put(trace_type::footer, 0, 0);
  c.end = built.here(), c.last_time = 600, c.instructions = 1;

  const std::vector<window> expected{a0, b0, a0_again, a2, b0_again, b1, c};
  for (const std::size_t piece : {std::size_t{12}, std::size_t{60}, built.view().size()}) {
    const auto found = windows_of(built.view(), piece);
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(piece, i);
      CHECK(found[i] == expected[i]);
    }
  }
}

TEST_CASE("a header in the middle of a thread's records does not move the next thread's start") {
  trace_builder built;
  built.header(1).time(10).instruction(1, 1).put(trace_type::header, 0, 7).instruction(2, 1);
  const std::uint64_t place = built.here();
  built.thread(2).instruction(3, 1);
  const auto found = windows_of(built.view());
  REQUIRE(found.size() == 2);
  CHECK(found[0].instructions == 2);
  CHECK(found[0].end == place);
  CHECK(found[1].begin == place);
  CHECK(found[1].instructions == 1);
}

TEST_CASE("a record that cannot be understood ends the scan at its place, in any feed") {
  struct one {
    trace_type type;
    std::uint16_t size;
    errc code;
  };
  for (const one& bad : std::vector<one>{{static_cast<trace_type>(50), 0, errc::unknown_record},
                                         {static_cast<trace_type>(0xffff), 0, errc::unknown_record},
                                         {trace_type::encoding, 9, errc::bad_size},
                                         {trace_type::instr_bundle, 9, errc::bad_size},
                                         {static_cast<trace_type>(49), 1, errc::ok},
                                         {trace_type::encoding, 8, errc::ok},
                                         {trace_type::instr_bundle, 8, errc::ok}}) {
    CAPTURE(static_cast<unsigned>(bad.type), bad.size);
    trace_builder built;
    built.header().unit(10, 0).instruction(1, 1);
    const std::uint64_t place = built.here();
    built.put(bad.type, bad.size, 0).instruction(2, 1).exit();
    for (const std::size_t piece : {std::size_t{12}, std::size_t{24}, std::size_t{48}, built.view().size()}) {
      trace_error error;
      const auto found = windows_of(built.view(), piece, &error);
      REQUIRE(found.size() == 1);
      if (bad.code == errc::ok) {
        CHECK_FALSE(error);
        CHECK(found[0].end == built.view().size());
        continue;
      }
      CHECK(error == trace_error{bad.code, place});
      CHECK(found[0].end == place);
      CHECK(found[0].instructions == 1);
    }
  }
}

TEST_CASE("the 32-bit layout is scanned in its own steps and limits") {
  std::vector<std::byte> file;
  put32(file, trace_type::header, 0, 7);
  put32(file, trace_type::thread, 4, 9);
  put32(file, trace_type::marker, static_cast<std::uint16_t>(marker_type::timestamp), 0xfffffff0U);
  put32(file, trace_type::marker, static_cast<std::uint16_t>(marker_type::window_id), 3);
  put32(file, trace_type::encoding, 4, 0x90909090U);
  put32(file, trace_type::instr, 4, 0xfffffff0U);
  const std::size_t good = file.size();
  put32(file, trace_type::encoding, 5, 0);
  window expected;
  expected.ordinal = 3, expected.tid = 9, expected.begin = 24, expected.opening = 16, expected.end = good;
  expected.first_time = expected.last_time = 0xfffffff0U, expected.instructions = expected.units = 1;
  trace_error error;
  CHECK(windows_of<std::uint32_t>(file, 8, &error) == std::vector<window>{expected});
  CHECK(error == trace_error{errc::bad_size, good});
}

TEST_CASE("the scanner gives the windows of a real trace whatever the pieces") {
  const auto file = load_trace("yield/drmemtrace.yield.24339.0887.trace.zip");
  const auto whole = windows_of(file);
  CHECK(whole.size() > 3);
  for (const std::size_t piece : {std::size_t{12}, std::size_t{24}, std::size_t{1200}, std::size_t{12 * 777}})
    CHECK(windows_of(file, piece) == whole);
}
