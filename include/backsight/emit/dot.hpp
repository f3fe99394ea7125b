// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>

#include <backsight/analysis/call_tree.hpp>
#include <backsight/core/call_trace.hpp>
#include <backsight/core/escape.hpp>
#include <backsight/core/text.hpp>

namespace backsight::emit {

/// Writes the call graph of a call tree in the DOT language of Graphviz: a node for each function with its calls and
/// self time, an edge for each caller and callee with calls and total time, in order of function id. Times go through
/// `print_time(out, ticks)`; `name(function)` gives a std::string_view or what converts to one, such as a std::string.
/// With `group_of(function)` nodes are groups of functions, such as modules, which `name(group)` names, and edges are
/// the calls from one group to another.
template <class Out, class Name, class PrintTime, class GroupOf = std::identity>
Out dot(Out out, const analysis::call_tree& tree, Name&& name, PrintTime&& print_time, GroupOf&& group_of = {}) {
  constexpr bool is_grouped = !std::is_same_v<std::remove_cvref_t<GroupOf>, std::identity>;
  struct sums {
    std::uint64_t count = 0, time = 0;
  };
  std::map<std::uint64_t, sums> functions;
  std::map<std::pair<std::uint64_t, std::uint64_t>, sums> edges;
  const auto& nodes = tree.nodes();
  for (std::size_t id = 1; id < nodes.size(); ++id) {
    const auto& node = nodes[id];
    const std::uint64_t own = group_of(node.function);
    sums& function = functions[own];
    function.count += node.count;
    function.time += node.self;
    if (node.parent == analysis::call_tree::root) continue;
    const std::uint64_t caller = group_of(nodes[node.parent].function);
    if (is_grouped && caller == own) continue;
    sums& edge = edges[{caller, own}];
    edge.count += node.count;
    edge.time += node.total;
  }
  out = text::literal(out, "digraph calls {\n  node [shape=box];\n");
  for (const auto& [function, sum] : functions) {
    out = text::decimal(text::literal(out, "  f"), function);
    out = text::literal(out, " [label=\"");
    const auto& of_function = name(function);  // Keeps a std::string alive, which a view of it alone would not.
    out = text::dot_label(out, std::string_view(of_function));
    out = text::decimal(text::literal(out, "\\n"), sum.count);
    out = print_time(text::literal(out, sum.count == 1 ? " call, self " : " calls, self "), sum.time);
    out = text::literal(out, "\"];\n");
  }
  for (const auto& [edge, sum] : edges) {
    out = text::decimal(text::literal(out, "  f"), edge.first);
    out = text::decimal(text::literal(out, " -> f"), edge.second);
    out = text::decimal(text::literal(out, " [label=\""), sum.count);
    out = print_time(text::literal(out, sum.count == 1 ? " call, " : " calls, "), sum.time);
    out = text::literal(out, "\"];\n");
  }
  return text::literal(out, "}\n");
}

/// The same with the names and times of the trace that the tree is of.
template <class Out, call_trace T>
Out dot(Out out, const analysis::call_tree& tree, const T& trace) {
  return dot(
      out, tree, [&](std::uint64_t function) { return trace.function_name(function); },
      [&](Out to, std::uint64_t time) {
        to = text::decimal(to, trace.to_ns(time));
        *to++ = ' ';
        return text::literal(to, unit_name(trace.unit()));
      });
}

}  // namespace backsight::emit
