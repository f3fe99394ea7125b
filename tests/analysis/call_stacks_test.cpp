// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <backsight/analysis/call_stacks.hpp>

#include <support/call_parts.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::enter;
using test::exit;
using test::of_thread;

TEST_CASE("each thread of each process has a stack of its own, until the end of the part") {
  analysis::call_stacks stacks;
  const auto nothing = [](const auto&, const auto&) {};
  test::call_event other_process = enter(3, 0);
  other_process.process = 2;
  for (const auto& event : {enter(1, 0), of_thread(enter(2, 1), 2), other_process, exit(1, 5)})
    stacks.of(event).on(event, nothing, nothing);
  CHECK(stacks.of(enter(0, 0)).frames().empty());
  CHECK(stacks.of(of_thread(enter(0, 0), 2)).frames().size() == 1);
  CHECK(stacks.of(other_process).frames().size() == 1);
  CHECK(stacks.faults().unfinished == 0);
  stacks.finish();
  CHECK(stacks.faults().unfinished == 2);
  CHECK(stacks.of(other_process).frames().empty());
}

TEST_CASE("copies of stacks go on by themselves, and faults of several are added up") {
  analysis::call_stacks first;
  const auto nothing = [](const auto&, const auto&) {};
  first.of(enter(1, 0)).on(enter(1, 0), nothing, nothing);
  analysis::call_stacks second(first);
  second.of(exit(1, 1)).on(exit(1, 1), nothing, nothing);
  second.of(exit(1, 1)).on(exit(1, 2), nothing, nothing);
  CHECK(first.of(exit(1, 1)).frames().size() == 1);
  analysis::call_stacks moved(std::move(second));
  CHECK(moved.of(exit(1, 1)).frames().empty());
  first.finish();
  moved.finish();
  first.merge(moved);
  CHECK(first.faults().unfinished == 1);
  CHECK(first.faults().unmatched_exits == 1);
  moved = first;
  CHECK(moved.faults().unfinished == 1);
}
