// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>
#include <vector>

#include <backsight/ftrace/pages.hpp>
#include <backsight/uftrace/merged_record.hpp>
#include <backsight/uftrace/recording.hpp>

// Source: uftrace's utils/kernel.c (read_kernel_cpu, get_kernel_record) and utils/kernel-parser.c (kparser_read_data).
namespace backsight::uftrace {

/// The events of one file of kernel data as records, one page after the other, without a filter.
class kernel_events {
 public:
  kernel_events(const recording& from, byte_view bytes, bool salvage) : from_(&from), bytes_(bytes), salvage_(salvage) {
    const kernel_header& header = from.kernel.header;
    type_ = header.common("common_type");
    pid_ = header.common("common_pid");
    if (!from.sessions.empty()) base_ = from.sessions.front().kernel_base;
  }

  /// Goes to the next event whose kind is known; false at the end. An unknown kind ends the file, as in uftrace, unless
  /// damage is to be passed over.
  [[nodiscard]] bool next() {
    while (!ended_) {
      if (at_ == page_.events.size()) {
        load_page();
        continue;
      }
      const ftrace::page_event& event = page_.events[at_++];
      if (take(event)) return true;
      faults_.push_back({errc::unknown_record, event.offset, event.data.size()});
      if (!salvage_) ended_ = true;
    }
    return false;
  }
  /// The record; data_index is not set.
  [[nodiscard]] const merged_record& current() const noexcept { return current_; }
  /// The task that it belongs to.
  [[nodiscard]] std::uint32_t tid() const noexcept { return tid_; }
  [[nodiscard]] const ftrace::page& page() const noexcept { return page_; }
  /// The number of lost events that the last page tells, until it is cleared; -1 for an unknown number, 0 for none.
  [[nodiscard]] std::int64_t lost() const noexcept { return lost_; }
  void clear_lost() noexcept { lost_ = 0; }
  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return faults_; }

 private:
  void load_page() {
    if (next_page_ >= bytes_.size()) {
      ended_ = true;
      return;
    }
    page_ = ftrace::read_page(from_->kernel.header.pages, bytes_, next_page_);
    at_ = 0;
    next_page_ += from_->kernel.header.pages.page_size;
    lost_ = page_.lost;
    if (page_.error) {
      const std::uint64_t end = std::min<std::uint64_t>(next_page_, bytes_.size());
      faults_.push_back({page_.error.code, page_.error.offset, end - page_.error.offset});
    }
  }

  [[nodiscard]] bool known(std::uint64_t tid) const {
    return from_->data_index.contains(static_cast<std::uint32_t>(tid));
  }

  [[nodiscard]] bool take(const ftrace::page_event& event) {
    const kernel_header& header = from_->kernel.header;
    const order o = header.pages.byte_order;
    const auto type = type_ == nullptr ? std::nullopt : type_->value(event.data, o);
    const ftrace::event_format* const format = type ? header.find(*type) : nullptr;
    if (format == nullptr || *type == 0) return false;
    const auto value = [&](const char* name) -> std::optional<std::uint64_t> {
      const ftrace::event_field* const field = format->find(name);
      return field == nullptr ? std::nullopt : field->value(event.data, o);
    };
    current_.time = event.time;
    current_.offset = event.offset;
    current_.source = record_source::kernel_file;
    tid_ = pid_ == nullptr ? 0 : static_cast<std::uint32_t>(pid_->value(event.data, o).value_or(0));
    const bool entry = format->name == "funcgraph_entry";
    if (format->system == "ftrace" && (entry || format->name == "funcgraph_exit")) {
      const auto function = value("func"), depth = value("depth");
      if (!function || !depth) return false;
      current_.type = entry ? record_type::entry : record_type::exit;
      // uftrace keeps as many bits of both as records have, and widens the address by the kernel's base.
      current_.address = (*function & largest_address) | base_;
      current_.depth = static_cast<std::uint16_t>(*depth % depth_levels);
      current_.more = false;
      current_.payload = {};
      return true;
    }
    current_.type = record_type::event;
    current_.address = format->id;
    current_.depth = 0;
    current_.more = true;
    current_.payload = event.data;
    // Some events are recorded by another task than the one they are about.
    if (!known(tid_)) {
      for (const char* const name : {"next_pid", "pid"}) {
        const auto other = value(name);
        if (!other || !known(*other)) continue;
        tid_ = static_cast<std::uint32_t>(*other);
        break;
      }
    }
    return true;
  }

  const recording* from_;
  byte_view bytes_;
  bool salvage_;
  bool ended_ = false;
  const ftrace::event_field* type_ = nullptr;
  const ftrace::event_field* pid_ = nullptr;
  std::uint64_t base_ = 0;
  std::uint32_t tid_ = 0;
  std::size_t next_page_ = 0, at_ = 0;
  std::int64_t lost_ = 0;
  ftrace::page page_;
  merged_record current_;
  std::vector<fault> faults_;
};

/// The records of one file of kernel data for the merge: those of recorded tasks, with the time filter. Reads ahead up
/// to the next exit, as uftrace does: a loss of events shows before the records read so far, and a task that moves to
/// another CPU can lose exits whose entries have not been read yet.
class kernel_source {
 public:
  /// `entered` holds the functions that were entered in any of the files: an exit of another one is left out.
  kernel_source(const recording& from, byte_view bytes, const merge_options& options,
                std::unordered_set<std::uint64_t>& entered)
      : from_(&from), options_(&options), entered_(&entered), events_(from, bytes, options.salvage) {}

  /// Goes to the first record or behind a loss or record; false at the end.
  [[nodiscard]] bool next() {
    if (current_.type == record_type::lost && !held_.empty()) {
      events_.clear_lost();
    } else if (!held_.empty()) {
      held_.pop_front();
    }
    while (held_.empty() || !shown(held_.front())) {
      if (!held_.empty()) held_.pop_front();
      if (held_.empty() && !read_ahead()) return false;
    }
    current_ = held_.front();
    time_ = current_.time;
    if (const std::int64_t lost = events_.lost(); lost != 0) {
      current_.type = record_type::lost;
      current_.time = 0;
      current_.address = static_cast<std::uint64_t>(lost);
      current_.more = false;
      current_.payload = {};
    }
    return true;
  }
  [[nodiscard]] const merged_record& current() const noexcept { return current_; }
  /// Where the record comes in the order of time: a loss comes right before the record behind it.
  [[nodiscard]] std::uint64_t time() const noexcept { return time_; }
  [[nodiscard]] const std::vector<fault>& faults() const noexcept { return events_.faults(); }

 private:
  /// A task without a file of its own is not shown.
  [[nodiscard]] bool shown(const merged_record& r) const noexcept {
    return from_->data[r.data_index].present && r.time >= options_->from && r.time <= options_->until;
  }
  [[nodiscard]] bool read_ahead() {
    std::uint32_t previous = 0;
    bool any = false;
    while (events_.next()) {
      const std::uint32_t tid = events_.tid();
      const auto found = from_->data_index.find(tid);
      if (found == from_->data_index.end()) continue;
      merged_record r = events_.current();
      r.data_index = found->second;
      if (!any) previous = tid;
      any = true;
      if (r.type == record_type::entry) {
        held_.push_back(r);
        entered_->insert(r.address);
      } else if (r.type == record_type::event) {
        held_.push_back(r);
      } else {
        if (!entered_->contains(r.address)) continue;
        std::size_t last = held_.size();
        while (last != 0 && held_[last - 1].is_event()) --last;
        if (last == 0 || r.time - held_[last - 1].time >= options_->shorter_than) {
          held_.push_back(r);
          break;
        }
        held_.resize(last - 1);
      }
      if (tid != previous) break;
      previous = tid;
    }
    return !held_.empty();
  }

  const recording* from_;
  const merge_options* options_;
  std::unordered_set<std::uint64_t>* entered_;
  kernel_events events_;
  std::uint64_t time_ = 0;
  merged_record current_;
  std::deque<merged_record> held_;
};

}  // namespace backsight::uftrace
