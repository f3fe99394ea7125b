// SPDX-License-Identifier: Apache-2.0
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
    stack.take(
        event, [](const call_stack::frame&, std::size_t) {},
        [&](const finished_call& call, const call_stack::frame&) { calls.push_back(call); });
  }
  return calls;
}

}  // namespace

TEST_CASE("nested calls give durations, and self time without their callees") {
  call_stack stack;
  const auto calls = calls_of(stack, {enter(1, 10), enter(2, 12), mark(13), exit(2, 20), enter(2, 21), exit(2, 22), exit(1, 30)});
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
  for (std::uint64_t i = 0; i < levels; ++i) stack.take(enter(i, i), nothing, nothing);
  // Four hundred thousand searches of this stack would take a minute.
  for (std::uint64_t i = 0; i < 20 * levels; ++i) stack.take(exit(levels + i, levels), nothing, nothing);
  CHECK(stack.faults().unmatched_exits == 20 * levels);
  stack.take(enter(7, levels), nothing, nothing);
  stack.take(exit(7, levels), nothing, nothing);
  CHECK(stack.frames().size() == levels);
  std::uint64_t ended = 0;
  stack.take(exit(levels / 2, levels), nothing, [&](const auto&, const auto&) { ++ended; });
  CHECK(ended == levels / 2);
  stack.take(exit(levels - 1, levels), nothing, nothing);
  CHECK(stack.frames().size() == levels / 2);
}
