// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <backsight/uftrace/call_stacks.hpp>

// The tables of `uftrace report`. Source: uftrace's cmds/report.c and utils/report.c.
namespace backsight::uftrace {

/// What is known of all calls of the functions of one name.
struct report_row {
  std::uint32_t name = 0;       ///< of the resolver
  std::uint64_t calls = 0;
  std::uint64_t total = 0;      ///< nanoseconds, calls inside another call of the same function left out
  std::uint64_t recursive = 0;  ///< nanoseconds of those calls
  std::uint64_t self = 0;
  std::uint64_t min = ~std::uint64_t{0};
  std::uint64_t max = 0;
  std::uint64_t square_sum = 0;  ///< of nanoseconds; wraps at 64 bits, as in uftrace

  [[nodiscard]] std::uint64_t average() const noexcept { return calls == 0 ? 0 : (total + recursive) / calls; }
  /// Adds what another part of the recording gave for the same name.
  void add(const report_row& other) noexcept {
    calls += other.calls;
    total += other.total;
    recursive += other.recursive;
    self += other.self;
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    square_sum += other.square_sum;
  }
};

/// The calls of all functions, by name: `uftrace report`. Counts every exit, every wait, and at the end every function that
/// did not return. Costs a look-up of the function for each record and a search of the stack for each exit.
class function_report {
 public:
  function_report(merge& records, stack_options options) : records_(&records), stacks_(records.source(), options) {}

  void run() {
    resolver& names = records_->names();
    const std::uint32_t wait = names.intern("linux:schedule"), preempted = names.intern("linux:schedule (pre-empted)");
    merged_record r;
    while (records_->next(r)) {
      if (records_->estimating()) estimate(r);
      stacks_.consume(r);
      task_stack& t = stacks_.of(r);
      switch (r.type) {
        case record_type::entry: {
          const function& f = names.find(r.data_index, r.time, r.address);
          if (f.special != special_function::none) [[unlikely]] stacks_.note(t, f.special);
          if (!stacks_.show_entry(t)) break;
          if (f.special != special_function::none) [[unlikely]] stacks_.apply(t, f.special);
          break;
        }
        case record_type::exit:
          if (stacks_.show_exit(t)) count(t, names.find(r.data_index, r.time, r.address).name);
          break;
        case record_type::event:
          if (r.is_sched_in() && call_stacks::show_event(t)) {
            count(t, stacks_.address(t, t.height) == sched_out_preempted ? preempted : wait);
          }
          break;
        case record_type::lost:
          for (; t.height >= t.user_height; --t.height) {
            const frame* const f = stacks_.slot(t, t.height);
            if (f != nullptr && f->valid && !f->hidden) count(t, name_at(t, r.data_index, t.height));
          }
          break;
      }
    }
    finish();
  }

  /// The rows in no order; calls is not 0 in any.
  [[nodiscard]] std::vector<report_row> rows() const {
    std::vector<report_row> all;
    for (const report_row& row : rows_) {
      if (row.calls != 0) all.push_back(row);
    }
    return all;
  }
  [[nodiscard]] std::uint64_t jumps() const noexcept { return stacks_.jumps(); }

 private:
  void estimate(const merged_record& r) {
    if (r.source != record_source::perf_file || !(r.is_sched_in() || r.is_sched_out())) return;
    estimate_exit(*records_, stacks_, r);
  }

 public:
  /// Moves an invented exit time when a scheduler event falls into the function on top.
  static void estimate_exit(merge& records, call_stacks& stacks, const merged_record& r) {
    task_stack& t = stacks.of(r);
    const merged_record* const waiting = records.waiting(r.data_index);
    if (t.height <= 0 || waiting == nullptr) return;
    if (waiting->type == record_type::exit) {
      const std::int64_t level = t.height - (r.is_sched_in() ? 2 : 1);
      const frame* const f = stacks.slot(t, level);
      if (f == nullptr || stacks.address(t, level) != waiting->address) return;
      records.estimate(r, f->total);
    } else if (waiting->type == record_type::entry) {
      records.estimate(r, 0);
    }
  }

 private:
  [[nodiscard]] std::uint32_t name_at(const task_stack& t, std::uint32_t data_index, std::int64_t level) {
    resolver& names = records_->names();
    const std::uint64_t address = stacks_.address(t, level);
    if (address == sched_out) return names.intern("linux:schedule");
    if (address == sched_out_preempted) return names.intern("linux:schedule (pre-empted)");
    return names.find(data_index, t.last_time, address).name;
  }

  /// Adds the function that was just popped.
  void count(const task_stack& t, std::uint32_t name) {
    if (name >= rows_.size()) [[unlikely]] grow(name);
    const frame* const f = stacks_.slot(t, t.height);
    if (f == nullptr) return;
    report_row& row = rows_[name];
    const std::uint64_t address = t.addresses[static_cast<std::size_t>(t.height)], total = f->total;
    ++row.calls;
    row.self += total - f->child;
    row.square_sum += total * total;
    row.min = std::min(row.min, total);
    row.max = std::max(row.max, total);
    bool recursive = false;
    // From the top down: recursion mostly is near.
    for (auto i = static_cast<std::size_t>(t.height); i-- != 0;) {
      if (t.addresses[i] == address) {
        recursive = true;
        break;
      }
    }
    (recursive ? row.recursive : row.total) += total;
  }
  [[gnu::noinline]] void grow(std::uint32_t name) {
    const std::size_t old = rows_.size();
    rows_.resize(std::max<std::size_t>(name + std::size_t{1}, old * 2));
    for (std::size_t i = old; i < rows_.size(); ++i) rows_[i].name = static_cast<std::uint32_t>(i);
  }

  void finish() {
    for (std::uint32_t i = 0; i < stacks_.all().size(); ++i) {
      task_stack& t = stacks_.all()[i];
      const std::uint64_t end = stacks_.end_time(t, *records_, i);
      while (t.height > 0) {
        const frame* const before = stacks_.slot(t, t.height - 1);
        const bool late = before != nullptr && before->total > end;
        frame* const f = late ? (--t.height, nullptr) : stacks_.close_unfinished(t, end);
        if (f != nullptr) count(t, name_at(t, i, t.height));
      }
    }
  }

  merge* records_;
  call_stacks stacks_;
  std::vector<report_row> rows_;
};

/// One line of `uftrace report --task`.
struct task_report_row {
  std::uint32_t data_index = 0;
  std::uint64_t total = 0;  ///< nanoseconds in functions of the task
  std::uint64_t idle = 0;   ///< of them waiting
  std::uint64_t calls = 0;
};

/// The time that each task ran: `uftrace report --task`.
class task_report {
 public:
  task_report(merge& records, stack_options options) : records_(&records), stacks_(records.source(), options) {}

  void run() {
    const recording& from = records_->source();
    rows_.resize(from.data.size());
    std::vector<std::uint64_t> stamp(rows_.size()), last(rows_.size());
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      rows_[i].data_index = i;
      if (from.data[i].task != task_data::no_task) stamp[i] = from.tasks[from.data[i].task].time;
    }
    merged_record r;
    while (records_->next(r)) {
      if (records_->estimating() && r.source == record_source::perf_file && (r.is_sched_in() || r.is_sched_out())) {
        function_report::estimate_exit(*records_, stacks_, r);
      }
      stacks_.consume(r);
      task_stack& t = stacks_.of(r);
      task_report_row& row = rows_[r.data_index];
      if (r.type == record_type::exit) {
        last[r.data_index] = r.time;
        add(row, t);
      } else if (r.is_event() && t.user_height > 0) {
        last[r.data_index] = r.time;
        std::uint64_t& since = stamp[r.data_index];
        if (r.address == sched_out) since = r.time;
        if (r.is_sched_in()) {
          if (since != 0) row.idle += r.time - since;
          since = 0;
          add(row, t);
        }
      }
    }
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      task_stack& t = stacks_.all()[i];
      while (t.height > 0) {
        const frame* const before = stacks_.slot(t, t.height - 1);
        const bool skip = before == nullptr || before->total > last[i] || stacks_.address(t, t.height - 1) == 0;
        if (skip) {
          --t.height;
          continue;
        }
        if (stacks_.close_unfinished(t, last[i]) != nullptr) add(rows_[i], t);
      }
    }
  }
  [[nodiscard]] const std::vector<task_report_row>& rows() const noexcept { return rows_; }

 private:
  void add(task_report_row& row, const task_stack& t) {
    const frame* const f = stacks_.slot(t, t.height);
    if (f == nullptr) return;
    row.total += f->total - f->child;
    ++row.calls;
  }
  merge* records_;
  call_stacks stacks_;
  std::vector<task_report_row> rows_;
};

}  // namespace backsight::uftrace
