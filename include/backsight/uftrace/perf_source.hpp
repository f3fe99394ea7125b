// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <backsight/uftrace/merged_record.hpp>
#include <backsight/uftrace/recording.hpp>
#include <backsight/uftrace/records.hpp>

// Source: uftrace's utils/perf.c.
namespace backsight::uftrace {

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
      current_.address = (misc & perf_misc_out) == 0         ? sched_in
                         : (misc & perf_misc_preempted) != 0 ? sched_out_preempted
                                                             : sched_out;
      tid_ = r[perf_switch::tid];
      return true;
    }
    if (item.template is<perf_task>()) {
      const auto r = item.template as<perf_task>();
      current_.time = r[perf_task::time];
      current_.address = r[perf_head::type] == perf_type::fork ? task_new : task_exit;
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

}  // namespace backsight::uftrace
