// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <backsight/memtrace/split.hpp>

#include "sample_files.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::trace_builder;

namespace {

std::vector<std::byte> split_and_merge(byte_view file) {
  window_merger merger;
  CHECK_FALSE(split_windows(file, [&](const window&, byte_view bytes) { CHECK_FALSE(merger.add(bytes)); }));
  return merger.finish();
}

}  // namespace

TEST_CASE("splitting and merging gives back a trace without chunks byte for byte") {
  const auto plain = load_trace("single/drmemtrace.single.10508.3099.trace.gz");
  CHECK(split_and_merge(plain) == plain);
  // From the chunked file comes the same trace: chunks are left out.
  CHECK(split_and_merge(load_trace("single/drmemtrace.single.10508.3099.trace.zip")) == plain);
  for (const std::string& name : test::good_files) {
    CAPTURE(name);
    if (name.find("legacy") != std::string::npos) continue;
    const auto flat = split_and_merge(load_trace(name));
    CHECK(split_and_merge(flat) == flat);
  }
}

TEST_CASE("each window of a split trace stands alone and passes the checks") {
  for (const std::string& name : test::good_files) {
    CAPTURE(name);
    const auto file = load_trace(name);
    std::vector<std::uint64_t> instructions;
    const auto trace = final_trace::open(file);
    REQUIRE(trace);
    for (const window& one : trace->windows()) instructions.push_back(one.instructions);
    std::size_t i = 0;
    CHECK_FALSE(split_windows(file, [&](const window& one, byte_view bytes) {
      for (const finding what : test::findings(bytes)) CHECK(what == finding::straggler);
      const auto part = final_trace::open(bytes);
      REQUIRE(part);
      const auto only = part->windows().begin();
      CHECK(only->ordinal == one.ordinal);
      CHECK(only->instructions == instructions.at(i++));
      CHECK(part->header().tid == trace->header().tid);
    }));
    CHECK(i == instructions.size());
  }
}

namespace {

struct part {
  window what;
  std::vector<std::byte> bytes;
};
/// The parts of a file, and what ended the splitting.
std::vector<part> parts_of(byte_view file, trace_error* error = nullptr) {
  std::vector<part> parts;
  const trace_error ended = split_windows(
      file, [&](const window& one, byte_view bytes) { parts.push_back({one, {bytes.begin(), bytes.end()}}); });
  if (error != nullptr) *error = ended;
  else CHECK_FALSE(ended);
  return parts;
}
bool equal(byte_view a, byte_view b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

/// A thread's file of one window.
trace_builder one_window(std::uint64_t time, std::uint64_t ordinal, std::uint64_t tid = 7, std::uint64_t version = 7,
                         std::uint64_t type = 0xe40) {
  trace_builder built;
  built.header(tid, version, type).unit(time, ordinal).instruction(ordinal, 1).exit(tid);
  return built;
}

}  // namespace

TEST_CASE("each file of a split trace begins with its window's time") {
  for (const std::string& name : test::good_files) {
    CAPTURE(name);
    for (const part& one : parts_of(load_trace(name))) {
      const auto head = read_final_header(one.bytes);
      REQUIRE(head);
      CHECK(head->first_time == one.what.first_time);
    }
  }
}

TEST_CASE("a hand-made trace splits into the files that it was put together from") {
  using enum trace_type;
  trace_builder whole, zero, one, two;
  whole.header().unit(100, 0).encoded(0x10, {0x90}).put(read, 8, 0x7000).encoded(0x11, {0xeb, 0}, instr_direct_jump);
  zero.header().unit(100, 0).encoded(0x10, {0x90}).put(read, 8, 0x7000).encoded(0x11, {0xeb, 0}, instr_direct_jump);
  // The last instruction of window 0 was held back: it stands behind the TIMESTAMP of window 1.
  whole.marker(marker_type::timestamp, 200)
      .encoded(0x13, {0xeb, 0xfe}, instr_direct_jump)
      .marker(marker_type::window_id, 1)
      .marker(marker_type::cpu_id, 0);
  zero.encoded(0x13, {0xeb, 0xfe}, instr_direct_jump).exit();
  // Encodings that were given before are given again, those that are new stay, and chunks end.
  whole.instruction(0x10, 1)
      .chunk(9, 200)
      .encoded(0x10, {0x90})
      .marker(marker_type::branch_target, 0x20)
      .encoded(0x14, {0xc3}, instr_return)
      .marker(marker_type::chunk_footer, 0);
  one.header()
      .unit(200, 1)
      .encoded(0x10, {0x90})
      .instruction(0x10, 1)
      .put(encoding, 1, 0xc3)
      .marker(marker_type::branch_target, 0x20)
      .instruction(0x14, 1, instr_return)
      .exit();
  whole.time(300).unit(310, 2).exit();
  one = trace_builder{};
  one.header()
      .unit(200, 1)
      .encoded(0x10, {0x90})
      .instruction(0x10, 1)
      .put(encoding, 1, 0xc3)
      .marker(marker_type::branch_target, 0x20)
      .instruction(0x14, 1, instr_return)
      .time(300)
      .exit();
  two.header().unit(310, 2).exit();

  const auto parts = parts_of(whole.view());
  REQUIRE(parts.size() == 3);
  CHECK(equal(parts[0].bytes, zero.view()));
  CHECK(equal(parts[1].bytes, one.view()));
  CHECK(equal(parts[2].bytes, two.view()));
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(parts[i].what.ordinal == i);
}

TEST_CASE("the time of the next window goes in front of a jump only if it was held back") {
  using enum trace_type;
  for (const trace_type type : {instr_direct_jump, instr_direct_call, instr, instr_return}) {
    for (const std::size_t before : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      CAPTURE(static_cast<unsigned>(type), before);
      trace_builder first, merged;
      first.header().unit(100, 0).instruction(1, 1).unit(150, 0);
      for (std::size_t i = 0; i < before; ++i) first.instruction(2 + i, 1);
      merged = first;
      const bool held_back = before == 0 && (type == instr_direct_jump || type == instr_direct_call);
      if (held_back) merged.marker(marker_type::timestamp, 200).instruction(9, 2, type);
      else merged.instruction(9, 2, type).marker(marker_type::timestamp, 200);
      merged.marker(marker_type::window_id, 1).marker(marker_type::cpu_id, 0).instruction(1, 1).exit();
      window_merger merger;
      CHECK_FALSE(merger.add(first.instruction(9, 2, type).exit().view()));
      CHECK_FALSE(merger.add(one_window(200, 1).view()));
      CHECK(equal(merger.finish(), merged.view()));
    }
  }
}

TEST_CASE("a jump behind another marker than the CPU's is not held back") {
  trace_builder first;
  first.header()
      .unit(100, 0)
      .instruction(1, 1)
      .marker(marker_type::syscall, 3)
      .instruction(9, 2, trace_type::instr_direct_jump);
  trace_builder merged = first;
  merged.unit(200, 1).instruction(1, 1).exit();
  window_merger merger;
  CHECK_FALSE(merger.add(first.exit().view()));
  CHECK_FALSE(merger.add(one_window(200, 1).view()));
  CHECK(equal(merger.finish(), merged.view()));
}

TEST_CASE("a file that does not follow is not merged, and changes nothing") {
  const trace_error other{errc::bad_transition, 0}, window_again{errc::bad_transition, 12 * 9};
  const auto first = one_window(100, 4), next = one_window(200, 5);
  trace_builder without;
  without.header().time(150).instruction(1, 1).exit();
  const std::vector<std::pair<trace_builder, trace_error>> foreign{
      {one_window(200, 5, 8), other},
      {one_window(200, 5, 7, 6), other},
      {one_window(200, 5, 7, 7, 0xc40), other},
      {one_window(200, 4), window_again},
      {one_window(200, 3), window_again},
      {without, other},
      {one_window(200, 5, 7, 7, 0xe40 | file_type::core_sharded), {errc::unsupported_type, 0}}};
  window_merger alone;
  CHECK_FALSE(alone.add(first.view()));
  CHECK_FALSE(alone.add(next.view()));
  const auto good = alone.finish();
  for (const auto& [file, error] : foreign) {
    window_merger merger;
    CHECK_FALSE(merger.add(first.view()));
    CHECK(merger.add(file.view()) == error);
    CHECK_FALSE(merger.add(next.view()));
    CHECK(merger.finish() == good);
    // It is ready for another thread then.
    CHECK_FALSE(merger.add(one_window(1, 0).view()));
    CHECK(equal(merger.finish(), one_window(1, 0).view()));
  }
  // What has no window goes in front of what has one.
  window_merger merger;
  CHECK_FALSE(merger.add(without.view()));
  CHECK_FALSE(merger.add(first.view()));
  CHECK(merger.finish().size() == without.here() + 4 * 12);
}

TEST_CASE("a file in which threads take turns is neither split nor merged") {
  trace_builder flagged, plain;
  flagged.header(7, 7, 0xe40 | file_type::core_sharded).unit(1, 0).instruction(1, 1).exit();
  plain.header().unit(1, 0).instruction(1, 1);
  const std::uint64_t place = plain.here();
  plain.thread(8).instruction(2, 1).exit(8);
  trace_error error;
  CHECK(parts_of(flagged.view(), &error).empty());
  CHECK(error == trace_error{errc::unsupported_type, 0});
  CHECK(parts_of(plain.view(), &error).empty());
  CHECK(error == trace_error{errc::unsupported_type, place});
  window_merger merger;
  CHECK(merger.add(flagged.view()) == trace_error{errc::unsupported_type, 0});
  CHECK(merger.finish().empty());
  CHECK(merger.add(plain.view()) == trace_error{errc::unsupported_type, place});
}

TEST_CASE("what stands before damage is split and merged") {
  trace_builder good, damaged;
  good.header().unit(100, 0).instruction(1, 1).unit(200, 1).instruction(2, 1);
  damaged = good;
  damaged.put(static_cast<trace_type>(50), 0, 0).instruction(3, 1).unit(300, 2).exit();
  const auto expected = parts_of(trace_builder(good).exit().view());
  trace_error error;
  auto parts = parts_of(damaged.view(), &error);
  CHECK(error == trace_error{errc::unknown_record, good.here()});
  REQUIRE(parts.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(equal(parts[i].bytes, expected[i].bytes));
  window_merger merger;
  CHECK(merger.add(damaged.view()) == trace_error{errc::unknown_record, good.here()});
  CHECK(equal(merger.finish(), trace_builder(good).exit().view()));

  // A part of a record at the end.
  auto cut = good;
  cut.vector().resize(cut.vector().size() + 11);
  parts = parts_of(cut.view(), &error);
  CHECK(error == trace_error{errc::truncated, good.here()});
  REQUIRE(parts.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(equal(parts[i].bytes, expected[i].bytes));
  CHECK(merger.add(cut.view()) == trace_error{errc::truncated, good.here()});
  CHECK(equal(merger.finish(), trace_builder(good).exit().view()));
}

TEST_CASE("what waits for an instruction at the end of a file is not given to the next one") {
  using enum trace_type;
  // Cut just behind a BRANCH_TARGET and an ENCODING. The bytes are gone when the next file comes.
  trace_builder cut, expected;
  cut.header().unit(100, 0).encoded(0x10, {0x90}).marker(marker_type::branch_target, 0x99).put(encoding, 1, 0xcc);
  expected.header().unit(100, 0).encoded(0x10, {0x90});
  trace_builder next;
  next.header().unit(200, 1).instruction(0x20, 1, instr_return).time(250).exit();
  expected.unit(200, 1).instruction(0x20, 1, instr_return).time(250).exit();
  window_merger merger;
  {
    const std::vector<std::byte> gone(cut.view().begin(), cut.view().end());
    CHECK_FALSE(merger.add(gone));
  }
  CHECK_FALSE(merger.add(next.view()));
  CHECK(equal(merger.finish(), expected.view()));
  // The same for what a chunk's head would have repeated.
  trace_builder head, whole;
  head.header().unit(100, 0).instruction(1, 1).marker(marker_type::record_ordinal, 9);
  whole.header().unit(100, 0).instruction(1, 1).unit(200, 1).instruction(1, 1).exit();
  CHECK_FALSE(merger.add(head.view()));
  CHECK_FALSE(merger.add(one_window(200, 1).view()));
  CHECK(equal(merger.finish(), whole.view()));
}

TEST_CASE("a merger that is used again gives the next trace all its encodings") {
  trace_builder file;
  file.header().unit(100, 0).encoded(0x10, {0x90}).instruction(0x10, 1).exit();
  window_merger merger;
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(merger.add(file.view()));
    CHECK(equal(merger.finish(), file.view()));
  }
}

TEST_CASE("a trace without windows splits into itself") {
  trace_builder built;
  built.header().time(100).instruction(1, 1).exit();
  const auto parts = parts_of(built.view());
  REQUIRE(parts.size() == 1);
  CHECK_FALSE(parts[0].what.ordinal);
  CHECK(equal(parts[0].bytes, built.view()));
}

TEST_CASE("the first window of a part is that of its first marker") {
  trace_builder built;
  built.time(1).instruction(1, 1).put(trace_type::read, static_cast<std::uint16_t>(marker_type::window_id), 9);
  CHECK_FALSE(first_window(built.view()));
  const std::uint64_t place = built.here();
  built.marker(marker_type::window_id, 5).marker(marker_type::window_id, 6);
  REQUIRE(first_window(built.view()));
  CHECK(first_window(built.view())->ordinal == 5);
  CHECK(first_window(built.view())->offset == place);
  CHECK_FALSE(first_window(built.view().first(place + 11)));
}
