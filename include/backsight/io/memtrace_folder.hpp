// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace backsight::io {

/// One folder of thread files: a merged set, or one window of a split set.
struct memtrace_folder {
  std::string path;
  std::string window;              ///< "window.NNNN" of a split set, else empty
  std::vector<std::string> files;  ///< full paths of the thread files, by name
};

/// The folders of a memtrace, and what was passed by.
struct memtrace_folders {
  /// What could not be listed, with the reason; without one, what has the name of a thread file and is no regular file.
  struct left_out {
    std::string path;
    std::error_code reason;
  };
  std::vector<memtrace_folder> folders;
  std::vector<left_out> faults;
};

/// Whether a file of that name holds a thread: `.trace`, `.raw` or `.memtrace`, with the ending of a packing or
/// without.
[[nodiscard]] inline bool is_memtrace_file(std::string_view name) noexcept {
  for (const std::string_view packing : {".zip", ".gz", ".lz4", ".zlib", ".sz"}) {
    if (!name.ends_with(packing)) continue;
    name.remove_suffix(packing.size());
    break;
  }
  return name.ends_with(".trace") || name.ends_with(".raw") || name.ends_with(".memtrace");
}

namespace detail {

/// The number of a folder `window.NNNN`; no number is too long to be told from another. Empty when it is none.
[[nodiscard]] inline std::string_view memtrace_window(std::string_view name) noexcept {
  constexpr std::string_view prefix = "window.";
  if (!name.starts_with(prefix)) return {};
  name.remove_prefix(prefix.size());
  if (name.find_first_not_of("0123456789") != std::string_view::npos) return {};
  while (name.size() > 1 && name.front() == '0') name.remove_prefix(1);
  return name;
}

/// The entries of a folder, as many as can be read.
[[nodiscard]] inline std::vector<std::filesystem::directory_entry> memtrace_entries(const std::filesystem::path& path,
                                                                                    memtrace_folders& to) {
  std::vector<std::filesystem::directory_entry> entries;
  std::error_code error;
  std::filesystem::directory_iterator at(path, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) entries.push_back(*at);
  if (error) to.faults.push_back({path.string(), error});
  return entries;
}

inline void add_memtrace_folder(const std::vector<std::filesystem::directory_entry>& entries, memtrace_folder folder,
                                memtrace_folders& to) {
  for (const auto& entry : entries) {
    if (!is_memtrace_file(entry.path().filename().string())) continue;
    std::error_code error;
    if (entry.is_regular_file(error)) folder.files.push_back(entry.path().string());
    else to.faults.push_back({entry.path().string(), {}});
  }
  std::sort(folder.files.begin(), folder.files.end());
  if (!folder.files.empty()) to.folders.push_back(std::move(folder));
}

}  // namespace detail

/// The folders with thread files at `path`: itself, its window.NNNN folders in the order of their numbers, or, for a
/// file, just that file. A folder of a recording, which holds none, stands for its folder `trace`, or for `raw` when
/// that has none: one that was not made into a final trace yet has `raw` only.
[[nodiscard]] inline memtrace_folders find_memtrace_folders(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {{{path, {}, {path}}}, {}};
  memtrace_folders found;
  const auto entries = detail::memtrace_entries(path, found);
  detail::add_memtrace_folder(entries, {path, {}, {}}, found);
  std::vector<std::pair<std::string, fs::path>> windows;
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    const std::string_view number = detail::memtrace_window(name);
    if (!number.empty() && entry.is_directory(ignored)) windows.emplace_back(number, entry.path());
  }
  std::sort(windows.begin(), windows.end(), [](const auto& a, const auto& b) {
    if (a.first.size() != b.first.size()) return a.first.size() < b.first.size();
    return a < b;
  });
  for (const auto& [number, folder] : windows)
    detail::add_memtrace_folder(detail::memtrace_entries(folder, found),
                                {folder.string(), folder.filename().string(), {}}, found);
  for (const char* const below : {"trace", "raw"}) {
    const fs::path inner = fs::path(path) / below;
    if (!found.folders.empty() || !fs::is_directory(inner, ignored)) continue;
    memtrace_folders nested = find_memtrace_folders(inner.string());
    found.folders = std::move(nested.folders);
    found.faults.insert(found.faults.end(), nested.faults.begin(), nested.faults.end());
  }
  return found;
}

}  // namespace backsight::io
