// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include <backsight/io/uftrace_directory.hpp>
#include <backsight/uftrace/call_tree.hpp>
#include <backsight/uftrace/kernel_event_text.hpp>
#include <backsight/uftrace/value_text.hpp>

#include "program.hpp"

namespace cli {

/// The version text of the uftrace whose output `--as uftrace` prints.
inline constexpr const char* uftrace_version = "v0.19-100-ga0e54 ( x86_64 dwarf python3 luajit tui perf sched dynamic kernel )";

/// An opened uftrace directory, with the options that default.opts and the command line give together.
struct uftrace_data {
  backsight::io::uftrace_directory directory;
  std::uint64_t shorter_than = 0;
  std::int32_t depth = 1024;

  [[nodiscard]] const backsight::uftrace::recording& recording() const { return directory.recording(); }
};

/// Opens the directory; reports errors on stderr and gives bad_input, else success.
int open_uftrace(const arguments& from, uftrace_data& to);
/// Reports what was damaged.
void report_faults(const arguments& from, const backsight::uftrace::merge& records);

/// Collects text and hands it on in large pieces.
class text_out {
 public:
  explicit text_out(output& to) : to_(to) { text_.reserve(std::size_t{1} << 17); }
  text_out(const text_out&) = delete;
  text_out& operator=(const text_out&) = delete;
  ~text_out() { flush(); }

  /// What is appended here is written; line() must be called now and then.
  [[nodiscard]] std::string& text() noexcept { return text_; }
  void line() {
    text_ += '\n';
    if (text_.size() >= (std::size_t{1} << 16)) flush();
  }
  void flush() {
    to_.write(text_);
    text_.clear();
  }

 private:
  output& to_;
  std::string text_;
};

// The same as the functions below, into a buffer with room; they give the end of what they wrote. For the lines that are
// written millions of times.
char* put_decimal(char* to, std::uint64_t value, std::size_t width);
char* put_hexadecimal(char* to, std::uint64_t value, std::size_t width);
char* put_time(char* to, std::uint64_t nanoseconds, std::size_t seconds_width);
char* put_duration(char* to, std::uint64_t nanoseconds);
inline char* put_text(char* to, std::string_view text) {
  std::memcpy(to, text.data(), text.size());
  return to + text.size();
}

/// A duration as uftrace writes it: 10 characters, blanks for zero.
void add_duration(std::string& out, std::uint64_t nanoseconds);
/// Right-aligned numbers.
void add_padded(std::string& out, std::uint64_t value, std::size_t width);
void add_padded_hex(std::string& out, std::uint64_t value, std::size_t width);
/// `SEC.NNNNNNNNN`, the seconds right-aligned.
void add_time(std::string& out, std::uint64_t nanoseconds, std::size_t seconds_width);
/// `printf` appended.
using backsight::uftrace::detail::add_format;

int uftrace_info(const arguments&);
int uftrace_dump(const arguments&);
int uftrace_report(const arguments&);
int uftrace_stacks(const arguments&);
int uftrace_graph(const arguments&);
int uftrace_export(const arguments&);
int uftrace_replay(const arguments&);

/// The final names of tasks, by index in recording::data.
[[nodiscard]] std::vector<std::string> final_names(const backsight::uftrace::recording& from);

}  // namespace cli
