// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <backsight/analysis/call_tree.hpp>

#include <support/call_events.hpp>
#include <support/catch.hpp>

using namespace backsight;
using analysis::call_tree;
using test::enter;
using test::exit;

TEST_CASE("a call tree has one node for each path and adds up its calls and times") {
  call_tree tree;
  for (const auto& event :
       {enter(1, 0), enter(2, 1), exit(2, 4), enter(2, 5), exit(2, 6), enter(3, 6), exit(3, 9), exit(1, 10)})
    tree.on(event);
  tree.finish();
  for (const auto& event : {enter(1, 0), enter(2, 2), exit(2, 3), exit(1, 5), enter(2, 6), exit(2, 8)}) tree.on(event);
  tree.finish();

  REQUIRE(tree.nodes().size() == 5);
  const auto& main = tree.nodes()[1];
  CHECK(main.function == 1);
  CHECK(main.count == 2);
  CHECK(main.total == 15);
  CHECK(main.self == 15 - 4 - 3 - 1);
  const auto& inner = tree.nodes()[2];
  CHECK(inner.function == 2);
  CHECK(inner.parent == 1);
  CHECK(inner.count == 3);
  CHECK(inner.total == 5);
  CHECK(tree.nodes()[4].parent == call_tree::root);
  CHECK(tree.nodes()[4].total == 2);
  CHECK(tree.path(3) == std::vector<std::uint64_t>{1, 3});
  CHECK(tree.path(call_tree::root).empty());
}

TEST_CASE("a call that does not end leaves its node without time") {
  call_tree tree;
  for (const auto& event : {enter(1, 0), enter(2, 1)}) tree.on(event);
  REQUIRE(tree.nodes().size() == 3);
  CHECK(tree.nodes()[2].count == 0);
  CHECK(tree.nodes()[2].total == 0);
}

TEST_CASE("a merged call tree has the nodes of both, those that are new in their order") {
  call_tree first, second, both;
  for (const auto& event : {enter(1, 0), enter(2, 1), exit(2, 4), exit(1, 10)}) first.on(event), both.on(event);
  for (const auto& event : {enter(3, 0), enter(2, 2), exit(2, 3), exit(3, 5), enter(1, 6), enter(4, 6), exit(4, 7),
                            enter(2, 7), exit(2, 8), exit(1, 9), exit(8, 9)})
    second.on(event), both.on(event);
  first.finish(), second.finish(), both.finish();
  first.merge(second);
  REQUIRE(first.nodes().size() == both.nodes().size());
  for (call_tree::node_id id = 1; id < both.nodes().size(); ++id) {
    CHECK(first.path(id) == both.path(id));
    CHECK(first.nodes()[id].count == both.nodes()[id].count);
    CHECK(first.nodes()[id].total == both.nodes()[id].total);
    CHECK(first.nodes()[id].self == both.nodes()[id].self);
  }
  CHECK(first.faults().unmatched_exits == 1);
}

TEST_CASE("a tree by other numbers of functions has one node for paths that become one") {
  analysis::call_tree tree;
  for (const auto& event : {test::enter(1, 0), test::enter(2, 1), test::exit(2, 3), test::enter(3, 4), test::exit(3, 9),
                            test::exit(1, 10), test::enter(4, 20), test::enter(3, 21)})
    tree.on(event);
  tree.finish();
  const auto renumbered = tree.renumbered([](std::uint64_t function) {
    return function == 3 ? std::uint64_t{2} : function == 4 ? std::uint64_t{1} : function;
  });
  REQUIRE(renumbered.nodes().size() == 3);
  CHECK((renumbered.nodes()[1].function == 1 && renumbered.nodes()[1].total == 10 && renumbered.nodes()[1].self == 3));
  CHECK((renumbered.nodes()[2].function == 2 && renumbered.nodes()[2].count == 2 && renumbered.nodes()[2].total == 7));
  CHECK(renumbered.faults().unfinished == 2);
}
