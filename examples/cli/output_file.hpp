// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include <backsight/core/bytes.hpp>

#include "temporary_path.hpp"

namespace cli {

/// Ends the program with this exit code, when thrown: what is wrong has been said.
struct ended {
  int code = 0;
};

/// A buffered stream to a file or, as `-`, to stdout. A file is written beside its place, under a temporary name, and
/// renamed by close(): whatever was there stays until then, and stays for good when the output is not closed or cannot
/// be written. A symbolic link stays one: what it points at is replaced. A file that is replaced hands on its mode.
/// Devices, FIFOs and descriptors (/dev/stdout, /dev/fd/N) are written in place.
class output {
 public:
  /// What may be at the place: `own` is a file that the program keeps for itself, which may lie in a folder that it
  /// reads.
  enum class replaces { other_than_inputs, own };

  /// Throws `ended`, after saying why: usage when the path is an input of the program, bad_input when it cannot be
  /// written.
  explicit output(const std::string& path, replaces what = replaces::other_than_inputs);
  output(const output&) = delete;
  output& operator=(const output&) = delete;
  ~output();

  /// Room for at least `size` characters, to be written through and given back with used().
  [[nodiscard]] char* room(std::size_t size);
  /// Keeps what was written up to `end` of the last room().
  void used(const char* end) { size_ = static_cast<std::size_t>(end - buffer_.data()); }
  void write(std::string_view text);
  /// printf into the stream, for what is not hot.
  [[gnu::format(printf, 2, 3)]] void print(const char* format, ...);

  /// Sends a terminal something to do. All else that goes to a terminal is text, in which control characters are shown.
  void control(std::string_view sequence);
  /// Colours are wanted: it is stdout, on a terminal or as the user said.
  [[nodiscard]] bool colored() const { return colored_; }

  /// Flushes, and renames a file to its place; `code` when all was written, else reports the error and gives bad_input.
  /// With `code` usage, or when the command failed before it wrote anything, a file is left out, as is what waits to be
  /// written with usage.
  [[nodiscard]] int close(int code);

 private:
  void open_file(std::string target, const struct stat* before);
  void open_in_place(const std::string& target, bool fifo);
  void put(std::string_view text);
  void flush(bool goes_on);

  int descriptor_ = -1;
  bool owned_ = false;  ///< The descriptor is to be closed.
  int error_ = 0;       ///< Of the first write that failed, as errno has it.
  bool written_ = false;
  bool terminal_ = false, colored_ = false;
  replaces replaces_;
  std::string path_;    ///< As the user gave it.
  std::string target_;  ///< Where the file goes, behind symbolic links; empty when it is written in place.
  temporary_path temporary_;
  std::vector<char> buffer_;
  std::size_t size_ = 0;
};

/// An output iterator of char over an output, for the emitters; buffers inside the output.
class output_iterator {
 public:
  using difference_type = std::ptrdiff_t;
  explicit output_iterator(output& to) : to_(&to) {}
  output_iterator& operator*() { return *this; }
  output_iterator& operator++() { return *this; }
  output_iterator operator++(int) { return *this; }
  output_iterator& operator=(char c) {
    char* at = to_->room(1);
    *at = c;
    to_->used(at + 1);
    return *this;
  }

 private:
  output* to_;
};

/// Throws `ended` with usage, after saying so, when what is at `path` is not what `ours` takes for a file that the
/// program may replace. Nothing there is fine.
void keep_other_files(const std::string& path, bool (*ours)(backsight::byte_view), const char* what);

}  // namespace cli
