// SPDX-License-Identifier: Apache-2.0
#include "memtrace_input.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <span>

#include <sys/mman.h>

#include <backsight/io/container.hpp>
#include <backsight/io/packed_file.hpp>
#include <backsight/memtrace/trace.hpp>

#ifdef BACKSIGHT_HAVE_ZLIB
#include <backsight/io/inflate.hpp>
#endif
#ifdef BACKSIGHT_HAVE_LZ4
#include <backsight/io/lz4_frame.hpp>
#endif
#ifdef BACKSIGHT_HAVE_SNAPPY
#include <backsight/io/snappy_frame.hpp>
#endif
#ifdef BACKSIGHT_HAVE_LIBZIP
#include <backsight/io/zip.hpp>
#endif

#include "program.hpp"

namespace cli::memtrace {

using namespace backsight;
using namespace backsight::memtrace;

namespace {

namespace fs = std::filesystem;
using block_function = std::function<trace_error(byte_view, std::uint64_t)>;

// A multiple of 8 and 12, small enough for the cache.
constexpr std::size_t block_size = 24 * 8192;

using packed_file = io::packed_file<
#ifdef BACKSIGHT_HAVE_ZLIB
    io::inflate_reader,
#endif
#ifdef BACKSIGHT_HAVE_LZ4
    io::lz4_reader,
#endif
#ifdef BACKSIGHT_HAVE_SNAPPY
    io::snappy_reader,
#endif
#ifdef BACKSIGHT_HAVE_LIBZIP
    io::zip_reader,
#endif
    io::plain_reader>;

trace_error plain_blocks(byte_view bytes, bool mapped, const block_function& f) {
  constexpr std::size_t piece = block_size * 64;
  for (std::size_t offset = 0; offset < bytes.size(); offset += piece) {
    const byte_view block = bytes.subspan(offset, std::min(piece, bytes.size() - offset));
    if (trace_error error = f(block, offset)) return {error.code, error.offset + offset};
    if (!mapped) continue;
    // Pages that were read are given back, so that the resident size stays the same however long the trace is.
    const auto page = reinterpret_cast<std::uintptr_t>(block.data()) & ~std::uintptr_t{4095};
    ::madvise(reinterpret_cast<void*>(page), block.size() / 4096 * 4096, MADV_DONTNEED);
  }
  return {};
}

trace_error unpack(byte_view bytes, bool mapped, const block_function& f) {
  if (io::container_of(bytes) == io::container::plain) return plain_blocks(bytes, mapped, f);
  packed_file file(bytes);
  std::vector<std::byte> buffer(block_size);
  return io::for_each_block(file, buffer, f);
}

/// The bytes of a file as they are, kept by `file`; also those of stdin, for `-`, and of other streams.
trace_error open_packed(const std::string& path, input& file) {
  const auto is_of_use = [](byte_view head) {
    return io::container_of(head) != io::container::plain || stage_of_bytes(head) != stage::unknown;
  };
  return file.try_open(path, is_of_use) ? trace_error{} : trace_error{errc::io, 0};
}

/// Says so once, however often the folder is looked at.
void warn(const fs::path& path, std::string_view message) {
  static std::set<std::string> told;
  if (told.insert(path.string()).second)
    note("%s: %.*s\n", path.c_str(), static_cast<int>(message.size()), message.data());
}

}  // namespace

std::string base_name(const std::string& path) { return fs::path(path).filename().string(); }

trace_error for_each_block(const std::string& path, const block_function& f) {
  input file;
  if (const trace_error error = open_packed(path, file)) return error;
  return unpack(file.bytes(), file.mapped(), f);
}

trace_error with_packed_bytes(const std::string& path, const std::function<void(byte_view)>& f) {
  input file;
  const trace_error error = open_packed(path, file);
  if (!error) f(file.bytes());
  return error;
}

loaded_file::loaded_file(const std::string& path) {
  error_ = open_packed(path, file_);
  if (error_) return;
  const byte_view packed = file_.bytes();
  if (io::container_of(packed) == io::container::plain) {
    bytes_ = packed;
    return;
  }
  error_ = unpack(packed, false, [&](byte_view block, std::uint64_t) {
    unpacked_.insert(unpacked_.end(), block.begin(), block.end());
    return trace_error{};
  });
  bytes_ = unpacked_;
}

result<final_header> final_header_of(const std::string& path) {
  result<final_header> head{errc::truncated, 0};
  constexpr trace_error enough{errc::capacity, 0};
  const trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t) {
    head = read_final_header(block);
    return enough;
  });
  if (error && error.code != enough.code) return error;
  return head;
}

trace_error damage_of(byte_view bytes) {
  const auto trace = backsight::memtrace::open(bytes);
  return trace ? trace->validate() : trace.error();
}

int report_damage(const std::string& path, const trace_error& error) {
  std::string detail = detail_of(path, error);
  switch (error.code) {
    case errc::unknown_record:
    case errc::bad_size:
    case errc::unpaired_record: detail = "what follows is left out"; break;
    case errc::bad_end: detail = "the file has no footer"; break;
    default: break;
  }
  return report_error(path, error, detail);
}

stage stage_of_bytes(byte_view bytes) { return backsight::memtrace::open(bytes).partial().stage(); }

result<stage> stage_of(const std::string& path) {
  stage found = stage::unknown;
  constexpr trace_error enough{errc::capacity, 0};
  const trace_error error = for_each_block(path, [&](byte_view block, std::uint64_t) {
    found = stage_of_bytes(block);
    return enough;
  });
  if (error && error.code != enough.code) return {found, error};
  return found;
}

std::vector<trace_folder> folders_at(const std::string& path) {
  io::memtrace_folders found = io::find_memtrace_folders(path);
  for (const auto& [left_out, reason] : found.faults)
    warn(left_out, reason ? reason.message() : "not a regular file; it is left out");
  return std::move(found.folders);
}

void note_first_folder(const std::vector<trace_folder>& folders) {
  if (folders.size() < 2) return;
  note("%s: the first of %zu folders; the others are left out, as by DynamoRIO, which takes one at a time\n",
       folders.front().path.c_str(), folders.size());
}

std::string detail_of(const std::string& path, const trace_error& error) {
  if (error.code == errc::io) return why_not_read(errno);
  input file;
  if (error.code != errc::compressed || !file.try_open(path)) return {};
  const byte_view bytes = file.bytes();
  switch (io::container_of(bytes)) {
    case io::container::gzip:
    case io::container::zlib: return "this program was built without zlib";
    case io::container::lz4: return "this program was built without liblz4";
    case io::container::snappy: return "this program was built without libsnappy";
    case io::container::zip: return "this program was built without libzip";
    default: return {};
  }
}

}  // namespace cli::memtrace
