// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <backsight/memtrace/schema.hpp>

namespace backsight::memtrace {

/// What a record of a final trace is to those around it.
enum class record_role : std::uint8_t {
  other,        ///< Stands for itself.
  instruction,  ///< One that was executed: what waited in front of it is a part of it.
  pc_only,      ///< The PC of the data records behind it, in a filtered trace; what waits goes on waiting.
  in_front,     ///< ENCODING, BRANCH_TARGET: a part of the next instruction.
  repeated,  ///< RECORD_ORDINAL, which begins a chunk, and the TIMESTAMP and CPU_ID behind it: they were there before.
};

/// Tells the pair of markers behind a chunk's RECORD_ORDINAL, which repeats what stands in front of it.
class chunk_head {
 public:
  /// The next marker is the RECORD_ORDINAL or repeats one. To be asked of every marker once.
  constexpr bool repeats(marker_type marker) noexcept {
    switch (marker) {
      case marker_type::record_ordinal: return is_open_ = true;
      case marker_type::timestamp: return is_open_;
      case marker_type::cpu_id: return std::exchange(is_open_, false);
      default: return false;
    }
  }

 private:
  bool is_open_ = false;
};

/// Follows the records of one final file, one after the other: what each is to its neighbours, and what those so far
/// say about who runs what and when. Costs some comparisons for each.
class record_follower {
 public:
  /// The role of the next record, by its three members.
  constexpr record_role next(trace_type type, std::uint16_t size, std::uint64_t value) noexcept {
    if (is_instruction(type) || type == trace_type::instr_no_fetch) {
      pc_ = value;
      if (size == 0) return record_role::pc_only;
      has_target_ = std::exchange(target_waits_, false);
      return record_role::instruction;
    }
    switch (type) {
      case trace_type::encoding: return record_role::in_front;
      case trace_type::marker: return marker(static_cast<marker_type>(size), value);
      case trace_type::thread: tid_ = value; break;
      case trace_type::pid: pid_ = value; break;
      default: break;
    }
    return record_role::other;
  }
  template <class Address>
  constexpr record_role next(const record<basic_entry<Address>, order::little>& item) noexcept {
    return next(item[entry_head::type], item[entry_head::size], item[basic_entry<Address>::addr]);
  }

  /// Says whose records come next: for who begins behind the THREAD record that tells.
  constexpr void set_thread(std::uint64_t tid) noexcept { tid_ = tid; }

  [[nodiscard]] constexpr std::uint64_t tid() const noexcept { return tid_; }
  [[nodiscard]] constexpr std::uint64_t pid() const noexcept { return pid_; }
  /// The PC of the last instruction, and of the data records behind it.
  [[nodiscard]] constexpr std::uint64_t pc() const noexcept { return pc_; }
  /// Where the last instruction went, when a BRANCH_TARGET stood in front of it; known up to the next BRANCH_TARGET.
  [[nodiscard]] constexpr std::optional<std::uint64_t> branch_target() const noexcept {
    return has_target_ ? std::optional(target_) : std::nullopt;
  }
  /// The value of the last WINDOW_ID marker.
  [[nodiscard]] constexpr const std::optional<std::uint64_t>& window() const noexcept { return window_; }
  /// The value of the last TIMESTAMP marker, microseconds since 1601; 0 before the first.
  [[nodiscard]] constexpr std::uint64_t time() const noexcept { return time_; }

 private:
  constexpr record_role marker(marker_type which, std::uint64_t value) noexcept {
    if (which == marker_type::branch_target) {
      target_ = value;
      target_waits_ = true;
      has_target_ = false;
      return record_role::in_front;
    }
    if (which == marker_type::timestamp) time_ = value;
    else if (which == marker_type::window_id) window_ = value;
    return chunk_head_.repeats(which) ? record_role::repeated : record_role::other;
  }

  std::optional<std::uint64_t> window_;
  std::uint64_t pc_ = 0, tid_ = 0, pid_ = 0, time_ = 0, target_ = 0;
  bool target_waits_ = false;  ///< It is that of the next instruction.
  bool has_target_ = false;    ///< It is that of the last one.
  chunk_head chunk_head_;
};

}  // namespace backsight::memtrace
