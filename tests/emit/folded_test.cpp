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
  for (const auto& event : {enter(1, 0), enter(2, 0), enter(3, 2), exit(3, 7), exit(2, 7), exit(1, 10)}) tree.on(event);
  constexpr std::string_view names[]{"", "main", "op;erator", "leaf\nlast"};
  std::string text;
  emit::folded(
      std::back_inserter(text), tree, [&](std::uint64_t function) { return names[function]; },
      [](const analysis::call_tree::node& node) { return node.self; });
  CHECK(text == "main 3\nmain;op:erator 2\nmain;op:erator;leaf last 5\n");
}

TEST_CASE("a path of width 0 has no line, one of width 1 has") {
  analysis::call_tree tree;
  // The caller has no time of its own; neither has the second callee.
  for (const auto& event :
       {enter(1, 0), enter(2, 0), exit(2, 9), enter(3, 9), exit(3, 9), enter(4, 9), exit(4, 10), exit(1, 10)})
    tree.on(event);
  constexpr std::string_view names[]{"", "a", "b", "c", "d"};
  const auto lines_of = [&](auto value) {
    std::string text;
    emit::folded(std::back_inserter(text), tree, [&](std::uint64_t function) { return names[function]; }, value);
    return text;
  };
  CHECK(lines_of([](const analysis::call_tree::node& node) { return node.self; }) == "a;b 9\na;d 1\n");
  // What the widths show is the caller's choice.
  CHECK(lines_of([](const analysis::call_tree::node& node) { return node.total; }) == "a 10\na;b 9\na;d 1\n");
  CHECK(lines_of([](const analysis::call_tree::node& node) { return node.count; }) == "a 1\na;b 1\na;c 1\na;d 1\n");
  CHECK(lines_of([](const analysis::call_tree::node&) { return std::uint64_t{0}; }).empty());
}

TEST_CASE("names may be strings that are made for each call") {
  analysis::call_tree tree;
  for (const auto& event : {enter(1, 0), enter(2, 2), exit(2, 7), exit(1, 10)}) tree.on(event);
  std::string text;
  emit::folded(
      std::back_inserter(text), tree,
      [](std::uint64_t function) {
        return "a name that is too long to be kept inside of a string " + std::to_string(function);
      },
      [](const analysis::call_tree::node& node) { return node.self; });
  const std::string name = "a name that is too long to be kept inside of a string ";
  CHECK(text == name + "1 5\n" + name + "1;" + name + "2 5\n");
}

TEST_CASE("a carriage return in a name is a blank too") {
  analysis::call_tree tree;
  for (const auto& event : {enter(1, 0), exit(1, 4)}) tree.on(event);
  std::string text;
  emit::folded(
      std::back_inserter(text), tree, [](std::uint64_t) { return std::string_view("a\r\nb"); },
      [](const analysis::call_tree::node& node) { return node.self; });
  CHECK(text == "a  b 4\n");
}
