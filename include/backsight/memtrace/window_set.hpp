// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include <backsight/memtrace/window_scanner.hpp>

// The windows of all files of a recording.
namespace backsight::memtrace {

/// A window and the number of its file in its set.
struct indexed_window {
  std::uint32_t file = 0;
  window what;
  bool late = false;  ///< A straggler, as mark_stragglers found.
  [[nodiscard]] friend constexpr bool operator==(const indexed_window&, const indexed_window&) = default;
};

namespace detail {
/// For each window the number of its first piece, which is its own unless it is a further one. Costs a hash look-up for
/// each.
[[nodiscard]] inline std::vector<std::size_t> first_pieces(const std::vector<indexed_window>& windows) {
  std::vector<std::size_t> first(windows.size());
  std::unordered_map<std::uint64_t, std::size_t> latest;  // of each thread of the file
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (i != 0 && windows[i - 1].file != windows[i].file) latest = {};
    const auto found = windows[i].what.continued ? latest.find(windows[i].what.tid) : latest.end();
    first[i] = found == latest.end() ? i : found->second;
    latest[windows[i].what.tid] = first[i];
  }
  return first;
}
}  // namespace detail

/// Puts the pieces of each window together that a file has where threads take turns: one window for each thread and
/// ordinal in place of its first piece, from there to the end of its last one, with what other threads did in between.
/// `windows` are in the order of the files and of their places, as found. Everything else stays.
[[nodiscard]] inline std::vector<indexed_window> join_pieces(std::vector<indexed_window> windows) {
  std::vector<std::size_t> first = detail::first_pieces(windows);
  std::size_t rows = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (first[i] == i) {
      // From here on that of the row; no later piece's number is below this one's.
      first[i] = rows;
      windows[rows++] = windows[i];
      continue;
    }
    window& whole = windows[first[first[i]]].what;
    whole.end = windows[i].what.end;
    whole.last_time = windows[i].what.last_time;
    whole.instructions += windows[i].what.instructions;
    whole.units += windows[i].what.units;
  }
  windows.resize(rows);
  return windows;
}

/// When windows were opened: of each ordinal the earliest time.
class opening_times {
 public:
  /// Notes a window. Costs time in proportion to the logarithm of their number, taken over all.
  void add(std::uint64_t ordinal, std::uint64_t first_time) {
    // Only those that are earlier than all of larger ordinals are kept: the times grow with the ordinals.
    const auto next = times_.lower_bound(ordinal);
    if (next != times_.end() && next->second <= first_time) return;
    auto first = next;
    while (first != times_.begin() && std::prev(first)->second >= first_time) --first;
    times_.erase(first, next);
    times_[ordinal] = first_time;
  }
  /// The earliest opening of a window with a larger ordinal; the largest number when there is none. For
  /// window::straggler().
  [[nodiscard]] std::uint64_t behind(std::uint64_t ordinal) const {
    const auto next = times_.upper_bound(ordinal);
    return next == times_.end() ? ~std::uint64_t{0} : next->second;
  }

 private:
  std::map<std::uint64_t, std::uint64_t> times_;
};

/// The windows of several threads, aligned by ordinal: for each ordinal the windows that have it. Threads that idle,
/// come late or are missing in a window have no entry there.
class aligned_windows {
 public:
  void add(std::uint32_t file, const window& one) {
    rows_[one.ordinal].push_back({file, one});
    if (one.ordinal) openings_.add(*one.ordinal, one.first_time);
  }

  /// Ordinals ascending, each with its windows in the order of add().
  [[nodiscard]] const std::map<std::optional<std::uint64_t>, std::vector<indexed_window>>& rows() const noexcept {
    return rows_;
  }

  /// When the window of that ordinal was opened: the smallest first_time over all threads.
  [[nodiscard]] std::uint64_t opening_time(std::uint64_t ordinal) const {
    std::uint64_t time = ~std::uint64_t{0};
    if (const auto row = rows_.find(ordinal); row != rows_.end()) {
      for (const indexed_window& one : row->second) time = std::min(time, one.what.first_time);
    }
    return time;
  }
  /// The earliest opening of a window with a larger ordinal; the largest number when there is none. For
  /// window::straggler(). Costs time in proportion to the logarithm of the windows.
  [[nodiscard]] std::uint64_t next_opening(std::uint64_t ordinal) const { return openings_.behind(ordinal); }

 private:
  std::map<std::optional<std::uint64_t>, std::vector<indexed_window>> rows_;
  opening_times openings_;
};

/// Sets `late` where the last block of a window ran after one with a larger ordinal was opened, over all threads of the
/// set. The windows are as found; pieces have the mark of the whole.
inline void mark_stragglers(std::vector<indexed_window>& windows) {
  const std::vector<std::size_t> first = detail::first_pieces(windows);
  opening_times openings;
  std::vector<window> last_of;  // Of windows in several pieces: instructions and time of the end.
  std::unordered_map<std::size_t, std::size_t> several;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const window& one = windows[i].what;
    if (first[i] == i && one.ordinal) openings.add(*one.ordinal, one.first_time);
    if (first[i] == i) continue;
    const auto [place, added] = several.emplace(first[i], last_of.size());
    if (added) last_of.push_back(windows[first[i]].what);
    last_of[place->second].last_time = one.last_time;
    last_of[place->second].instructions += one.instructions;
  }
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (first[i] != i) {
      windows[i].late = windows[first[i]].late;
      continue;
    }
    const auto found = several.empty() ? several.end() : several.find(i);
    const window& whole = found == several.end() ? windows[i].what : last_of[found->second];
    windows[i].late = whole.ordinal && whole.straggler(openings.behind(*whole.ordinal));
  }
}

}  // namespace backsight::memtrace
