// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include <backsight/memtrace/references.hpp>

namespace backsight::memtrace {

/// The system calls of one thread, by number, told from the markers SYSCALL, MAYBE_BLOCKING_SYSCALL and SYSCALL_FAILED,
/// and from the TIMESTAMP markers around them, which are true times from version 6 of the format on.
class syscall_counts {
 public:
  struct uses {
    std::uint64_t count = 0;
    std::uint64_t may_block = 0;
    std::uint64_t failed = 0;
    std::uint64_t timed = 0;  ///< those behind which a TIMESTAMP stands, and no other instruction
    std::uint64_t time = 0;   ///< of those, microseconds from the TIMESTAMP in front to that behind
    uses& operator+=(const uses& other) noexcept {
      count += other.count;
      may_block += other.may_block;
      failed += other.failed;
      timed += other.timed;
      time += other.time;
      return *this;
    }
  };

  void on(const reference& item) {
    if (is_instruction(item.type)) {
      // A kernel's own instructions are part of the call.
      if (kernel_ == 0) open_.reset();
      return;
    }
    if (item.type != trace_type::marker) return;
    switch (item.marker()) {
      case marker_type::timestamp:
        if (open_ && item.address >= time_) {
          ++counts_[*open_].timed;
          counts_[*open_].time += item.address - time_;
          open_.reset();
        }
        time_ = item.address;
        has_time_ = true;
        return;
      case marker_type::syscall:
        number_ = item.address;
        ++counts_[item.address].count;
        open_ = has_time_ ? std::optional(item.address) : std::nullopt;
        return;
      case marker_type::maybe_blocking_syscall:
        if (number_) ++counts_[*number_].may_block;
        return;
      case marker_type::syscall_failed:
        if (number_) ++counts_[*number_].failed;
        return;
      case marker_type::syscall_trace_start: ++kernel_; return;
      case marker_type::syscall_trace_end:
        if (kernel_ != 0) --kernel_;
        return;
      // What is behind a gap is not the end of a call.
      case marker_type::window_id: open_.reset(); return;
      default: return;
    }
  }
  [[nodiscard]] const std::map<std::uint64_t, uses>& counts() const noexcept { return counts_; }

 private:
  std::map<std::uint64_t, uses> counts_;
  std::optional<std::uint64_t> number_, open_;
  std::uint64_t time_ = 0, kernel_ = 0;
  bool has_time_ = false;
};

}  // namespace backsight::memtrace
