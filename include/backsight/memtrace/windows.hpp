// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>

#include <backsight/memtrace/raw_records.hpp>
#include <backsight/memtrace/record_follower.hpp>
#include <backsight/memtrace/window_scanner.hpp>

namespace backsight::memtrace {

/// The windows of a final file in memory, in the order of the file: a forward range of window. Each step reads the
/// records of one window. A view over the bytes.
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
  [[nodiscard]] friend bool operator==(const iterator& a, const iterator& b) noexcept {
    return a.valid_ == b.valid_ && (!a.valid_ || a.now_.begin == b.now_.begin);
  }
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

/// The windows of a raw file with windows: its units, joined while their ordinal stays. A file without is one window.
/// Calls `f(window)` for each. One pass.
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
      if (any && ordinal_before && unit.window && *unit.window > *ordinal_before)
        open.skipped = *unit.window - *ordinal_before - 1;
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

  /// The first `instructions` instructions with their data references and what follows up to the next one, and the
  /// rest: the warm-up and the measured part of a sample. Encodings and the branch target of an instruction stay with
  /// it.
  [[nodiscard]] constexpr std::pair<window_part, window_part> split_at(std::uint64_t instructions) const noexcept {
    const entry_span all = entries();
    record_follower follower;
    std::uint64_t seen = 0;
    std::size_t i = 0, start = 0;
    for (; i < all.size(); ++i) {
      const record_role role = follower.next(all[i]);
      const bool counted = role == record_role::instruction && is_instruction(all[i][entry_head::type]);
      if (counted && seen++ == instructions) break;
      if (role != record_role::in_front) start = i + 1;
    }
    if (i == all.size()) start = i;
    const std::size_t cut = start * size_of<entry_record>;
    return {{bytes.first(cut), base}, {bytes.subspan(cut), base + cut}};
  }
};

/// The bytes of `which` in a file whose unpacked bytes are `file`. Precondition: `which` is a window of that file.
[[nodiscard]] constexpr window_part part_of(byte_view file, const window& which) noexcept {
  BACKSIGHT_ASSERT(which.end <= file.size() && which.begin <= which.end);
  return {file.subspan(static_cast<std::size_t>(which.begin), static_cast<std::size_t>(which.end - which.begin)),
          which.begin};
}

/// A final trace of 64-bit layout in memory, of one thread: header, records and windows. A view over the bytes.
class final_trace {
 public:
  final_trace() = default;
  /// Errors: those of read_final_header; errc::unsupported_type for the 32-bit layout, which final_range32 reads.
  [[nodiscard]] static result<final_trace> open(byte_view bytes) noexcept {
    const auto head = read_final_header(bytes);
    if (!head) return head.error();
    if (head->address_size != sizeof(std::uint64_t)) return {errc::unsupported_type, 0};
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
  /// The window of that ordinal, found by reading the windows before it; none when the thread has no such window. With
  /// a window_index the same takes microseconds.
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
