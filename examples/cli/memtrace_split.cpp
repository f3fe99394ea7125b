// SPDX-License-Identifier: Apache-2.0
// split and merge of final memtraces.
#include "memtrace_commands.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <unordered_map>

#include <backsight/memtrace/split.hpp>

#include "memtrace_choice.hpp"
#include "memtrace_input.hpp"
#include "output_folder.hpp"

namespace cli::memtrace {

namespace {

using namespace backsight;
using namespace backsight::memtrace;

/// The name of a thread file without what says how it is packed.
std::string plain_name(const std::string& path) {
  std::string name = base_name(path);
  const std::size_t end = name.rfind(".trace");
  return end == std::string::npos ? name + ".trace" : name.substr(0, end + 6);
}

/// A thread file that is read, and what the file made of it is called.
struct source {
  std::string path;
  std::uint64_t tid = 0;
  std::string name;
};

/// Gives each its name without packing; threads whose files have one name get their number into it.
void name_all(std::vector<source>& sources) {
  std::map<std::string, std::set<std::uint64_t>> threads;
  for (source& one : sources) {
    one.name = plain_name(one.path);
    threads[one.name].insert(one.tid);
  }
  for (source& one : sources) {
    if (threads[one.name].size() > 1) one.name.insert(one.name.size() - 6, "." + std::to_string(one.tid));
  }
}

/// Files that are going to be written, and of what. Two of one name are an error before anything is written.
class write_plan {
 public:
  /// Plans to write `to` from a part of `from` at `offset`; reports an error and gives false when it is taken.
  bool add(const std::string& to, const std::string& from, std::uint64_t offset) {
    const auto [found, added] = planned_.emplace(to, from + ":" + std::to_string(offset));
    if (!added)
      (void)report_error(found->second,
                         "goes to " + to + " like " + from + ":" + std::to_string(offset) + "; nothing was written");
    return added;
  }

 private:
  std::unordered_map<std::string, std::string> planned_;
};

/// Where a window's file goes: what has no ordinal lies beside the folders of those that have one.
std::string place_of(const window& one, const std::string& name) {
  if (!one.ordinal) return name;
  char folder[40];
  std::snprintf(folder, sizeof folder, "window.%04llu/", static_cast<unsigned long long>(*one.ordinal));
  return folder + name;
}

/// Reports damage, and what split and merge do not take.
int report_unreadable(const std::string& path, const trace_error& error) {
  if (error.code != errc::unsupported_type) return report_damage(path, error);
  return report_error(path, error, "split and merge take files of one thread each, with records of 12 bytes");
}

/// The header of a file that can be split or merged; reports why another cannot.
std::optional<final_header> header_of(const std::string& path, int& code) {
  const auto head = final_header_of(path);
  if (head && head->address_size == 8 && (head->file_type & file_type::core_sharded) == 0) return *head;
  code = report_unreadable(path, head ? trace_error{errc::unsupported_type, 0} : head.error());
  return {};
}

}  // namespace

int split(const arguments& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  for (const trace_folder& folder : folders) {
    if (!folder.window.empty()) return report_error(folder.path, "the trace is split already");
  }
  int code = success;
  output_folder out(asked.output, asked.force);
  std::vector<source> sources;
  for (const std::string& path : folders.front().files) {
    if (const auto head = header_of(path, code)) sources.push_back({path, head->tid, {}});
  }
  name_all(sources);
  // What is wrong is told once, when the windows are written.
  write_plan plan;
  choice wanted(asked);
  for (const source& one : sources) {
    window_scanner scanner;
    bool good = true;
    const auto note = [&](const window& which) {
      if (which.tid == one.tid && !wanted.has(which.ordinal, which.tid)) return;
      if (which.tid == one.tid) good = plan.add(place_of(which, one.name), one.path, which.begin) && good;
      else if (good) good = report_unreadable(one.path, {errc::unsupported_type, which.begin}) == success;
    };
    (void)for_each_final_block<std::uint64_t>(one.path, [&](byte_view block) -> trace_error {
      while (!block.empty()) {
        block = block.subspan(scanner.feed(block));
        if (scanner.done()) note(*scanner.done());
        else if (scanner.error()) return scanner.error();
      }
      return {};
    });
    note(scanner.last());
    if (!good) return bad_input;
  }
  if (const int nothing = wanted.finish(code); nothing == usage) return nothing;
  for (const source& one : sources) {
    const loaded_file file(one.path);
    const trace_error error = split_windows(file.bytes(), [&](const window& which, byte_view bytes) {
      if (!wanted.has(which.ordinal, which.tid)) return;
      if (out.write(place_of(which, one.name), bytes) != success) code = bad_input;
    });
    const trace_error damage = file.error() ? file.error() : error ? error : damage_of(file.bytes());
    if (damage) code = report_unreadable(one.path, damage);
  }
  return out.close(code);
}

int merge(const arguments& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  int code = success;
  output_folder out(asked.output, asked.force);
  // The number at the end of a file's name differs from window to window: files belong together by their thread.
  struct part {
    std::string path;
    std::optional<std::uint64_t> window;
  };
  std::map<std::uint64_t, std::vector<part>> threads;
  std::vector<source> sources;
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      const auto head = header_of(path, code);
      if (!head) continue;
      // A file's window is told at its beginning.
      std::optional<window_mark> first;
      (void)for_each_block(path, [&](byte_view block, std::uint64_t) {
        first = first_window(block);
        return trace_error{errc::capacity, 0};
      });
      std::vector<part>& parts = threads[head->tid];
      if (parts.empty()) sources.push_back({path, head->tid, {}});
      parts.push_back({path, first ? std::optional(first->ordinal) : std::nullopt});
    }
  }
  for (auto& [tid, parts] : threads) {
    std::stable_sort(parts.begin(), parts.end(), [](const part& a, const part& b) { return a.window < b.window; });
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (parts[i].window != parts[i - 1].window) continue;
      return report_error(parts[i].path,
                          "is of the same thread and window as " + parts[i - 1].path + "; nothing was written");
    }
  }
  name_all(sources);
  write_plan plan;
  for (const source& one : sources) {
    if (!plan.add(one.name, one.path, 0)) return bad_input;
  }
  for (const source& one : sources) {
    window_merger merger;
    for (const part& from : threads[one.tid]) {
      const loaded_file file(from.path);
      const trace_error error = merger.add(file.bytes());
      const trace_error damage = file.error() ? file.error() : error ? error : damage_of(file.bytes());
      if (damage) code = report_unreadable(from.path, damage);
    }
    const std::vector<std::byte> merged = merger.finish();
    if (!merged.empty() && out.write(one.name, merged) != success) code = bad_input;
  }
  return out.close(code);
}

}  // namespace cli::memtrace
