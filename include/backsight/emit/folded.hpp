// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <backsight/analysis/call_tree.hpp>
#include <backsight/core/call_trace.hpp>
#include <backsight/core/text.hpp>

namespace backsight::emit {

/// Writes a call tree as folded stacks, the input of flame graph programs: a line `outer;inner;leaf VALUE` for each
/// path with a value, in the order in which paths were first seen. `name(function)` gives a std::string_view or what
/// converts to one, such as a std::string; `;` and line ends in it become `:` and a blank, since the format has no
/// escapes. `value(node)` is what the widths show, usually node.self (flame graph programs add the callees themselves).
template <class Out, class Name, class Value>
Out folded(Out out, const analysis::call_tree& tree, Name&& name, Value&& value) {
  std::vector<std::uint64_t> functions;
  const auto& nodes = tree.nodes();
  for (analysis::call_tree::node_id id = 1; id < nodes.size(); ++id) {
    const std::uint64_t width = value(nodes[id]);
    if (width == 0) continue;
    functions.clear();
    for (analysis::call_tree::node_id at = id; at != analysis::call_tree::root; at = nodes[at].parent)
      functions.push_back(nodes[at].function);
    for (std::size_t i = functions.size(); i-- != 0;) {
      const auto& of_function = name(functions[i]);  // Keeps a std::string alive, which a loop over its view would not.
      for (const char c : std::string_view(of_function)) *out++ = c == ';' ? ':' : c == '\n' || c == '\r' ? ' ' : c;
      *out++ = i == 0 ? ' ' : ';';
    }
    out = text::decimal(out, width);
    *out++ = '\n';
  }
  return out;
}

/// The same with the names of the trace that the tree is of, and the self times in what its clock gives.
template <class Out, call_trace T>
Out folded(Out out, const analysis::call_tree& tree, const T& trace) {
  return folded(
      out, tree, [&](std::uint64_t function) { return trace.function_name(function); },
      [&](const analysis::call_tree::node& node) { return trace.to_ns(node.self); });
}

}  // namespace backsight::emit
