// SPDX-License-Identifier: Apache-2.0
#include <initializer_list>
#include <string>
#include <vector>

#include <backsight/analysis/filter.hpp>

#include <support/call_parts.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::enter;
using test::exit;
using test::mark;
using test::of_thread;

namespace {

/// The events of a trace as text: "+1@0" for the entry of function 1 at 0, "-" for an exit, "." for a mark.
template <call_trace T>
std::string events_of(const T& trace) {
  std::string text;
  for (std::size_t part = 0; part < trace.part_count(); ++part) {
    if (part != 0) text += "| ";
    trace.part(part).for_each_event(
        [&](const test::call_event& event) {
          if (event.kind == event_kind::mark) text += '.';
          else text += (event.kind == event_kind::enter ? "+" : "-") + std::to_string(event.function);
          text += '@' + std::to_string(event.time) + ' ';
        },
        [&](std::string_view, const fault& found) { text += "!" + std::to_string(found.offset) + ' '; });
  }
  if (!text.empty()) text.pop_back();
  return text;
}

/// main (1) calls a (2), which calls b (3), and then b, which calls a.
test::call_parts sample() {
  return {.parts = {{mark(0), enter(1, 0), enter(2, 1), enter(3, 2), mark(3), exit(3, 4), exit(2, 5), enter(3, 6),
                     enter(2, 7), exit(2, 17), exit(3, 18), exit(1, 20)}},
          .damage = {fault{errc::bad_size, 77, 0}}};
}

}  // namespace

TEST_CASE("a filtered trace is a call trace with the names and clock of the whole") {
  const auto trace = sample();
  const auto some = analysis::up_to_depth(trace, 1);
  STATIC_REQUIRE(call_trace<decltype(some)>);
  CHECK(some.function_name(3) == "f3");
  CHECK(some.thread_name(1, 2) == "t2");
  CHECK(some.process_name(1) == "it");
  CHECK(some.to_ns(3) == 30);
  CHECK(some.unit() == clock_unit::nanoseconds);
  CHECK(some.start() == 0);
  std::size_t faults = 0;
  some.for_each_fault([&](std::string_view, const fault&) { ++faults; });
  CHECK(faults == 1);
}

TEST_CASE("levels below a depth are left out, marks go with the call that they are in") {
  const auto trace = sample();
  CHECK(events_of(analysis::up_to_depth(trace, 1)) == ".@0 +1@0 -1@20 !77");
  CHECK(events_of(analysis::up_to_depth(trace, 2)) == ".@0 +1@0 +2@1 -2@5 +3@6 -3@18 -1@20 !77");
  CHECK(events_of(analysis::up_to_depth(trace, 0)) == ".@0 !77");
  CHECK(events_of(analysis::up_to_depth(trace, 3)) == events_of(trace));
}

TEST_CASE("functions are chosen or left out with or without what they call") {
  const auto trace = sample();
  const auto is = [](std::uint64_t wanted) { return [wanted](std::uint64_t function) { return function == wanted; }; };
  CHECK(events_of(analysis::only_below(trace, is(2))) == "+2@1 +3@2 .@3 -3@4 -2@5 +2@7 -2@17 !77");
  CHECK(events_of(analysis::without_below(trace, is(2))) == ".@0 +1@0 +3@6 -3@18 -1@20 !77");
  CHECK(events_of(analysis::without_functions(trace, is(3))) == ".@0 +1@0 +2@1 .@3 -2@5 +2@7 -2@17 -1@20 !77");
  CHECK(events_of(analysis::only_below(trace, is(9))) == "!77");
  const auto only = analysis::only_below(trace, is(3));
  CHECK(events_of(analysis::without_below(only, is(2))) == "+3@2 .@3 -3@4 +3@6 -3@18 !77");
}

TEST_CASE("exits without entry stay where calls of their functions would") {
  const test::call_parts trace{.parts = {{exit(5, 0), enter(1, 1), exit(6, 2), exit(1, 3)}, {exit(1, 4)}},
                               .damage = {}};
  CHECK(events_of(analysis::up_to_depth(trace, 1)) == "-5@0 +1@1 -1@3 | -1@4");
  CHECK(events_of(analysis::only_below(trace, [](std::uint64_t function) { return function == 1; })) ==
        "+1@1 -6@2 -1@3 | -1@4");
}

TEST_CASE("threads and times are chosen event by event") {
  const test::call_parts trace{
      .parts = {{enter(1, 0), of_thread(enter(2, 1), 2), exit(1, 5), of_thread(exit(2, 6), 2)}}, .damage = {}};
  CHECK(events_of(analysis::only_threads(trace, [](std::int64_t process, std::uint64_t thread) {
          return process == 1 && thread == 2;
        })) == "+2@1 -2@6");
  CHECK(events_of(analysis::only_times(trace, 1, 6)) == "+2@1 -1@5");
}

TEST_CASE("calls are left out that take less than a duration") {
  const auto trace = sample();
  CHECK(events_of(analysis::at_least(trace, 0)) == events_of(trace));
  CHECK(events_of(analysis::at_least(trace, 2)) == events_of(trace));
  // b takes 2, a around it 4.
  CHECK(events_of(analysis::at_least(trace, 3)) == ".@0 +1@0 +2@1 .@3 -2@5 +3@6 +2@7 -2@17 -3@18 -1@20 !77");
  CHECK(events_of(analysis::at_least(trace, 4)) == events_of(analysis::at_least(trace, 3)));
  CHECK(events_of(analysis::at_least(trace, 5)) == ".@0 +1@0 .@3 +3@6 +2@7 -2@17 -3@18 -1@20 !77");
  CHECK(events_of(analysis::at_least(trace, 11)) == ".@0 +1@0 .@3 +3@6 -3@18 -1@20 !77");
  CHECK(events_of(analysis::at_least(trace, 21)) == ".@0 !77 .@3");
}

TEST_CASE(
    "calls without exit are left out when their caller's exit shows that they were short, and stay when nothing ends "
    "them") {
  // 2 is closed by the exit of 1; 4 is open at the end; 9 was never entered.
  const test::call_parts trace{
      .parts = {{enter(1, 0), enter(2, 8), enter(3, 9), exit(1, 10), enter(4, 11), exit(9, 12)}}, .damage = {}};
  CHECK(events_of(analysis::at_least(trace, 5)) == "+1@0 -1@10 +4@11 -9@12");
  CHECK(events_of(analysis::at_least(trace, 2)) == "+1@0 +2@8 -1@10 +4@11 -9@12");
}

TEST_CASE("threads are held back each for itself") {
  const test::call_parts trace{
      .parts = {{enter(1, 0), of_thread(enter(2, 0), 2), of_thread(exit(2, 3), 2), exit(1, 9)}}, .damage = {}};
  CHECK(events_of(analysis::at_least(trace, 4)) == "+1@0 -1@9");
}
