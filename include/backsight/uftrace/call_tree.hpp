// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <backsight/uftrace/call_stacks.hpp>
#include <backsight/uftrace/report.hpp>

// The trees of `uftrace graph` and `uftrace dump --flame-graph`. Source: uftrace's utils/graph.c, cmds/graph.c, cmds/dump.c.
namespace backsight::uftrace {

/// A function below its caller. Nodes refer to each other by index; 0xffffffff is none.
struct tree_node {
  static constexpr std::uint32_t none = 0xffffffff;
  std::uint64_t address = 0;  ///< of the call that made the node
  std::uint64_t calls = 0;
  std::uint64_t time = 0;     ///< nanoseconds
  std::uint64_t child = 0;    ///< of them in the functions below
  std::uint32_t name = none;  ///< of the resolver; none for a root
  std::uint32_t parent = none, first_child = none, last_child = none, next = none;
};

/// Trees of calls by name, and for each task where it is in them. Adding a call costs a probe of a hash table.
class call_tree {
 public:
  /// `tasks` counts the task files. With `stops_at_root` a task that leaves the root adds nothing until it gets a new one.
  call_tree(const recording& from, bool stops_at_root)
      : from_(&from), stops_at_root_(stops_at_root), current_(from.data.size(), tree_node::none) {}

  std::uint32_t add_root() {
    nodes_.emplace_back();
    return static_cast<std::uint32_t>(nodes_.size() - 1);
  }
  void set_current(std::uint32_t data_index, std::uint32_t node) { current_[data_index] = node; }
  [[nodiscard]] std::uint32_t current(std::uint32_t data_index) const noexcept { return current_[data_index]; }

  /// A call from where the task is; false when it adds nothing any more.
  bool enter(std::uint32_t data_index, std::uint32_t name, std::uint64_t address, bool forks) {
    const std::uint32_t at = current_[data_index];
    if (at == tree_node::none) return false;
    const std::uint32_t to = child_of(at, name, address);
    ++nodes_[to].calls;
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
    if (nodes_[at].parent == tree_node::none || nodes_[at].address != frame_address) {
      if (const std::uint32_t forked = take_fork(data_index, address); forked != tree_node::none) at = forked;
    }
    nodes_[at].time += total;
    nodes_[at].child += child;
    const std::uint32_t up = nodes_[at].parent;
    current_[data_index] = up != tree_node::none || stops_at_root_ ? up : at;
  }

  [[nodiscard]] const std::vector<tree_node>& nodes() const noexcept { return nodes_; }
  [[nodiscard]] tree_node& node(std::uint32_t index) noexcept { return nodes_[index]; }

 private:
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

  std::uint32_t child_of(std::uint32_t parent, std::uint32_t name, std::uint64_t address) {
    const std::uint32_t newest = nodes_[parent].last_child;
    if (newest == tree_node::none) return append(parent, name, address);
    if (nodes_[newest].name == name) return newest;
    // Most nodes have few children; only those with many are worth a table.
    std::uint32_t steps = 0;
    for (std::uint32_t at = nodes_[parent].first_child; at != tree_node::none && steps < few; at = nodes_[at].next, ++steps) {
      if (nodes_[at].name == name) return at;
    }
    if (steps < few) return append(parent, name, address);
    const auto found = index_.find(key(parent, name));
    return found != index_.end() ? found->second : append(parent, name, address);
  }

  std::uint32_t append(std::uint32_t parent, std::uint32_t name, std::uint64_t address) {
    const auto to = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({address, 0, 0, 0, name, parent, tree_node::none, tree_node::none, tree_node::none});
    tree_node& up = nodes_[parent];
    if (up.last_child == tree_node::none) up.first_child = to;
    else nodes_[up.last_child].next = to;
    up.last_child = to;
    std::uint32_t count = 0;
    for (std::uint32_t at = up.first_child; at != tree_node::none && count <= few; at = nodes_[at].next) ++count;
    if (count > few) index_.emplace(key(parent, name), to);
    return to;
  }
  static constexpr std::uint32_t few = 8;
  static std::uint64_t key(std::uint32_t parent, std::uint32_t name) noexcept { return std::uint64_t{parent} << 32 | name; }

  const recording* from_;
  bool stops_at_root_;
  std::vector<tree_node> nodes_;
  std::vector<std::uint32_t> current_;
  std::vector<fork_node> forks_;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;
};

/// One tree for each session: `uftrace graph`.
class session_graph {
 public:
  session_graph(merge& records, stack_options options)
      : records_(&records), stacks_(records.source(), options), tree_(records.source(), true) {
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
        if (!stacks_.show_entry(t)) continue;
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
      for (std::uint32_t at = tree_.node(root).first_child; at != tree_node::none; at = tree_.node(at).next) {
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
      : records_(&records), stacks_(records.source(), options), tree_(records.source(), false) {
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
        if (!stacks_.show_entry(t)) continue;
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
        (void)stacks_.close_unfinished(t, t.consumed_time);
        leave(t, i, address);
      }
    }
  }

  [[nodiscard]] const call_tree& tree() const noexcept { return tree_; }
  /// Nanoseconds that one sample stands for; 0 where the recording does not tell how long it took: then calls are counted.
  [[nodiscard]] std::uint64_t sample() const noexcept { return sample_; }
  /// The number of samples of a node.
  [[nodiscard]] std::uint64_t samples(const tree_node& node) const noexcept {
    return sample_ == 0 ? node.calls : (node.time - node.child) / sample_;
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
    if (up != tree_node::none) tree_.node(up).child += slot->total / sample_ * sample_ - slot->total;
  }

  merge* records_;
  call_stacks stacks_;
  call_tree tree_;
  std::uint64_t sample_ = 0;
};

}  // namespace backsight::uftrace
