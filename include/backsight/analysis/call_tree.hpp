// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include <backsight/analysis/by_function.hpp>
#include <backsight/analysis/call_stacks.hpp>
#include <backsight/analysis/open_calls.hpp>

namespace backsight::analysis {

/// All call paths of a trace as one tree: a node for each function called from each path, with its calls and times.
/// Threads that run the same path share its nodes.
class call_tree {
 public:
  using node_id = std::uint32_t;
  static constexpr node_id root = 0;

  struct node {
    std::uint64_t function = 0;
    node_id parent = root;
    std::uint64_t count = 0;  ///< Calls that ended.
    std::uint64_t total = 0;  ///< Ticks in these calls.
    std::uint64_t self = 0;   ///< Ticks outside of their callees.
    /// Where that is told: total without what ended calls of the same function inside of these took. The sum over all
    /// nodes of a function is its total.
    std::uint64_t once = 0;
  };

  call_tree() = default;
  /// With `tells_once` nodes have what its name says, which costs a look-up for each enter and exit.
  explicit call_tree(bool tells_once) : tells_once_(tells_once) {}
  [[nodiscard]] bool tells_once() const noexcept { return tells_once_; }

  /// The nodes; a parent precedes its children, and node 0 is the root, which is no function.
  [[nodiscard]] const std::vector<node>& nodes() const noexcept { return nodes_; }

  /// The node of `function` called from `parent`; made when it is new.
  [[nodiscard]] node_id child(node_id parent, std::uint64_t function) {
    const auto [at, inserted] = children_.try_emplace(edge{parent, function}, static_cast<node_id>(nodes_.size()));
    if (inserted) nodes_.push_back({function, parent});
    return at->second;
  }

  /// Adds the next event of its thread.
  template <call_event Event>
  void on(const Event& event) {
    call_stack& stack = stacks_.of(event);
    stack.on(
        event,
        [&](call_stack::frame& frame, std::size_t depth) {
          frame.tag = child(depth == 0 ? root : static_cast<node_id>(stack.frames()[depth - 1].tag), frame.function);
          if (tells_once_) [[unlikely]]
            kept_[&stack].push_back(open_.enter(stack, frame.function));
        },
        [&](const finished_call& call, const call_stack::frame& frame) {
          node& at = nodes_[static_cast<std::size_t>(frame.tag)];
          ++at.count;
          at.total += call.duration;
          at.self += call.self;
          if (tells_once_) [[unlikely]] {
            std::vector<std::uint64_t>& kept = kept_[&stack];
            at.once += open_.leave(stack, call.function, kept.back(), call.duration);
            kept.pop_back();
          }
        });
  }
  /// The end of a part: calls that are open have no time, and stacks begin anew.
  template <class Part>
  void end_part(const Part&) {
    finish();
  }
  void finish() {
    stacks_.finish();
    kept_.clear();
    open_.clear();
  }
  /// What could not be made into calls, of finished parts.
  [[nodiscard]] const call_faults& faults() const noexcept { return stacks_.faults(); }

  /// Adds all of another tree; nodes that are new come in the order in which they have them.
  void merge(const call_tree& other) { add(other, std::identity()); }
  /// The same by other numbers of functions: those to which `number_of(function)` gives one number are one.
  template <class NumberOf>
  [[nodiscard]] call_tree renumbered(NumberOf&& number_of) const {
    call_tree made(tells_once_);
    made.add(*this, number_of);
    return made;
  }

  /// The functions from the outermost to that of `id`.
  [[nodiscard]] std::vector<std::uint64_t> path(node_id id) const {
    std::vector<std::uint64_t> functions;
    for (; id != root; id = nodes_[id].parent) functions.insert(functions.begin(), nodes_[id].function);
    return functions;
  }

 private:
  template <class NumberOf>
  void add(const call_tree& other, NumberOf&& number_of) {
    std::vector<node_id> here(other.nodes_.size(), root);
    for (std::size_t id = 1; id < here.size(); ++id) {
      const node& theirs = other.nodes_[id];
      here[id] = child(here[theirs.parent], static_cast<std::uint64_t>(number_of(theirs.function)));
      node& ours = nodes_[here[id]];
      ours.count += theirs.count;
      ours.total += theirs.total;
      ours.self += theirs.self;
      ours.once += theirs.once;
    }
    stacks_.merge(other.stacks_);
  }

  struct edge {
    node_id parent;
    std::uint64_t function;
    [[nodiscard]] friend bool operator==(const edge&, const edge&) = default;
  };
  struct edge_hash {
    [[nodiscard]] std::size_t operator()(const edge& e) const noexcept { return hash_of_pair(e.function, e.parent); }
  };

  call_stacks stacks_;
  std::vector<node> nodes_{node{}};
  std::unordered_map<edge, node_id, edge_hash> children_;
  bool tells_once_ = false;
  open_calls open_;
  std::unordered_map<const call_stack*, std::vector<std::uint64_t>> kept_;  ///< Of the frames, what enter() gave.
};

}  // namespace backsight::analysis
