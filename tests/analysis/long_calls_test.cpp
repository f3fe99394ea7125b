// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/long_calls.hpp>

#include <backsight/analysis/filtered_trace.hpp>

#include <support/catch.hpp>
#include <support/event_text.hpp>

using namespace backsight;
using test::enter;
using test::exit;
using test::of_thread;

namespace {

auto lasting(const test::call_parts& trace, std::uint64_t least) {
  return analysis::filtered_trace(trace, [least] { return analysis::long_calls<test::call_event>(least); });
}

}  // namespace

TEST_CASE("calls are left out that take less than a duration") {
  const auto trace = test::nested_calls();
  CHECK(test::events_of(lasting(trace, 0)) == test::events_of(trace));
  CHECK(test::events_of(lasting(trace, 2)) == test::events_of(trace));
  // b takes 2, a around it 4.
  CHECK(test::events_of(lasting(trace, 3)) == ".@0 +1@0 +2@1 .@3 -2@5 +3@6 +2@7 -2@17 -3@18 -1@20 !77");
  CHECK(test::events_of(lasting(trace, 4)) == test::events_of(lasting(trace, 3)));
  CHECK(test::events_of(lasting(trace, 5)) == ".@0 +1@0 .@3 +3@6 +2@7 -2@17 -3@18 -1@20 !77");
  CHECK(test::events_of(lasting(trace, 11)) == ".@0 +1@0 .@3 +3@6 -3@18 -1@20 !77");
  CHECK(test::events_of(lasting(trace, 21)) == ".@0 !77 .@3");
}

TEST_CASE(
    "calls without exit are left out when their caller's exit shows that they were short, and stay when nothing ends "
    "them") {
  // 2 is closed by the exit of 1; 4 is open at the end; 9 was never entered.
  const test::call_parts trace{
      .parts = {{enter(1, 0), enter(2, 8), enter(3, 9), exit(1, 10), enter(4, 11), exit(9, 12)}}, .damage = {}};
  CHECK(test::events_of(lasting(trace, 5)) == "+1@0 -1@10 +4@11 -9@12");
  CHECK(test::events_of(lasting(trace, 2)) == "+1@0 +2@8 -1@10 +4@11 -9@12");
}

TEST_CASE("threads are held back each for itself") {
  const test::call_parts trace{
      .parts = {{enter(1, 0), of_thread(enter(2, 0), 2), of_thread(exit(2, 3), 2), exit(1, 9)}}, .damage = {}};
  CHECK(test::events_of(lasting(trace, 4)) == "+1@0 -1@9");
}
