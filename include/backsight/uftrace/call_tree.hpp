// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/uftrace/call_stacks.hpp>
#include <backsight/uftrace/report.hpp>

// The trees of `uftrace graph` and `uftrace dump --flame-graph`. Source: uftrace's utils/graph.c, cmds/graph.c, cmds/dump.c.
namespace backsight::uftrace {

/// A function below its caller. Nodes refer to each other by index. Small, since there may be millions.
struct tree_node {
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint64_t time = 0;          ///< nanoseconds
  std::uint32_t calls = 0;         ///< stays at its largest value when there are more
  std::uint32_t function = none;   ///< for call_tree::name(); none for a root
  std::uint32_t parent = none;
  std::uint32_t last_child = none;
  std::uint32_t next = none;       ///< the sibling made after it; of the last one the first
};

/// Trees of calls by name, and for each task where it is in them. Adding a call costs a probe of a hash table.
class call_tree {
 public:
  /// With `stops_at_root` a task that leaves the root adds nothing until it gets a new one; with `keeps_child_times` the
  /// times of the functions below are kept, as uftrace accounts them: 8 bytes more for each node.
  call_tree(const recording& from, bool stops_at_root, bool keeps_child_times)
      : from_(&from), stops_at_root_(stops_at_root), keeps_child_times_(keeps_child_times),
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

  /// The return of the function that was just popped; `frame_address` is that of its slot, `address` that of the record.
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
  [[nodiscard]] std::uint32_t name(std::uint32_t index) const noexcept { return functions_[nodes_[index].function].name; }
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

  /// The child of that name; made when there is none. Most nodes have few children, found through their links, which are
  /// near in memory; only the later children of wide nodes are in the table. It holds numbers: keys are in the nodes.
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
    if (in_table_ * 8 >= table_.size() * 5) [[unlikely]] rehash();
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
    // The finalizer of splitmix64: parents and names are small consecutive numbers, which less mixing leaves in clusters.
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

/// One tree for each session: `uftrace graph`.
class session_graph {
 public:
  /// With `keeps_child_times` the tree tells self times.
  session_graph(merge& records, stack_options options, bool keeps_child_times = false)
      : records_(&records), stacks_(records.source(), options), tree_(records.source(), true, keeps_child_times) {
    for (std::size_t i = 0; i <= records.source().sessions.size(); ++i) roots_.push_back(tree_.add_root());
    seen_.resize(roots_.size());
    lost_.resize(records.source().data.size());
    task_root_.resize(records.source().data.size(), tree_node::none);
  }

  void run() {
    resolver& names = records_->names();
    wait_ = names.intern("linux:schedule");
    preempted_ = names.intern("linux:schedule (pre-empted)");
    merged_record r;
    std::uint64_t before = 0;
    while (records_->next(r)) {
      if (records_->estimating() && r.source == record_source::perf_file && (r.is_sched_in() || r.is_sched_out())) {
        function_report::estimate_exit(*records_, stacks_, r);
      }
      stacks_.consume(r);
      task_stack& t = stacks_.of(r);
      special_function special = special_function::none;
      const function* f = nullptr;
      if (r.type == record_type::entry) {
        f = &names.find(r.data_index, r.time, r.address);
        special = f->special;
        if (special != special_function::none) stacks_.note(t, special);
        if (!stacks_.show_entry(t, names, *f)) continue;
      } else if (r.type == record_type::exit) {
        if (!stacks_.show_exit(t)) continue;
      } else if (r.is_event() && !call_stacks::show_event(t)) {
        continue;
      }
      if (r.type != record_type::lost) {
        if (r.time < before) {
          broken_ = true;
          broken_at_ = r;
          return;
        }
        before = r.time;
      }
      enter_session(r, t);
      step(r, t, f);
      if (special != special_function::none) stacks_.apply(t, special);
    }
    finish();
  }

  [[nodiscard]] const call_tree& tree() const noexcept { return tree_; }
  /// The root of the session of that index; that behind the last one is for tasks without a session.
  [[nodiscard]] std::uint32_t root(std::size_t session_index) const noexcept { return roots_[session_index]; }
  /// Some task began in that session.
  [[nodiscard]] bool seen(std::size_t session_index) const noexcept { return seen_[session_index]; }
  /// A record was older than the one before it, and the building stopped there.
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  [[nodiscard]] const merged_record& broken_at() const noexcept { return broken_at_; }

 private:
  void enter_session(const merged_record& r, const task_stack& t) {
    // The session can only change at an entry, behind an exec.
    std::uint32_t& root = task_root_[r.data_index];
    if (root != tree_node::none && r.type != record_type::entry) return;
    const std::uint32_t number = records_->names().session_of(r.data_index, r.time);
    const std::size_t index = number == resolver::no_session ? roots_.size() - 1 : number;
    if (root == roots_[index]) return;
    if (root == tree_node::none && t.height > 0) seen_[index] = true;
    root = roots_[index];
    tree_.set_current(r.data_index, root);
  }

  void step(const merged_record& r, task_stack& t, const function* f) {
    // Behind lost records nothing is entered until something is left.
    const bool enters = r.type == record_type::entry || r.is_sched_out();
    if (lost_[r.data_index] && enters) return;
    if (r.type == record_type::exit || r.is_sched_in()) lost_[r.data_index] = false;
    if (r.type == record_type::entry) {
      tree_.enter(r.data_index, f->name, r.address, f->special == special_function::fork);
    } else if (r.is_sched_out()) {
      tree_.enter(r.data_index, r.address == sched_out ? wait_ : preempted_, r.address, false);
    } else if (r.type == record_type::exit) {
      leave(t, r.data_index, r.address);
    } else if (r.is_sched_in()) {
      leave(t, r.data_index, stacks_.address(t, t.height));
    } else if (r.type == record_type::lost && t.user_height > 0) {
      lost_[r.data_index] = true;
      for (; t.height >= t.user_height; --t.height) {
        const frame* const slot = stacks_.slot(t, t.height);
        if (slot != nullptr && slot->valid && !slot->hidden) leave(t, r.data_index, stacks_.address(t, t.height));
      }
    }
  }

  void leave(const task_stack& t, std::uint32_t data_index, std::uint64_t address) {
    const frame* const slot = stacks_.slot(t, t.height);
    if (slot == nullptr) return;
    tree_.leave(data_index, stacks_.address(t, t.height), address, slot->total, slot->child);
  }

  void finish() {
    for (std::uint32_t i = 0; i < stacks_.all().size(); ++i) {
      task_stack& t = stacks_.all()[i];
      const std::uint64_t end = stacks_.end_time(t, *records_, i);
      while (t.height > 0) {
        const frame* const before = stacks_.slot(t, t.height - 1);
        const std::uint64_t address = stacks_.address(t, t.height - 1);
        if (before == nullptr || before->total > end || address == 0) {
          --t.height;
          continue;
        }
        (void)stacks_.close_unfinished(t, end);
        leave(t, i, address);
      }
    }
    for (const std::uint32_t root : roots_) {
      std::uint64_t sum = 0;
      for (std::uint32_t at = tree_.first_child(root); at != tree_node::none; at = tree_.next_sibling(at)) {
        sum += tree_.node(at).time;
      }
      tree_.node(root).time += sum;
    }
  }

  merge* records_;
  call_stacks stacks_;
  call_tree tree_;
  std::vector<std::uint32_t> roots_;
  std::vector<bool> seen_;
  std::vector<std::uint32_t> task_root_;
  std::vector<bool> lost_;
  std::uint32_t wait_ = 0, preempted_ = 0;
  bool broken_ = false;
  merged_record broken_at_;
};

/// One tree for all tasks: `uftrace dump --flame-graph`.
class flame_graph {
 public:
  flame_graph(merge& records, stack_options options)
      : records_(&records), stacks_(records.source(), options), tree_(records.source(), false, true) {
    tree_.add_root();
    for (std::uint32_t i = 0; i < records.source().data.size(); ++i) tree_.set_current(i, 0);
    const std::uint64_t elapsed = records.source().info.elapsed_ns();
    if (elapsed != 0) {
      sample_ = 1000;
      while (sample_ * 1'000'000 < elapsed && sample_ < 1'000'000'000) sample_ *= 10;
    }
  }

  void run() {
    resolver& names = records_->names();
    const std::uint32_t wait = names.intern("linux:schedule");
    merged_record r;
    while (records_->next(r)) {
      if (records_->estimating() && r.source == record_source::perf_file && (r.is_sched_in() || r.is_sched_out())) {
        function_report::estimate_exit(*records_, stacks_, r);
      }
      stacks_.consume(r);
      task_stack& t = stacks_.of(r);
      if (r.type == record_type::entry) {
        const function& f = names.find(r.data_index, r.time, r.address);
        if (f.special != special_function::none) stacks_.note(t, f.special);
        if (!stacks_.show_entry(t, names, f)) continue;
        tree_.enter(r.data_index, f.name, r.address, f.special == special_function::fork);
        if (f.special != special_function::none) stacks_.apply(t, f.special);
      } else if (r.type == record_type::exit) {
        if (stacks_.show_exit(t)) leave(t, r.data_index, r.address);
      } else if (r.is_event() && call_stacks::show_event(t)) {
        // Only plain waits have a node of their own, but both kinds end one: so does uftrace.
        if (r.address == sched_out) tree_.enter(r.data_index, wait, r.address, false);
        else if (r.is_sched_in()) leave(t, r.data_index, stacks_.address(t, t.height));
      }
    }
    for (std::uint32_t i = 0; i < stacks_.all().size(); ++i) {
      task_stack& t = stacks_.all()[i];
      while (t.height > 0) {
        const std::uint64_t address = stacks_.address(t, t.height - 1);
        if (stacks_.slot(t, t.height - 1) == nullptr || address == 0) {
          --t.height;
          continue;
        }
        (void)stacks_.close_unfinished(t, records_->closes_at() != 0 ? records_->closes_at() : t.consumed_time);
        leave(t, i, address);
      }
    }
  }

  [[nodiscard]] const call_tree& tree() const noexcept { return tree_; }
  /// Nanoseconds that one sample stands for; 0 where the recording does not tell how long it took: then calls are counted.
  [[nodiscard]] std::uint64_t sample() const noexcept { return sample_; }
  /// The number of samples of a node.
  [[nodiscard]] std::uint64_t samples(std::uint32_t index) const noexcept {
    const tree_node& node = tree_.nodes()[index];
    return sample_ == 0 ? node.calls : (node.time - tree_.child_time(index)) / sample_;
  }

 private:
  void leave(const task_stack& t, std::uint32_t data_index, std::uint64_t address) {
    const frame* const slot = stacks_.slot(t, t.height);
    if (slot == nullptr) return;
    // What is too short for a sample of its own stays with the caller: the one above where the task is, also when the time
    // goes to the fork that made the task.
    const std::uint32_t at = tree_.current(data_index);
    tree_.leave(data_index, stacks_.address(t, t.height), address, slot->total, slot->child);
    if (sample_ == 0) return;
    const std::uint32_t up = tree_.node(at).parent;
    if (up != tree_node::none) tree_.add_child_time(up, slot->total / sample_ * sample_ - slot->total);
  }

  merge* records_;
  call_stacks stacks_;
  call_tree tree_;
  std::uint64_t sample_ = 0;
};

}  // namespace backsight::uftrace
