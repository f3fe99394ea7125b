// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include <backsight/analysis/call_tree.hpp>

namespace backsight::analysis {

/// Who calls a function and whom it calls, from a call tree.
struct neighbours {
  struct sums {
    std::uint64_t count = 0;
    std::uint64_t total = 0;  ///< Ticks in these calls, callees included.
    std::uint64_t self = 0;
  };
  sums own;                               ///< All its calls; total without those inside of another one of it.
  std::map<std::uint64_t, sums> callers;  ///< Its calls from each function.
  sums outermost;                         ///< Its calls from no function.
  std::map<std::uint64_t, sums> callees;  ///< The calls that it makes.
};

/// The neighbours of each function for which `wanted(function)` is true, in the order of functions.
template <class Wanted>
[[nodiscard]] std::map<std::uint64_t, neighbours> neighbours_of(const call_tree& tree, Wanted&& wanted) {
  std::map<std::uint64_t, neighbours> found;
  const auto& nodes = tree.nodes();
  const auto add = [](neighbours::sums& to, const call_tree::node& from) {
    to.count += from.count;
    to.total += from.total;
    to.self += from.self;
  };
  std::vector<call_tree::node_id> first(nodes.size()), next(nodes.size());  // Children; 0 for none.
  for (auto id = static_cast<call_tree::node_id>(nodes.size()); id-- > 1;) {
    next[id] = first[nodes[id].parent];
    first[nodes[id].parent] = id;
  }
  // Down and up the tree, with how often each wanted function is on the path.
  std::unordered_map<std::uint64_t, std::uint32_t> open;
  for (call_tree::node_id id = first[call_tree::root]; id != call_tree::root;) {
    const call_tree::node& node = nodes[id];
    const bool outermost = node.parent == call_tree::root;
    if (wanted(node.function)) {
      neighbours& of = found[node.function];
      of.own.count += node.count;
      of.own.self += node.self;
      if (open[node.function]++ == 0) of.own.total += node.total;
      add(outermost ? of.outermost : of.callers[nodes[node.parent].function], node);
    }
    if (!outermost && wanted(nodes[node.parent].function))
      add(found[nodes[node.parent].function].callees[node.function], node);
    if (first[id] != 0) {
      id = first[id];
      continue;
    }
    for (;;) {
      if (wanted(nodes[id].function)) --open[nodes[id].function];
      if (next[id] != 0) break;
      id = nodes[id].parent;
      if (id == call_tree::root) return found;
    }
    id = next[id];
  }
  return found;
}

}  // namespace backsight::analysis
