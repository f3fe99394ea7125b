// SPDX-License-Identifier: Apache-2.0
// Stands for xray/event.hpp
#include <backsight/xray/events.hpp>

#include <ranges>
#include <vector>

#include <support/catch.hpp>
#include <support/xray_builder.hpp>

#include "compare_with_oracle.hpp"

using namespace backsight;
using namespace backsight::xray;
using test::oracle_event;
using test::xray_builder;

static_assert(std::ranges::forward_range<fdr_events<order::little>>);
static_assert(std::ranges::view<fdr_events<order::big>>);
static_assert(std::is_trivially_copyable_v<event>);

namespace {

std::vector<oracle_event> events_in(const xray_builder& file) {
  const auto found = test::read_by_library(file.view());
  for (const auto& damage : found.faults) FAIL("fault " << damage.what << " at " << damage.offset);
  return found.events;
}
/// The events of a log of one block.
std::vector<oracle_event> events_of_block(const xray_builder& body) {
  return events_in(xray_builder(body.byte_order(), body.version()).header(4096).block(body));
}
xray_builder begun_block(order o, unsigned version) {
  return xray_builder(o, version).preamble(-11, 10).cpu(300, 1000);
}

std::vector<std::uint64_t> times(const std::vector<oracle_event>& events) {
  std::vector<std::uint64_t> found;
  for (const auto& e : events) found.push_back(e.time);
  return found;
}

constexpr bool check_constant_events() {
  const auto file =
      xray_builder(order::big)
          .header()
          .block(xray_builder(order::big).preamble().cpu(0, 100).function(0, 1, 5).argument(9).function(1, 1, 6));
  std::uint64_t sum = 0, arguments = 0;
  for_each_event(
      *xray::open(file.view()),
      [&](const event& e) {
        sum += e.time;
        arguments += e.arguments.size();
      },
      [&](const fault&) { sum = 0; });
  return sum == 105 + 111 && arguments == 1;
}
static_assert(check_constant_events());

}  // namespace

TEST_CASE("events can be read in a constant expression") { CHECK(check_constant_events()); }

TEST_CASE("function records become events with thread, process, cpu, time and place") {
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 1; version <= 5; ++version) {
      const auto found = events_of_block(begun_block(o, version)
                                             .function(0, 0xfffffff, 7)
                                             .function(2, 5, 0xffffffff)
                                             .function(1, 6, 0)
                                             .function(3, 7, 1));
      REQUIRE(found.size() == 4);
      CHECK(found[0].kind == "enter");
      CHECK(found[0].function == 0xfffffff);
      CHECK(found[0].thread == -11);
      CHECK(found[0].process == (version == 1 ? 0 : version == 2 ? -11 : 10));
      CHECK(found[0].cpu == 300);
      CHECK(found[1].kind == "tail_exit");
      CHECK(found[2].kind == "exit");
      CHECK(found[3].kind == "enter");
      // A delta is unsigned: it never goes back.
      CHECK(times(found) ==
            std::vector<std::uint64_t>{1007, 1007 + 0xffffffffULL, 1007 + 0xffffffffULL, 1008 + 0xffffffffULL});
      CHECK(found[1].offset == found[0].offset + 8);
    }
  }
}

TEST_CASE("NewCPUId and TSCWrap set the time, also backwards") {
  for (const order o : {order::little, order::big}) {
    const auto found = events_of_block(begun_block(o, 5)
                                           .function(0, 1, 1)
                                           .wrap(10)
                                           .function(0, 2, 1)
                                           .cpu(4, 5)
                                           .function(0, 3, 1)
                                           .wrap(~std::uint64_t{0})
                                           .function(0, 4, 2));
    CHECK(times(found) == std::vector<std::uint64_t>{1001, 11, 6, 1});
    CHECK(found[1].cpu == 300);
    CHECK(found[2].cpu == 4);
  }
}

TEST_CASE("custom events of versions 1 to 3 have a time of their own and leave the thread's alone") {
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 1; version <= 3; ++version) {
      const auto found =
          events_of_block(begun_block(o, version).function(0, 1, 1).custom("a", 0, 5000, 77).function(1, 1, 1));
      REQUIRE(found.size() == 3);
      CHECK(times(found) == std::vector<std::uint64_t>{1001, 5000, 1002});
      CHECK(found[1].kind == "custom");
      CHECK(found[1].cpu == 300);
      CHECK(found[1].function == 0);
      CHECK(found[1].payload == "a");
    }
  }
}

TEST_CASE("custom events of version 4 have a time and a cpu of their own") {
  for (const order o : {order::little, order::big}) {
    const auto found = events_of_block(begun_block(o, 4).custom("xyz", 0, 5000, 77).function(1, 1, 1));
    CHECK(times(found) == std::vector<std::uint64_t>{5000, 1001});
    CHECK(found[0].cpu == 77);
    CHECK(found[1].cpu == 300);
  }
}

TEST_CASE("events of version 5 move the time by a signed delta") {
  for (const order o : {order::little, order::big}) {
    const auto found = events_of_block(
        begun_block(o, 5).custom("x", 10).function(0, 1, 1).custom("y", -500).typed("zz", 65535, -1).function(1, 1, 2));
    CHECK(times(found) == std::vector<std::uint64_t>{1010, 1011, 511, 510, 512});
    CHECK(found[3].kind == "typed");
    CHECK(found[3].type == 65535);
    CHECK(found[3].payload == "zz");
    CHECK(found[4].type == 0);
  }
}

TEST_CASE("typed events of versions 2 to 4 have a time of their own") {
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 2; version <= 4; ++version) {
      const auto found = events_of_block(begun_block(o, version).typed("t", 300, 0, 7777).function(0, 1, 1));
      CHECK(times(found) == std::vector<std::uint64_t>{7777, 1001});
      CHECK(found[0].type == 300);
    }
  }
}

TEST_CASE("call arguments are attached to the function record before them, whatever its action") {
  for (const order o : {order::little, order::big}) {
    for (unsigned action = 0; action < 4; ++action) {
      const auto found = events_of_block(
          begun_block(o, 5).function(action, 1, 1).argument(1).argument(~std::uint64_t{0}).function(1, 1, 1));
      REQUIRE(found.size() == 2);
      CHECK(found[0].kind == "enter");
      CHECK(found[0].arguments == std::vector<std::uint64_t>{1, ~std::uint64_t{0}});
      CHECK(found[1].arguments.empty());
      CHECK(found[1].kind == "exit");
    }
  }
}

TEST_CASE("an enter that logs arguments is told from one that does not") {
  const auto file =
      xray_builder(order::little)
          .header()
          .block(begun_block(order::little, 5).function(0, 1, 1).function(3, 2, 1).function(0, 3, 1).argument(4));
  std::vector<bool> flags;
  for_each_event(
      *xray::open(file.view()), [&](const event& e) { flags.push_back(e.with_arguments); }, [](const fault&) {});
  CHECK(flags == std::vector<bool>{false, true, true});
}

TEST_CASE("each block begins anew") {
  for (const order o : {order::little, order::big}) {
    auto file = xray_builder(o).header();
    file.block(xray_builder(o).preamble(1, 2).cpu(3, 100).function(0, 1, 1));
    file.block(xray_builder(o).preamble(4, 5).cpu(6, 50).function(1, 1, 1));
    const auto found = events_in(file);
    REQUIRE(found.size() == 2);
    CHECK(found[1].thread == 4);
    CHECK(found[1].process == 5);
    CHECK(found[1].cpu == 6);
    CHECK(found[1].time == 51);
  }
}

TEST_CASE("the rest of a version 1 buffer is not read") {
  for (const order o : {order::little, order::big}) {
    const auto body = begun_block(o, 1).function(0, 1, 1).function(1, 1, 1);
    // Rubbish behind EndOfBuffer that would decode: old function records.
    for (const unsigned rubbish : {0x00U, 0x0fU, 0xffU}) {
      CHECK(events_in(xray_builder(o, 1).header(4096).block(body, 4096, rubbish).block(body, 4096, rubbish)).size() ==
            4);
    }
  }
}

TEST_CASE("a record in the wrong place is reported, and what follows is read all the same") {
  for (const order o : {order::little, order::big}) {
    const auto file = xray_builder(o).header().block(begun_block(o, 5).function(0, 1, 1).wall(1, 2).function(1, 1, 1));
    const auto found = test::read_by_library(file.view());
    CHECK(found.events.size() == 2);
    CHECK(found.faults == std::vector<test::oracle_fault>{{"bad_transition", 48 + 64 + 8}});
    const auto argument = xray_builder(o).header().block(begun_block(o, 5).argument(3).function(0, 1, 1));
    const auto read = test::read_by_library(argument.view());
    CHECK(read.events.size() == 1);
    CHECK(read.faults == std::vector<test::oracle_fault>{{"bad_transition", 48 + 64}});
  }
}

TEST_CASE("a BufferExtents inside a block is reported, and the blocks in it are read") {
  for (const order o : {order::little, order::big}) {
    const auto inner = xray_builder(o).block(xray_builder(o).preamble(5, 6).cpu(1, 50).function(0, 2, 1));
    const auto file = xray_builder(o).header().block(begun_block(o, 5).function(0, 1, 1).append(inner.view()));
    const auto found = test::read_by_library(file.view());
    CHECK(found.faults == std::vector<test::oracle_fault>{{"bad_transition", 48 + 64 + 8}});
    REQUIRE(found.events.size() == 2);
    CHECK(found.events[1].thread == 5);
    CHECK(found.events[1].time == 51);
  }
}

TEST_CASE("a count beyond the end of the log is reported where the log ends") {
  for (const order o : {order::little, order::big}) {
    const auto file = xray_builder(o).header().extents(1000).append(begun_block(o, 5).function(0, 1, 1).view());
    const auto found = test::read_by_library(file.view());
    CHECK(found.events.size() == 1);
    CHECK(found.faults == std::vector<test::oracle_fault>{{"truncated", file.size()}});
  }
}

TEST_CASE("a record that crosses its block's end is told from one that crosses the log's") {
  for (const order o : {order::little, order::big}) {
    const auto body = begun_block(o, 5).function(0, 1, 1);
    auto file = xray_builder(o).header().extents(body.size() - 3).append(body.view()).block(body);
    auto found = test::read_by_library(file.view());
    CHECK(found.events.size() == 1);
    CHECK(found.faults == std::vector<test::oracle_fault>{{"record_crosses_block", 48 + 64}});
    found = test::read_by_library(file.view().first(48 + 64 + 5));
    CHECK(found.faults == std::vector<test::oracle_fault>{{"truncated", 48 + 64}});
  }
}

TEST_CASE("events_of stops at the first fault and says where") {
  const auto file =
      xray_builder(order::little).header().block(begun_block(order::little, 5).function(0, 1, 1).function(7, 1, 1));
  const auto opened = xray::open(file.view());
  const auto first = *fdr_blocks<order::little>(*opened).begin();
  const auto events = events_of<order::little>(first, 5);
  auto it = events.begin();
  CHECK(it->function == 1);
  CHECK(it == events.begin());
  auto before = it++;
  CHECK(before->function == 1);
  CHECK(it == events.end());
  CHECK(it.error() == trace_error{errc::bad_value, 48 + 64 + 8});
}

namespace {

/// All faults of a log, whole.
std::vector<fault> faults_in(byte_view file) {
  std::vector<fault> faults;
  const auto opened = xray::open(file);
  REQUIRE(opened);
  for_each_event(*opened, [](const event&) {}, [&](const fault& f) { faults.push_back(f); });
  return faults;
}

}  // namespace

TEST_CASE("the range of a block's events takes an exit with arguments for an enter, as for_each_event does") {
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 1; version <= 5; ++version) {
      const auto body = begun_block(o, version)
                            .function(1, 5, 1)
                            .argument(3)
                            .argument(4)
                            .function(2, 6, 1)
                            .argument(7)
                            .function(0, 8, 1)
                            .argument(9)
                            .function(3, 9, 1)
                            .argument(1)
                            .function(1, 5, 1)
                            .function(3, 9, 1);
      const auto file = xray_builder(o, version).header(4096).block(body);
      const auto opened = xray::open(file.view());
      REQUIRE(opened);
      const auto called = events_in(file);
      with_order(o, [&](auto byte_order) {
        std::vector<oracle_event> found;
        for (const event& e : events_of<byte_order()>(*fdr_blocks<byte_order()>(*opened).begin(), opened->version())) {
          found.push_back(test::in_words(e));
        }
        REQUIRE(found.size() == 6);
        CHECK((found == called));
        for (std::size_t i = 0; i < 6; ++i) CHECK(found[i].kind == (i == 4 ? "exit" : "enter"));
        CHECK(found[0].arguments == std::vector<std::uint64_t>{3, 4});
        CHECK(found[5].arguments.empty());
      });
    }
  }
}

TEST_CASE("a fault in a block tells what is skipped: the rest of the block") {
  for (const order o : {order::little, order::big}) {
    const auto body = begun_block(o, 5).function(0, 1, 1).function(1, 1, 1);
    const std::size_t begin = 32 + 16, end = begin + body.size();
    // A function record of an action that nobody defines, with the next block behind it.
    auto unknown = begun_block(o, 5).function(0, 1, 1).function(5, 1, 1).function(1, 1, 1).function(1, 1, 1);
    auto file = xray_builder(o).header().block(unknown).block(body);
    CHECK(faults_in(file.view()) == std::vector<fault>{{errc::bad_value, end - 8, 24}});
    // Counted too short, so that the last record crosses the end of its block.
    auto crossing =
        xray_builder(o).header().extents(body.size() - 3).append(body.view().first(body.size() - 3)).block(body);
    CHECK(faults_in(crossing.view()) == std::vector<fault>{{errc::record_crosses_block, end - 8, 5}});
    // The end of the log, in a record and between two, where the block counts more.
    const auto whole = xray_builder(o).header().block(body);
    CHECK(faults_in(whole.view().first(end - 3)) == std::vector<fault>{{errc::truncated, end - 8, 5}});
    CHECK(faults_in(whole.view().first(end - 8)) == std::vector<fault>{{errc::truncated, end - 8, 0}});
    // A record where it may not stand is read all the same, and skips nothing.
    const auto misplaced = begun_block(o, 5).function(0, 1, 1).wall(3, 4).function(1, 1, 1);
    CHECK(faults_in(xray_builder(o).header().block(misplaced).view()) ==
          std::vector<fault>{{errc::bad_transition, end - 8, 0}});
    // Before thread and time are known the block ends there.
    const auto early = xray_builder(o).new_buffer(11).function(0, 1, 1).function(1, 1, 1);
    CHECK(faults_in(xray_builder(o).header().block(early).view()) ==
          std::vector<fault>{{errc::bad_transition, begin + 16, 16}});
    // Bytes behind the last block.
    CHECK(faults_in(xray_builder(o).header().block(body).fill(9).view()) ==
          std::vector<fault>{{errc::trailing_bytes, end, 9}});
  }
}

TEST_CASE("a fault in a basic mode log tells its place and the record that is skipped") {
  for (const order o : {order::little, order::big}) {
    const auto file = xray_builder(o, 3)
                          .header(0, 0)
                          .basic_function(1, 0, 5, 10, 7, 8)
                          .basic_argument(6, 7, 8, 1)
                          .basic_function(1, 1, 5, 11, 7, 8);
    CHECK(faults_in(file.view()) == std::vector<fault>{{errc::unpaired_record, 64, 32}});
    CHECK(faults_in(file.view().first(100)) ==
          std::vector<fault>{{errc::unpaired_record, 64, 32}, {errc::truncated, 96, 4}});
  }
}
