// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>
#include <string_view>

#include <backsight/emit/dot.hpp>

#include <support/call_events.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::enter;
using test::exit;

TEST_CASE("a DOT graph adds up nodes and edges over all paths and escapes names") {
  analysis::call_tree tree;
  for (const auto& event :
       {enter(1, 0), enter(2, 1), exit(2, 3), exit(1, 4), enter(3, 5), enter(2, 6), exit(2, 7), exit(3, 8)})
    tree.on(event);
  constexpr std::string_view names[]{"", "a", "say \"b\"", "c\\d"};
  std::string text;
  emit::dot(
      std::back_inserter(text), tree, [&](std::uint64_t function) { return names[function]; },
      [](auto out, std::uint64_t time) { return text::decimal(out, time); });
  CHECK(text ==
        "digraph calls {\n"
        "  node [shape=box];\n"
        "  f1 [label=\"a\\n1 call, self 2\"];\n"
        "  f2 [label=\"say \\\"b\\\"\\n2 calls, self 3\"];\n"
        "  f3 [label=\"c\\\\d\\n1 call, self 2\"];\n"
        "  f1 -> f2 [label=\"1 call, 2\"];\n"
        "  f3 -> f2 [label=\"1 call, 1\"];\n"
        "}\n");
}

TEST_CASE("an edge of a DOT graph shows all the time of its calls, a node the time of its own") {
  analysis::call_tree tree;
  // main calls a twice, a calls b once and a itself once.
  for (const auto& event : {enter(0, 0), enter(1, 10), enter(2, 20), exit(2, 50), exit(1, 60), enter(1, 70),
                            enter(1, 80), exit(1, 81), exit(1, 90), exit(0, 100)}) {
    tree.on(event);
  }
  constexpr std::string_view names[]{"main", "two\nlines", "b"};
  std::string text;
  emit::dot(
      std::back_inserter(text), tree, [&](std::uint64_t function) { return names[function]; },
      [](auto out, std::uint64_t time) { return text::decimal(out, time); });
  CHECK(text ==
        "digraph calls {\n"
        "  node [shape=box];\n"
        "  f0 [label=\"main\\n1 call, self 30\"];\n"
        "  f1 [label=\"two lines\\n3 calls, self 40\"];\n"
        "  f2 [label=\"b\\n1 call, self 30\"];\n"
        "  f0 -> f1 [label=\"2 calls, 70\"];\n"
        "  f1 -> f1 [label=\"1 call, 1\"];\n"
        "  f1 -> f2 [label=\"1 call, 30\"];\n"
        "}\n");
}

TEST_CASE("a DOT graph of nothing is a graph") {
  std::string text;
  emit::dot(
      std::back_inserter(text), analysis::call_tree(), [](std::uint64_t) { return std::string_view(); },
      [](auto out, std::uint64_t) { return out; });
  CHECK(text == "digraph calls {\n  node [shape=box];\n}\n");
}

TEST_CASE("names of nodes may be strings that are made for each call, and hold what they like") {
  analysis::call_tree tree;
  for (const auto& event : {enter(1, 0), exit(1, 4)}) tree.on(event);
  std::string text;
  emit::dot(
      std::back_inserter(text), tree,
      [](std::uint64_t) {
        return std::string("a name that is too long to be kept inside of a string: \x1b[2J\n\"]; f2 [\xff");
      },
      [](auto out, std::uint64_t time) { return text::decimal(out, time); });
  CHECK(text ==
        "digraph calls {\n"
        "  node [shape=box];\n"
        "  f1 [label=\"a name that is too long to be kept inside of a string: \\\\x1b[2J \\\"]; f2 [\\\\xff\\n1 call, "
        "self 4\"];\n"
        "}\n");
}

TEST_CASE("a graph of groups has the calls from one to another") {
  analysis::call_tree tree;
  for (const auto& event :
       {test::enter(1, 0), test::enter(2, 1), test::enter(3, 2), test::exit(3, 5), test::exit(2, 6), test::exit(1, 10)})
    tree.on(event);
  tree.finish();
  std::string shown;
  (void)emit::dot(
      std::back_inserter(shown), tree, [](std::uint64_t group) { return std::string(group == 0 ? "low" : "high"); },
      [](auto out, std::uint64_t time) { return text::decimal(out, time); },
      [](std::uint64_t function) { return function < 3 ? std::uint64_t{0} : std::uint64_t{1}; });
  CHECK(shown.find("f0 [label=\"low\\n2 calls, self 7\"]") != std::string::npos);
  CHECK(shown.find("f1 [label=\"high\\n1 call, self 3\"]") != std::string::npos);
  CHECK(shown.find("f0 -> f1 [label=\"1 call, 3\"]") != std::string::npos);
  CHECK(shown.find("f0 -> f0") == std::string::npos);
}
