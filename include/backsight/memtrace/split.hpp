// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <backsight/memtrace/windows.hpp>

namespace backsight::memtrace {

namespace detail {

inline constexpr std::size_t entry_bytes = size_of<entry_record>;

[[nodiscard]] inline bool is_marker(const entry_view& item, marker_type type) noexcept {
  return item[entry_record::type] == trace_type::marker && item[entry_record::size] == static_cast<std::uint16_t>(type);
}
[[nodiscard]] inline bool has_type(const entry_view& item, trace_type type) noexcept { return item[entry_record::type] == type; }

/// The encodings of a file as they come by, and which of them an output has already been given.
class encoding_table {
 public:
  /// Takes an ENCODING record that waits for its instruction.
  void collect(const entry_view& item) {
    if (waiting_ < pending_.size()) pending_[waiting_] = item;
    if (waiting_ < pending_.size()) ++waiting_;
  }
  /// To be called at each instruction: what is known about its bytes becomes what was collected, if anything.
  void settle(std::uint64_t pc) {
    if (waiting_ == 0) return;
    encoding fresh;
    fresh.count = waiting_;
    for (std::size_t i = 0; i < waiting_; ++i) std::memcpy(fresh.bytes.data() + i * entry_bytes, pending_[i].bytes().data(), entry_bytes);
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

}  // namespace detail

/// Splits the final file of one thread into one file for each of its windows, as raw2trace writes them for a split recording:
/// the header, the window's TIMESTAMP, WINDOW_ID and CPU_ID, its records with all encodings that they need, THREAD_EXIT and
/// FOOTER. What belongs to chunks is left out. Calls `f(window, bytes)` for each; the bytes live until the next call. A file
/// without windows gives itself, as a window without ordinal; so do instructions before the first WINDOW_ID.
/// Memory: one window and the code. Errors: those of final_trace::open, errc::unsupported_type with the place of the second
/// thread in a file in which threads take turns, which gives nothing, and errors of the records, errc::truncated among them:
/// what stands before them is given.
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

  encoding_table encodings;
  std::vector<std::byte> now, next;
  const auto start = [&](std::vector<std::byte>& out) { out.assign(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(head.size)); };
  start(now);
  std::size_t current = 0;
  const auto finish = [&] {
    append_exit(now, windows[current].tid);
    f(windows[current], byte_view(now));
  };
  const entry_span all(trace->bytes().first(error ? static_cast<std::size_t>(error.offset) : whole));
  byte_view target;
  unsigned chunk_head = 0;
  for (std::size_t i = head.size / entry_bytes; i < all.size(); ++i) {
    const entry_view item = all[i];
    const trace_type type = item[entry_record::type];
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
    if (type == trace_type::encoding) {
      encodings.collect(item);
    } else if (is_instruction(type) || type == trace_type::instr_no_fetch) {
      encodings.settle(item[entry_record::addr]);
      append(now, encodings.for_output(item[entry_record::addr], current));
      append(now, target);
      target = {};
      append(now, item.bytes());
    } else if (is_marker(item, marker_type::branch_target)) {
      target = item.bytes();
    } else if (is_marker(item, marker_type::record_ordinal)) {
      chunk_head = 2;
    } else if (chunk_head != 0 && (is_marker(item, marker_type::timestamp) || is_marker(item, marker_type::cpu_id))) {
      chunk_head = is_marker(item, marker_type::timestamp) ? 1 : 0;
    } else if (type == trace_type::thread_exit || type == trace_type::footer || is_marker(item, marker_type::chunk_footer)) {
      // Each file gets an exit of its own; chunks end with the file that they are part of.
    } else {
      append(now, item.bytes());
    }
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
    if (detail::is_marker(all[i], marker_type::window_id)) return window_mark{all[i][entry_record::addr], i * detail::entry_bytes};
  }
  return {};
}

/// Joins the files of one thread's windows, in the order of the windows, to one final file: the inverse of split_windows.
/// Encodings that a file before has brought are left out, as are chunks.
class window_merger {
 public:
  /// Appends a window's file. Errors: those of final_trace::open, errc::unsupported_type for a file in which threads take
  /// turns, and errc::bad_transition when the file is of another thread or another version or type than the first, or does
  /// not begin with a larger window than the last: then nothing is appended. Errors of the records, errc::truncated among
  /// them: what stands before them is appended.
  trace_error add(byte_view file) {
    using namespace detail;
    const auto trace = final_trace::open(file);
    if (!trace) return trace.error();
    const final_header& head = trace->header();
    if ((head.file_type & file_type::core_sharded) != 0) return {errc::unsupported_type, 0};
    const entry_span all = trace->entries();
    std::size_t i = head.size / entry_bytes;
    const auto first = first_window(file);
    if (last_window_ && (!first || first->ordinal <= *last_window_)) return {errc::bad_transition, first ? first->offset : 0};
    if (merged_.empty()) {
      append(merged_, file.first(head.size));
      head_ = head;
    } else {
      if (head.tid != head_.tid || head.version != head_.version || head.file_type != head_.file_type) return {errc::bad_transition, 0};
      // An instruction that raw2trace had held back stood between the TIMESTAMP of this window and its WINDOW_ID.
      if (i < all.size() && is_marker(all[i], marker_type::timestamp) && tail_ != 0) {
        const byte_view time = all[i].bytes();
        merged_.insert(merged_.begin() + static_cast<std::ptrdiff_t>(tail_), time.begin(), time.end());
        ++i;
      }
    }
    byte_view target;
    unsigned chunk_head = 0;
    std::size_t behind_cpu = 0, instructions_behind = 0;
    bool held_back = false;
    trace_error error;
    for (; i < all.size(); ++i) {
      const entry_view item = all[i];
      const trace_type type = item[entry_record::type];
      if (const errc bad = entry_error<std::uint64_t>(load<std::uint32_t, order::little>(item.bytes().data())); bad != errc::ok) {
        error = {bad, i * entry_bytes};
        break;
      }
      if (type == trace_type::thread && item[entry_record::addr] != head_.tid) {
        error = {errc::unsupported_type, i * entry_bytes};
        break;
      }
      if (is_marker(item, marker_type::window_id)) last_window_ = item[entry_record::addr];
      if (type == trace_type::encoding) {
        encodings_.collect(item);
      } else if (is_instruction(type) || type == trace_type::instr_no_fetch) {
        encodings_.settle(item[entry_record::addr]);
        append(merged_, encodings_.for_output(item[entry_record::addr], 0));
        append(merged_, target);
        target = {};
        append(merged_, item.bytes());
        ++instructions_behind;
        held_back = instructions_behind == 1 && (type == trace_type::instr_direct_jump || type == trace_type::instr_direct_call);
      } else if (type == trace_type::read || type == trace_type::write || is_prefetch(type)) {
        append(merged_, item.bytes());
      } else if (is_marker(item, marker_type::branch_target)) {
        target = item.bytes();
      } else if (is_marker(item, marker_type::record_ordinal)) {
        chunk_head = 2;
      } else if (chunk_head != 0 && (is_marker(item, marker_type::timestamp) || is_marker(item, marker_type::cpu_id))) {
        chunk_head = is_marker(item, marker_type::timestamp) ? 1 : 0;
      } else if (type == trace_type::thread_exit || type == trace_type::footer || is_marker(item, marker_type::chunk_footer)) {
        // Written once, by finish().
      } else {
        append(merged_, item.bytes());
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
    return std::move(merged_);
  }

 private:
  std::vector<std::byte> merged_;
  final_header head_;
  std::optional<std::uint64_t> last_window_;
  detail::encoding_table encodings_;
  std::size_t tail_ = 0;  ///< Where the instruction begins that raw2trace held back at the end of the last file, or 0.
};

}  // namespace backsight::memtrace
