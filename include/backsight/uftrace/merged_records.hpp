// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>
#include <vector>

#include <backsight/uftrace/detail/external_records.hpp>
#include <backsight/uftrace/detail/winner_tree.hpp>
#include <backsight/uftrace/kernel_source.hpp>
#include <backsight/uftrace/perf_source.hpp>
#include <backsight/uftrace/resolver.hpp>
#include <backsight/uftrace/task_source.hpp>

// All records of a recording in the order of time. Source: uftrace's utils/fstack.c (read_rstack), utils/perf.c,
// utils/extern.c.
namespace backsight::uftrace {

/// The records of all tasks, of the kernel, of the scheduler and of extern.dat in the order of time, ties as uftrace
/// breaks them. Reads each file once, front to back; costs log2(tasks) comparisons for a record and no allocation (but
/// with a time filter). The resolver must outlive it.
class merged_records {
 public:
  merged_records(resolver& names, merge_options options)
      : names_(&names),
        from_(&names.source()),
        options_(options),
        estimating_(from_->info.has(feature::estimate_return)),
        estimates_(from_->data.size()),
        tasks_tree_(from_->data.size()) {
    for (std::uint32_t i = 0; i < from_->data.size(); ++i) {
      tasks_.emplace_back(names, i, options_);
      if (tasks_[i].has()) tasks_tree_.set(i, tasks_[i].current().time);
    }
    if (options_.kernel) {
      for (const directory_file& file : from_->kernel.files)
        kernel_.emplace_back(*from_, file.bytes, options_, entered_);
    }
    if (options_.scheduler) {
      for (const perf_data& file : from_->perf) perf_.emplace_back(*from_, file.bytes, options_.from, options_.until);
      if (options_.shorter_than != 0) hold_scheduler();
    }
    if (options_.external) external_ = detail::read_external(from_->external, options_.from, options_.until);
    others_tree_ = detail::winner_tree(kernel_.size() + perf_.size() + held_.size() + 1);
    for (std::size_t i = 0; i <= kernel_.size() + perf_.size() + held_.size(); ++i) advance(i, true);
    if (!kernel_.empty()) left_on_.assign(from_->data.size(), nowhere);
    others_ = !others_tree_.empty();
  }
  merged_records(const merged_records&) = delete;
  merged_records& operator=(const merged_records&) = delete;

  /// Looks at the next record, null at the end; valid until the next look. With estimates each look at an exit can
  /// raise its time, as in uftrace, so that take() is to follow where the record that was looked at is meant.
  [[nodiscard]] const merged_record* peek() {
    looked_ = look();
    return looked_;
  }

  /// Looks at the next record and takes it; false at the end.
  [[nodiscard]] bool next(merged_record& out) {
    if (peek() == nullptr) return false;
    take(out);
    return true;
  }

  /// Takes the record that peek() has just given.
  void take(merged_record& out) {
    out = *looked_;
    if (out.source == record_source::task_file) {
      task_source& source = tasks_[out.data_index];
      source.next();
      if (source.has()) tasks_tree_.set(out.data_index, source.current().time);
      else tasks_tree_.end(out.data_index);
    } else {
      if (!left_on_.empty() && out.is_sched_out()) left_on_[out.data_index] = source_;
      if (!left_on_.empty() && out.is_sched_in()) left_on_[out.data_index] = nowhere;
      advance(source_);
    }
    last_index_ = out.data_index;
  }

 private:
  [[nodiscard]] const merged_record* look() {
    const bool task_first =
        !tasks_tree_.empty() && (!others_ || others_tree_.empty() || tasks_tree_.time() <= others_tree_.time());
    if (!task_first) return look_at_others();
    const std::size_t i = tasks_tree_.winner();
    const merged_record& r = tasks_[i].current();
    return estimating_ && estimates_[i].now != 0 ? &raised(r, estimates_[i]) : &r;
  }
  // GCC 12 leaves look() out of loops otherwise, which costs 4 % of them.
  [[nodiscard, gnu::noinline]] const merged_record* look_at_others() {
    if (!others_ || others_tree_.empty()) return nullptr;
    const merged_record& found = other();
    if (estimating_ && schedule_watcher_ != nullptr && found.source == record_source::perf_file &&
        (found.is_sched_in() || found.is_sched_out()))
      schedule_watcher_(watcher_owner_, *this, found);
    return &found;
  }

 public:
  /// Gives plain entries and exits that come next, all of one task, to `f(data_index, record<function_record<O>, O>)`
  /// until it gives false, the turn comes to another task or source, or another kind of record comes; gives how many it
  /// took. Much cheaper than next() where tasks do not alternate all the time. O is the byte order of the recording.
  template <order O, class F>
  [[gnu::always_inline]] std::size_t take_run(F&& f) {
    if (estimating_ || options_.shorter_than != 0 || tasks_tree_.empty()) return 0;
    const std::size_t i = tasks_tree_.winner();
    std::uint64_t bound = ~std::uint64_t{0};
    bool inclusive = true;
    if (const std::size_t other = tasks_tree_.runner_up(); other < tasks_.size()) {
      bound = tasks_tree_.time_of(other);
      inclusive = other > i;
    }
    if (others_ && !others_tree_.empty() && others_tree_.time() < bound) {
      bound = others_tree_.time();
      inclusive = true;
    }
    const auto index = static_cast<std::uint32_t>(i);
    const std::size_t taken = tasks_[i].template take_run<O>(
        bound, inclusive, [&](const auto& item) __attribute__((always_inline)) { return f(index, item); });
    if (taken == 0) return 0;
    if (tasks_[i].has()) tasks_tree_.set(i, tasks_[i].current().time);
    else tasks_tree_.end(i);
    last_index_ = index;
    return taken;
  }

  /// The next record of that task's own file; null when there is none. For estimates.
  [[nodiscard]] merged_record* waiting(std::uint32_t data_index) noexcept {
    return tasks_[data_index].has() ? &tasks_[data_index].current() : nullptr;
  }
  [[nodiscard]] bool estimating() const noexcept { return estimating_; }
  /// For recordings whose exit times are invented (feature estimate_return): `watch` is called with each look at a
  /// scheduler event of a perf file, and may call estimate().
  void watch_schedule(void (*watch)(void* owner, merged_records& records, const merged_record& event),
                      void* owner) noexcept {
    schedule_watcher_ = watch;
    watcher_owner_ = owner;
  }
  /// A scheduler event inside the function whose
  /// exit comes next moves that exit. `start` is when the function was entered.
  void estimate(const merged_record& event, std::uint64_t start) {
    estimate_state& e = estimates_[event.data_index];
    merged_record* const exit = waiting(event.data_index);
    if (exit == nullptr) return;
    if (exit->type == record_type::entry) {
      e.next = 0;
      return;
    }
    if (exit->type != record_type::exit) return;
    if (event.is_sched_out()) {
      if (e.next == 0) e.next = 2 * exit->time - start;
      exit->time = ~std::uint64_t{0};
    } else {
      if (e.now <= event.time) e.now = (event.time + e.next) / 2;
      exit->time = e.now;
    }
    tasks_tree_.set(event.data_index, exit->time);
  }

  /// What uftrace takes for the time of that task's last record after damage, where it differs from the record's.
  [[nodiscard]] std::optional<std::uint64_t> damaged_time(std::uint32_t data_index) const noexcept {
    return tasks_[data_index].damaged_time();
  }
  /// The damage met so far, task by task. Allocates.
  [[nodiscard]] std::vector<task_fault> faults() const {
    std::vector<task_fault> all;
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) {
      for (const fault& f : tasks_[i].faults()) all.push_back({i, f});
    }
    return all;
  }
  /// The damage met so far in the kernel's files and those of the scheduler. Allocates.
  [[nodiscard]] std::vector<file_fault> other_faults() const {
    std::vector<file_fault> all = held_faults_;
    for (std::size_t i = 0; i < kernel_.size(); ++i) {
      for (const fault& f : kernel_[i].faults()) all.push_back({from_->kernel.files[i].name, f});
    }
    add_perf_faults(all);
    return all;
  }
  /// merge_options::shorter_than.
  [[nodiscard]] std::uint64_t shorter_than() const noexcept { return options_.shorter_than; }
  /// merge_options::closes_at.
  [[nodiscard]] std::uint64_t closes_at() const noexcept { return options_.closes_at; }
  [[nodiscard]] resolver& names() const noexcept { return *names_; }
  [[nodiscard]] const recording& source() const noexcept { return *from_; }

 private:
  static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
  struct estimate_state {
    std::uint64_t now = 0, next = 0;
  };

  /// Exits behind an estimate come after it, and after each other. What is shown is raised, not what is compared.
  [[nodiscard]] const merged_record& raised(const merged_record& r, estimate_state& e) {
    if (r.type != record_type::exit || r.time > e.now) {
      e = {};
      return r;
    }
    raised_ = r;
    raised_.time = ++e.now;
    return raised_;
  }

  /// The record that comes first of all those beside the task files; remembers its source.
  [[nodiscard]] const merged_record& other() {
    source_ = others_tree_.winner();
    if (source_ >= kernel_.size()) return front(source_);
    const merged_record& kernel = kernel_[source_].current();
    // A task that left its CPU comes back before the kernel goes on in it: deep kernel traces hold the function that
    // schedules, which the scheduler's event would tear apart.
    const std::size_t left = left_on_.empty() ? nowhere : left_on_[kernel.data_index];
    if (left == nowhere || others_tree_.time_of(left) == ~std::uint64_t{0}) return kernel;
    const merged_record& back = front(left);
    if (!back.is_sched_in() || back.data_index != kernel.data_index) return kernel;
    early_ = back;
    early_.time = kernel_[source_].time() - 1;
    source_ = left;
    return early_;
  }

  /// The waiting record of a source: kernel files, perf files, held scheduler events by task, extern.dat.
  [[nodiscard]] const merged_record& front(std::size_t i) {
    if (i < kernel_.size()) return kernel_[i].current();
    i -= kernel_.size();
    if (i < perf_.size()) return perf_[i].current();
    i -= perf_.size();
    if (i < held_.size()) return held_[i].front();
    external_.front().data_index = last_index_;
    return external_.front();
  }

  /// Goes on in a source, or with `first` to its first record.
  void advance(std::size_t source, bool first = false) {
    std::size_t i = source;
    const auto place = [&](bool more, std::uint64_t time) {
      if (more) others_tree_.set(source, time);
      else others_tree_.end(source);
    };
    const auto go_on = [&](std::deque<merged_record>& list) {
      if (!first) list.pop_front();
      place(!list.empty(), list.empty() ? 0 : list.front().time);
    };
    if (i < kernel_.size()) {
      const bool more = kernel_[i].next();
      return place(more, kernel_[i].time());
    }
    i -= kernel_.size();
    if (i < perf_.size()) {
      const bool more = perf_[i].next();
      return place(more, perf_[i].current().time);
    }
    i -= perf_.size();
    go_on(i < held_.size() ? held_[i] : external_);
  }

  void add_perf_faults(std::vector<file_fault>& to) const {
    for (std::size_t i = 0; i < perf_.size(); ++i) {
      const trace_error error = perf_[i].error();
      if (error)
        to.push_back({from_->perf[i].file, {error.code, error.offset, from_->perf[i].bytes.size() - error.offset}});
    }
  }

  /// Reads all perf files at once and leaves out waits that are shorter than the filter.
  void hold_scheduler() {
    detail::winner_tree tree(perf_.size());
    for (std::size_t i = 0; i < perf_.size(); ++i) {
      if (perf_[i].next()) tree.set(i, perf_[i].current().time);
    }
    held_.resize(from_->data.size());
    while (!tree.empty()) {
      const std::size_t i = tree.winner();
      const merged_record r = perf_[i].current();
      auto& list = held_[r.data_index];
      if (r.is_sched_in() && !list.empty() && list.back().is_sched_out() &&
          r.time - list.back().time < options_.shorter_than) {
        list.pop_back();
      } else {
        list.push_back(r);
      }
      if (perf_[i].next()) tree.set(i, perf_[i].current().time);
      else tree.end(i);
    }
    add_perf_faults(held_faults_);
    perf_.clear();
  }

  resolver* names_;
  const recording* from_;
  merge_options options_;
  bool estimating_;
  bool others_ = false;
  std::uint32_t last_index_ = 0;
  std::vector<estimate_state> estimates_;
  std::deque<task_source> tasks_;
  detail::winner_tree tasks_tree_;
  std::unordered_set<std::uint64_t> entered_;
  std::vector<kernel_source> kernel_;
  std::vector<perf_source> perf_;
  std::vector<std::deque<merged_record>> held_;
  std::deque<merged_record> external_;
  detail::winner_tree others_tree_;   ///< over the sources in the order of front()
  std::size_t source_ = 0;            ///< of the record that other() gave
  std::vector<std::size_t> left_on_;  ///< with kernel data, by task: the source that told that it left its CPU
  merged_record early_;
  const merged_record* looked_ = nullptr;
  merged_record raised_;
  void (*schedule_watcher_)(void*, merged_records&, const merged_record&) = nullptr;
  void* watcher_owner_ = nullptr;
  std::vector<file_fault> held_faults_;  ///< of perf files that were read at once
};

}  // namespace backsight::uftrace
