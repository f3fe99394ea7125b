// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

#include <backsight/memtrace/schema.hpp>

namespace backsight::memtrace {

/// Whose the records of a final file are, and of which window: told from the records themselves, one after the other. A
/// record belongs to the window of the last WINDOW_ID marker of its thread, at or before it. Memory grows with the
/// threads of the file.
template <class Address>
class basic_record_place {
 public:
  using any = basic_entry<Address>;

  /// Takes the next record, to which tid() and window() apply then.
  void on(const record<any, order::little>& item) {
    const trace_type type = item[any::type];
    if (type == trace_type::thread) return enter(item[any::addr]);
    if (type != trace_type::marker || static_cast<marker_type>(item[any::size]) != marker_type::window_id) return;
    window_ = item[any::addr];
  }

  [[nodiscard]] std::uint64_t tid() const noexcept { return tid_; }
  /// Empty before the first marker.
  [[nodiscard]] const std::optional<std::uint64_t>& window() const noexcept { return window_; }

 private:
  void enter(std::uint64_t tid) {
    if (named_ && tid == tid_) return;
    // What stands in front of the first THREAD is the first thread's.
    if (named_) {
      left_[tid_] = window_;
      const auto found = left_.find(tid);
      window_ = found == left_.end() ? std::nullopt : found->second;
    }
    named_ = true;
    tid_ = tid;
  }

  std::uint64_t tid_ = 0;
  std::optional<std::uint64_t> window_;
  std::unordered_map<std::uint64_t, std::optional<std::uint64_t>> left_;  ///< of threads that may go on later
  bool named_ = false;
};

using record_place = basic_record_place<std::uint64_t>;

}  // namespace backsight::memtrace
