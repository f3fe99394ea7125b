// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/call_list.hpp>

#include <backsight/analysis/run.hpp>

#include <support/call_parts.hpp>
#include <support/catch.hpp>

using namespace backsight;
using analysis::call_list;
using analysis::listed_call;
using test::enter;
using test::exit;
using test::mark;

namespace {

call_list list_of(const test::call_parts& trace, unsigned jobs = 1) {
  return analysis::run(trace, call_list(), [](std::string_view, const fault&) {}, jobs);
}

}  // namespace

TEST_CASE("every call is listed with its caller, its level and its times") {
  const auto list =
      list_of({.parts = {{enter(1, 0), enter(2, 3), exit(2, 5), mark(6), enter(3, 7), exit(1, 20)}}, .damage = {}});
  REQUIRE(list.calls().size() == 4);
  const listed_call& outer = list.calls()[0];
  CHECK((outer.function == 1 && outer.caller == listed_call::none && outer.depth == 0 && !outer.is_leaf));
  CHECK((outer.start == 0 && outer.duration == 20 && outer.self == 20 - 2 - 13 && outer.has_exit));
  const listed_call& inner = list.calls()[1];
  CHECK((inner.function == 2 && inner.caller == 1 && inner.depth == 1 && inner.is_leaf && inner.duration == 2));
  CHECK((list.calls()[2].is_mark && list.calls()[2].start == 6 && !list.calls()[2].has_ended()));
  CHECK((list.calls()[3].duration == 13 && !list.calls()[3].has_exit));
  CHECK(list.faults().missing_exits == 1);
}

TEST_CASE("a call that does not end has no duration") {
  const auto list = list_of({.parts = {{enter(1, 5)}}, .damage = {}});
  REQUIRE(list.calls().size() == 1);
  CHECK_FALSE(list.calls()[0].has_ended());
  CHECK(list.faults().unfinished == 1);
}

TEST_CASE("the calls of parts are put together, and sorted by their start") {
  const test::call_parts trace{.parts = {{enter(1, 10), exit(1, 12)}, {enter(2, 5), exit(2, 11)}}, .damage = {}};
  for (const unsigned jobs : {1U, 2U}) {
    auto list = list_of(trace, jobs);
    CHECK(list.calls().front().function == 1);
    list.sort_by_start();
    CHECK(list.calls().front().function == 2);
    CHECK(list.calls()[0].order > list.calls()[1].order);
  }
}

namespace {

struct valued_event : test::call_event {
  std::string_view values{};
};
valued_event valued(test::call_event event, std::string_view values) { return {event, values}; }

}  // namespace

TEST_CASE("a listed call has what was given to it and what its own exit gave back") {
  call_list list;
  for (const valued_event& each : {valued(enter(1, 0), "7"), valued(enter(2, 1), ""), valued(enter(3, 2), "\"x\""),
                                   valued(exit(3, 3), "8"), valued(exit(1, 9), "9")})
    list.on(each);
  list.end_part(0);
  REQUIRE(list.has_values());
  const auto of = [&](const call_list& in, std::size_t i) { return in.values_of(in.calls()[i]); };
  CHECK((of(list, 0).arguments == "7" && of(list, 0).result == "9"));
  CHECK((of(list, 1).arguments.empty() && of(list, 1).result.empty()));  // Its caller's exit closed it.
  CHECK((of(list, 2).arguments == "\"x\"" && of(list, 2).result == "8"));
  call_list both = list;
  both.merge(list);
  REQUIRE(both.calls().size() == 6);
  CHECK((of(both, 3).arguments == "7" && of(both, 3).result == "9" && of(both, 5).arguments == "\"x\""));
  CHECK_FALSE(list_of({.parts = {{enter(1, 0)}}, .damage = {}}).has_values());
}
