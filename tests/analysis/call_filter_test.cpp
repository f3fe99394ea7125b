// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/call_filter.hpp>

#include <set>
#include <string>

#include <support/catch.hpp>
#include <support/event_text.hpp>

using namespace backsight;
using analysis::chosen;
using test::enter;
using test::exit;
using test::of_thread;

namespace {

/// main (1) calls a (2), which calls b (3), and then b, which calls a.
test::call_parts sample() {
  return {.parts = {{enter(1, 0), enter(2, 1), enter(3, 2), exit(3, 4), exit(2, 5), enter(3, 6), enter(2, 7),
                     exit(2, 17), exit(3, 18), exit(1, 20)}},
          .damage = {}};
}

std::string chosen_of(const analysis::call_choice& choice) {
  const auto trace = sample();
  return test::events_of(chosen(trace, choice));
}

}  // namespace

TEST_CASE("no choice leaves everything") {
  const auto trace = sample();
  const analysis::call_choice choice;
  CHECK(choice.all());
  CHECK(test::events_of(chosen(trace, choice)) == test::events_of(trace));
  STATIC_REQUIRE(call_trace<decltype(chosen(trace, choice))>);
}

TEST_CASE("a span of time cuts calls at its edges, so that paths are whole") {
  CHECK(chosen_of({.begin = 3, .end = 7}) == "+1@3 +2@3 +3@3 -3@4 -2@5 +3@6 -3@7 -1@7");
  CHECK(chosen_of({.begin = 19}) == "+1@19 -1@20");
  CHECK(chosen_of({.begin = 8, .end = 16}) == "+1@8 +3@8 +2@8 -2@16 -3@16 -1@16");
  CHECK(chosen_of({.end = 2}) == "+1@0 +2@1 -2@2 -1@2");
  CHECK(chosen_of({.begin = 21}) == "");
}

TEST_CASE("functions are chosen with what they call, left out with it, or hidden alone") {
  const auto is = [](std::uint64_t wanted) { return [wanted](std::uint64_t function) { return function == wanted; }; };
  CHECK(chosen_of({.only = is(2)}) == "+2@1 +3@2 -3@4 -2@5 +2@7 -2@17");
  CHECK(chosen_of({.without = is(2)}) == "+1@0 +3@6 -3@18 -1@20");
  CHECK(chosen_of({.hidden = is(2)}) == "+1@0 +3@2 -3@4 +3@6 -3@18 -1@20");
  CHECK(chosen_of({.only = is(2), .without = is(3)}) == "+2@1 -2@5");
}

TEST_CASE("predicates are asked of every function, wherever it is called") {
  std::set<std::uint64_t> only, without, hidden;
  const auto asked = [](std::set<std::uint64_t>& of, std::uint64_t wanted) {
    return [&of, wanted](std::uint64_t function) { return of.insert(function), function == wanted; };
  };
  CHECK(chosen_of({.only = asked(only, 1), .without = asked(without, 2), .hidden = asked(hidden, 3)}) == "+1@0 -1@20");
  const std::set<std::uint64_t> all{1, 2, 3};
  CHECK(only == all);
  CHECK(without == all);
  CHECK(hidden == all);
}

TEST_CASE("levels count what is shown") {
  const auto is_a = [](std::uint64_t function) { return function == 2; };
  CHECK(chosen_of({.levels = 1}) == "+1@0 -1@20");
  CHECK(chosen_of({.only = is_a, .levels = 1}) == "+2@1 -2@5 +2@7 -2@17");
  CHECK(chosen_of({.hidden = is_a, .levels = 2}) == "+1@0 +3@2 -3@4 +3@6 -3@18 -1@20");
  CHECK(chosen_of({.levels = 0}) == "");
}

TEST_CASE("short calls are left out with the other choices in force") {
  CHECK(chosen_of({.at_least = 10}) == "+1@0 +3@6 +2@7 -2@17 -3@18 -1@20");
  CHECK(chosen_of({.levels = 2, .at_least = 10}) == "+1@0 +3@6 -3@18 -1@20");
}

TEST_CASE("threads are chosen by process and thread") {
  const test::call_parts trace{
      .parts = {{enter(1, 0), of_thread(enter(2, 1), 9), of_thread(exit(2, 2), 9), exit(1, 3)}}, .damage = {}};
  const analysis::call_choice choice{.threads = [](std::int64_t, std::uint64_t thread) { return thread == 9; }};
  CHECK(test::events_of(chosen(trace, choice)) == "+2@1 -2@2");
}

TEST_CASE("the first tick at a time is found for any clock") {
  const auto trace = sample();  // Ten nanoseconds each.
  CHECK(analysis::first_tick_at(trace, 0) == 0);
  CHECK(analysis::first_tick_at(trace, 1) == 1);
  CHECK(analysis::first_tick_at(trace, 30) == 3);
  CHECK(analysis::first_tick_at(trace, 31) == 4);
}

TEST_CASE("levels below a depth are left out, marks go with the call that they are in") {
  const auto trace = test::nested_calls();
  CHECK(test::events_of(chosen(trace, {.levels = 1})) == ".@0 +1@0 -1@20 !77");
  CHECK(test::events_of(chosen(trace, {.levels = 2})) == ".@0 +1@0 +2@1 -2@5 +3@6 -3@18 -1@20 !77");
  CHECK(test::events_of(chosen(trace, {.levels = 0})) == ".@0 !77");
  CHECK(test::events_of(chosen(trace, {.levels = 3})) == test::events_of(trace));
}

TEST_CASE("functions are chosen or left out with or without what they call") {
  const auto trace = test::nested_calls();
  const auto is = [](std::uint64_t wanted) { return [wanted](std::uint64_t function) { return function == wanted; }; };
  CHECK(test::events_of(chosen(trace, {.only = is(2)})) == "+2@1 +3@2 .@3 -3@4 -2@5 +2@7 -2@17 !77");
  CHECK(test::events_of(chosen(trace, {.without = is(2)})) == ".@0 +1@0 +3@6 -3@18 -1@20 !77");
  CHECK(test::events_of(chosen(trace, {.hidden = is(3)})) == ".@0 +1@0 +2@1 .@3 -2@5 +2@7 -2@17 -1@20 !77");
  CHECK(test::events_of(chosen(trace, {.only = is(9)})) == "!77");
  const auto only = chosen(trace, {.only = is(3)});
  CHECK(test::events_of(chosen(only, {.without = is(2)})) == "+3@2 .@3 -3@4 +3@6 -3@18 !77");
}

TEST_CASE("exits without entry stay where calls of their functions would") {
  const test::call_parts trace{.parts = {{exit(5, 0), enter(1, 1), exit(6, 2), exit(1, 3)}, {exit(1, 4)}},
                               .damage = {}};
  CHECK(test::events_of(chosen(trace, {.levels = 1})) == "-5@0 +1@1 -1@3 | -1@4");
  CHECK(test::events_of(chosen(trace, {.only = [](std::uint64_t function) { return function == 1; }})) ==
        "+1@1 -6@2 -1@3 | -1@4");
}

TEST_CASE("a span begins and ends calls of each thread by its own events") {
  const test::call_parts trace{
      .parts = {{enter(1, 0), of_thread(enter(2, 1), 2), exit(1, 5), of_thread(exit(2, 6), 2)}}, .damage = {}};
  CHECK(test::events_of(chosen(trace, {.begin = 1, .end = 6})) == "+2@1 +1@1 -1@5 -2@6");
}
