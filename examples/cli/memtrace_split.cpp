// SPDX-License-Identifier: Apache-2.0
// split and merge of final memtraces.
#include "memtrace_commands.hpp"

#include <cstdio>
#include <filesystem>
#include <map>

#include <backsight/memtrace/split.hpp>

#include "memtrace_input.hpp"

namespace cli::memtrace {

namespace {

using namespace backsight;
using namespace backsight::memtrace;
namespace fs = std::filesystem;

/// The name of a thread file without what says how it is packed.
std::string plain_name(const std::string& path) {
  std::string name = base_name(path);
  const std::size_t end = name.rfind(".trace");
  return end == std::string::npos ? name + ".trace" : name.substr(0, end + 6);
}

int write_file(const fs::path& path, byte_view bytes) {
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) return report_error(path.parent_path().string(), error.message());
  output out(path.string());
  // Pieces, since an output is made for text of moderate size.
  constexpr std::size_t piece = 1 << 16;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    const byte_view part = bytes.subspan(at, std::min(piece, bytes.size() - at));
    out.write({reinterpret_cast<const char*>(part.data()), part.size()});
  }
  return out.close(success);
}

}  // namespace

int split(const options& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  int code = success;
  for (const std::string& path : folders.front().files) {
    const loaded_file file(path);
    if (file.error()) code = report_error(path, file.error(), detail_of(path, file.error()));
    const trace_error error = split_windows(file.bytes(), [&](const window& one, byte_view bytes) {
      char folder[40];
      std::snprintf(folder, sizeof folder, "window.%04llu", static_cast<unsigned long long>(one.ordinal.value_or(0)));
      if (write_file(fs::path(asked.output) / folder / plain_name(path), bytes) != success) code = bad_input;
    });
    if (error && !file.error()) code = report_error(path, error);
  }
  return code;
}

int merge(const options& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  int code = success;
  // The number at the end of a file's name differs from window to window: files belong together by their thread.
  struct thread {
    std::string name;
    std::vector<std::string> files;
  };
  std::map<std::uint64_t, thread> threads;
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      result<final_header> head{errc::truncated, 0};
      constexpr trace_error enough{errc::capacity, 0};
      const trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t) {
        head = read_final_header(block);
        return enough;
      });
      if (!head) {
        const trace_error cause = error && error.code != enough.code ? error : head.error();
        code = report_error(path, cause, detail_of(path, cause));
        continue;
      }
      thread& one = threads[head->tid];
      if (one.name.empty()) one.name = plain_name(path);
      one.files.push_back(path);
    }
  }
  for (const auto& [tid, one] : threads) {
    window_merger merger;
    for (const std::string& path : one.files) {
      const loaded_file file(path);
      if (file.error()) code = report_error(path, file.error(), detail_of(path, file.error()));
      if (const trace_error error = merger.add(file.bytes()); error && !file.error()) code = report_error(path, error);
    }
    const std::vector<std::byte> merged = merger.finish();
    if (!merged.empty() && write_file(fs::path(asked.output) / one.name, merged) != success) code = bad_input;
  }
  return code;
}

}  // namespace cli::memtrace
