// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include <backsight/core/record_span.hpp>
#include <backsight/memtrace/windows.hpp>

namespace backsight::memtrace {

/// The start of a saved window index: our own format, little-endian, version 1. 32 bytes, then `count` index entries sorted
/// by file, thread and ordinal.
struct index_header {
  static constexpr const char* name = "index_header";
  static constexpr backsight::field<"magic", std::array<std::byte, 8>> magic{};
  static constexpr backsight::field<"version", std::uint32_t> version{};
  static constexpr backsight::field<"entry_bytes", std::uint32_t> entry_bytes{};
  static constexpr backsight::field<"count", std::uint64_t> count{};
  static constexpr backsight::field<"files", std::uint64_t> files{};
  static constexpr backsight::layout fields{magic, version, entry_bytes, count, files};
};

/// One window of a saved index, 112 bytes. The members are those of memtrace::window.
struct index_entry {
  static constexpr const char* name = "index_entry";
  static constexpr backsight::field<"file", std::uint32_t> file{};
  static constexpr backsight::field<"flags", std::uint32_t> flags{};
  static constexpr backsight::field<"ordinal", std::uint64_t> ordinal{};
  static constexpr backsight::field<"tid", std::uint64_t> tid{};
  static constexpr backsight::field<"begin", std::uint64_t> begin{};
  static constexpr backsight::field<"end", std::uint64_t> end{};
  static constexpr backsight::field<"opening", std::uint64_t> opening{};
  static constexpr backsight::field<"first_time", std::uint64_t> first_time{};
  static constexpr backsight::field<"last_time", std::uint64_t> last_time{};
  static constexpr backsight::field<"first_instruction", std::uint64_t> first_instruction{};
  static constexpr backsight::field<"instructions", std::uint64_t> instructions{};
  static constexpr backsight::field<"units", std::uint64_t> units{};
  static constexpr backsight::field<"chunk", std::uint64_t> chunk{};
  static constexpr backsight::field<"skipped", std::uint64_t> skipped{};
  static constexpr backsight::field<"idle_time", std::uint64_t> idle_time{};
  static constexpr backsight::layout fields{file,      flags,     ordinal,           tid,          begin, end,     opening, first_time,
                                            last_time, first_instruction, instructions, units, chunk,   skipped, idle_time};
};
static_assert(schema<index_header> && size_of<index_header> == 32);
static_assert(schema<index_entry> && size_of<index_entry> == 112);

namespace detail {
inline constexpr std::array<std::byte, 8> index_magic{std::byte{'B'}, std::byte{'S'}, std::byte{'W'}, std::byte{'I'},
                                                      std::byte{'N'}, std::byte{'D'}, std::byte{'E'}, std::byte{'X'}};
inline constexpr std::uint32_t index_has_ordinal = 1, index_has_predecessor = 2;
}  // namespace detail

/// A window and the number of its file in the set that the index is about.
struct indexed_window {
  std::uint32_t file = 0;
  window what;
};

/// The bytes of an index over `windows`, to be written to a file.
[[nodiscard]] inline std::vector<std::byte> save_index(std::vector<indexed_window> windows) {
  std::sort(windows.begin(), windows.end(), [](const indexed_window& a, const indexed_window& b) {
    if (a.file != b.file) return a.file < b.file;
    return a.what.ordinal != b.what.ordinal ? a.what.ordinal < b.what.ordinal : a.what.begin < b.what.begin;
  });
  std::uint64_t files = 0;
  for (const indexed_window& one : windows) files = std::max<std::uint64_t>(files, one.file + std::uint64_t{1});
  owned_record<index_header, order::little> head;
  head.set(index_header::magic, detail::index_magic).set(index_header::version, 1U);
  head.set(index_header::entry_bytes, static_cast<std::uint32_t>(size_of<index_entry>));
  head.set(index_header::count, windows.size()).set(index_header::files, files);
  std::vector<std::byte> bytes(head.bytes().begin(), head.bytes().end());
  bytes.reserve(bytes.size() + windows.size() * size_of<index_entry>);
  for (const auto& [file, w] : windows) {
    owned_record<index_entry, order::little> item;
    item.set(index_entry::file, file).set(index_entry::flags, (w.ordinal ? detail::index_has_ordinal : 0U) | (w.has_predecessor ? detail::index_has_predecessor : 0U));
    item.set(index_entry::ordinal, w.ordinal.value_or(0)).set(index_entry::tid, w.tid).set(index_entry::begin, w.begin);
    item.set(index_entry::end, w.end).set(index_entry::opening, w.opening).set(index_entry::first_time, w.first_time);
    item.set(index_entry::last_time, w.last_time).set(index_entry::first_instruction, w.first_instruction);
    item.set(index_entry::instructions, w.instructions).set(index_entry::units, w.units).set(index_entry::chunk, w.chunk);
    item.set(index_entry::skipped, w.skipped).set(index_entry::idle_time, w.idle_time);
    bytes.insert(bytes.end(), item.bytes().begin(), item.bytes().end());
  }
  return bytes;
}

/// A saved window index, used where it lies, as in a mapped file. A view over its bytes; nothing is copied.
class window_index {
 public:
  window_index() = default;
  /// Errors: errc::bad_magic, errc::unsupported_version, errc::bad_size, errc::truncated. Costs the same whatever the size.
  [[nodiscard]] static result<window_index> open(byte_view bytes) noexcept {
    if (bytes.size() < size_of<index_header>) return {errc::truncated, bytes.size()};
    const record<index_header, order::little> head(bytes.data());
    if (head[index_header::magic] != detail::index_magic) return {errc::bad_magic, 0};
    if (head[index_header::version] != 1) return {errc::unsupported_version, 8};
    if (head[index_header::entry_bytes] != size_of<index_entry>) return {errc::bad_size, 12};
    const byte_view body = bytes.subspan(size_of<index_header>);
    if (head[index_header::count] > body.size() / size_of<index_entry>) return {errc::truncated, bytes.size()};
    window_index opened;
    opened.entries_ = record_span<index_entry, order::little>(body.first(static_cast<std::size_t>(head[index_header::count]) * size_of<index_entry>));
    return opened;
  }

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] indexed_window operator[](std::size_t index) const noexcept {
    const auto item = entries_[index];
    indexed_window made;
    made.file = item[index_entry::file];
    window& w = made.what;
    if ((item[index_entry::flags] & detail::index_has_ordinal) != 0) w.ordinal = item[index_entry::ordinal];
    w.has_predecessor = (item[index_entry::flags] & detail::index_has_predecessor) != 0;
    w.tid = item[index_entry::tid];
    w.begin = item[index_entry::begin];
    w.end = item[index_entry::end];
    w.opening = item[index_entry::opening];
    w.first_time = item[index_entry::first_time];
    w.last_time = item[index_entry::last_time];
    w.first_instruction = item[index_entry::first_instruction];
    w.instructions = item[index_entry::instructions];
    w.units = item[index_entry::units];
    w.chunk = item[index_entry::chunk];
    w.skipped = item[index_entry::skipped];
    w.idle_time = item[index_entry::idle_time];
    return made;
  }

  /// The window of that file and ordinal by binary search; none when there is none, or its bytes would lie outside of a file
  /// of `file_size` unpacked bytes.
  [[nodiscard]] std::optional<window> find(std::uint32_t file, std::uint64_t ordinal, std::uint64_t file_size) const noexcept {
    std::size_t low = 0, high = entries_.size();
    const auto before = [&](std::size_t i) {
      const auto item = entries_[i];
      const bool has = (item[index_entry::flags] & detail::index_has_ordinal) != 0;
      return item[index_entry::file] < file || (item[index_entry::file] == file && (!has || item[index_entry::ordinal] < ordinal));
    };
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (before(middle)) low = middle + 1;
      else high = middle;
    }
    if (low == entries_.size()) return {};
    const indexed_window found = (*this)[low];
    if (found.file != file || found.what.ordinal != ordinal) return {};
    if (found.what.end > file_size || found.what.begin > found.what.end) return {};
    return found.what;
  }

  /// The window of that file that holds the byte at `offset`: the current one after going straight to a chunk, whose start
  /// does not say it. None in front of the first window. Costs time in proportion to the windows of the index.
  [[nodiscard]] std::optional<window> containing(std::uint32_t file, std::uint64_t offset) const noexcept {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const auto item = entries_[i];
      if (item[index_entry::file] == file && item[index_entry::begin] <= offset && offset < item[index_entry::end]) return (*this)[i].what;
    }
    return {};
  }

 private:
  record_span<index_entry, order::little> entries_;
};

/// The windows of several threads, aligned by ordinal: for each ordinal the windows that have it. Threads that idle, come late
/// or are missing in a window have no entry there.
class aligned_windows {
 public:
  void add(std::uint32_t file, const window& one) { rows_[one.ordinal].push_back({file, one}); }

  /// Ordinals ascending, each with its windows in the order of add().
  [[nodiscard]] const std::map<std::optional<std::uint64_t>, std::vector<indexed_window>>& rows() const noexcept { return rows_; }

  /// When the window of that ordinal was opened: the smallest first_time over all threads.
  [[nodiscard]] std::uint64_t opening_time(std::uint64_t ordinal) const {
    std::uint64_t time = ~std::uint64_t{0};
    if (const auto row = rows_.find(ordinal); row != rows_.end()) {
      for (const indexed_window& one : row->second) time = std::min(time, one.what.first_time);
    }
    return time;
  }
  /// The earliest opening of a window with a larger ordinal; the largest number when there is none. For window::straggler().
  [[nodiscard]] std::uint64_t next_opening(std::uint64_t ordinal) const {
    std::uint64_t time = ~std::uint64_t{0};
    for (auto row = rows_.upper_bound(ordinal); row != rows_.end(); ++row) {
      for (const indexed_window& one : row->second) time = std::min(time, one.what.first_time);
    }
    return time;
  }

 private:
  std::map<std::optional<std::uint64_t>, std::vector<indexed_window>> rows_;
};

}  // namespace backsight::memtrace
