// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include <backsight/uftrace/detail/winner_tree.hpp>
#include <backsight/uftrace/resolver.hpp>
#include <backsight/uftrace/time_index.hpp>

// All records of a recording in the order of time. Source: uftrace's utils/fstack.c (read_rstack), utils/perf.c, utils/extern.c.
namespace backsight::uftrace {

/// Where a merged record comes from, in the order in which equal times come out.
enum class record_source : std::uint8_t { task_file, perf_file, external_file };

/// A record of any source. Values and data are views of the recording's bytes.
struct merged_record {
  std::uint64_t time = 0;
  std::uint64_t address = 0;       ///< of the function; event id; number of lost records
  std::uint32_t data_index = 0;    ///< of the task in recording::data
  std::uint16_t depth = 0;
  record_type type = record_type::entry;
  record_source source = record_source::task_file;
  bool more = false;               ///< it has values or data
  byte_view payload;               ///< values with their padding; data of an event without padding
  std::uint64_t offset = 0;        ///< in its file

  [[nodiscard]] bool is_event() const noexcept { return type == record_type::event; }
  [[nodiscard]] bool is_sched_in() const noexcept { return is_event() && address == sched_in; }
  [[nodiscard]] bool is_sched_out() const noexcept {
    return is_event() && (address == sched_out || address == sched_out_preempted);
  }
};

struct merge_options {
  std::uint64_t shorter_than = 0;  ///< leave out functions and waits that took less, in nanoseconds
  bool scheduler = true;           ///< include the perf files
  bool external = false;           ///< include extern.dat
  bool salvage = false;            ///< go on behind damage; otherwise a task ends there, as in uftrace
  std::uint64_t from = 0;          ///< leave out what lies before this time
  std::uint64_t until = ~std::uint64_t{0};  ///< and after this one
  std::uint64_t closes_at = 0;     ///< when functions end that are open at the end; 0: with the last record of their task
  /// Indices of the task files by their place in recording::data, to find `from` where records have payloads; without them
  /// such a file is read from its start. Must outlive the merge.
  const std::vector<time_index>* indices = nullptr;
};

/// Damage in a task file.
struct task_fault {
  std::uint32_t data_index = 0;
  backsight::fault fault;
};

namespace detail {

/// The records of one task file with a look-ahead of one, and the time filter.
class task_source {
 public:
  task_source(resolver& names, std::uint32_t index, const merge_options& options)
      : options_(&options), index_(index), little_(names.source().info.byte_order == order::little) {
    if (little_) little_at_ = open<order::little>(little_range_, names);
    else big_at_ = open<order::big>(big_range_, names);
    has_ = advance();
  }

  [[nodiscard]] bool has() const noexcept { return has_; }
  [[nodiscard]] merged_record& current() noexcept { return current_; }
  void next() { has_ = advance(); }

  /// Gives the plain records from the current one on to `f` until it gives false, their time passes `bound` (or reaches it,
  /// when not `inclusive`) or another kind of record comes. Gives the number of those that `f` took.
  template <order O, class F>
  [[gnu::always_inline]] std::size_t run(std::uint64_t bound, bool inclusive, F&& f) {
    if constexpr (O == order::little) return run_in<O>(little_range_, little_at_, bound, inclusive, f);
    else return run_in<O>(big_range_, big_at_, bound, inclusive, f);
  }

  /// The faults met so far.
  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return faults_; }
  /// What uftrace takes for the time of the last record after damage, where it differs.
  [[nodiscard]] std::optional<std::uint64_t> damaged_time() const noexcept { return damaged_time_; }

 private:
  /// Sets the range to the part of the file that options.from and options.until leave, as far as that can be told; decode()
  /// leaves out what is outside of them all the same.
  template <order O>
  [[nodiscard]] typename task_records<O>::iterator open(task_records<O>& range, resolver& names) const {
    const byte_view bytes = names.source().data[index_].bytes;
    range = task_records<O>(bytes, names.sizes_for(index_));
    const bool has_index = options_->indices != nullptr && index_ < options_->indices->size();
    const file_part part = part_between(range, names.source().info, has_index ? &(*options_->indices)[index_] : nullptr, options_->from, options_->until);
    range = task_records<O>(bytes.first(part.end), range.context());
    return range.at(part.begin, range.context());
  }

  bool advance() {
    if (options_->shorter_than == 0) return decode();
    while (held_.empty() || !released_) {
      if (!decode()) {
        released_ = true;
        break;
      }
      hold();
    }
    if (held_.empty()) return false;
    current_ = held_.front();
    held_.pop_front();
    if (held_.empty()) released_ = false;
    return true;
  }

  /// Entries wait until it is known how long they took.
  void hold() {
    if (current_.type == record_type::exit) {
      const auto entry = std::find_if(held_.rbegin(), held_.rend(),
                                      [](const merged_record& r) { return r.type == record_type::entry; });
      if (entry != held_.rend() && current_.time - entry->time < options_->shorter_than) {
        held_.erase(entry.base() - 1, held_.end());
        return;
      }
      released_ = true;
    } else if (current_.type == record_type::lost ||
               (current_.type == record_type::event && current_.address >= first_user_event)) {
      released_ = true;
    }
    held_.push_back(current_);
  }

  bool decode() {
    for (;;) {
      if (!decode_any()) return false;
      if (current_.time >= options_->from && current_.time <= options_->until) [[likely]] return true;
    }
  }

  bool decode_any() {
    return little_ ? decode_from<order::little>(little_range_, little_at_) : decode_from<order::big>(big_range_, big_at_);
  }

  template <order O, class F>
  [[gnu::always_inline]] std::size_t run_in(task_records<O>& range, typename task_records<O>::iterator& at, std::uint64_t bound, bool inclusive, F& f) {
    using common = backsight::detail::common_of<task_format<O>>;
    const std::byte* const first = range.bytes().data() + current_.offset;
    const std::byte* const end = range.bytes().data() + range.bytes().size();
    const std::uint64_t past = std::min(inclusive ? bound : bound - 1, options_->until);
    if (!has_ || (!inclusive && bound == 0)) return 0;
    const std::byte* here = first;
    for (; static_cast<std::size_t>(end - here) >= common::size && common::difference(here) == 0; here += common::size) {
      const record<function_record<O>, O> item(here);
      if (item[record_head::time] > past || !f(item)) break;
    }
    if (here == first) return 0;
    take<O>({here - common::size, common::size}, current_.offset + static_cast<std::uint64_t>(here - first) - common::size);
    at = range.at(static_cast<std::size_t>(here - range.bytes().data()), at.context());
    has_ = advance();
    return static_cast<std::size_t>(here - first) / common::size;
  }

  template <order O>
  [[gnu::always_inline]] bool decode_from(task_records<O>& range, typename task_records<O>::iterator& at) {
    if (at == std::default_sentinel) [[unlikely]] {
      if (!end<O>(range, at)) return false;
      if (at == std::default_sentinel) return true;
    }
    const auto item = *at;
    take<O>(item.bytes(), item.offset());
    if (item.kind() != 0) [[unlikely]] {
      if (item.template is<function_with_values<O>>()) current_.payload = item.template as<function_with_values<O>>().payload();
      else if (item.template is<event_with_data<O>>()) current_.payload = event_data<O>(item.template as<event_with_data<O>>());
    }
    ++at;
    return true;
  }

  template <order O>
  [[gnu::always_inline]] void take(byte_view bytes, std::uint64_t offset) {
    const record<function_record<O>, O> head(bytes.data());
    current_.time = head[record_head::time];
    current_.address = head[record_head::address];
    current_.depth = head[record_head::depth];
    current_.type = head[record_head::type];
    current_.more = head[record_head::more];
    current_.data_index = index_;
    current_.offset = offset;
    current_.payload = {};
  }

  /// At the end or at damage: true when there is one more record, either at `at` behind the damage or, with `at` at the end,
  /// as current().
  template <order O>
  [[gnu::noinline]] bool end(task_records<O>& range, typename task_records<O>::iterator& at) {
    const trace_error error = at.error();
    if (!error || ended_) return false;
    const byte_view bytes = range.bytes();
    const auto position = static_cast<std::size_t>(error.offset);
    // Reading overwrites the time of the last record even when the new one turns out to be broken.
    if (current_.type == record_type::exit || current_.type == record_type::lost) {
      std::array<std::byte, 8> raw{};
      store<O>(raw.data(), current_.time);
      for (std::size_t i = 0; i < raw.size() && position + i < bytes.size(); ++i) raw[i] = bytes[position + i];
      damaged_time_ = load<std::uint64_t, O>(raw.data());
    }
    const bool whole_head = bytes.size() - position >= 16;
    const bool cut_values = error.code == errc::truncated && whole_head && bytes.size() - position > 16 &&
                            (load<std::uint64_t, O>(bytes.data() + position + 8) & 0x3e) == 0x2c;
    std::size_t next = bytes.size();
    auto context = at.context();
    if (options_->salvage && !cut_values) next = task_format<O>::resync(bytes, position + 1, context);
    faults_.push_back({error.code, error.offset, next - position});
    if (cut_values) {
      // The function is known, its values are not whole: what is there is given.
      ended_ = true;
      take<O>(bytes.subspan(position), error.offset);
      current_.payload = bytes.subspan(position + 16);
      return true;
    }
    if (next >= bytes.size()) {
      ended_ = true;
      return false;
    }
    at = range.at(next, context);
    return at != std::default_sentinel;
  }

  const merge_options* options_;
  std::uint32_t index_;
  bool little_;
  bool has_ = false;
  bool ended_ = false;
  bool released_ = false;
  merged_record current_;
  task_records<order::little> little_range_;
  task_records<order::big> big_range_;
  task_records<order::little>::iterator little_at_;
  task_records<order::big>::iterator big_at_;
  std::deque<merged_record> held_;
  std::vector<fault> faults_;
  std::optional<std::uint64_t> damaged_time_;
};

/// The records of one perf file that uftrace uses.
class perf_source {
 public:
  /// Only records from the time `first` on up to `last`.
  perf_source(const recording& from, byte_view bytes, std::uint64_t first = 0, std::uint64_t last = ~std::uint64_t{0})
      : from_(&from), first_(first), last_(last), little_(from.info.byte_order == order::little) {
    if (little_) little_at_ = perf_records<order::little>(bytes).begin();
    else big_at_ = perf_records<order::big>(bytes).begin();
  }
  /// Goes to the next record of a known task.
  [[nodiscard]] bool next() { return little_ ? next_from<order::little>(little_at_) : next_from<order::big>(big_at_); }
  [[nodiscard]] const merged_record& current() const noexcept { return current_; }
  [[nodiscard]] std::uint32_t tid() const noexcept { return tid_; }
  [[nodiscard]] trace_error error() const noexcept { return little_ ? little_at_.error() : big_at_.error(); }

 private:
  template <order O>
  bool next_from(typename perf_records<O>::iterator& at) {
    for (; at != std::default_sentinel; ++at) {
      const auto item = *at;
      if (!take<O>(item) || current_.time < first_ || current_.time > last_) continue;
      const auto found = from_->data_index.find(tid_);
      if (found == from_->data_index.end() || !from_->data[found->second].present) continue;
      current_.data_index = found->second;
      current_.offset = item.offset();
      ++at;
      return true;
    }
    return false;
  }

  template <order O>
  bool take(const any_record<perf_format<O>>& item) {
    current_ = {};
    current_.type = record_type::event;
    current_.source = record_source::perf_file;
    if (item.template is<perf_switch>()) {
      const auto r = item.template as<perf_switch>();
      const std::uint16_t misc = r[perf_head::misc];
      current_.time = r[perf_switch::time];
      current_.address = (misc & perf_misc_out) == 0 ? sched_in : (misc & perf_misc_preempted) != 0 ? sched_out_preempted : sched_out;
      tid_ = r[perf_switch::tid];
      return true;
    }
    if (item.template is<perf_task>()) {
      const auto r = item.template as<perf_task>();
      current_.time = r[perf_task::time];
      current_.address = r[perf_head::type] == 7 ? task_new : task_exit;
      tid_ = r[perf_task::tid];
      return true;
    }
    if (!item.template is<perf_comm>()) return false;
    const auto r = item.template as<perf_comm>();
    const byte_view rest = r.payload();
    if (rest.size() < 16) return false;
    const byte_view name = rest.first(rest.size() - 16);
    current_.time = load<std::uint64_t, O>(rest.data() + rest.size() - 8);
    current_.address = task_name;
    current_.more = true;
    std::size_t length = 0;
    while (length < name.size() && name[length] != std::byte{0}) ++length;
    current_.payload = name.first(length);
    tid_ = r[perf_comm::tid];
    return true;
  }

  const recording* from_;
  std::uint64_t first_, last_;
  bool little_;
  merged_record current_;
  std::uint32_t tid_ = 0;
  perf_records<order::little>::iterator little_at_;
  perf_records<order::big>::iterator big_at_;
};

}  // namespace detail

/// The records of all tasks, of the scheduler and of extern.dat in the order of time, ties as uftrace breaks them. Reads
/// each file once, front to back; costs log2(tasks) comparisons for a record and no allocation (but with a time filter).
/// The resolver must outlive it.
class merge {
 public:
  merge(resolver& names, merge_options options)
      : names_(&names), from_(&names.source()), options_(options), estimating_(from_->info.has(feature::estimate_return)),
        estimates_(from_->data.size()), tasks_tree_(from_->data.size()) {
    for (std::uint32_t i = 0; i < from_->data.size(); ++i) {
      tasks_.emplace_back(names, i, options_);
      if (tasks_[i].has()) tasks_tree_.set(i, tasks_[i].current().time);
    }
    if (options_.scheduler) {
      for (const perf_data& file : from_->perf) perf_.emplace_back(*from_, file.bytes, options_.from, options_.until);
      if (options_.shorter_than != 0) hold_scheduler();
    }
    if (options_.external) read_external();
    others_tree_ = detail::winner_tree(perf_.size() + held_.size() + 1);
    for (std::size_t i = 0; i < perf_.size(); ++i) {
      if (perf_[i].next()) others_tree_.set(i, perf_[i].current().time);
    }
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (!held_[i].empty()) others_tree_.set(perf_.size() + i, held_[i].front().time);
    }
    if (!external_.empty()) others_tree_.set(perf_.size() + held_.size(), external_.front().time);
    others_ = !others_tree_.empty();
  }
  merge(const merge&) = delete;
  merge& operator=(const merge&) = delete;

  /// The next record, or null at the end; valid until next().
  [[nodiscard]] const merged_record* peek() {
    if (estimating_ && !tasks_tree_.empty()) adjust_estimate();
    const bool task_first = !tasks_tree_.empty() && (!others_ || others_tree_.empty() || tasks_tree_.time() <= others_tree_.time());
    if (task_first) return &tasks_[tasks_tree_.winner()].current();
    if (!others_ || others_tree_.empty()) return nullptr;
    return &other();
  }

  /// Takes the next record; false at the end.
  [[nodiscard]] bool next(merged_record& out) {
    const merged_record* const found = peek();
    if (found == nullptr) return false;
    out = *found;
    if (out.source == record_source::task_file) {
      detail::task_source& source = tasks_[out.data_index];
      source.next();
      if (source.has()) tasks_tree_.set(out.data_index, source.current().time);
      else tasks_tree_.end(out.data_index);
    } else {
      if (out.source == record_source::external_file) out.data_index = last_index_;
      advance_other();
    }
    last_index_ = out.data_index;
    return true;
  }

  /// Gives plain entries and exits that come next, all of one task, to `f(data_index, record<function_record<O>, O>)` until
  /// it gives false, the turn comes to another task or source, or another kind of record comes; gives how many it took.
  /// Much cheaper than next() where tasks do not alternate all the time. O is the byte order of the recording.
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
    const std::size_t taken = tasks_[i].template run<O>(bound, inclusive, [&](const auto& item) __attribute__((always_inline)) { return f(index, item); });
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
  /// For recordings whose exit times are invented (feature estimate_return): a scheduler event inside the function whose
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
  /// merge_options::shorter_than.
  [[nodiscard]] std::uint64_t shorter_than() const noexcept { return options_.shorter_than; }
  /// merge_options::closes_at.
  [[nodiscard]] std::uint64_t closes_at() const noexcept { return options_.closes_at; }
  [[nodiscard]] resolver& names() const noexcept { return *names_; }
  [[nodiscard]] const recording& source() const noexcept { return *from_; }

 private:
  struct estimate_state {
    std::uint64_t now = 0, next = 0;
  };

  void adjust_estimate() {
    const std::size_t i = tasks_tree_.winner();
    estimate_state& e = estimates_[i];
    if (e.now == 0) return;
    merged_record& r = tasks_[i].current();
    if (r.type == record_type::exit && r.time <= e.now) {
      r.time = ++e.now;
      tasks_tree_.set(i, r.time);
    } else {
      e = {};
    }
  }

  [[nodiscard]] const merged_record& other() {
    const std::size_t i = others_tree_.winner();
    if (i < perf_.size()) return perf_[i].current();
    if (i < perf_.size() + held_.size()) return held_[i - perf_.size()].front();
    external_.front().data_index = last_index_;
    return external_.front();
  }

  void advance_other() {
    const std::size_t i = others_tree_.winner();
    const auto go_on = [&](std::deque<merged_record>& list) {
      list.pop_front();
      if (list.empty()) others_tree_.end(i);
      else others_tree_.set(i, list.front().time);
    };
    if (i < perf_.size()) {
      if (perf_[i].next()) others_tree_.set(i, perf_[i].current().time);
      else others_tree_.end(i);
    } else if (i < perf_.size() + held_.size()) {
      go_on(held_[i - perf_.size()]);
    } else {
      go_on(external_);
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
      if (r.is_sched_in() && !list.empty() && list.back().is_sched_out() && r.time - list.back().time < options_.shorter_than) {
        list.pop_back();
      } else {
        list.push_back(r);
      }
      if (perf_[i].next()) tree.set(i, perf_[i].current().time);
      else tree.end(i);
    }
    perf_.clear();
  }

  void read_external() {
    detail::lines text(detail::as_text(from_->external));
    while (text.next()) {
      std::string_view rest = text.line();
      if (rest.empty() || rest.front() == '#') continue;
      const auto time = detail::take_time(rest);
      if (!time || *time < options_.from || *time > options_.until) continue;
      while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
      if (rest.empty()) continue;
      rest = rest.substr(0, 1023);
      merged_record r;
      r.time = *time;
      r.address = external_data;
      r.type = record_type::event;
      r.source = record_source::external_file;
      r.more = true;
      r.payload = {reinterpret_cast<const std::byte*>(rest.data()), rest.size()};
      r.offset = text.offset();
      external_.push_back(r);
    }
  }

  resolver* names_;
  const recording* from_;
  merge_options options_;
  bool estimating_;
  bool others_ = false;
  std::uint32_t last_index_ = 0;
  std::vector<estimate_state> estimates_;
  std::deque<detail::task_source> tasks_;
  detail::winner_tree tasks_tree_;
  std::vector<detail::perf_source> perf_;
  std::vector<std::deque<merged_record>> held_;
  std::deque<merged_record> external_;
  detail::winner_tree others_tree_;
};

}  // namespace backsight::uftrace
