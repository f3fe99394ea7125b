// SPDX-License-Identifier: Apache-2.0
#include "input_kind.hpp"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <ranges>
#include <system_error>
#include <vector>

#include <backsight/io/file_kind.hpp>

namespace cli {

namespace fs = std::filesystem;
using backsight::io::file_kind;

namespace {

constexpr const char* no_known_kind = "no known kind of trace begins like this";

const trace_format* format_of_folder(const std::string& path) {
  for (const trace_format* const format : std::views::reverse(formats)) {
    if (format->detect(path, {})) return format;
  }
  return nullptr;
}

/// The folder may be one or two levels above the traces.
std::string what_the_folder_is(const std::string& path) {
  constexpr std::size_t most = 1000;  // Folders that are looked at.
  std::vector<std::pair<std::string, const trace_format*>> found;
  std::vector<fs::path> level{path};
  std::size_t seen = 0;
  for (int depth = 0; depth < 2 && found.empty(); ++depth) {
    std::vector<fs::path> below;
    for (const fs::path& folder : level) {
      std::error_code error;
      for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator(); at.increment(error)) {
        std::error_code ignored;
        if (!at->is_directory(ignored) || ++seen > most) continue;
        below.push_back(at->path());
        if (const trace_format* const format = format_of_folder(at->path().string()))
          found.emplace_back(at->path().string(), format);
      }
    }
    level = std::move(below);
  }
  if (found.empty())
    return "neither this folder nor one in it is a trace; XRay logs and recordings of perf are given by their files";
  std::ranges::sort(found);
  std::string text =
      "this folder is above " + std::string(found.front().second->a_trace) + ": give " + found.front().first;
  if (found.size() > 1) text += " (or another of " + std::to_string(found.size()) + ")";
  return text;
}

/// Files of a uftrace directory: it is given whole.
std::optional<std::string> uftrace_folder_of(const std::string& path) {
  std::error_code ignored;
  const fs::path name = fs::path(path).filename(), folder = fs::path(path).parent_path();
  const bool one_of_them = name == "task.txt" || name == "info" || name == "default.opts" ||
                           name.extension() == ".dat" || name.extension() == ".sym" || name.extension() == ".map" ||
                           name.extension() == ".dbg";
  if (!one_of_them || !fs::is_regular_file(folder / "info", ignored)) return {};
  return folder.empty() ? "." : folder.string();
}

}  // namespace

std::string what_else_it_is(const std::string& path) {
  if (is_directory(path)) {
    for (const trace_format* const format : std::views::reverse(formats)) {
      if (format->detect(path, {})) return std::string("it is ") + format->a_trace + ": `backsight info` shows it";
    }
    return what_it_is(path, {});
  }
  input file;
  std::error_code ignored;
  // What can be read once only has been.
  if (!fs::is_regular_file(path, ignored) || !file.try_open(path)) return {};
  const backsight::byte_view head = file.bytes().first(std::min<std::size_t>(file.bytes().size(), 64));
  for (const trace_format* const format : std::views::reverse(formats)) {
    if (format->detect(path, head)) return std::string("it is ") + format->a_trace + ": `backsight info` shows it";
  }
  const std::string is = what_it_is(path, head);
  return is == no_known_kind ? std::string() : is;
}

std::string what_it_is(const std::string& path, backsight::byte_view head) {
  if (is_directory(path)) return what_the_folder_is(path);
  if (const auto folder = uftrace_folder_of(path)) return "a file of a uftrace directory: give the folder, " + *folder;
  const file_kind kind = backsight::io::file_kind_of(head);
  const std::string is = std::string("it is ") + enumerator_name(kind);
  const auto unpacked_by = [&](const char* tool) {
    return is + ": give what is in it, as by <(" + tool + " " + path + ")";
  };
  switch (kind) {
    case file_kind::empty: return is;
    case file_kind::gzip: return unpacked_by("zcat");
    case file_kind::zlib: return is + ", and holds no memtrace";
    case file_kind::lz4: return unpacked_by("lz4cat");
    case file_kind::snappy: return is + ", and holds no memtrace";
    case file_kind::zip: return unpacked_by("unzip -p");
    case file_kind::zstd: return unpacked_by("zstdcat");
    case file_kind::xz: return unpacked_by("xzcat");
    case file_kind::bzip2: return unpacked_by("bzcat");
    case file_kind::elf:
      return is +
             ", not a trace: `backsight cfi rows` shows its call frame information, and --symbols takes names from it";
    case file_kind::core: return is + ": `backsight unwind` prints the stacks in it";
    case file_kind::jit_dump: return is + ", which a perf.data recording uses";
    case file_kind::stack_samples: return is + ": `backsight unwind` unwinds them";
    case file_kind::unwind_table:
      return is + ", which `backsight cfi table` writes and `backsight cfi lookup` looks into";
    case file_kind::window_index: return is + ": `backsight windows --index` uses it, with the trace that it is of";
    case file_kind::time_index: return is + ": --index uses it, with the uftrace directory that it is of";
    case file_kind::trace_events:
    case file_kind::yaml: return is + ", which `backsight export` writes and nothing here reads";
    default: return no_known_kind;
  }
}

}  // namespace cli
