// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include <backsight/memtrace/pc_set.hpp>
#include <backsight/memtrace/record_follower.hpp>
#include <backsight/memtrace/records.hpp>

namespace backsight::memtrace {

/// Numbers of records, as the tool basic_counts of DynamoRIO defines them (clients/drcachesim/tools/basic_counts.cpp).
/// Records that its tools never see are left out: HEADER, FOOTER, THREAD, PID, ENCODING, BRANCH_TARGET, RECORD_ORDINAL
/// and the repeated TIMESTAMP and CPU_ID at the start of a chunk.
struct record_counts {
  std::uint64_t instructions = 0;  ///< Types 10 to 16, 31, 48 and 49 with a size.
  std::uint64_t unique_pcs = 0;    ///< Different PCs of those.
  std::uint64_t kernel_instructions =
      0;                          ///< Those inside of a system call's, context switch's or hardware event's trace.
  std::uint64_t non_fetched = 0;  ///< Type 29: further iterations of a string instruction.
  std::uint64_t kernel_non_fetched = 0;
  std::uint64_t prefetches = 0;
  std::uint64_t loads = 0;
  std::uint64_t stores = 0;
  std::uint64_t icache_flushes = 0;
  std::uint64_t dcache_flushes = 0;
  std::uint64_t time_and_cpu = 0;  ///< TIMESTAMP and CPU_ID.
  std::uint64_t idle = 0;
  std::uint64_t wait = 0;
  std::uint64_t kernel_transfers = 0;  ///< KERNEL_EVENT and KERNEL_XFER.
  std::uint64_t hardware_transfers = 0;
  std::uint64_t function_ids = 0;
  std::uint64_t function_return_addresses = 0;
  std::uint64_t function_arguments = 0;
  std::uint64_t function_return_values = 0;
  std::uint64_t physical_pairs = 0;
  std::uint64_t physical_unavailable = 0;
  std::uint64_t syscalls = 0;
  std::uint64_t blocking_syscalls = 0;
  std::uint64_t skipped_memrefs = 0;
  std::uint64_t other_markers = 0;
  std::uint64_t encodings = 0;  ///< Instructions that came with a new encoding.
  std::uint64_t exits = 0;      ///< THREAD_EXIT records.

  /// Adds everything but unique_pcs, which does not add up: the same PC may be in both.
  constexpr record_counts& operator+=(const record_counts& other) noexcept {
    constexpr std::uint64_t record_counts::* members[]{&record_counts::instructions,
                                                       &record_counts::kernel_instructions,
                                                       &record_counts::non_fetched,
                                                       &record_counts::kernel_non_fetched,
                                                       &record_counts::prefetches,
                                                       &record_counts::loads,
                                                       &record_counts::stores,
                                                       &record_counts::icache_flushes,
                                                       &record_counts::dcache_flushes,
                                                       &record_counts::time_and_cpu,
                                                       &record_counts::idle,
                                                       &record_counts::wait,
                                                       &record_counts::kernel_transfers,
                                                       &record_counts::hardware_transfers,
                                                       &record_counts::function_ids,
                                                       &record_counts::function_return_addresses,
                                                       &record_counts::function_arguments,
                                                       &record_counts::function_return_values,
                                                       &record_counts::physical_pairs,
                                                       &record_counts::physical_unavailable,
                                                       &record_counts::syscalls,
                                                       &record_counts::blocking_syscalls,
                                                       &record_counts::skipped_memrefs,
                                                       &record_counts::other_markers,
                                                       &record_counts::encodings,
                                                       &record_counts::exits};
    for (const auto member : members) this->*member += other.*member;
    return *this;
  }
  [[nodiscard]] friend constexpr bool operator==(const record_counts&, const record_counts&) = default;
};

/// The counts of one thread in one window; `window` is empty before the first WINDOW_ID marker.
struct section_counts {
  std::uint64_t tid = 0;
  std::optional<std::uint64_t> window;
  record_counts counts;
  [[nodiscard]] friend constexpr bool operator==(const section_counts&, const section_counts&) = default;
};

/// Counts the records of one final file, thread by thread and window by window, from pieces of any number of whole
/// records. A record belongs to the window of the last WINDOW_ID marker at or before it. Memory grows with the code
/// addresses and the windows, not with the trace. 64-bit record layout or, as basic_final_counter<std::uint32_t>,
/// 32-bit.
template <class Address>
class basic_final_counter {
  using any = basic_entry<Address>;
  using entry = record<any, order::little>;
  static constexpr std::size_t step = size_of<any>;

 public:
  basic_final_counter() { pcs_.attach(threads_[0].window_pcs); }
  basic_final_counter(const basic_final_counter&) = delete;
  basic_final_counter& operator=(const basic_final_counter&) = delete;
  basic_final_counter(basic_final_counter&&) = default;
  basic_final_counter& operator=(basic_final_counter&&) = default;
  ~basic_final_counter() = default;

  /// Counts the records in `bytes`, of which an incomplete one at the end is left out. Gives errc::unknown_record for a
  /// record of no known type, errc::bad_size for more bytes than one has room for, with its offset in the bytes of all
  /// feeds; those before it are counted.
  trace_error feed(byte_view bytes) {
    const std::byte* at = bytes.data();
    const std::byte* const end = at + bytes.size() / step * step;
    trace_error error;
    for (;;) {
      hot_counts hot;
      at = count_hot(at, end, hot);
      add(hot);
      if (at == end) break;
      const entry item(at);
      if (const errc bad = entry_error(item); bad != errc::ok) {
        error = {bad, records_ * step + static_cast<std::uint64_t>(at - bytes.data())};
        break;
      }
      rare(item[any::type], item[any::size], item[any::addr]);
      at += step;
    }
    records_ += static_cast<std::uint64_t>(at - bytes.data()) / step;
    return error;
  }

  /// Closes the last window; to be called once behind the last feed, before the results are read.
  void finish() {
    for (thread_state& state : threads_) leave(state);
  }

  /// One entry for each thread and window in the order of their first record.
  [[nodiscard]] const std::vector<section_counts>& sections() const noexcept { return sections_; }
  /// All records, also those that are not counted.
  [[nodiscard]] std::uint64_t records() const noexcept { return records_; }
  /// The PCs of all instructions of the file. Precondition: finish() was called.
  [[nodiscard]] pc_set all_pcs() const {
    pc_set all;
    for (const thread_state& state : threads_) all += state.all;
    return all;
  }
  /// The last window ordinal of the file, if there was one.
  [[nodiscard]] std::optional<std::uint64_t> last_window() const noexcept { return last_window_; }
  /// The value of the FILETYPE marker, if there was one.
  [[nodiscard]] std::optional<std::uint64_t> file_type() const noexcept { return file_type_; }

 private:
  struct thread_state {
    std::uint64_t tid = 0;
    bool named = false;  ///< A THREAD record was seen.
    std::size_t section = 0;
    std::optional<std::uint64_t> window;
    pc_set window_pcs, all;
  };
  static_assert(static_cast<unsigned>(trace_type::read) == 0 && static_cast<unsigned>(trace_type::write) == 1);

  /// Records that only have to be counted; joined with the section when that changes.
  struct hot_counts {
    std::uint64_t instructions = 0, loads = 0, stores = 0, prefetches = 0, non_fetched = 0, encodings = 0;
  };

  /// Counts records up to one that needs more than that, and gives its place. A function of its own with local state:
  /// inlined into its caller, GCC 12 and Clang 19 keep the position and the flag in memory, which costs a third of the
  /// speed.
  [[nodiscard]] [[gnu::noinline]] const std::byte* count_hot(const std::byte* at, const std::byte* end,
                                                             hot_counts& hot) {
    hot_counts now;
    std::uint64_t data = 0;
    unsigned pending = pending_;
    for (; at != end; at += step) {
      const entry item(at);
      const trace_type type = item[any::type];
      if (is_instruction(type)) {
        if (item[any::size] == 0) [[unlikely]]
          continue;
        pcs_.insert(item[any::addr]);
        ++now.instructions;
        now.encodings += pending;
        pending = 0;
      } else if (type == trace_type::read || type == trace_type::write) {
        now.stores += static_cast<unsigned>(type);
        ++data;
      } else if (type == trace_type::encoding) {
        if (item[any::size] > sizeof(Address)) [[unlikely]]
          break;
        pending = 1;
      } else if (is_marker(item, marker_type::branch_target)) {
        // Part of the instruction that follows.
      } else if (type == trace_type::instr_no_fetch) {
        if (item[any::size] == 0) continue;
        ++now.non_fetched;
        now.encodings += pending;
        pending = 0;
      } else if (is_prefetch(type)) {
        ++now.prefetches;
      } else {
        break;
      }
    }
    pending_ = pending;
    now.loads = data - now.stores;
    hot = now;
    return at;
  }

  /// Adds to the current section.
  void add(const hot_counts& hot) noexcept {
    record_counts& now = sections_[current_].counts;
    now.instructions += hot.instructions;
    now.loads += hot.loads;
    now.stores += hot.stores;
    now.prefetches += hot.prefetches;
    now.non_fetched += hot.non_fetched;
    now.encodings += hot.encodings;
    if (kernel_depth_ != 0) {
      now.kernel_instructions += hot.instructions;
      now.kernel_non_fetched += hot.non_fetched;
    }
  }

  void rare(trace_type type, std::uint16_t size, std::uint64_t value) {
    record_counts& now = sections_[current_].counts;
    switch (type) {
      case trace_type::marker: return on_marker(static_cast<marker_type>(size), value);
      case trace_type::thread: return on_thread(value);
      case trace_type::thread_exit: ++now.exits; return;
      case trace_type::instr_flush: ++now.icache_flushes; return;
      case trace_type::data_flush: ++now.dcache_flushes; return;
      default: return;
    }
  }

  void on_marker(marker_type type, std::uint64_t value) {
    if (chunk_head_.repeats(type)) return;
    if (type == marker_type::window_id && threads_[thread_].window != value) enter_window(value);
    record_counts& now = sections_[current_].counts;
    switch (type) {
      case marker_type::timestamp:
      case marker_type::cpu_id: ++now.time_and_cpu; return;
      case marker_type::core_idle: ++now.idle; return;
      case marker_type::core_wait: ++now.wait; return;
      case marker_type::kernel_event:
      case marker_type::kernel_xfer: ++now.kernel_transfers; return;
      case marker_type::hardware_event:
        ++now.hardware_transfers;
        ++kernel_depth_;
        return;
      case marker_type::hardware_context_return:
        ++now.hardware_transfers;
        if (kernel_depth_ != 0) --kernel_depth_;
        return;
      case marker_type::func_id: ++now.function_ids; return;
      case marker_type::func_retaddr: ++now.function_return_addresses; return;
      case marker_type::func_arg: ++now.function_arguments; return;
      case marker_type::func_retval: ++now.function_return_values; return;
      case marker_type::physical_address: ++now.physical_pairs; return;
      case marker_type::virtual_address: return;
      case marker_type::physical_address_not_available: ++now.physical_unavailable; return;
      case marker_type::syscall: ++now.syscalls; return;
      case marker_type::maybe_blocking_syscall: ++now.blocking_syscalls; return;
      case marker_type::skipped_memref: ++now.skipped_memrefs; return;
      case marker_type::branch_target: return;
      case marker_type::syscall_trace_start:
      case marker_type::context_switch_start: ++kernel_depth_; break;
      case marker_type::syscall_trace_end:
      case marker_type::context_switch_end:
        if (kernel_depth_ != 0) --kernel_depth_;
        break;
      case marker_type::filetype: file_type_ = value; break;
      default: break;
    }
    ++now.other_markers;
  }

  void on_thread(std::uint64_t tid) {
    thread_state& now = threads_[thread_];
    if (!now.named) {
      now.named = true;
      now.tid = sections_[now.section].tid = tid;
      return;
    }
    if (now.tid == tid) return;
    if (thread_of_.empty()) thread_of_.emplace(now.tid, 0);
    const auto [found, added] = thread_of_.emplace(tid, threads_.size());
    thread_ = found->second;
    if (added) {
      threads_.push_back({});
      threads_.back().tid = tid;
      threads_.back().named = true;
      threads_.back().section = sections_.size();
      sections_.push_back({tid, {}, {}});
    }
    current_ = threads_[thread_].section;
    pcs_.attach(threads_[thread_].window_pcs);
  }

  void enter_window(std::uint64_t ordinal) {
    thread_state& now = threads_[thread_];
    leave(now);
    now.window = last_window_ = ordinal;
    now.section = current_ = sections_.size();
    sections_.push_back({now.tid, ordinal, {}});
  }

  void leave(thread_state& state) {
    sections_[state.section].counts.unique_pcs = state.window_pcs.size();
    state.all += state.window_pcs;
    state.window_pcs.clear();
    if (&state == &threads_[thread_]) pcs_.attach(state.window_pcs);
  }

  std::vector<section_counts> sections_{1};
  std::vector<thread_state> threads_{1};
  std::size_t current_ = 0, thread_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> thread_of_;
  pc_inserter pcs_;
  std::uint64_t records_ = 0;
  std::optional<std::uint64_t> last_window_, file_type_;
  std::uint64_t kernel_depth_ = 0;
  unsigned pending_ = 0;  ///< An encoding waits for its instruction.
  chunk_head chunk_head_;
};

using final_counter = basic_final_counter<std::uint64_t>;

}  // namespace backsight::memtrace
