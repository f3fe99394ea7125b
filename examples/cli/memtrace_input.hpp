// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/io/mapped_file.hpp>

namespace cli::memtrace {

/// Which of the two formats a file is in.
enum class stage { unknown, raw, final };

/// The format of a file of any packing, told from its first record; errors other than "not a memtrace" are given too.
[[nodiscard]] backsight::result<stage> stage_of(const std::string& path);

/// Calls `f(block, offset)` for the unpacked bytes of a file, in blocks of whole records as far as there are any; `f` gives
/// an error, with an offset within the block, to stop. Memory does not grow with the file.
backsight::trace_error for_each_block(const std::string& path,
                                      const std::function<backsight::trace_error(backsight::byte_view, std::uint64_t)>& f);

/// All unpacked bytes of a file: mapped where it is plain, else in memory.
class loaded_file {
 public:
  explicit loaded_file(const std::string& path);
  loaded_file(const loaded_file&) = delete;
  loaded_file& operator=(const loaded_file&) = delete;
  loaded_file(loaded_file&&) = default;
  loaded_file& operator=(loaded_file&&) = default;
  ~loaded_file() = default;
  [[nodiscard]] backsight::byte_view bytes() const { return bytes_; }
  /// What ended the unpacking early, if anything; the bytes up to there are kept.
  [[nodiscard]] const backsight::trace_error& error() const { return error_; }

 private:
  backsight::io::mapped_file mapped_;
  std::vector<std::byte> unpacked_;
  backsight::byte_view bytes_;
  backsight::trace_error error_;
};

/// One folder of thread files: a merged set, or one window of a split set.
struct trace_folder {
  std::string path;
  std::string window;              ///< "window.NNNN" of a split set, else empty.
  std::vector<std::string> files;  ///< Full paths of the thread files, by name.
};

/// The folders with thread files at `path`: itself, its window.NNNN folders in order, or, for a file, just that file. A
/// folder that holds none but has a folder `trace` stands for that one.
[[nodiscard]] std::vector<trace_folder> folders_at(const std::string& path);

/// The last part of a path.
[[nodiscard]] std::string base_name(const std::string& path);

/// What an error says beyond its code, as when a library for the file's packing was not there at build time.
[[nodiscard]] std::string detail_of(const std::string& path, const backsight::trace_error& error);

}  // namespace cli::memtrace
