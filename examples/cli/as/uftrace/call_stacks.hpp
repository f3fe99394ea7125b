// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/uftrace/merged_records.hpp>

#include "function_filter.hpp"
#include "task_stack.hpp"

// The stacks of all tasks while records are consumed, with uftrace's accounting. Source: uftrace's utils/fstack.c
// (fstack_account_time, fstack_entry, fstack_exit, fstack_check_filter). All arithmetic wraps at 64 bits, as there.
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

struct stack_options {
  std::int32_t depth = 1024;                   ///< levels to show
  const function_filter* functions = nullptr;  ///< functions to show; null for all. Must outlive the stacks
};

/// The stacks of all tasks of a recording.
class call_stacks {
 public:
  call_stacks(const recording& from, stack_options options)
      : from_(&from),
        depth_(options.depth),
        filter_(options.functions),
        max_stack_(from.info.max_stack),
        tasks_(from.data.size()) {
    for (task_stack& t : tasks_) {
      t.credit = depth_;
      update_outside(t);
      grow(t, std::min<std::size_t>(16, max_stack_));
    }
  }

  [[nodiscard]] task_stack& of(const merged_record& r) noexcept { return tasks_[r.data_index]; }
  [[nodiscard]] std::vector<task_stack>& all() noexcept { return tasks_; }
  /// The slot of that level, or null beyond the limit.
  [[nodiscard]] frame* slot(task_stack& t, std::int64_t level) const noexcept {
    return level >= 0 && static_cast<std::uint64_t>(level) < t.frames.size()
               ? &t.frames[static_cast<std::size_t>(level)]
               : nullptr;
  }
  [[nodiscard]] const frame* slot(const task_stack& t, std::int64_t level) const noexcept {
    return level >= 0 && static_cast<std::uint64_t>(level) < t.frames.size()
               ? &t.frames[static_cast<std::size_t>(level)]
               : nullptr;
  }
  [[nodiscard]] std::uint64_t address(const task_stack& t, std::int64_t level) const noexcept {
    return level >= 0 && static_cast<std::uint64_t>(level) < t.addresses.size()
               ? t.addresses[static_cast<std::size_t>(level)]
               : 0;
  }

  /// Lets the merge ask these stacks for estimates of exit times, where the recording has such. They must outlive it
  /// and stay in place.
  void follow(merged_records& records) {
    if (!records.estimating()) return;
    records.watch_schedule(
        [](void* owner, merged_records& from, const merged_record& event) {
          static_cast<call_stacks*>(owner)->estimate_exit(from, event);
        },
        this);
  }

  /// Moves the stack of the record's task. Every analysis does this with every record, also with those it then hides.
  void consume(const merged_record& r) {
    task_stack& t = tasks_[r.data_index];
    t.consumed_time = r.time;
    if (r.source == record_source::task_file) [[likely]] {
      if (r.type == record_type::lost && t.last_time != 0) [[unlikely]]
        t.time_before_loss = t.last_time;
      t.last_time = r.time;
      t.last_was_perf = t.outside_program = false;
    } else {
      consume_other(t, r);
      if (r.source == record_source::kernel_file) return;
    }
    switch (r.type) {
      case record_type::entry:
        prepare(t, r, true);
        if (t.in_kernel) [[unlikely]]
          leave_kernel(t);
        push(t, r);
        ++t.user_height;
        break;
      case record_type::exit:
        prepare(t, r, false);
        if (t.in_kernel) [[unlikely]]
          leave_kernel(t);
        pop(t, r);
        if (t.user_height > 0) --t.user_height;
        break;
      case record_type::lost:
        lose(t);
        t.in_kernel = false;
        break;
      case record_type::event:
        if (r.is_sched_out()) {
          prepare(t, r, true);
          push(t, r);
          t.in_kernel = false;
        } else if (r.is_sched_in()) {
          prepare(t, r, false);
          pop(t, r);
          t.in_kernel = false;
        }
        break;
    }
  }

  /// Whether an entry that was just consumed is shown. Moves the depth filter.
  [[nodiscard]] bool show_entry(task_stack& t) noexcept {
    if (t.outside_program) return false;
    frame* const f = slot(t, t.height - 1);
    if (f == nullptr) return false;
    f->credit = t.credit;
    if (t.credit <= 0) {
      f->hidden = true;
      return false;
    }
    --t.credit;
    return true;
  }
  /// The same with the function filter.
  [[nodiscard]] bool show_entry(task_stack& t, const resolver& names, const function& f) {
    if (!filter_.active()) [[likely]]
      return show_entry(t);
    return show_filtered_entry(t, filter_.at(names, f));
  }
  /// Whether an entry that comes next would be shown.
  [[nodiscard]] bool would_show_entry(const task_stack& t, const resolver& names, const function& f) {
    if (!filter_.active()) return t.credit > 0;
    const filter_action& action = filter_.at(names, f);
    const bool included = action.calls == filter_action::kind::include;
    if (t.excluded > 0 || action.calls == filter_action::kind::exclude || (t.outside && !included)) return false;
    if (action.depth) return true;
    return !action.hide && (included ? depth_ : t.credit) > 0;
  }
  /// Functions are filtered by name.
  [[nodiscard]] bool is_filtered() const noexcept { return filter_.active(); }
  /// Whether an exit that was just consumed is shown. Moves the depth filter.
  [[nodiscard]] bool show_exit(task_stack& t) noexcept {
    if (t.outside_program) return false;
    frame* const f = slot(t, t.height);
    if (f == nullptr) return false;
    t.credit = f->credit;
    if (f->calls != filter_action::kind::none) [[unlikely]]
      leave_filtered(t, *f);
    return !f->hidden;
  }
  /// Whether an event is shown.
  [[nodiscard]] static bool show_event(const task_stack& t) noexcept {
    return t.user_height > 0 && t.credit > 0 && !t.outside;
  }

  /// What a function that moves the stack does behind its shown entry; `setjmp` is remembered at the entry itself.
  void apply(task_stack& t, special_function kind) noexcept {
    if (kind == special_function::exec) {
      t.height = t.user_height = t.shown_depth = 0;
    } else if (kind == special_function::longjmp) {
      t.height = t.user_height = jump_height_;
      t.shown_depth = jump_depth_;
    }
  }
  /// What such a function does at its entry, shown or not.
  void note(task_stack& t, special_function kind) noexcept {
    if (t.excluded > 0) return;
    if (kind == special_function::setjmp) {
      jump_height_ = t.height;
      jump_depth_ = t.shown_depth + 1;
      ++jumps_;
    } else if (kind == special_function::fork) {
      t.fork_depth = t.shown_depth + 1;
    }
  }
  /// How many setjmp there were: their place is shared by all tasks.
  [[nodiscard]] std::uint64_t jumps() const noexcept { return jumps_; }

  /// The time that uftrace takes for the end of a task whose functions are still open.
  [[nodiscard]] std::uint64_t end_time(const task_stack& t, const merged_records& m,
                                       std::uint32_t data_index) const noexcept {
    if (m.closes_at() != 0) return m.closes_at();
    // With a time filter uftrace keeps scheduler events by task; without one they share a place.
    if (t.last_was_perf) return m.shorter_than() != 0 ? t.consumed_time : last_perf_time_;
    if (const auto damaged = m.damaged_time(data_index)) return *damaged;
    return t.last_time;
  }

  /// Closes the top function at `end`, as one that never returned; gives its slot or null. Precondition: height > 0.
  frame* close_unfinished(task_stack& t, std::uint64_t end) noexcept {
    --t.height;
    frame* const f = slot(t, t.height);
    if (f == nullptr) return nullptr;
    f->total = end - f->total;
    if (f->child > f->total) f->total = f->child;
    if (frame* const below = slot(t, t.height - 1)) below->child += f->total;
    return f;
  }

 private:
  /// Moves an invented exit time when a scheduler event falls into the function on top.
  void estimate_exit(merged_records& records, const merged_record& r) {
    const task_stack& t = of(r);
    const merged_record* const waiting = records.waiting(r.data_index);
    if (t.height <= 0 || waiting == nullptr) return;
    if (waiting->type == record_type::entry) return records.estimate(r, 0);
    if (waiting->type != record_type::exit) return;
    const std::int64_t level = t.height - (r.is_sched_in() && t.height >= 2 ? 2 : 1);
    const frame* const f = slot(t, level);
    if (f != nullptr && address(t, level) == waiting->address) records.estimate(r, f->total);
  }

  [[gnu::noinline]] void consume_other(task_stack& t, const merged_record& r) {
    t.outside_program = false;
    if (r.source == record_source::perf_file) {
      t.last_was_perf = true;
      last_perf_time_ = r.time;
    }
    if (r.source != record_source::kernel_file) return;
    t.last_was_perf = false;
    t.last_time = r.time;
    if (r.type == record_type::lost) {
      lose(t);
    } else if (r.is_event()) {
      return;
    } else if (r.type == record_type::entry) {
      prepare(t, r, true);
      push(t, r);
    } else {
      prepare(t, r, false);
      pop(t, r);
    }
    t.in_kernel = r.type != record_type::lost;
    t.outside_program = t.in_kernel && t.user_height == 0;
  }
  /// The program goes on: what the kernel left open, its records being damaged, is forgotten.
  [[gnu::noinline]] void leave_kernel(task_stack& t) const noexcept {
    t.in_kernel = false;
    t.height = t.user_height;
    t.credit = static_cast<std::int32_t>(depth_ - t.height);
  }
  void update_outside(task_stack& t) noexcept { t.outside = t.excluded > 0 || (filter_.includes() && t.included == 0); }

  [[gnu::noinline]] bool show_filtered_entry(task_stack& t, const filter_action& action) {
    frame* const f = slot(t, t.height - 1);
    if (f == nullptr) return false;
    f->credit = t.credit;
    f->hidden = true;
    f->calls = filter_action::kind::none;
    if (t.excluded > 0) return false;
    f->calls = action.calls;
    if (action.calls == filter_action::kind::include) ++t.included;
    if (action.calls == filter_action::kind::exclude) ++t.excluded;
    update_outside(t);
    if (t.outside) return false;
    if (action.calls == filter_action::kind::include) t.credit = depth_;
    if (action.depth) t.credit = *action.depth;
    if (t.credit <= 0 || action.hide) return false;
    f->hidden = false;
    --t.credit;
    return true;
  }
  [[gnu::noinline]] void leave_filtered(task_stack& t, frame& f) noexcept {
    if (f.calls == filter_action::kind::include) --t.included;
    else --t.excluded;
    f.calls = filter_action::kind::none;
    update_outside(t);
  }

  void grow(task_stack& t, std::size_t size) {
    frame fresh;
    fresh.credit = depth_;
    t.frames.resize(size, fresh);
    t.addresses.resize(size);
  }
  [[gnu::noinline]] void grow_for(task_stack& t, std::int64_t level) {
    const auto wanted = std::min<std::size_t>(
        std::max<std::size_t>(static_cast<std::size_t>(level) + 1, t.frames.size() * 2), max_stack_);
    if (wanted > t.frames.size()) grow(t, wanted);
  }

  void prepare(task_stack& t, const merged_record& r, bool entry) {
    if (t.started && !t.lost) [[likely]]
      return;
    prepare_rare(t, r, entry);
  }
  [[gnu::noinline]] void prepare_rare(task_stack& t, const merged_record& r, bool entry) {
    const std::int64_t depth = r.is_event() ? 0 : r.depth;
    std::int64_t height = entry ? depth : depth + 1;
    // The kernel counts its own levels.
    const bool kernel = r.source == record_source::kernel_file;
    if (kernel) height += t.user_height;
    if (!t.started) {
      t.started = true;
      t.credit = depth_;
      const std::uint32_t number = from_->data[r.data_index].task;
      if (number != task_data::no_task && from_->tasks[number].parent != 0) {
        const auto parent = from_->data_index.find(from_->tasks[number].parent);
        if (parent != from_->data_index.end() && tasks_[parent->second].fork_depth > 0) {
          t.shown_depth = tasks_[parent->second].fork_depth;
          if (kernel) height += t.shown_depth;
          t.depth_known = true;
        }
      }
      t.height = height;
      grow_for(t, height);
      for (std::int64_t i = 0; i < height; ++i) {
        if (frame* const f = slot(t, i)) *f = {r.time, 0, f->name, true, false, depth_, filter_action::kind::none};
      }
    }
    if (t.lost) {
      t.lost = false;
      t.height = height;
      grow_for(t, std::max(height, t.user_height + depth));
      for (std::int64_t i = t.user_height; i <= t.user_height + depth; ++i) {
        if (frame* const f = slot(t, i)) {
          f->total = r.time - 1;
          f->child = 0;
        }
      }
    }
  }

  void push(task_stack& t, const merged_record& r) {
    const auto level = static_cast<std::size_t>(t.height < 0 ? 0 : t.height);
    if (level >= t.frames.size()) [[unlikely]]
      grow_for(t, t.height);
    if (level < t.frames.size()) {
      frame& f = t.frames[level];
      f.total = r.time;
      f.child = 0;
      f.valid = true;
      f.hidden = false;
      f.calls = filter_action::kind::none;
      t.addresses[level] = r.address;
    }
    t.height = static_cast<std::int64_t>(level) + 1;
  }

  void pop(task_stack& t, const merged_record& r) noexcept {
    if (t.height <= 0) return;
    --t.height;
    const auto level = static_cast<std::size_t>(t.height);
    if (level < t.frames.size()) [[likely]] {
      frame& f = t.frames[level];
      const std::uint64_t delta = f.valid ? r.time - f.total : 0;
      f.valid = false;
      f.total = delta;
      f.child = std::min(f.child, delta);
      if (level != 0) t.frames[level - 1].child += delta;
    }
  }

  void lose(task_stack& t) noexcept {
    std::uint64_t now = 0;
    for (std::int64_t i = t.height; i >= t.user_height; --i) {
      frame* const f = slot(t, i);
      if (f == nullptr) continue;
      if (now == 0) now = f->total + 1;
      f->total = now - f->total;
      f->child = std::min(f->child, f->total);
      if (frame* const below = slot(t, i - 1)) below->child += f->total;
    }
    t.lost = true;
    t.depth_known = false;
  }

  const recording* from_;
  std::int32_t depth_;
  filter_lookup filter_;
  std::size_t max_stack_;
  std::vector<task_stack> tasks_;
  std::int64_t jump_height_ = 0, jump_depth_ = 0;
  std::uint64_t jumps_ = 0;
  std::uint64_t last_perf_time_ = 0;
};

}  // namespace cli::as_uftrace
