// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include <backsight/memtrace/final.hpp>
#include <backsight/memtrace/raw.hpp>

namespace backsight::memtrace {

/// A traced part of a run, of one thread. Offsets count bytes of the unpacked file.
struct window {
  std::optional<std::uint64_t> ordinal;  ///< None in a run without windows, where all of it counts as one.
  std::uint64_t tid = 0;
  std::uint64_t begin = 0;               ///< Its WINDOW_ID marker; in a raw file the TIMESTAMP in front of it.
  std::uint64_t end = 0;                 ///< Behind its last byte: where the next window begins, or the end of the file.
  /// Its TIMESTAMP: before `begin`, at times with the last instruction of the window before in between, which raw2trace held
  /// back. Equal to `begin` where there is none.
  std::uint64_t opening = 0;
  std::uint64_t first_time = 0;          ///< Of that TIMESTAMP, microseconds since 1601; clamped up to the window's opening.
  std::uint64_t last_time = 0;           ///< The last TIMESTAMP inside, that of the next window's header left out.
  std::uint64_t first_instruction = 0;   ///< Instructions of the file before it.
  std::uint64_t instructions = 0;
  std::uint64_t units = 0;               ///< Buffers of the tracer: WINDOW_ID markers.
  std::uint64_t chunk = 0;               ///< Where the chunk begins that it begins in: encodings are repeated from there.
  std::uint64_t skipped = 0;             ///< Ordinals between the window before and this one that the thread left out.
  std::uint64_t idle_time = 0;           ///< Microseconds from the end of the window before to this one; 0 for the first.

  /// Nothing was traced between the window before and this one: code and time jump here, and no state of a call stack or a
  /// signal handler lives on. False for the first window of a file.
  [[nodiscard]] constexpr bool gap() const noexcept { return has_predecessor; }
  /// The last block of this window ran when one with a larger ordinal was already open, as `next_opening` tells: the
  /// smallest first_time of the windows with larger ordinals, over all threads. A hint, not proof: a thread that was inside
  /// of a system call can leave such a block without it.
  [[nodiscard]] constexpr bool straggler(std::uint64_t next_opening) const noexcept { return instructions != 0 && last_time >= next_opening; }
  [[nodiscard]] friend constexpr bool operator==(const window&, const window&) = default;

  bool has_predecessor = false;
};

/// Finds the windows of a final file in pieces of it, in one pass and without memory of its own.
template <class Address>
class basic_window_scanner {
  using any = basic_entry<Address>;
  static constexpr std::size_t step = size_of<any>;

 public:
  /// Reads records up to the first that ends a window, and gives the bytes that were read; less than bytes.size() only for an
  /// incomplete record at the end, an unknown one, or because done() has a window: then call again with the rest.
  std::size_t feed(byte_view bytes) {
    done_.reset();
    const std::size_t whole = bytes.size() / step * step;
    for (std::size_t at = 0; at != whole; at += step) {
      const auto head = load<std::uint32_t, order::little>(bytes.data() + at);
      const unsigned type = head & 0xffffU;
      if (type < 64 && (detail::instruction_types >> type & 1U) != 0) {
        const bool counted = head > 0xffffU;
        instructions_ += counted;
        since_time_ += counted;
        continue;
      }
      if (type <= 1 || type == static_cast<unsigned>(trace_type::encoding)) continue;
      if (type == static_cast<unsigned>(trace_type::marker)) {
        on_marker(static_cast<marker_type>(head >> 16), load<Address, order::little>(bytes.data() + at + 4), offset_ + at);
        if (done_) {
          offset_ += at + step;
          return at + step;
        }
      } else if (type == static_cast<unsigned>(trace_type::thread)) {
        if (open_.tid == 0) open_.tid = load<Address, order::little>(bytes.data() + at + 4);
      } else if (type >= trace_type_count) {
        error_ = {errc::unknown_record, offset_ + at};
        offset_ += at;
        return at;
      }
    }
    offset_ += whole;
    return whole;
  }

  /// The window that the last feed() completed.
  [[nodiscard]] const std::optional<window>& done() const noexcept { return done_; }
  /// The window that is open when the file ends.
  [[nodiscard]] window last() const {
    window ended = open_;
    ended.end = offset_;
    ended.instructions = instructions_ - open_.first_instruction;
    ended.last_time = time_;
    return ended;
  }
  [[nodiscard]] const trace_error& error() const noexcept { return error_; }

 private:
  void on_marker(marker_type type, std::uint64_t value, std::uint64_t offset) {
    if (type == marker_type::timestamp) {
      if (in_chunk_head_) return;
      time_before_ = time_;
      time_ = value;
      time_offset_ = offset;
      since_time_ = 0;
      if (!any_time_) open_.first_time = value;
      any_time_ = true;
    } else if (type == marker_type::record_ordinal) {
      chunk_ = offset;
      in_chunk_head_ = true;
    } else if (type == marker_type::cpu_id) {
      in_chunk_head_ = false;
    } else if (type == marker_type::window_id) {
      if (open_.ordinal != value) enter(value, offset);
      ++open_.units;
    }
  }

  void enter(std::uint64_t ordinal, std::uint64_t offset) {
    // Between the TIMESTAMP of a unit header and its WINDOW_ID there is at most one instruction that was held back.
    const bool own_time = any_time_ && since_time_ <= 1;
    window next;
    next.ordinal = ordinal;
    next.tid = open_.tid;
    next.begin = offset;
    next.opening = own_time ? time_offset_ : offset;
    next.first_time = time_;
    next.first_instruction = instructions_;
    next.chunk = chunk_;
    if (open_.ordinal) {
      done_ = open_;
      done_->end = offset;
      done_->instructions = instructions_ - open_.first_instruction;
      done_->last_time = own_time ? time_before_ : time_;
      next.has_predecessor = true;
      next.skipped = ordinal > *open_.ordinal ? ordinal - *open_.ordinal - 1 : 0;
      next.idle_time = next.first_time > done_->last_time ? next.first_time - done_->last_time : 0;
    }
    open_ = next;
  }

  window open_;
  std::optional<window> done_;
  trace_error error_;
  std::uint64_t offset_ = 0, instructions_ = 0, since_time_ = 0;
  std::uint64_t time_ = 0, time_before_ = 0, time_offset_ = 0, chunk_ = 0;
  bool any_time_ = false, in_chunk_head_ = false;
};

using window_scanner = basic_window_scanner<std::uint64_t>;

/// The windows of a final file in memory, in the order of the file: a forward range of window. Each step reads the records of
/// one window. A view over the bytes.
class window_range {
 public:
  class iterator;
  constexpr window_range() = default;
  constexpr explicit window_range(byte_view bytes) noexcept : bytes_(bytes) {}
  [[nodiscard]] iterator begin() const;
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  byte_view bytes_;
};

class window_range::iterator {
 public:
  using value_type = window;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::forward_iterator_tag;

  iterator() = default;
  [[nodiscard]] const window& operator*() const noexcept { return now_; }
  [[nodiscard]] const window* operator->() const noexcept { return &now_; }
  iterator& operator++() {
    if (ended_) {
      valid_ = false;
      return *this;
    }
    const std::size_t read = scanner_.feed(rest_);
    rest_ = rest_.subspan(read);
    if (scanner_.done()) {
      now_ = *scanner_.done();
    } else {
      ended_ = true;
      now_ = scanner_.last();
    }
    return *this;
  }
  iterator operator++(int) {
    iterator before = *this;
    ++*this;
    return before;
  }
  [[nodiscard]] friend bool operator==(const iterator& a, const iterator& b) noexcept { return a.valid_ == b.valid_ && (!a.valid_ || a.now_.begin == b.now_.begin); }
  [[nodiscard]] friend bool operator==(const iterator& it, std::default_sentinel_t) noexcept { return !it.valid_; }
  /// What ended the scan early, if anything.
  [[nodiscard]] const trace_error& error() const noexcept { return scanner_.error(); }

 private:
  friend window_range;
  explicit iterator(byte_view bytes) : rest_(bytes), valid_(!bytes.empty()) {
    if (valid_) ++*this;
  }
  byte_view rest_;
  window_scanner scanner_;
  window now_;
  bool valid_ = false, ended_ = false;
};

inline window_range::iterator window_range::begin() const { return iterator(bytes_); }

/// The windows of a raw file with windows: its units, joined while their ordinal stays. A file without is one window. Calls
/// `f(window)` for each. One pass.
template <class F>
void for_each_raw_window(byte_view bytes, const raw_file_header& head, F&& f) {
  window open;
  bool any = false;
  std::uint64_t before = 0, instructions = 0;
  const auto close = [&] {
    open.instructions = instructions - open.first_instruction;
    f(std::as_const(open));
    before = open.last_time;
  };
  for (const raw_unit& unit : raw_units(bytes, head)) {
    if (!any || open.ordinal != unit.window) {
      const std::optional<std::uint64_t> ordinal_before = open.ordinal;
      if (any) close();
      open = {};
      open.ordinal = unit.window;
      open.tid = unit.tid;
      open.begin = open.opening = unit.begin;
      open.first_time = unit.time;
      open.first_instruction = instructions;
      open.has_predecessor = any;
      if (any && ordinal_before && unit.window && *unit.window > *ordinal_before) open.skipped = *unit.window - *ordinal_before - 1;
      if (any && unit.time > before) open.idle_time = unit.time - before;
      any = true;
    }
    ++open.units;
    open.end = unit.end;
    const raw_span entries(bytes.subspan(unit.begin, unit.end - unit.begin));
    for (const auto entry : entries) {
      const raw_type type = entry[raw_entry::type];
      if (type == raw_type::timestamp) open.last_time = entry[raw_entry::value];
      else if (type == raw_type::pc || (type == raw_type::pc_top_bit_or_iflush && !head.context().arm32)) {
        instructions += record<raw_block, order::little>(entry.bytes().data())[raw_block::instr_count];
      }
    }
  }
  if (any) close();
}

/// A part of a final trace in memory: the bytes of a window, or of a piece of one.
struct window_part {
  byte_view bytes;
  std::uint64_t base = 0;  ///< Where `bytes` lie in the file.

  [[nodiscard]] constexpr final_range records() const noexcept { return final_range(bytes, {}, base); }
  [[nodiscard]] constexpr entry_span entries() const noexcept { return entry_span(bytes); }

  /// The first `instructions` instructions with their data references and what follows up to the next one, and the rest: the
  /// warm-up and the measured part of a sample. Encodings and the branch target of an instruction stay with it.
  [[nodiscard]] constexpr std::pair<window_part, window_part> split_at(std::uint64_t instructions) const noexcept {
    const entry_span all = entries();
    std::uint64_t seen = 0;
    std::size_t i = 0, start = 0;
    for (; i < all.size(); ++i) {
      const auto type = all[i][entry_record::type];
      const bool counted = is_instruction(type) && all[i][entry_record::size] != 0;
      if (counted && seen++ == instructions) break;
      const bool in_front = type == trace_type::encoding ||
                            (type == trace_type::marker && all[i][entry_record::size] == static_cast<std::uint16_t>(marker_type::branch_target));
      if (!in_front) start = i + 1;
    }
    if (i == all.size()) start = i;
    const std::size_t cut = start * size_of<entry_record>;
    return {{bytes.first(cut), base}, {bytes.subspan(cut), base + cut}};
  }
};

/// The bytes of `which` in a file whose unpacked bytes are `file`. Precondition: `which` is a window of that file.
[[nodiscard]] constexpr window_part part_of(byte_view file, const window& which) noexcept {
  BACKSIGHT_ASSERT(which.end <= file.size() && which.begin <= which.end);
  return {file.subspan(static_cast<std::size_t>(which.begin), static_cast<std::size_t>(which.end - which.begin)), which.begin};
}

/// A final trace of 64-bit layout in memory, of one thread: header, records and windows. A view over the bytes.
class final_trace {
 public:
  final_trace() = default;
  /// Errors: those of read_final_header; errc::unsupported_type for the 32-bit layout, which final_range32 reads.
  [[nodiscard]] static result<final_trace> open(byte_view bytes) noexcept {
    const auto head = read_final_header(bytes);
    if (!head) return head.error();
    if (head->address_size != 8) return {errc::unsupported_type, 0};
    final_trace opened;
    opened.bytes_ = bytes;
    opened.head_ = *head;
    return opened;
  }
  [[nodiscard]] const final_header& header() const noexcept { return head_; }
  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }
  [[nodiscard]] final_range records() const noexcept { return final_range(bytes_); }
  [[nodiscard]] entry_span entries() const noexcept { return entry_span(bytes_); }
  [[nodiscard]] window_range windows() const noexcept { return window_range(bytes_); }
  /// The window of that ordinal, found by reading the windows before it; none when the thread has no such window. With a
  /// window_index the same takes microseconds.
  [[nodiscard]] std::optional<window> window_at(std::uint64_t ordinal) const {
    for (const window& one : windows()) {
      if (one.ordinal == ordinal) return one;
    }
    return {};
  }

 private:
  byte_view bytes_;
  final_header head_;
};

}  // namespace backsight::memtrace

template <>
inline constexpr bool std::ranges::enable_view<backsight::memtrace::window_range> = true;
template <>
inline constexpr bool std::ranges::enable_borrowed_range<backsight::memtrace::window_range> = true;
