// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/filtered_trace.hpp>

#include <support/catch.hpp>
#include <support/event_text.hpp>

using namespace backsight;
using test::enter;
using test::mark;

namespace {

/// Leaves out exits, and tells the end of the part by a mark.
struct entries_only {
  template <class Event, class Next>
  void on(const Event& event, Next&& next) {
    if (event.kind == event_kind::enter) next(event);
  }
  template <class Next>
  void finish(Next&& next) {
    next(mark(99));
  }
};

}  // namespace

TEST_CASE("a filtered trace is a call trace with the names and clock of the whole") {
  const auto trace = test::nested_calls();
  const auto some = analysis::filtered_trace(trace, [] { return entries_only{}; });
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

TEST_CASE("each part is filtered by a filter of its own") {
  const test::call_parts trace{.parts = {{enter(1, 0), test::exit(1, 1)}, {enter(2, 2)}}, .damage = {}};
  CHECK(test::events_of(analysis::filtered_trace(trace, [] { return entries_only{}; })) == "+1@0 .@99 | +2@2 .@99");
}
