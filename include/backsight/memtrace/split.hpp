// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/memtrace/record_follower.hpp>
#include <backsight/memtrace/windows.hpp>

namespace backsight::memtrace {

namespace detail {

inline constexpr std::size_t entry_bytes = size_of<entry_record>;

/// The encodings of a file as they come by, and which of them an output has already been given.
class encoding_table {
 public:
  /// Takes an ENCODING record that waits for its instruction.
  void collect(const entry_view& item) {
    if (waiting_ < pending_.size()) pending_[waiting_] = item;
    if (waiting_ < pending_.size()) ++waiting_;
  }
  /// Forgets what waits: its bytes need not live on.
  void drop_waiting() noexcept { waiting_ = 0; }
  /// To be called at each instruction: what is known about its bytes becomes what was collected, if anything.
  void settle(std::uint64_t pc) {
    if (waiting_ == 0) return;
    encoding fresh;
    fresh.count = waiting_;
    for (std::size_t i = 0; i < waiting_; ++i)
      std::memcpy(fresh.bytes.data() + i * entry_bytes, pending_[i].bytes().data(), entry_bytes);
    encoding& known = known_[pc];
    if (known.count != fresh.count || known.bytes != fresh.bytes) {
      fresh.given_to = none;
      known = fresh;
    }
    waiting_ = 0;
  }
  /// The ENCODING records for `pc`, when output number `output` was not given them yet.
  [[nodiscard]] byte_view for_output(std::uint64_t pc, std::uint64_t output) {
    const auto found = known_.find(pc);
    if (found == known_.end() || found->second.given_to == output) return {};
    found->second.given_to = output;
    return byte_view(found->second.bytes).first(found->second.count * entry_bytes);
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::size_t most = 4;
  struct encoding {
    std::array<std::byte, most * entry_bytes> bytes{};
    std::size_t count = 0;
    std::uint64_t given_to = none;
  };
  std::unordered_map<std::uint64_t, encoding> known_;
  std::array<entry_view, most> pending_{};
  std::size_t waiting_ = 0;
};

inline void append(std::vector<std::byte>& to, byte_view bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

inline void append_entry(std::vector<std::byte>& to, trace_type type, std::uint16_t size, std::uint64_t value) {
  owned_record<entry_record, order::little> item;
  item.set(entry_record::type, type).set(entry_record::size, size).set(entry_record::addr, value);
  append(to, item.bytes());
}

inline void append_exit(std::vector<std::byte>& to, std::uint64_t tid) {
  append_entry(to, trace_type::thread_exit, 4, tid);
  append_entry(to, trace_type::footer, 0, 0);
}

/// Copies the records of one thread to outputs that stand alone: each instruction with the encodings that its output
/// was not given yet, without what belongs to chunks, and without the ends of files, since outputs have ends of their
/// own.
class record_copier {
 public:
  /// To be called in front of each file but the first. What waits at the end of a file belongs to nothing.
  void begin_file() noexcept {
    follower_ = {};
    encodings_.drop_waiting();
    target_ = {};
  }
  record_role copy(const entry_view& item, std::vector<std::byte>& to, std::uint64_t output) {
    const trace_type type = item[entry_head::type];
    const record_role role = follower_.next(item);
    if (role == record_role::in_front) {
      if (type == trace_type::encoding) encodings_.collect(item);
      else target_ = item.bytes();
    } else if (role == record_role::instruction) {
      encodings_.settle(item[entry_record::addr]);
      append(to, encodings_.for_output(item[entry_record::addr], output));
      append(to, std::exchange(target_, {}));
      append(to, item.bytes());
    } else if (role != record_role::repeated && type != trace_type::thread_exit && type != trace_type::footer &&
               !is_marker(item, marker_type::chunk_footer)) {
      append(to, item.bytes());
    }
    return role;
  }

 private:
  record_follower follower_;
  encoding_table encodings_;
  byte_view target_;  ///< A BRANCH_TARGET that waits for its instruction.
};

}  // namespace detail

/// Splits the final file of one thread into one file for each of its windows, as raw2trace writes them for a split
/// recording: the header, the window's TIMESTAMP, WINDOW_ID and CPU_ID, its records with all encodings that they need,
/// THREAD_EXIT and FOOTER. What belongs to chunks is left out. Calls `f(window, bytes)` for each; the bytes live until
/// the next call. A file without windows gives itself, as a window without ordinal; so do instructions before the first
/// WINDOW_ID. Memory: one window and the code. Errors: those of final_trace::open, errc::unsupported_type with the
/// place of the second thread in a file in which threads take turns, which gives nothing, and errors of the records,
/// errc::truncated among them: what stands before them is given.
template <class F>
trace_error split_windows(byte_view file, F&& f) {
  using namespace detail;
  const auto trace = final_trace::open(file);
  if (!trace) return trace.error();
  const final_header& head = trace->header();
  if ((head.file_type & file_type::core_sharded) != 0) return {errc::unsupported_type, 0};
  std::vector<window> windows;
  auto it = trace->windows().begin();
  for (; it != std::default_sentinel; ++it) {
    if (it->tid != head.tid) return {errc::unsupported_type, it->begin};
    windows.push_back(*it);
  }
  const std::size_t whole = trace->entries().bytes().size();
  trace_error error = it.error();
  if (!error && whole != file.size()) error = {errc::truncated, whole};

  record_copier copier;
  std::vector<std::byte> now, next;
  const auto start = [&](std::vector<std::byte>& out) {
    out.assign(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(head.size));
  };
  start(now);
  std::size_t current = 0;
  const auto finish = [&] {
    append_exit(now, windows[current].tid);
    f(windows[current], byte_view(now));
  };
  const entry_span all(trace->bytes().first(error ? static_cast<std::size_t>(error.offset) : whole));
  for (std::size_t i = head.size / entry_bytes; i < all.size(); ++i) {
    const entry_view item = all[i];
    const std::uint64_t offset = i * entry_bytes;
    if (current + 1 < windows.size() && offset == windows[current + 1].begin) {
      finish();
      ++current;
      if (next.empty()) start(next);
      now.swap(next);
      next.clear();
    }
    // The TIMESTAMP of the next window: the instruction that may stand behind it still belongs to this one.
    if (current + 1 < windows.size() && offset == windows[current + 1].opening) {
      start(next);
      append(next, item.bytes());
      continue;
    }
    (void)copier.copy(item, now, current);
  }
  if (!windows.empty()) finish();
  return error;
}

/// The first WINDOW_ID marker of a part of a final file.
struct window_mark {
  std::uint64_t ordinal = 0;
  std::uint64_t offset = 0;  ///< in the part
};
[[nodiscard]] inline std::optional<window_mark> first_window(byte_view part) noexcept {
  const entry_span all(part);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_marker(all[i], marker_type::window_id))
      return window_mark{all[i][entry_record::addr], i * detail::entry_bytes};
  }
  return {};
}

/// Joins the files of one thread's windows, in the order of the windows, to one final file: the inverse of
/// split_windows. Encodings that a file before has brought are left out, as are chunks.
class window_merger {
 public:
  /// Appends a window's file. Errors: those of final_trace::open, errc::unsupported_type for a file in which threads
  /// take turns, and errc::bad_transition when the file is of another thread or another version or type than the first,
  /// or does not begin with a larger window than the last: then nothing is appended. Errors of the records,
  /// errc::truncated among them: what stands before them is appended.
  trace_error add(byte_view file) {
    using namespace detail;
    const auto trace = final_trace::open(file);
    if (!trace) return trace.error();
    const final_header& head = trace->header();
    if ((head.file_type & file_type::core_sharded) != 0) return {errc::unsupported_type, 0};
    const entry_span all = trace->entries();
    std::size_t i = head.size / entry_bytes;
    const auto first = first_window(file);
    if (last_window_ && (!first || first->ordinal <= *last_window_))
      return {errc::bad_transition, first ? first->offset : 0};
    if (merged_.empty()) {
      append(merged_, file.first(head.size));
      head_ = head;
    } else {
      if (head.tid != head_.tid || head.version != head_.version || head.file_type != head_.file_type)
        return {errc::bad_transition, 0};
      // An instruction that raw2trace had held back stood between the TIMESTAMP of this window and its WINDOW_ID.
      if (i < all.size() && is_marker(all[i], marker_type::timestamp) && tail_ != 0) {
        const byte_view time = all[i].bytes();
        merged_.insert(merged_.begin() + static_cast<std::ptrdiff_t>(tail_), time.begin(), time.end());
        ++i;
      }
    }
    copier_.begin_file();
    std::size_t behind_cpu = 0, instructions_behind = 0;
    bool held_back = false;
    trace_error error;
    for (; i < all.size(); ++i) {
      const entry_view item = all[i];
      const trace_type type = item[entry_record::type];
      if (const errc bad = entry_error(item); bad != errc::ok) {
        error = {bad, i * entry_bytes};
        break;
      }
      if (type == trace_type::thread && item[entry_record::addr] != head_.tid) {
        error = {errc::unsupported_type, i * entry_bytes};
        break;
      }
      if (is_marker(item, marker_type::window_id)) last_window_ = item[entry_record::addr];
      const std::size_t before = merged_.size();
      const record_role role = copier_.copy(item, merged_, 0);
      if (role == record_role::instruction || role == record_role::pc_only) {
        ++instructions_behind;
        held_back = instructions_behind == 1 &&
                    (type == trace_type::instr_direct_jump || type == trace_type::instr_direct_call);
      } else if (merged_.size() != before && !is_data(type)) {
        held_back = false;
        instructions_behind = is_marker(item, marker_type::cpu_id) ? 0 : 2;
        behind_cpu = merged_.size();
      }
    }
    tail_ = held_back ? behind_cpu : 0;
    if (!error && all.bytes().size() != file.size()) error = {errc::truncated, all.bytes().size()};
    return error;
  }

  /// The merged file, with THREAD_EXIT and FOOTER; nothing when no file was added.
  [[nodiscard]] std::vector<std::byte> finish() {
    if (!merged_.empty()) detail::append_exit(merged_, head_.tid);
    tail_ = 0;
    last_window_.reset();
    copier_ = {};
    return std::exchange(merged_, {});
  }

 private:
  std::vector<std::byte> merged_;
  final_header head_;
  std::optional<std::uint64_t> last_window_;
  detail::record_copier copier_;
  std::size_t tail_ = 0;  ///< Where the instruction begins that raw2trace held back at the end of the last file, or 0.
};

}  // namespace backsight::memtrace
