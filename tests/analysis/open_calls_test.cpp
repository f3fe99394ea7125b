// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/open_calls.hpp>

#include <vector>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>

using namespace backsight;
using analysis::call_stack;
using analysis::open_calls;

TEST_CASE("what calls inside of a call took is not given again, on each stack") {
  for (const std::uint64_t function :
       {std::uint64_t{3}, std::uint64_t{65535}, std::uint64_t{65536}, ~std::uint64_t{0}}) {
    INFO(function);
    open_calls open;
    const call_stack a, b, c;
    const auto outer = open.enter(a, function);
    const auto inner = open.enter(a, function);
    const auto of_b = open.enter(b, function);
    const auto other = open.enter(c, 7);
    CHECK(open.leave(b, function, of_b, 5) == 5);
    const auto innermost = open.enter(a, function);
    CHECK(open.leave(a, function, innermost, 2) == 2);
    CHECK(open.leave(a, function, inner, 7) == 5);
    CHECK(open.leave(c, 7, other, 9) == 9);
    const auto second = open.enter(a, function);
    CHECK(open.leave(a, function, second, 4) == 4);
    CHECK(open.leave(a, function, outer, 20) == 9);
    const auto next = open.enter(a, function);
    CHECK(open.leave(a, function, next, 20) == 20);
  }
}

TEST_CASE("what calls took is kept while another stack has the function, and no longer") {
  open_calls open;
  const call_stack a, b;
  const auto outer = open.enter(a, 1), middle = open.enter(a, 1), inner = open.enter(a, 1);
  const auto of_b = open.enter(b, 1);  // Three are open on the other stack.
  CHECK(open.leave(a, 1, inner, 1) == 1);
  CHECK(open.leave(b, 1, of_b, 50) == 50);
  CHECK(open.leave(a, 1, middle, 5) == 4);
  const auto again = open.enter(b, 1);
  CHECK(open.leave(b, 1, again, 60) == 60);
  CHECK(open.leave(a, 1, outer, 9) == 4);
}

TEST_CASE("after the end of a part nothing is open, on stacks of the same place too") {
  open_calls open;
  const call_stack a, b;
  (void)open.enter(a, 1);
  const auto inner = open.enter(a, 1);
  CHECK(open.leave(a, 1, inner, 3) == 3);
  (void)open.enter(b, 1);
  open.clear();
  const auto first = open.enter(a, 1);
  CHECK(open.leave(a, 1, first, 8) == 8);
}

TEST_CASE("calls in one that does not end are given with what they took") {
  open_calls open;
  const call_stack a;
  (void)open.enter(a, 1);
  std::uint64_t total = 0;
  for (int i = 0; i < 3; ++i) {
    const auto outer = open.enter(a, 1), inner = open.enter(a, 1);
    total += open.leave(a, 1, inner, 2);
    total += open.leave(a, 1, outer, 10);
  }
  CHECK(total == 30);
}

TEST_CASE("a call that ends sooner than one inside of it takes away what was given too much") {
  open_calls open;
  const call_stack a;
  const auto outer = open.enter(a, 1), inner = open.enter(a, 1);
  std::uint64_t total = open.leave(a, 1, inner, 12);
  total += open.leave(a, 1, outer, 10);
  CHECK(total == 10);
}

TEST_CASE("memory does not grow with the product of functions and stacks") {
  const std::vector<call_stack> stacks(1000);
  const std::size_t before = test::allocated_bytes();
  open_calls open;
  for (const call_stack& stack : stacks) {
    const auto kept = open.enter(stack, 65535);
    REQUIRE(open.leave(stack, 65535, kept, 1) == 1);
  }
  const std::size_t first = test::allocated_bytes() - before;
  CHECK(first < 4'000'000);  // What 65,536 functions take.
  for (int part = 0; part < 100; ++part) {
    open.clear();
    for (const call_stack& stack : stacks) (void)open.enter(stack, 65535);
  }
  CHECK(test::allocated_bytes() - before < first + 100 * stacks.size() * 200);
}

TEST_CASE("what is open in a later part is kept there while another stack has the function") {
  open_calls open;
  const call_stack a, b;
  (void)open.enter(a, 1);
  open.clear();
  const auto outer = open.enter(a, 1), inner = open.enter(a, 1);
  CHECK(open.leave(a, 1, inner, 3) == 3);
  const auto of_b = open.enter(b, 1);
  CHECK(open.leave(b, 1, of_b, 50) == 50);
  CHECK(open.leave(a, 1, outer, 10) == 7);
}

TEST_CASE("nothing is set aside but what is open in this part on another stack") {
  constexpr std::uint64_t functions = 1000;
  open_calls open;
  const call_stack a, b;
  const auto call = [&](const call_stack& stack, std::uint64_t function) {
    const auto kept = open.enter(stack, function);
    (void)open.leave(stack, function, kept, 1);
  };
  call(a, functions);  // What the functions themselves take.
  const std::size_t before = test::blocks_in_use();
  for (std::uint64_t f = 0; f < functions; ++f) {  // One is in the other, and ends first: both come back.
    const auto of_a = open.enter(a, f), of_b = open.enter(b, f);
    (void)open.leave(a, f, of_a, 1);
    (void)open.leave(b, f, of_b, 1);
  }
  CHECK(test::blocks_in_use() < before + 10);
  for (std::uint64_t f = 0; f < functions; ++f) (void)open.enter(a, f);
  for (std::uint64_t f = 0; f < functions; ++f) call(b, f);
  CHECK(test::blocks_in_use() >= before + functions);
  open.clear();
  CHECK(test::blocks_in_use() < before + 10);
  for (std::uint64_t f = 0; f < functions; ++f) (void)open.enter(a, f);
  open.clear();
  for (std::uint64_t f = 0; f < functions; ++f) call(b, f);
  CHECK(test::blocks_in_use() < before + 10);
}
