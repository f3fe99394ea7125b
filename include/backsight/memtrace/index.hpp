// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/saved_index.hpp>
#include <backsight/memtrace/window_set.hpp>

namespace backsight::memtrace {

/// A saved window index, version 3: behind the head and the index entries by file and place an index_lists, a number of
/// 8 bytes for each entry, which list them by file, ordinal and place, `files` records of files, and `text_bytes` bytes
/// of their names. It is about all files: the fingerprint is the sum of theirs.
inline constexpr saved_index_kind window_index_kind{"BSWINDEX", 3};

/// The numbers of what follows the entries of a saved window index. 16 bytes.
struct index_lists {
  static constexpr const char* name = "index_lists";
  static constexpr backsight::field<"files", std::uint64_t> files{};
  static constexpr backsight::field<"text_bytes", std::uint64_t> text_bytes{};
  static constexpr backsight::layout fields{files, text_bytes};
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
  static constexpr backsight::layout fields{file,         flags,   ordinal,    tid,       begin,
                                            end,          opening, first_time, last_time, first_instruction,
                                            instructions, units,   chunk,      skipped,   idle_time};
};

/// One file of a saved index: what tells it from others, and where its windows and names are. 56 bytes.
struct index_file {
  static constexpr const char* name = "index_file";
  static constexpr backsight::field<"size", std::uint64_t> size{};
  static constexpr backsight::field<"content", std::uint64_t> content{};
  static constexpr backsight::field<"changed", std::uint64_t> changed{};
  static constexpr backsight::field<"first", std::uint64_t> first{};      ///< its first index entry
  static constexpr backsight::field<"count", std::uint64_t> count{};      ///< of its index entries
  static constexpr backsight::field<"text_at", std::uint64_t> text_at{};  ///< the folder's name, then its own
  static constexpr backsight::field<"folder_bytes", std::uint32_t> folder_bytes{};
  static constexpr backsight::field<"name_bytes", std::uint32_t> name_bytes{};
  static constexpr backsight::layout fields{size, content, changed, first, count, text_at, folder_bytes, name_bytes};
};
static_assert(schema<index_lists> && size_of<index_lists> == 16);
static_assert(schema<index_entry> && size_of<index_entry> == 112);
static_assert(schema<index_file> && size_of<index_file> == 56);

/// A file of the set that an index is about: its fingerprint. Two files are taken for one when all but `changed` is
/// equal.
struct indexed_file {
  std::string_view folder;    ///< As "window.0003", in a set that is split; else empty.
  std::string_view name;      ///< Without the folders that it is in.
  std::uint64_t size = 0;     ///< Of the file as it lies there, packed or not.
  std::uint64_t content = 0;  ///< The checksum() of these bytes.
  /// When the file was changed, in a unit of the caller's choice: who knows that it was not since then need not read
  /// all of it to know its content. Not 0 unless that is unknown.
  std::uint64_t changed = 0;
  [[nodiscard]] friend constexpr bool operator==(const indexed_file&, const indexed_file&) = default;
};

namespace detail {
inline constexpr std::uint32_t index_has_ordinal = 1, index_has_predecessor = 2, index_continued = 4, index_late = 8;

[[nodiscard]] inline fingerprint fingerprint_of(std::span<const indexed_file> files) noexcept {
  fingerprint all;
  for (const indexed_file& file : files) all += {file.size, file.content};
  return all;
}
}  // namespace detail

/// The bytes of an index over `windows` of `files`, to be written to a file. Precondition: the windows are as found in
/// the files, before join_pieces, and each is of one of the files.
[[nodiscard]] inline std::vector<std::byte> save_index(std::vector<indexed_window> windows,
                                                       std::span<const indexed_file> files) {
  std::stable_sort(windows.begin(), windows.end(), [](const indexed_window& a, const indexed_window& b) {
    return a.file != b.file ? a.file < b.file : a.what.begin < b.what.begin;
  });
  BACKSIGHT_ASSERT(windows.empty() || windows.back().file < files.size());
  std::vector<std::byte> bytes(saved_index_head::size);
  bytes.reserve(bytes.size() + windows.size() * (size_of<index_entry> + 8) + files.size() * (size_of<index_file> + 64));
  const auto append = [&](byte_view more) { bytes.insert(bytes.end(), more.begin(), more.end()); };
  for (const auto& [file, w, late] : windows) {
    owned_record<index_entry, order::little> item;
    const std::uint32_t flags = (w.ordinal ? detail::index_has_ordinal : 0U) |
                                (w.has_predecessor ? detail::index_has_predecessor : 0U) |
                                (w.continued ? detail::index_continued : 0U) | (late ? detail::index_late : 0U);
    item.set(index_entry::file, file).set(index_entry::flags, flags);
    item.set(index_entry::ordinal, w.ordinal.value_or(0)).set(index_entry::tid, w.tid).set(index_entry::begin, w.begin);
    item.set(index_entry::end, w.end).set(index_entry::opening, w.opening).set(index_entry::first_time, w.first_time);
    item.set(index_entry::last_time, w.last_time).set(index_entry::first_instruction, w.first_instruction);
    item.set(index_entry::instructions, w.instructions)
        .set(index_entry::units, w.units)
        .set(index_entry::chunk, w.chunk);
    item.set(index_entry::skipped, w.skipped).set(index_entry::idle_time, w.idle_time);
    append(item.bytes());
  }
  std::vector<std::size_t> by_ordinal(windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) by_ordinal[i] = i;
  std::stable_sort(by_ordinal.begin(), by_ordinal.end(), [&](std::size_t a, std::size_t b) {
    return windows[a].file != windows[b].file ? windows[a].file < windows[b].file
                                              : windows[a].what.ordinal < windows[b].what.ordinal;
  });
  owned_record<index_lists, order::little> lists;
  std::uint64_t text_bytes = 0;
  for (const indexed_file& file : files) text_bytes += file.folder.size() + file.name.size();
  append(lists.set(index_lists::files, files.size()).set(index_lists::text_bytes, text_bytes).bytes());
  for (const std::size_t number : by_ordinal) {
    std::array<std::byte, 8> stored{};
    store<order::little>(stored.data(), std::uint64_t{number});
    append(stored);
  }
  std::size_t first = 0;
  std::uint64_t text = 0;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    const indexed_file& file = files[i];
    std::size_t count = 0;
    while (first + count < windows.size() && windows[first + count].file == i) ++count;
    owned_record<index_file, order::little> item;
    item.set(index_file::size, file.size).set(index_file::content, file.content).set(index_file::changed, file.changed);
    item.set(index_file::first, first).set(index_file::count, count).set(index_file::text_at, text);
    item.set(index_file::folder_bytes, static_cast<std::uint32_t>(file.folder.size()));
    item.set(index_file::name_bytes, static_cast<std::uint32_t>(file.name.size()));
    append(item.bytes());
    first += count;
    text += file.folder.size() + file.name.size();
  }
  for (const indexed_file& file : files) {
    append(std::as_bytes(std::span(file.folder)));
    append(std::as_bytes(std::span(file.name)));
  }
  seal_saved_index<index_entry>(bytes, window_index_kind, windows.size(), detail::fingerprint_of(files));
  return bytes;
}

/// A saved window index, used where it lies, as in a mapped file. A view over its bytes; nothing is copied.
class window_index {
 public:
  window_index() = default;
  /// Errors: errc::bad_magic, errc::unsupported_version, errc::bad_size, errc::truncated, errc::checksum, and
  /// errc::out_of_range for an entry or file that is not where it belongs. Reads all bytes.
  [[nodiscard]] static result<window_index> open(byte_view bytes) noexcept {
    const auto saved = open_saved_index<index_entry>(bytes, window_index_kind);
    if (!saved) return saved.error();
    byte_view rest = saved->rest;
    const auto take = [&](std::uint64_t count, std::size_t each, byte_view& part) {
      if (count > rest.size() / each) return false;
      part = rest.first(static_cast<std::size_t>(count) * each);
      rest = rest.subspan(part.size());
      return true;
    };
    window_index opened;
    opened.entries_ = saved->entries;
    byte_view lists, files;
    if (!take(1, size_of<index_lists>, lists)) return {errc::truncated, bytes.size()};
    const record<index_lists, order::little> numbers(lists.data());
    if (!take(opened.size(), 8, opened.by_ordinal_) || !take(numbers[index_lists::files], size_of<index_file>, files) ||
        !take(numbers[index_lists::text_bytes], 1, opened.text_)) {
      return {errc::truncated, bytes.size()};
    }
    if (!rest.empty()) return {errc::bad_size, bytes.size() - rest.size()};
    if (const trace_error changed = saved->verify()) return changed;
    opened.files_ = record_span<index_file, order::little>(files);
    if (const byte_view bad = opened.misplaced(); bad.data() != nullptr) {
      return {errc::out_of_range, static_cast<std::uint64_t>(bad.data() - bytes.data())};
    }
    return opened;
  }

  /// The number of windows, counted by pieces.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// The windows in the order of the files and of their places.
  [[nodiscard]] indexed_window operator[](std::size_t index) const noexcept {
    const auto item = entries_[index];
    const std::uint32_t flags = item[index_entry::flags];
    indexed_window made;
    made.file = item[index_entry::file];
    made.late = (flags & detail::index_late) != 0;
    window& w = made.what;
    if ((flags & detail::index_has_ordinal) != 0) w.ordinal = item[index_entry::ordinal];
    w.has_predecessor = (flags & detail::index_has_predecessor) != 0;
    w.continued = (flags & detail::index_continued) != 0;
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

  /// The number of files of the set.
  [[nodiscard]] std::size_t files() const noexcept { return files_.size(); }
  /// A file of the set; the names live as long as the bytes of the index.
  [[nodiscard]] indexed_file file(std::size_t number) const noexcept {
    const auto item = files_[number];
    const std::string_view text(reinterpret_cast<const char*>(text_.data()), text_.size());
    const auto at = static_cast<std::size_t>(item[index_file::text_at]);
    const std::size_t folder = item[index_file::folder_bytes];
    return {text.substr(at, folder), text.substr(at + folder, item[index_file::name_bytes]), item[index_file::size],
            item[index_file::content], item[index_file::changed]};
  }

  /// The window of that file and ordinal by binary search, of several or several pieces the first; none when there is
  /// none, or its bytes would lie outside of a file of `file_size` unpacked bytes.
  [[nodiscard]] std::optional<window> find(std::uint32_t file, std::uint64_t ordinal,
                                           std::uint64_t file_size) const noexcept {
    const std::size_t at = first_of(file, ordinal);
    if (at == entries_.size()) return {};
    const indexed_window found = (*this)[listed(at)];
    if (found.file != file || found.what.ordinal != ordinal || found.what.end > file_size) return {};
    return found.what;
  }

  /// All windows of that file and ordinal, pieces one by one, in the order of their places.
  [[nodiscard]] std::vector<indexed_window> all_of(std::uint32_t file, std::uint64_t ordinal) const {
    std::vector<indexed_window> found;
    for (std::size_t at = first_of(file, ordinal); at < entries_.size(); ++at) {
      const indexed_window one = (*this)[listed(at)];
      if (one.file != file || one.what.ordinal != ordinal) break;
      found.push_back(one);
    }
    return found;
  }

  /// The window of that file that holds the byte at `offset`, by binary search: the current one after going straight to
  /// a chunk, whose start does not say it. None in front of the first window.
  [[nodiscard]] std::optional<window> containing(std::uint32_t file, std::uint64_t offset) const noexcept {
    const std::size_t behind = first_where([&](std::size_t i) {
      const auto item = entries_[i];
      return item[index_entry::file] > file || (item[index_entry::file] == file && item[index_entry::begin] > offset);
    });
    if (behind == 0) return {};
    const indexed_window found = (*this)[behind - 1];
    if (found.file != file || offset >= found.what.end) return {};
    return found.what;
  }

 private:
  /// The first number for which `is_behind` holds; it holds for all larger ones.
  template <class F>
  [[nodiscard]] std::size_t first_where(F&& is_behind) const noexcept {
    std::size_t low = 0, high = entries_.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (is_behind(middle)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
  /// The number of the window at a place of the list by ordinals.
  [[nodiscard]] std::size_t listed(std::size_t at) const noexcept {
    return static_cast<std::size_t>(load<std::uint64_t, order::little>(by_ordinal_.data() + at * 8));
  }
  /// The place in the list by ordinals of the first window that has this ordinal or a larger one.
  [[nodiscard]] std::size_t first_of(std::uint32_t file, std::uint64_t ordinal) const noexcept {
    return first_where([&](std::size_t at) {
      const auto item = entries_[listed(at)];
      if (item[index_entry::file] != file) return item[index_entry::file] > file;
      return (item[index_entry::flags] & detail::index_has_ordinal) != 0 && item[index_entry::ordinal] >= ordinal;
    });
  }

  /// The first entry, number or file that is not where it belongs, or nothing.
  [[nodiscard]] byte_view misplaced() const noexcept {
    std::uint64_t next = 0;
    for (std::size_t f = 0; f < files_.size(); ++f) {
      const auto item = files_[f];
      const std::uint64_t count = item[index_file::count],
                          text = std::uint64_t{item[index_file::folder_bytes]} + item[index_file::name_bytes];
      const bool fits = item[index_file::first] == next && count <= entries_.size() - next &&
                        item[index_file::text_at] <= text_.size() && text <= text_.size() - item[index_file::text_at];
      if (!fits) return item.bytes();
      for (const std::uint64_t end = next + count; next < end; ++next) {
        const auto one = entries_[static_cast<std::size_t>(next)];
        const bool follows =
            next == item[index_file::first] ||
            entries_[static_cast<std::size_t>(next - 1)][index_entry::begin] <= one[index_entry::begin];
        if (one[index_entry::file] != f || one[index_entry::begin] > one[index_entry::end] || !follows)
          return one.bytes();
      }
    }
    if (next != entries_.size()) return entries_[static_cast<std::size_t>(next)].bytes();
    const auto key = [&](std::size_t number) {
      const auto item = entries_[number];
      const bool has = (item[index_entry::flags] & detail::index_has_ordinal) != 0;
      return std::array<std::uint64_t, 4>{item[index_entry::file], has ? 1U : 0U, has ? item[index_entry::ordinal] : 0U,
                                          number};
    };
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const byte_view number = by_ordinal_.subspan(i * 8, 8);
      if (load<std::uint64_t, order::little>(number.data()) >= entries_.size()) return number;
      if (i != 0 && !(key(listed(i - 1)) < key(listed(i)))) return number;
    }
    return {};
  }

  record_span<index_entry, order::little> entries_;
  record_span<index_file, order::little> files_;
  byte_view by_ordinal_, text_;
};

}  // namespace backsight::memtrace
