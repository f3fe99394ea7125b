// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <sys/stat.h>

#include <backsight/core/bytes.hpp>
#include <backsight/io/mapped_file.hpp>

namespace cli {

/// The bytes of an input: a mapped file, or all of stdin for `-`, of a pipe or of a terminal. A stream is read once;
/// whoever opens it again gets the same bytes.
class input {
 public:
  input() = default;
  input(const input&) = delete;
  input& operator=(const input&) = delete;
  input(input&& other) noexcept;
  input& operator=(input&& other) noexcept;
  ~input();

  /// Reports an error and gives false when it cannot be read.
  [[nodiscard]] bool open(const std::string& path, backsight::io::mapped_file::head_check wanted = nullptr);
  /// As open(), but says nothing: errno has the reason.
  [[nodiscard]] bool try_open(const std::string& path, backsight::io::mapped_file::head_check wanted = nullptr);

  [[nodiscard]] backsight::byte_view bytes() const { return bytes_; }
  /// The bytes are those of a mapping, whose pages can be given back and read again.
  [[nodiscard]] bool mapped() const { return mapping_ != nullptr; }

 private:
  [[nodiscard]] bool take(const std::string& path, backsight::result<backsight::io::mapped_file>&& opened);
  backsight::io::mapped_file file_;
  backsight::byte_view bytes_;
  void* mapping_ = nullptr;
};

/// Why an input could not be opened, from errno.
[[nodiscard]] std::string why_not_read(int reason);

/// Notes that the program reads this file, or files of this folder: no output may be one of them. input::open does so
/// itself.
void note_input(const std::string& path);
/// Notes where a file is mapped that the library has mapped, for the message when it shrinks. It stays mapped.
void note_mapping(const std::string& path, backsight::byte_view bytes);
/// The file of that status was noted as an input, or lies in a folder that was.
[[nodiscard]] bool is_input(const struct stat& status);
/// No input was made shorter since it was noted; else reports each that was, once.
[[nodiscard]] bool inputs_are_whole();

/// The path of the input whose mapping holds an address, or null. Safe in a signal handler.
[[nodiscard]] const char* mapped_input_at(std::uintptr_t address) noexcept;

}  // namespace cli
