// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <backsight/analysis/call_tree.hpp>
#include <backsight/core/error.hpp>

namespace backsight::analysis {

/// Who calls a function and whom it calls, from a call tree.
struct neighbours {
  struct sums {
    std::uint64_t count = 0;
    std::uint64_t total = 0;  ///< Ticks in these calls, callees included.
    std::uint64_t self = 0;
  };
  sums own;                               ///< All its calls; total without those inside of one of it that ended.
  std::map<std::uint64_t, sums> callers;  ///< Its calls from each function.
  sums outermost;                         ///< Its calls from no function.
  std::map<std::uint64_t, sums> callees;  ///< The calls that it makes.
};

/// The neighbours of each function for which `wanted(function)` is true, in the order of functions. Precondition:
/// tree.tells_once().
template <class Wanted>
[[nodiscard]] std::map<std::uint64_t, neighbours> neighbours_of(const call_tree& tree, Wanted&& wanted) {
  BACKSIGHT_ASSERT(tree.tells_once());
  std::map<std::uint64_t, neighbours> found;
  const auto& nodes = tree.nodes();
  const auto add = [](neighbours::sums& to, const call_tree::node& from) {
    to.count += from.count;
    to.total += from.total;
    to.self += from.self;
  };
  for (std::size_t id = 1; id < nodes.size(); ++id) {
    const call_tree::node& node = nodes[id];
    const bool outermost = node.parent == call_tree::root;
    if (wanted(node.function)) {
      neighbours& of = found[node.function];
      of.own.count += node.count;
      of.own.self += node.self;
      of.own.total += node.once;
      add(outermost ? of.outermost : of.callers[nodes[node.parent].function], node);
    }
    if (!outermost && wanted(nodes[node.parent].function))
      add(found[nodes[node.parent].function].callees[node.function], node);
  }
  return found;
}

}  // namespace backsight::analysis
