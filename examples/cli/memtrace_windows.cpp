// SPDX-License-Identifier: Apache-2.0
// windows: the windows of a memtrace, found by reading it or by way of a saved index.
#include "memtrace_commands.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>

#include <sys/stat.h>

#include <backsight/memtrace/index.hpp>
#include <backsight/memtrace/raw_records.hpp>
#include <backsight/memtrace/time_text.hpp>
#include <backsight/memtrace/windows.hpp>

#include "memtrace_choice.hpp"
#include "memtrace_input.hpp"
#include "table.hpp"

namespace cli::memtrace {

namespace {

using namespace backsight;
using namespace backsight::memtrace;
namespace fs = std::filesystem;

/// A file of the set that is listed.
struct set_file {
  std::string path, folder, name;
};

template <class Address>
trace_error scan(const std::string& path, std::uint32_t number, std::vector<indexed_window>& into) {
  basic_window_scanner<Address> scanner;
  const trace_error error = for_each_final_block<Address>(path, [&](byte_view block) -> trace_error {
    while (!block.empty()) {
      block = block.subspan(scanner.feed(block));
      if (scanner.done()) into.push_back({number, *scanner.done()});
      else if (scanner.error()) return scanner.error();
    }
    return {};
  });
  into.push_back({number, scanner.last()});
  return error;
}

/// The windows of a file of either format, with the number of the file.
trace_error windows_of(const std::string& path, std::uint32_t number, std::vector<indexed_window>& into) {
  const auto kind = stage_of(path);
  if (kind.error()) return kind.error();
  if (kind.partial() == stage::raw) {
    const loaded_file file(path);
    const auto head = read_raw_header(file.bytes());
    if (!head) return head.error();
    const trace_error error = file.error() ? file.error() : damage_of(file.bytes());
    const bool in_records = error && error.code != errc::bad_end && !file.error();
    const byte_view readable = in_records ? file.bytes().first(static_cast<std::size_t>(error.offset)) : file.bytes();
    for_each_raw_window(readable, *head, [&](const window& one) { into.push_back({number, one}); });
    return error;
  }
  const auto head = final_header_of(path);
  if (!head) return head.error();
  return with_address(*head, [&](auto address) { return scan<decltype(address)>(path, number, into); });
}

/// Times are those of the trace for machines; for people, seconds since the earliest and how long a window lasted.
table table_of(const arguments& asked, output& out) {
  return table(out, asked.format,
               {{.key = "tid", .width = 8},
                {.key = "window", .width = 6, .narrow = "win"},
                {.key = "begin", .width = 11},
                {.key = "end", .width = 11},
                {.key = "instructions", .width = 12, .narrow = "instrs"},
                {.key = "units", .width = 5, .spare = 2},
                {.key = "first_time", .not_in_text = true},
                {.key = "last_time", .not_in_text = true},
                {.key = "after s", .width = 12, .text_only = true},
                {.key = "lasts us", .width = 9, .text_only = true},
                {.key = "skipped", .width = 7, .spare = 4},
                {.key = "idle_us", .width = 9, .spare = 3},
                {.key = "straggler", .narrow = "late", .spare = 1},
                {.key = "folder", .json_only = true}},
               {.json_lines = true});
}

/// Where no TIMESTAMP is, there is no time.
void print_window(table& out, const std::string& folder, const indexed_window& one, std::uint64_t earliest) {
  const window& w = one.what;
  out.id(w.tid).id(w.ordinal).number(w.begin).number(w.end).number(w.instructions).number(w.units);
  out.number(w.first_time).number(w.last_time);
  const bool has_time = w.first_time != 0;
  char after[32];
  std::snprintf(after, sizeof after, "%.6f", static_cast<double>(w.first_time - earliest) / 1e6);
  out.text(has_time ? after : "-");
  // The first time of a window may be later than those in it: see docs/formats/memtrace.md.
  if (has_time && w.last_time >= w.first_time) out.number(w.last_time - w.first_time);
  else out.text("-");
  out.number(w.skipped).number(w.idle_time).flag(one.late).text(folder).end_row();
}

/// What tells a file from others without reading it.
indexed_file stated_of(const set_file& file) {
  indexed_file made{file.folder, file.name, 0, 0, 0};
  struct stat status{};
  if (file.path == "-" || ::stat(file.path.c_str(), &status) != 0) return made;
  made.size = static_cast<std::uint64_t>(status.st_size);
  // The time of the last change, not of the last writing: programs cannot set it.
  made.changed = static_cast<std::uint64_t>(status.st_ctim.tv_sec) * 1000000000 +
                 static_cast<std::uint64_t>(status.st_ctim.tv_nsec);
  return made;
}

/// Adds what takes reading it.
void read_content(const set_file& file, indexed_file& into) {
  (void)with_packed_bytes(file.path, [&](byte_view bytes) {
    into.size = bytes.size();
    into.content = checksum(bytes);
  });
}

/// The windows that the index at asked.index has; reports an error and gives its exit code when it is not one of these
/// files.
int windows_from_index(const arguments& asked, const std::vector<set_file>& files, std::vector<indexed_window>& found) {
  std::error_code ignored;
  const auto refuse = [&](const std::string& why) {
    (void)report_error(asked.index, why + "; it is neither used nor overwritten");
    return static_cast<int>(usage);
  };
  if (!fs::is_regular_file(asked.index, ignored)) return refuse("not a window index");
  const auto mapped = io::mapped_file::open_regular(asked.index.c_str());
  if (!mapped) return report_error(asked.index, mapped.error(), detail_of(asked.index, mapped.error()));
  const auto index = window_index::open(mapped->bytes());
  if (!is_saved_index(mapped->bytes(), window_index_kind)) return refuse("not a window index");
  if (!index) return report_error(asked.index, index.error(), "remove it to have it made anew");
  if (index->files() != files.size()) return refuse("the window index of another trace");
  for (std::size_t i = 0; i < files.size(); ++i) {
    const indexed_file kept = index->file(i);
    indexed_file now = stated_of(files[i]);
    if (now.folder != kept.folder || now.name != kept.name) return refuse("the window index of another trace");
    // A file that was not changed since is not read; one that was copied may be the same.
    const bool untouched = now.changed != 0 && now.changed == kept.changed && now.size == kept.size;
    if (!untouched) read_content(files[i], now);
    if (!untouched && (now.size != kept.size || now.content != kept.content)) {
      return refuse("the window index of another trace, or made before " + files[i].path + " was changed");
    }
    if (!asked.window) continue;
    for (const indexed_window& one : index->all_of(static_cast<std::uint32_t>(i), *asked.window)) found.push_back(one);
  }
  for (std::size_t i = 0; !asked.window && i < index->size(); ++i) found.push_back((*index)[i]);
  return success;
}

/// Finds the windows by reading all files; what could be read of damaged ones is kept.
int windows_from_files(const std::vector<set_file>& files, std::vector<indexed_window>& found) {
  int code = success;
  for (std::uint32_t i = 0; i < files.size(); ++i) {
    if (const trace_error error = windows_of(files[i].path, i, found)) code = report_damage(files[i].path, error);
  }
  mark_stragglers(found);
  return code;
}

/// Writes the index of all windows to a file.
int write_index(const std::string& path, const std::vector<indexed_window>& all, const std::vector<set_file>& files) {
  std::vector<indexed_file> about;
  for (const set_file& file : files) {
    about.push_back(stated_of(file));
    read_content(file, about.back());
  }
  const std::vector<std::byte> bytes = save_index(all, about);
  output out(path);
  out.write({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  return out.close(success);
}

}  // namespace

int windows(const arguments& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  std::vector<set_file> files;
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) files.push_back({path, folder.window, base_name(path)});
  }
  std::error_code ignored;
  std::vector<indexed_window> found;
  int code = success;
  if (!asked.index.empty() && fs::exists(fs::symlink_status(asked.index, ignored))) {
    code = windows_from_index(asked, files, found);
    if (code != success) return code;
  } else {
    code = windows_from_files(files, found);
    if (!asked.index.empty() && code != success)
      (void)report_error(asked.index, "not written, since the trace is damaged");
    else if (!asked.index.empty()) code = write_index(asked.index, found, files);
  }
  output out(asked.output);
  if (code != success && found.empty()) return out.close(code);
  choice wanted(asked);
  found = join_pieces(std::move(found));
  std::erase_if(found, [&](const indexed_window& one) { return !wanted.has(one.what.ordinal, one.what.tid); });
  std::uint64_t earliest = ~std::uint64_t{0};
  for (const indexed_window& one : found) {
    if (one.what.first_time != 0) earliest = std::min(earliest, one.what.first_time);
  }
  if (asked.format == "text" && earliest != ~std::uint64_t{0}) {
    std::string begin;
    (void)print_utc(std::back_inserter(begin), earliest);
    out.write("times after " + begin + " UTC\n");
  }
  table rows = table_of(asked, out);
  for (const indexed_window& one : found) print_window(rows, files[one.file].folder, one, earliest);
  rows.finish();
  return out.close(wanted.finish(code));
}

}  // namespace cli::memtrace
