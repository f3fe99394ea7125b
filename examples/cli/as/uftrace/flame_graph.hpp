// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "call_stacks.hpp"
#include "call_tree.hpp"
#include "report.hpp"

// The tree of `uftrace dump --flame-graph`. Source: uftrace's cmds/dump.c.
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

/// One tree for all tasks: `uftrace dump --flame-graph`.
class flame_graph {
 public:
  flame_graph(merged_records& records, stack_options options)
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
    stacks_.follow(*records_);
    resolver& names = records_->names();
    const std::uint32_t wait = names.intern("linux:schedule");
    merged_record r;
    while (records_->next(r)) {
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
      const std::uint64_t end =
          records_->closes_at() != 0 ? std::min(records_->closes_at(), t.consumed_time) : t.consumed_time;
      while (t.height > 0) {
        const std::uint64_t address = stacks_.address(t, t.height - 1);
        const frame* const top = stacks_.slot(t, t.height - 1);
        if (top == nullptr || address == 0 || top->total > end) {
          --t.height;
          continue;
        }
        (void)stacks_.close_unfinished(t, end);
        if (stacks_.show_exit(t)) leave(t, i, address);
      }
    }
  }

  [[nodiscard]] const call_tree& tree() const noexcept { return tree_; }
  /// Nanoseconds that one sample stands for; 0 where the recording does not tell how long it took: then calls are
  /// counted.
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
    // What is too short for a sample of its own stays with the caller: the one above where the task is, also when the
    // time goes to the fork that made the task.
    const std::uint32_t at = tree_.current(data_index);
    tree_.leave(data_index, stacks_.address(t, t.height), address, slot->total, slot->child);
    if (sample_ == 0) return;
    const std::uint32_t up = tree_.node(at).parent;
    if (up != tree_node::none) tree_.add_child_time(up, slot->total / sample_ * sample_ - slot->total);
  }

  merged_records* records_;
  call_stacks stacks_;
  call_tree tree_;
  std::uint64_t sample_ = 0;
};

}  // namespace cli::as_uftrace
