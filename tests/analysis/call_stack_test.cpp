// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include <backsight/analysis/call_stack.hpp>

#include <support/call_events.hpp>
#include <support/catch.hpp>

using namespace backsight;
using analysis::call_stack;
using analysis::finished_call;
using test::enter;
using test::exit;
using test::mark;
using test::tail_exit;

namespace {

std::vector<finished_call> calls_of(call_stack& stack, const std::vector<test::call_event>& events) {
  std::vector<finished_call> calls;
  for (const auto& event : events) {
    stack.on(
        event, [](const call_stack::frame&, std::size_t) {},
        [&](const finished_call& call, const call_stack::frame&) { calls.push_back(call); });
  }
  return calls;
}

}  // namespace

TEST_CASE("nested calls give durations, and self time without their callees") {
  call_stack stack;
  const auto calls =
      calls_of(stack, {enter(1, 10), enter(2, 12), mark(13), exit(2, 20), enter(2, 21), exit(2, 22), exit(1, 30)});
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].function == 2);
  CHECK(calls[0].depth == 1);
  CHECK(calls[0].duration == 8);
  CHECK(calls[0].self == 8);
  CHECK(calls[2].function == 1);
  CHECK(calls[2].depth == 0);
  CHECK(calls[2].start == 10);
  CHECK(calls[2].duration == 20);
  CHECK(calls[2].self == 20 - 8 - 1);
  CHECK(stack.frames().empty());
  CHECK(stack.faults().missing_exits == 0);
}

TEST_CASE("a caller's own time leaves out all that its callees took, with their callees") {
  call_stack stack;
  const auto calls = calls_of(stack, {enter(1, 0), enter(2, 1), enter(3, 2), exit(3, 5), exit(2, 6), exit(1, 10)});
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].self == 3);
  CHECK(calls[1].self == 2);
  CHECK(calls[2].self == 5);
}

TEST_CASE("a tail exit ends the function that is left, not the one that is jumped to") {
  call_stack stack;
  const auto calls = calls_of(stack, {enter(1, 0), enter(2, 1), tail_exit(2, 3), enter(3, 3), exit(3, 7), exit(1, 8)});
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].function == 2);
  CHECK(calls[0].duration == 2);
  CHECK(calls[1].function == 3);
  CHECK(calls[1].depth == 1);
  CHECK(calls[2].self == 8 - 2 - 4);
}

TEST_CASE("an exit closes calls above it whose own exit is missing, the innermost first") {
  call_stack stack;
  const auto calls = calls_of(stack, {enter(1, 0), enter(2, 1), enter(3, 2), exit(1, 10)});
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].function == 3);
  CHECK_FALSE(calls[0].has_exit);
  CHECK(calls[1].function == 2);
  CHECK_FALSE(calls[1].has_exit);
  CHECK(calls[2].function == 1);
  CHECK(calls[2].has_exit);
  CHECK(stack.faults().missing_exits == 2);
}

TEST_CASE("an exit closes the nearest call of a recursive function") {
  call_stack stack;
  const auto calls = calls_of(stack, {enter(1, 0), enter(1, 1), enter(1, 2), exit(1, 3), exit(1, 5)});
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].duration == 1);
  CHECK(calls[1].duration == 4);
  CHECK(stack.frames().size() == 1);
  stack.finish();
  CHECK(stack.faults().unfinished == 1);
  CHECK(stack.frames().empty());
}

TEST_CASE("an exit of a function that is not open is counted and changes nothing") {
  call_stack stack;
  CHECK(calls_of(stack, {exit(9, 1), enter(1, 2), exit(9, 3)}).empty());
  CHECK(stack.faults().unmatched_exits == 2);
  CHECK(stack.frames().size() == 1);
}

TEST_CASE("a clock that goes back gives the distance and no self time below zero") {
  call_stack stack;
  const auto calls = calls_of(stack, {enter(1, 100), enter(2, 90), exit(2, 50), exit(1, 95)});
  REQUIRE(calls.size() == 2);
  CHECK(calls[0].duration == 40);
  CHECK(calls[1].duration == 5);
  CHECK(calls[1].self == 0);
}

TEST_CASE("very many exits of functions that are not open do not each search the whole stack") {
  call_stack stack;
  const auto nothing = [](const auto&...) {};
  constexpr std::uint64_t levels = 20000;
  for (std::uint64_t i = 0; i < levels; ++i) stack.on(enter(i, i), nothing, nothing);
  // Four hundred thousand searches of this stack would take a minute.
  for (std::uint64_t i = 0; i < 20 * levels; ++i) stack.on(exit(levels + i, levels), nothing, nothing);
  CHECK(stack.faults().unmatched_exits == 20 * levels);
  stack.on(enter(7, levels), nothing, nothing);
  stack.on(exit(7, levels), nothing, nothing);
  CHECK(stack.frames().size() == levels);
  std::uint64_t ended = 0;
  stack.on(exit(levels / 2, levels), nothing, [&](const auto&, const auto&) { ++ended; });
  CHECK(ended == levels / 2);
  stack.on(exit(levels - 1, levels), nothing, nothing);
  CHECK(stack.frames().size() == levels / 2);
}

TEST_CASE("calls that begin behind very many exits in vain are found when they end") {
  constexpr std::uint64_t levels = 1000;
  const auto nothing = [](const auto&...) {};
  // Before, at, and long behind the point where it is counted what is open: every step gives what a stack by hand
  // gives.
  for (const std::uint64_t in_vain :
       {std::uint64_t{10}, std::uint64_t{65}, std::uint64_t{66}, std::uint64_t{67}, std::uint64_t{300}}) {
    CAPTURE(in_vain);
    call_stack stack;
    for (std::uint64_t i = 0; i < levels; ++i) stack.on(enter(i, i), nothing, nothing);
    for (std::uint64_t i = 0; i < in_vain; ++i) stack.on(exit(5000, levels), nothing, nothing);
    CHECK(stack.faults().unmatched_exits == in_vain);
    // A new function, and another call of one that is open, both beneath a call that has no exit.
    const auto calls =
        calls_of(stack, {enter(6000, 1010), enter(3, 1020), enter(6001, 1030), exit(3, 1050), exit(6000, 1060)});
    REQUIRE(calls.size() == 3);
    CHECK(calls[0].function == 6001);
    CHECK_FALSE(calls[0].has_exit);
    CHECK(calls[1].function == 3);
    CHECK(calls[1].duration == 30);
    CHECK(calls[1].has_exit);
    CHECK(calls[2].function == 6000);
    CHECK(calls[2].duration == 50);
    CHECK(calls[2].depth == levels);
    CHECK(stack.frames().size() == levels);
    // They are closed: another exit is one in vain, and the earlier call of 3 is still open.
    CHECK(calls_of(stack, {exit(6001, 1070), exit(6000, 1080)}).empty());
    CHECK(stack.faults().unmatched_exits == in_vain + 2);
    const auto outer = calls_of(stack, {exit(3, 2000)});
    REQUIRE(outer.size() == levels - 3);
    CHECK(outer.back().function == 3);
    CHECK(outer.back().start == 3);
    CHECK(stack.frames().size() == 3);
    CHECK(stack.faults().missing_exits == levels - 4 + 1);
    stack.finish();
    CHECK(stack.faults().unfinished == 3);
    CHECK(calls_of(stack, {exit(0, 2001)}).empty());
  }
}

TEST_CASE("recursive calls are all found behind very many exits in vain") {
  constexpr std::uint64_t levels = 1000;
  const auto nothing = [](const auto&...) {};
  call_stack stack;
  for (std::uint64_t i = 0; i < levels; ++i) stack.on(enter(1 + i % 2, i), nothing, nothing);
  for (std::uint64_t i = 0; i < 100; ++i) stack.on(exit(9, levels), nothing, nothing);
  // Each exit of 1 closes the 2 above it too.
  for (std::uint64_t i = 1; i <= levels / 2; ++i) {
    const auto calls = calls_of(stack, {exit(1, levels + i)});
    REQUIRE(calls.size() == 2);
    CHECK(calls[1].start == levels - 2 * i);
  }
  CHECK(stack.frames().empty());
  CHECK(stack.faults().unmatched_exits == 100);
  CHECK(stack.faults().missing_exits == levels / 2);
  CHECK(calls_of(stack, {exit(1, 5000), exit(2, 5000)}).empty());
  CHECK(stack.faults().unmatched_exits == 102);
}

TEST_CASE("faults of several stacks add up") {
  analysis::call_faults sum{.unmatched_exits = 1, .missing_exits = 2, .unfinished = 3};
  sum.add({.unmatched_exits = 10, .missing_exits = 20, .unfinished = 30});
  CHECK(sum.unmatched_exits == 11);
  CHECK(sum.missing_exits == 22);
  CHECK(sum.unfinished == 33);
}

TEST_CASE("a call is told of when it begins, at its level, and when it ends, while its callers are open") {
  call_stack stack;
  std::vector<std::pair<std::uint64_t, std::size_t>> begun;
  std::vector<std::size_t> open;
  std::uint64_t tags = 0;
  for (const auto& event : {enter(1, 0), enter(2, 1), mark(1), enter(3, 2), exit(2, 5), exit(1, 6)}) {
    stack.on(
        event,
        [&](call_stack::frame& frame, std::size_t depth) {
          begun.emplace_back(frame.function, depth);
          frame.tag = 10 * frame.function;
        },
        [&](const finished_call& call, const call_stack::frame& frame) {
          open.push_back(stack.frames().size());
          CHECK(call.depth + 1 == stack.frames().size());
          tags = tags * 100 + frame.tag;
        });
  }
  CHECK(begun == std::vector<std::pair<std::uint64_t, std::size_t>>{{1, 0}, {2, 1}, {3, 2}});
  CHECK(open == std::vector<std::size_t>{3, 2, 1});
  CHECK(tags == 302010);
}

TEST_CASE("a call of no time at all has no time of its own, and one as long as its callees neither") {
  call_stack stack;
  const auto calls = calls_of(stack, {enter(1, 5), enter(2, 5), exit(2, 9), enter(3, 9), exit(3, 9), exit(1, 9)});
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].self == 4);
  CHECK(calls[1].duration == 0);
  CHECK(calls[1].self == 0);
  CHECK(calls[2].duration == 4);
  CHECK(calls[2].self == 0);
}
