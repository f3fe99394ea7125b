// SPDX-License-Identifier: Apache-2.0
// How the work grows with the input: counted in basic blocks, at n, 2n and 4n.
#include <cstdint>

#include <backsight/analysis/call_stack.hpp>

#include <support/call_events.hpp>
#include <support/catch.hpp>
#include <support/work.hpp>

using namespace backsight;

namespace {

/// A stack of n calls, and then n exits that `exit_of(i)` makes.
template <class ExitOf>
bool grows_like_its_input(ExitOf&& exit_of) {
  return test::grows_like_its_input(500, [&](std::uint64_t n) {
    analysis::call_stack stack;
    std::uint64_t calls = 0;
    const auto take = [&](const test::call_event& event) {
      stack.on(event, [](const auto&, std::size_t) {}, [&](const auto&, const auto&) { ++calls; });
    };
    for (std::uint64_t i = 0; i < n; ++i) take(test::enter(i, i));
    for (std::uint64_t i = 0; i < n; ++i) take(exit_of(n, i));
    stack.finish();
    const analysis::call_faults& faults = stack.faults();
    CHECK(calls + faults.unfinished == n);
    CHECK(calls - faults.missing_exits + faults.unmatched_exits == n);
  });
}

}  // namespace

TEST_CASE("work grows with exits without entry below a deep stack, whatever functions they name") {
  CHECK(grows_like_its_input([](std::uint64_t n, std::uint64_t i) { return test::exit(n, n + i); }));
  CHECK(grows_like_its_input([](std::uint64_t n, std::uint64_t i) { return test::exit(n + i, n + i); }));
}

TEST_CASE("work grows with exits that match at the top, and with calls that an exit far below closes") {
  CHECK(grows_like_its_input([](std::uint64_t n, std::uint64_t i) { return test::exit(n - 1 - i, n + i); }));
  CHECK(grows_like_its_input([](std::uint64_t n, std::uint64_t i) { return test::exit(i == 0 ? 0 : n, n + i); }));
}
