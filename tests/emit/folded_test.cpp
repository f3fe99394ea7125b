// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>
#include <string_view>

#include <backsight/emit/folded.hpp>

#include <support/call_events.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::enter;
using test::exit;

TEST_CASE("folded stacks name each path with its own time and leave out paths without") {
  analysis::call_tree tree;
  analysis::call_stack stack;
  for (const auto& event : {enter(1, 0), enter(2, 0), enter(3, 2), exit(3, 7), exit(2, 7), exit(1, 10)}) tree.take(stack, event);
  constexpr std::string_view names[]{"", "main", "op;erator", "leaf\nlast"};
  std::string text;
  emit::folded(
      std::back_inserter(text), tree, [&](std::uint64_t function) { return names[function]; },
      [](const analysis::call_tree::node& node) { return node.self; });
  CHECK(text == "main 3\nmain;op:erator 2\nmain;op:erator;leaf last 5\n");
}
