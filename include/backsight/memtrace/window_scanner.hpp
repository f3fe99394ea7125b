// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include <backsight/memtrace/record_follower.hpp>
#include <backsight/memtrace/records.hpp>

namespace backsight::memtrace {

/// A traced part of a run, of one thread. Offsets count bytes of the unpacked file. In a file in which threads take
/// turns, as core-sharded ones are, a window that is left for another thread and gone on with later is several pieces.
struct window {
  std::optional<std::uint64_t> ordinal;  ///< None in a run without windows, where all of it counts as one.
  std::uint64_t tid = 0;
  std::uint64_t begin =
      0;  ///< Its WINDOW_ID marker; in a raw file the TIMESTAMP in front of it; where threads change, the
          ///< THREAD record, or the HEADER that a new thread begins with.
  std::uint64_t end = 0;  ///< Behind its last byte: where the next window begins, or the end of the file.
  /// Its TIMESTAMP: before `begin`, at times with the last instruction of the window before in between, which raw2trace
  /// held back. Equal to `begin` where there is none.
  std::uint64_t opening = 0;
  std::uint64_t first_time = 0;  ///< Of that TIMESTAMP, microseconds since 1601; clamped up to the window's opening.
  std::uint64_t last_time = 0;   ///< The last TIMESTAMP inside, that of the next window's header left out.
  std::uint64_t first_instruction = 0;  ///< Instructions of the file before it.
  std::uint64_t instructions = 0;
  std::uint64_t units = 0;    ///< Buffers of the tracer: WINDOW_ID markers.
  std::uint64_t chunk = 0;    ///< Where the chunk begins that it begins in: encodings are repeated from there.
  std::uint64_t skipped = 0;  ///< Ordinals between the window before and this one that the thread left out.
  std::uint64_t idle_time =
      0;  ///< Microseconds from the end of the thread's window before to this one; 0 for the first.

  /// Code and time jump between the window before in the file and this one: nothing was traced there, or another thread
  /// ran. No state of a call stack or a signal handler lives on. False for the first window of a file.
  [[nodiscard]] constexpr bool gap() const noexcept { return has_predecessor; }
  /// The last block of this window ran when one with a larger ordinal was already open, as `next_opening` tells: the
  /// smallest first_time of the windows with larger ordinals, over all threads. A hint, not proof: a thread that was
  /// inside of a system call can leave such a block without it.
  [[nodiscard]] constexpr bool straggler(std::uint64_t next_opening) const noexcept {
    return instructions != 0 && last_time >= next_opening;
  }
  [[nodiscard]] friend constexpr bool operator==(const window&, const window&) = default;

  bool has_predecessor = false;
  bool continued = false;  ///< A further piece of a window of this thread that came before in the file.
};

/// Finds the windows of a final file in pieces of it, in one pass. Memory grows with the threads that take turns in the
/// file.
template <class Address>
class basic_window_scanner {
  using any = basic_entry<Address>;
  static constexpr std::size_t step = size_of<any>;

 public:
  /// Reads records up to the first that ends a window, and gives the bytes that were read; less than bytes.size() only
  /// for an incomplete record at the end, one that cannot be understood, or because done() has a window: then call
  /// again with the rest.
  std::size_t feed(byte_view bytes) {
    done_.reset();
    const std::size_t whole = bytes.size() / step * step;
    std::size_t at = 0;
    while (at != whole) {
      at = behind_instructions(bytes, at, whole);
      if (at == whole) break;
      const record<any, order::little> item(bytes.data() + at);
      if (const errc bad = entry_error(item); bad != errc::ok) {
        error_ = {bad, offset_ + at};
        break;
      }
      const trace_type type = item[any::type];
      if (type == trace_type::marker)
        on_marker(static_cast<marker_type>(item[any::size]), item[any::addr], offset_ + at);
      else if (type == trace_type::header) header_ = {offset_ + at, instructions_};
      else if (type == trace_type::thread) on_thread(item[any::addr], offset_ + at);
      at += step;
      if (done_) break;
    }
    offset_ += at;
    return at;
  }

  /// The window that the last feed() completed.
  [[nodiscard]] const std::optional<window>& done() const noexcept { return done_; }
  /// The window that is open when the file ends.
  [[nodiscard]] window last() const {
    window ended = now_.open;
    ended.end = offset_;
    ended.instructions = instructions_ - ended.first_instruction;
    ended.last_time = now_.time;
    return ended;
  }
  [[nodiscard]] const trace_error& error() const noexcept { return error_; }

 private:
  /// Where one thread is.
  struct thread_state {
    window open;
    std::uint64_t time = 0, time_before = 0, time_offset = 0, since_time = 0;
    bool any_time = false;
    bool given = false;  ///< A piece of the open window was given already.
  };
  struct header_place {
    std::uint64_t offset = 0, instructions = 0;
  };

  /// Counts instructions from `at` on, passes over data, and gives the place of another record.
  std::size_t behind_instructions(byte_view bytes, std::size_t at, std::size_t whole) noexcept {
    std::uint64_t counted = 0;
    for (; at != whole; at += step) {
      const record<any, order::little> item(bytes.data() + at);
      const trace_type type = item[any::type];
      if (is_instruction(type)) counted += item[any::size] != 0;
      else if (type != trace_type::read && type != trace_type::write) break;
    }
    instructions_ += counted;
    now_.since_time += counted;
    return at;
  }

  void on_marker(marker_type type, std::uint64_t value, std::uint64_t offset) {
    if (type == marker_type::record_ordinal) chunk_ = offset;
    if (chunk_head_.repeats(type)) return;
    if (type == marker_type::timestamp) {
      now_.time_before = now_.time;
      now_.time = value;
      now_.time_offset = offset;
      now_.since_time = 0;
      if (!now_.any_time) now_.open.first_time = value;
      now_.any_time = true;
    } else if (type == marker_type::window_id) {
      if (now_.open.ordinal != value) enter(value, offset);
      ++now_.open.units;
    }
  }

  void enter(std::uint64_t ordinal, std::uint64_t offset) {
    // Between the TIMESTAMP of a unit header and its WINDOW_ID there is at most one instruction that was held back.
    const bool own_time = now_.any_time && now_.since_time <= 1;
    const window& before = now_.open;
    window next;
    next.ordinal = ordinal;
    next.tid = before.tid;
    next.begin = offset;
    next.opening = own_time ? now_.time_offset : offset;
    next.first_time = now_.time;
    next.first_instruction = instructions_;
    next.chunk = chunk_;
    next.has_predecessor = before.has_predecessor;
    const std::uint64_t last_time = own_time ? now_.time_before : now_.time;
    if (before.ordinal && ordinal > *before.ordinal) next.skipped = ordinal - *before.ordinal - 1;
    if (before.ordinal && next.first_time > last_time) next.idle_time = next.first_time - last_time;
    if (give(offset, last_time)) next.has_predecessor = true;
    now_.open = next;
    now_.given = false;
  }

  void on_thread(std::uint64_t tid, std::uint64_t offset) {
    if (!named_) now_.open.tid = tid;
    named_ = true;
    if (now_.open.tid == tid) return;
    // A thread that is new in the file brings a header of its own, which begins with HEADER.
    const bool has_header = header_.offset != 0 && header_.instructions == instructions_;
    const std::uint64_t begin = has_header ? header_.offset : offset;
    header_ = {};
    (void)give(begin, now_.time);
    const thread_state& left = others_[now_.open.tid] = now_;
    thread_state next;
    if (const auto known = others_.find(tid); known != others_.end()) next = known->second;
    window open;
    open.ordinal = next.open.ordinal;
    open.tid = tid;
    open.begin = open.opening = begin;
    open.first_time = next.time;
    open.first_instruction = instructions_;
    open.chunk = chunk_;
    open.has_predecessor = left.given || left.open.has_predecessor;
    open.continued = next.given;
    next.open = open;
    now_ = next;
  }

  /// Gives the open window, which ends at `end`. What has neither an ordinal nor instructions is none.
  bool give(std::uint64_t end, std::uint64_t last_time) {
    const std::uint64_t instructions = instructions_ - now_.open.first_instruction;
    if (!now_.open.ordinal && instructions == 0) return false;
    done_ = now_.open;
    done_->end = end;
    done_->instructions = instructions;
    done_->last_time = last_time;
    now_.given = true;
    return true;
  }

  thread_state now_;
  std::optional<window> done_;
  trace_error error_;
  std::uint64_t offset_ = 0, instructions_ = 0, chunk_ = 0;
  header_place header_;
  chunk_head chunk_head_;
  bool named_ = false;
  std::unordered_map<std::uint64_t, thread_state> others_;  ///< Threads that ran before, by tid.
};

using window_scanner = basic_window_scanner<std::uint64_t>;

}  // namespace backsight::memtrace
