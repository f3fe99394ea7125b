// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "call_stacks.hpp"

// The tables of `uftrace report`. Source: uftrace's cmds/report.c and utils/report.c.
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

/// What is known of all calls of the functions of one name.
struct report_row {
  std::uint32_t name = 0;  ///< of the resolver
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

/// The calls of all functions, by name: `uftrace report`. Counts every exit, every wait, and at the end every function
/// that did not return. Costs a look-up of the function for each record and a search of the stack for each exit.
class function_report {
 public:
  function_report(merged_records& records, stack_options options)
      : records_(&records), stacks_(records.source(), options) {}

  void run() {
    with_order(records_->source().info.byte_order, [this](auto o) { run_as<o()>(); });
  }

 private:
  template <order O>
  void run_as() {
    resolver& names = records_->names();
    const std::uint32_t wait = names.intern("linux:schedule"), preempted = names.intern("linux:schedule (pre-empted)");
    seen_.resize(records_->source().data.size());
    stacks_.follow(*records_);
    merged_record r;
    for (;;) {
      if (!stacks_.is_filtered()) run_plain<O>();
      if (!records_->next(r)) break;
      seen_[r.data_index].stale = true;
      stacks_.consume(r);
      task_stack& t = stacks_.of(r);
      switch (r.type) {
        case record_type::entry: {
          const function& f = names.find(r.data_index, r.time, r.address);
          if (f.special != special_function::none) [[unlikely]]
            stacks_.note(t, f.special);
          if (frame* const top = stacks_.slot(t, t.height - 1)) top->name = f.name;
          if (!stacks_.show_entry(t, names, f)) break;
          // The names in the slots are those of the old program.
          if (f.special == special_function::exec) [[unlikely]] {
            for (frame& slot : t.frames) slot.name = frame::no_name;
          }
          if (f.special != special_function::none) [[unlikely]]
            stacks_.apply(t, f.special);
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

  /// How often addresses are on a task's stack, by a hash of them: where it is 0 the stack need not be searched.
  struct seen_addresses {
    static constexpr std::size_t size = 1024;
    std::vector<std::uint16_t> count;
    bool stale = true;

    [[nodiscard]] static std::size_t slot(std::uint64_t address) noexcept {
      return static_cast<std::size_t>((address * 0x9e3779b97f4a7c15ULL) >> 54);
    }
    void recount(const task_stack& t) {
      count.assign(size, 0);
      stale = false;
      for (std::int64_t i = 0; i < t.height; ++i) ++count[slot(t.addresses[static_cast<std::size_t>(i)])];
    }
  };

  /// Takes in a run of plain entries and exits of one task: what consume, show_entry, show_exit and count do, with the
  /// stack's variables in registers and without a record in between.
  template <order O>
  void run_plain() {
    resolver& names = records_->names();
    task_stack* t = nullptr;
    seen_addresses* seen = nullptr;
    std::size_t height = 0, limit = 0;
    std::int64_t user_height = 0;
    std::int32_t credit = 0;
    std::uint64_t last = 0;
    bool lasting = false;
    (void)records_->template take_run<O>(
        [&](std::uint32_t data_index, const record<function_record<O>, O>& item) __attribute__((always_inline)) {
          if (t == nullptr) [[unlikely]] {
            task_stack& found = stacks_.all()[data_index];
            if (!found.started || found.lost || found.in_kernel || found.height < 0 ||
                static_cast<std::uint64_t>(found.height) > found.frames.size())
              return false;
            t = &found;
            seen = &seen_[data_index];
            if (seen->stale) seen->recount(found);
            height = static_cast<std::size_t>(t->height);
            limit = t->frames.size();
            user_height = t->user_height;
            credit = t->credit;
            lasting = names.is_lasting(data_index, item[record_head::time]);
          }
          const std::uint64_t time = item[record_head::time], address = item[record_head::address];
          if (item[record_head::type] == record_type::entry) {
            const function& f = names.find(data_index, time, address);
            if (f.special != special_function::none || height >= limit) return false;
            t->addresses[height] = address;
            const bool hidden = credit <= 0;
            t->frames[height] = {time, 0, f.name, true, hidden, credit, filter_action::kind::none};
            credit -= !hidden;
            ++seen->count[seen_addresses::slot(address)];
            ++height;
            ++user_height;
          } else {
            if (height == 0) return false;
            frame& f = t->frames[height - 1];
            const std::uint64_t entered = t->addresses[height - 1];
            if (!f.valid || entered != address || !lasting || f.name == frame::no_name) return false;
            --height;
            user_height -= user_height > 0;
            const std::uint64_t total = time - f.total;
            f.valid = false;
            f.total = total;
            f.child = std::min(f.child, total);
            credit = f.credit;
            if (height != 0) t->frames[height - 1].child += total;
            const bool again = --seen->count[seen_addresses::slot(address)] != 0 && on_stack(*t, height, address);
            if (!f.hidden) {
              if (f.name >= rows_.size()) [[unlikely]]
                grow(f.name);
              add(rows_[f.name], total, f.child, again);
            }
          }
          last = time;
          return true;
        });
    if (t == nullptr) return;
    t->height = static_cast<std::int64_t>(height);
    t->user_height = user_height;
    t->credit = credit;
    if (last != 0) {
      t->last_time = t->consumed_time = last;
      t->last_was_perf = false;
    }
  }

  /// From the top down: recursion mostly is near.
  [[nodiscard]] static bool on_stack(const task_stack& t, std::size_t height, std::uint64_t address) noexcept {
    for (std::size_t i = height; i-- != 0;) {
      if (t.addresses[i] == address) return true;
    }
    return false;
  }

  [[gnu::always_inline]] static void add(report_row& row, std::uint64_t total, std::uint64_t child,
                                         bool recursive) noexcept {
    ++row.calls;
    row.self += total - child;
    row.square_sum += total * total;
    row.min = std::min(row.min, total);
    row.max = std::max(row.max, total);
    (recursive ? row.recursive : row.total) += total;
  }

 public:
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
  [[nodiscard]] std::uint32_t name_at(const task_stack& t, std::uint32_t data_index, std::int64_t level) {
    resolver& names = records_->names();
    const std::uint64_t address = stacks_.address(t, level);
    if (address == sched_out) return names.intern("linux:schedule");
    if (address == sched_out_preempted) return names.intern("linux:schedule (pre-empted)");
    return names.find(data_index, t.naming_time(), address).name;
  }

  /// Adds the function that was just popped.
  void count(const task_stack& t, std::uint32_t name) {
    if (name >= rows_.size()) [[unlikely]]
      grow(name);
    const frame* const f = stacks_.slot(t, t.height);
    if (f == nullptr) return;
    const auto height = static_cast<std::size_t>(t.height);
    add(rows_[name], f->total, f->child, on_stack(t, height, t.addresses[height]));
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

  merged_records* records_;
  call_stacks stacks_;
  std::vector<report_row> rows_;
  std::vector<seen_addresses> seen_;
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
  task_report(merged_records& records, stack_options options)
      : records_(&records), stacks_(records.source(), options) {}

  void run() {
    stacks_.follow(*records_);
    const recording& from = records_->source();
    rows_.resize(from.data.size());
    std::vector<std::uint64_t> stamp(rows_.size()), last(rows_.size());
    for (std::uint32_t i = 0; i < rows_.size(); ++i) {
      rows_[i].data_index = i;
      if (from.data[i].task != task_data::no_task) stamp[i] = from.tasks[from.data[i].task].time;
    }
    merged_record r;
    while (records_->next(r)) {
      stacks_.consume(r);
      task_stack& t = stacks_.of(r);
      task_report_row& row = rows_[r.data_index];
      if (r.type == record_type::exit && !t.outside_program) {
        last[r.data_index] = r.time;
        add(row, t);
      } else if (r.is_event() && call_stacks::show_event(t)) {
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
      if (records_->closes_at() != 0) last[i] = records_->closes_at();
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
  merged_records* records_;
  call_stacks stacks_;
  std::vector<task_report_row> rows_;
};

}  // namespace cli::as_uftrace
