// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "call_stacks.hpp"
#include "call_tree.hpp"
#include "report.hpp"

// The trees of `uftrace graph`. Source: uftrace's cmds/graph.c.
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

/// One tree for each session: `uftrace graph`.
class session_graph {
 public:
  /// With `keeps_child_times` the tree tells self times.
  session_graph(merged_records& records, stack_options options, bool keeps_child_times = false)
      : records_(&records), stacks_(records.source(), options), tree_(records.source(), true, keeps_child_times) {
    for (std::size_t i = 0; i <= records.source().sessions.size(); ++i) roots_.push_back(tree_.add_root());
    seen_.resize(roots_.size());
    lost_.resize(records.source().data.size());
    task_root_.resize(records.source().data.size(), tree_node::none);
  }

  void run() {
    stacks_.follow(*records_);
    resolver& names = records_->names();
    wait_ = names.intern("linux:schedule");
    preempted_ = names.intern("linux:schedule (pre-empted)");
    merged_record r;
    std::uint64_t before = 0;
    while (records_->next(r)) {
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

  merged_records* records_;
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

}  // namespace cli::as_uftrace
