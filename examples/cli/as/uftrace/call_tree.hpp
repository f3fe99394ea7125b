// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/uftrace/recording.hpp>

// The tree that session_graph.hpp and flame_graph.hpp build. Source: uftrace's utils/graph.c.
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

/// A function below its caller. Nodes refer to each other by index. Small, since there may be millions.
struct tree_node {
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint64_t time = 0;         ///< nanoseconds
  std::uint32_t calls = 0;        ///< stays at its largest value when there are more
  std::uint32_t function = none;  ///< for call_tree::name(); none for a root
  std::uint32_t parent = none;
  std::uint32_t last_child = none;
  std::uint32_t next = none;  ///< the sibling made after it; of the last one the first
};

/// Trees of calls by name, and for each task where it is in them. Adding a call costs a probe of a hash table.
class call_tree {
 public:
  /// With `stops_at_root` a task that leaves the root adds nothing until it gets a new one; with `keeps_child_times`
  /// the times of the functions below are kept, as uftrace accounts them: 8 bytes more for each node.
  call_tree(const recording& from, bool stops_at_root, bool keeps_child_times)
      : from_(&from),
        stops_at_root_(stops_at_root),
        keeps_child_times_(keeps_child_times),
        current_(from.data.size(), tree_node::none) {}

  std::uint32_t add_root() {
    nodes_.emplace_back();
    if (keeps_child_times_) child_times_.push_back(0);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void set_current(std::uint32_t data_index, std::uint32_t node) { current_[data_index] = node; }
  [[nodiscard]] std::uint32_t current(std::uint32_t data_index) const noexcept { return current_[data_index]; }

  /// A call from where the task is; false when it adds nothing any more.
  bool enter(std::uint32_t data_index, std::uint32_t name, std::uint64_t address, bool forks) {
    const std::uint32_t at = current_[data_index];
    if (at == tree_node::none) return false;
    const std::uint32_t to = child_of(at, name, address);
    if (nodes_[to].calls != ~std::uint32_t{0}) ++nodes_[to].calls;
    current_[data_index] = to;
    // One for each node, not for each call: so only one child of several finds its way back.
    if (forks && nodes_[to].calls == 1) forks_.push_back({to, address, process_of(data_index), false});
    return true;
  }

  /// The return of the function that was just popped; `frame_address` is that of its slot, `address` that of the
  /// record.
  void leave(std::uint32_t data_index, std::uint64_t frame_address, std::uint64_t address, std::uint64_t total,
             std::uint64_t child) {
    std::uint32_t at = current_[data_index];
    if (at == tree_node::none) return;
    if (nodes_[at].parent == tree_node::none || this->address(at) != frame_address) {
      if (const std::uint32_t forked = take_fork(data_index, address); forked != tree_node::none) at = forked;
    }
    nodes_[at].time += total;
    if (keeps_child_times_) child_times_[at] += child;
    const std::uint32_t up = nodes_[at].parent;
    current_[data_index] = up != tree_node::none || stops_at_root_ ? up : at;
  }

  /// All nodes, by index.
  [[nodiscard]] const std::deque<tree_node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] tree_node& node(std::uint32_t index) noexcept { return nodes_[index]; }
  /// The resolver's name of a node that is not a root, and the address of the call that made it; 0 for a root.
  [[nodiscard]] std::uint32_t name(std::uint32_t index) const noexcept {
    return functions_[nodes_[index].function].name;
  }
  [[nodiscard]] std::uint64_t address(std::uint32_t index) const noexcept {
    return nodes_[index].function == tree_node::none ? 0 : functions_[nodes_[index].function].address;
  }
  [[nodiscard]] std::uint32_t first_child(std::uint32_t index) const noexcept {
    const std::uint32_t last = nodes_[index].last_child;
    return last == tree_node::none ? last : nodes_[last].next;
  }
  /// The sibling after it, or none.
  [[nodiscard]] std::uint32_t next_sibling(std::uint32_t index) const noexcept {
    const std::uint32_t parent = nodes_[index].parent;
    return parent == tree_node::none || nodes_[parent].last_child == index ? tree_node::none : nodes_[index].next;
  }
  /// The time of the functions below. Precondition: they are kept.
  [[nodiscard]] std::uint64_t child_time(std::uint32_t index) const noexcept { return child_times_[index]; }
  void add_child_time(std::uint32_t index, std::uint64_t time) noexcept { child_times_[index] += time; }

 private:
  struct node_function {
    std::uint64_t address;
    std::uint32_t name;
  };
  struct fork_node {
    std::uint32_t node;
    std::uint64_t address;
    std::uint32_t pid;
    bool used;
  };

  [[nodiscard]] std::uint32_t process_of(std::uint32_t data_index) const noexcept {
    const std::uint32_t number = from_->data[data_index].task;
    return number == task_data::no_task ? 0 : from_->tasks[number].pid;
  }

  std::uint32_t take_fork(std::uint32_t data_index, std::uint64_t address) {
    const std::uint32_t number = from_->data[data_index].task;
    if (number == task_data::no_task || from_->tasks[number].parent == 0) return tree_node::none;
    for (std::size_t i = forks_.size(); i-- != 0;) {
      fork_node& f = forks_[i];
      if (f.used || f.address != address || f.pid != from_->tasks[number].parent) continue;
      f.used = true;
      return f.node;
    }
    return tree_node::none;
  }

  /// The child of that name; made when there is none. Most nodes have few children, found through their links, which
  /// are near in memory; only the later children of wide nodes are in the table. It holds numbers: keys are in the
  /// nodes.
  std::uint32_t child_of(std::uint32_t parent, std::uint32_t name, std::uint64_t address) {
    const std::uint32_t last = nodes_[parent].last_child;
    if (last == tree_node::none) return append(parent, name, address);
    if (this->name(last) == name) return last;
    constexpr std::uint32_t few = 8;
    std::uint32_t steps = 0;
    for (std::uint32_t at = nodes_[last].next; at != last && steps < few; at = nodes_[at].next, ++steps) {
      if (this->name(at) == name) return at;
    }
    // The walk above sees the last child and the first ones: all from the one behind those on must be in the table.
    if (steps + 1 < few) return append(parent, name, address);
    if (in_table_ * 8 >= table_.size() * 5) [[unlikely]]
      rehash();
    for (std::size_t at = slot_of(parent, name);; at = (at + 1) & (table_.size() - 1)) {
      const std::uint32_t found = table_[at];
      if (found == tree_node::none) {
        ++in_table_;
        table_[at] = append(parent, name, address);
        return table_[at];
      }
      if (nodes_[found].parent == parent && this->name(found) == name) return found;
    }
  }

  std::uint32_t append(std::uint32_t parent, std::uint32_t name, std::uint64_t address) {
    const auto to = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({0, 0, function_of(name, address), parent, tree_node::none, to});
    if (keeps_child_times_) child_times_.push_back(0);
    tree_node& up = nodes_[parent];
    if (up.last_child != tree_node::none) {
      nodes_[to].next = nodes_[up.last_child].next;
      nodes_[up.last_child].next = to;
    }
    up.last_child = to;
    return to;
  }

  std::uint32_t function_of(std::uint32_t name, std::uint64_t address) {
    const auto [at, added] = function_index_.emplace(address, static_cast<std::uint32_t>(functions_.size()));
    if (!added && functions_[at->second].name == name) return at->second;
    // The same address can be two functions at two times.
    at->second = static_cast<std::uint32_t>(functions_.size());
    functions_.push_back({address, name});
    return at->second;
  }

  void rehash() {
    const std::vector<std::uint32_t> old = std::move(table_);
    table_.assign(std::max<std::size_t>(1024, old.size() * 2), tree_node::none);
    for (const std::uint32_t i : old) {
      if (i == tree_node::none) continue;
      std::size_t at = slot_of(nodes_[i].parent, name(i));
      while (table_[at] != tree_node::none) at = (at + 1) & (table_.size() - 1);
      table_[at] = i;
    }
  }
  [[nodiscard]] std::size_t slot_of(std::uint32_t parent, std::uint32_t name) const noexcept {
    // The finalizer of splitmix64: parents and names are small consecutive numbers, which less mixing leaves in
    // clusters.
    std::uint64_t key = std::uint64_t{parent} << 32 | name;
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9ULL;
    key = (key ^ key >> 27) * 0x94d049bb133111ebULL;
    return static_cast<std::size_t>(key ^ key >> 31) & (table_.size() - 1);
  }

  const recording* from_;
  bool stops_at_root_;
  bool keeps_child_times_;
  // In pieces, so that growing never needs the old and the new ones at once.
  std::deque<tree_node> nodes_;
  std::vector<std::uint32_t> current_;
  std::vector<fork_node> forks_;
  std::vector<std::uint32_t> table_;
  std::size_t in_table_ = 0;
  std::vector<node_function> functions_;
  std::unordered_map<std::uint64_t, std::uint32_t> function_index_;
  std::deque<std::uint64_t> child_times_;
};

}  // namespace cli::as_uftrace
