// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/open_calls.hpp>

#include <vector>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>

using namespace backsight;
using analysis::call_stack;
using analysis::open_calls;

TEST_CASE("the open calls of a function are counted on each stack") {
  for (const std::uint64_t function :
       {std::uint64_t{3}, std::uint64_t{65535}, std::uint64_t{65536}, ~std::uint64_t{0}}) {
    INFO(function);
    open_calls open;
    const call_stack a, b, c;
    CHECK(open.enter(a, function) == 0);
    CHECK(open.enter(a, function) == 1);
    CHECK(open.enter(b, function) == 0);
    CHECK(open.enter(c, 7) == 0);
    CHECK(open.enter(a, function) == 2);
    open.leave(b, function);
    CHECK(open.enter(b, function) == 0);
    open.leave(a, function);
    open.leave(a, function);
    CHECK(open.enter(a, function) == 1);
    CHECK(open.enter(a, 7) == 0);
    CHECK(open.enter(c, 7) == 1);
  }
}

TEST_CASE("after the end of a part nothing is open, on stacks of the same place too") {
  open_calls open;
  const call_stack a, b;
  (void)open.enter(a, 1);
  (void)open.enter(b, 1);
  (void)open.enter(b, 1);
  open.clear();
  CHECK(open.enter(a, 1) == 0);
  CHECK(open.enter(b, 1) == 0);
  CHECK(open.enter(a, 1) == 1);
  open.clear();
  CHECK(open.enter(a, 1) == 0);
}

TEST_CASE("a call that ended after it was set aside and came back is not open") {
  open_calls open;
  const call_stack a, b;
  (void)open.enter(a, 1);
  (void)open.enter(b, 1);
  open.leave(a, 1);
  (void)open.enter(b, 1);
  CHECK(open.enter(a, 1) == 0);
  CHECK(open.enter(b, 1) == 2);
}

TEST_CASE("memory does not grow with the product of functions and stacks") {
  const std::vector<call_stack> stacks(1000);
  const std::size_t before = test::allocated_bytes();
  open_calls open;
  for (const call_stack& stack : stacks) {
    REQUIRE(open.enter(stack, 65535) == 0);
    open.leave(stack, 65535);
  }
  const std::size_t first = test::allocated_bytes() - before;
  CHECK(first < 4'000'000);  // The counts of 65,536 functions.
  for (int part = 0; part < 100; ++part) {
    open.clear();
    for (const call_stack& stack : stacks) REQUIRE(open.enter(stack, 65535) == 0);
  }
  CHECK(test::allocated_bytes() - before < first + 100 * stacks.size() * 200);
}
