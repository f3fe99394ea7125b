// SPDX-License-Identifier: Apache-2.0
#include "as/uftrace/call_tree.hpp"

#include <cstdint>
#include <vector>

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;

namespace {

constexpr std::uint32_t none = tree_node::none;

/// Tasks 7, its children 8 and 9, and one of another parent, 10; the fifth is unknown.
recording five_tasks() {
  recording from;
  from.data.resize(5);
  from.tasks = {{7, 7, 0, 1, {}, {}}, {8, 8, 7, 2, {}, {}}, {9, 9, 7, 3, {}, {}}, {10, 10, 6, 4, {}, {}}};
  for (std::uint32_t i = 0; i < 4; ++i) from.data[i].task = i;
  return from;
}

}  // namespace

TEST_CASE("calls from one place by one name are one node, by another name or place another one") {
  const recording from = five_tasks();
  call_tree tree(from, true, false);
  const std::uint32_t root = tree.add_root();
  tree.set_current(0, root);
  CHECK(tree.enter(0, 5, 0x100, false));
  const std::uint32_t five = tree.current(0);
  tree.leave(0, 0x100, 0x100, 30, 0);
  CHECK(tree.current(0) == root);
  CHECK(tree.enter(0, 6, 0x200, false));
  const std::uint32_t six = tree.current(0);
  CHECK(tree.enter(0, 5, 0x100, false));
  const std::uint32_t below = tree.current(0);
  tree.leave(0, 0x100, 0x100, 7, 0);
  tree.leave(0, 0x200, 0x200, 20, 0);
  CHECK(tree.enter(0, 5, 0x100, false));
  CHECK(tree.current(0) == five);
  tree.leave(0, 0x100, 0x100, 5, 0);
  CHECK((tree.node(five).calls == 2 && tree.node(five).time == 35));
  CHECK((tree.node(six).calls == 1 && tree.node(six).time == 20));
  CHECK((tree.node(below).calls == 1 && tree.node(below).time == 7 && tree.node(below).parent == six));
  CHECK((tree.name(five) == 5 && tree.address(five) == 0x100 && tree.address(root) == 0));
  CHECK(tree.nodes().size() == 4);
  // Children in the order in which they were made.
  CHECK(tree.first_child(root) == five);
  CHECK(tree.next_sibling(five) == six);
  CHECK(tree.next_sibling(six) == none);
  CHECK(tree.first_child(six) == below);
  CHECK(tree.first_child(five) == none);
  CHECK(tree.next_sibling(root) == none);
}

TEST_CASE("a node with very many children finds each of them again") {
  const recording from = five_tasks();
  for (const std::uint32_t count : {1U, 2U, 7U, 8U, 9U, 10U, 11U, 100U, 5000U}) {
    CAPTURE(count);
    call_tree tree(from, true, false);
    const std::uint32_t root = tree.add_root();
    std::vector<std::uint32_t> nodes;
    for (int round = 0; round < 3; ++round) {
      for (std::uint32_t i = 0; i < count; ++i) {
        tree.set_current(0, root);
        (void)tree.enter(0, i, 0x1000 + i, false);
        if (round == 0) nodes.push_back(tree.current(0));
        if (tree.current(0) != nodes[i]) FAIL("child " << i << " in round " << round);
      }
    }
    CHECK(tree.nodes().size() == count + 1);
    std::uint32_t seen = 0;
    for (std::uint32_t at = tree.first_child(root); at != none; at = tree.next_sibling(at), ++seen) {
      if (tree.name(at) != seen || tree.node(at).calls != 3) FAIL("child " << seen);
    }
    CHECK(seen == count);
  }
}

TEST_CASE("a task that leaves the root adds nothing more, or goes on there") {
  const recording from = five_tasks();
  for (const bool stops : {true, false}) {
    call_tree tree(from, stops, false);
    const std::uint32_t root = tree.add_root();
    tree.set_current(0, root);
    tree.leave(0, 0, 0x100, 40, 0);
    CHECK(tree.node(root).time == 40);
    CHECK(tree.enter(0, 1, 0x100, false) != stops);
    tree.leave(0, 0x100, 0x100, 5, 0);
    CHECK(tree.nodes().size() == (stops ? 1U : 2U));
    CHECK(tree.node(root).time == 40);
    // Another root lets it go on.
    const std::uint32_t other = tree.add_root();
    tree.set_current(0, other);
    CHECK(tree.enter(0, 1, 0x100, false));
  }
}

TEST_CASE("a task without a place in the tree adds nothing") {
  const recording from = five_tasks();
  call_tree tree(from, true, false);
  (void)tree.add_root();
  CHECK(tree.current(1) == none);
  CHECK_FALSE(tree.enter(1, 1, 0x100, false));
  tree.leave(1, 0x100, 0x100, 5, 0);
  CHECK(tree.nodes().size() == 1);
}

TEST_CASE("a child returns once into the fork that made it") {
  const recording from = five_tasks();
  call_tree tree(from, true, false);
  const std::uint32_t root = tree.add_root();
  for (std::uint32_t i = 0; i < 5; ++i) tree.set_current(i, root);
  (void)tree.enter(0, 1, 0x100, false);
  const std::uint32_t main = tree.current(0);
  (void)tree.enter(0, 2, 0x200, true);
  const std::uint32_t fork = tree.current(0);
  CHECK(tree.node(fork).parent == main);
  // Neither a task of another parent, nor one that nobody knows, nor another function.
  tree.leave(3, 0, 0x200, 1000, 0);
  CHECK((tree.node(fork).time == 0 && tree.node(root).time == 1000));
  tree.leave(4, 0, 0x200, 1000, 0);
  CHECK((tree.node(fork).time == 0 && tree.node(root).time == 2000));
  tree.leave(1, 0, 0x300, 1000, 0);
  CHECK((tree.node(fork).time == 0 && tree.node(root).time == 3000));
  tree.set_current(1, root);
  tree.leave(1, 0, 0x200, 9, 0);
  CHECK(tree.node(fork).time == 9);
  CHECK(tree.current(1) == main);
  // The node serves one child only.
  tree.leave(2, 0, 0x200, 8, 0);
  CHECK((tree.node(fork).time == 9 && tree.node(root).time == 3008));
  // A second fork in the same place is the same node, and no other one for a child.
  tree.leave(0, 0x200, 0x200, 3, 0);
  (void)tree.enter(0, 2, 0x200, true);
  CHECK((tree.current(0) == fork && tree.node(fork).calls == 2));
  tree.set_current(2, root);
  tree.leave(2, 0, 0x200, 8, 0);
  CHECK(tree.node(fork).time == 12);
}

TEST_CASE("of several forks a child takes the newest that is left") {
  const recording from = five_tasks();
  call_tree tree(from, true, false);
  const std::uint32_t root = tree.add_root();
  for (std::uint32_t i = 0; i < 3; ++i) tree.set_current(i, root);
  (void)tree.enter(0, 2, 0x200, true);
  const std::uint32_t first = tree.current(0);
  (void)tree.enter(0, 2, 0x200, true);
  const std::uint32_t second = tree.current(0);
  tree.leave(1, 0, 0x200, 5, 0);
  CHECK((tree.node(second).time == 5 && tree.node(first).time == 0));
  tree.leave(2, 0, 0x200, 6, 0);
  CHECK((tree.node(second).time == 5 && tree.node(first).time == 6));
}

TEST_CASE("a return from where the address is that of the node is no return into a fork") {
  const recording from = five_tasks();
  call_tree tree(from, true, false);
  const std::uint32_t root = tree.add_root();
  tree.set_current(0, root);
  tree.set_current(1, root);
  (void)tree.enter(0, 2, 0x200, true);
  const std::uint32_t fork = tree.current(0);
  (void)tree.enter(1, 3, 0x300, false);
  const std::uint32_t own = tree.current(1);
  tree.leave(1, 0x300, 0x200, 4, 0);
  CHECK((tree.node(own).time == 4 && tree.node(fork).time == 0));
  (void)tree.enter(1, 3, 0x300, false);
  tree.leave(1, 0x301, 0x200, 4, 0);
  CHECK((tree.node(own).time == 4 && tree.node(fork).time == 4));
}

TEST_CASE("times of callees are kept where they are wanted") {
  const recording from = five_tasks();
  call_tree tree(from, true, true);
  const std::uint32_t root = tree.add_root();
  tree.set_current(0, root);
  (void)tree.enter(0, 1, 0x100, false);
  const std::uint32_t node = tree.current(0);
  CHECK(tree.child_time(node) == 0);
  tree.leave(0, 0x100, 0x100, 10, 4);
  (void)tree.enter(0, 1, 0x100, false);
  tree.leave(0, 0x100, 0x100, 10, 3);
  tree.add_child_time(node, 100);
  CHECK(tree.child_time(node) == 107);
  CHECK(tree.child_time(root) == 0);
}

TEST_CASE("one address can be two functions at two times") {
  const recording from = five_tasks();
  call_tree tree(from, false, false);
  const std::uint32_t root = tree.add_root();
  for (const std::uint32_t name : {1U, 2U, 1U}) {
    tree.set_current(0, root);
    (void)tree.enter(0, name, 0x100, false);
    CHECK(tree.name(tree.current(0)) == name);
    CHECK(tree.address(tree.current(0)) == 0x100);
  }
  CHECK(tree.nodes().size() == 3);
}
