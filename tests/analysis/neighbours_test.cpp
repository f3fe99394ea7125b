// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/neighbours.hpp>

#include <support/call_events.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::enter;
using test::exit;

TEST_CASE("callers and callees of a function are summed over all paths") {
  // 1 calls 2, which calls itself, which calls 3; then 2 alone.
  analysis::call_tree tree(true);
  for (const auto& event : {enter(1, 0), enter(2, 1), enter(2, 2), enter(3, 3), exit(3, 5), exit(2, 8), exit(2, 10),
                            exit(1, 12), enter(2, 20), exit(2, 25)})
    tree.on(event);
  tree.finish();
  const auto found = analysis::neighbours_of(tree, [](std::uint64_t function) { return function == 2; });
  REQUIRE(found.size() == 1);
  const analysis::neighbours& of = found.at(2);
  CHECK(of.own.count == 3);
  CHECK(of.own.total == 9 + 5);  // The inner call is inside the outer one.
  CHECK(of.own.self == 3 + 4 + 5);
  REQUIRE(of.callers.size() == 2);
  CHECK((of.callers.at(1).count == 1 && of.callers.at(1).total == 9));
  CHECK((of.callers.at(2).count == 1 && of.callers.at(2).total == 6));
  CHECK((of.outermost.count == 1 && of.outermost.total == 5));
  REQUIRE(of.callees.size() == 2);
  CHECK((of.callees.at(3).count == 1 && of.callees.at(3).total == 2));
  CHECK(of.callees.at(2).total == 6);
}

TEST_CASE("a function that is not called has no neighbours") {
  const analysis::call_tree tree(true);
  CHECK(analysis::neighbours_of(tree, [](std::uint64_t) { return true; }).empty());
}

TEST_CASE("calls inside of one that does not end make up the total of a function") {
  // 2 does not end in part of its calls; in it 1 calls it again.
  analysis::call_tree tree(true);
  for (const auto& event : {enter(2, 0), enter(1, 1), enter(2, 2), exit(2, 5), exit(1, 6), exit(2, 9), enter(2, 10),
                            enter(1, 11), enter(2, 12), exit(2, 16), exit(1, 18)})
    tree.on(event);
  tree.finish();
  const auto found = analysis::neighbours_of(tree, [](std::uint64_t function) { return function == 2; });
  CHECK(found.at(2).own.count == 3);
  CHECK(found.at(2).own.total == 9 + 4);
  analysis::call_tree both(true);
  both.merge(tree);
  both.merge(tree);
  CHECK(analysis::neighbours_of(both, [](std::uint64_t) { return true; }).at(2).own.total == 2 * (9 + 4));
}
