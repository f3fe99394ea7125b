// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/io/uftrace_directory.hpp>

#include "as/uftrace/flame_graph.hpp"
#include "as/uftrace/kernel_event_text.hpp"
#include "as/uftrace/session_graph.hpp"
#include "as/uftrace/value_text.hpp"
#include "program.hpp"

namespace cli {

/// The version text of the uftrace whose output `--as uftrace` prints.
inline constexpr const char* uftrace_version =
    "v0.19-100-ga0e54 ( x86_64 dwarf python3 luajit tui perf sched dynamic kernel )";

/// An opened uftrace directory, with the options that default.opts and the command line give together.
struct uftrace_data {
  backsight::io::uftrace_directory directory;
  backsight::uftrace::merge_options merging;
  std::int32_t depth = 1024;
  std::unique_ptr<as_uftrace::function_filter> functions;
  std::vector<backsight::uftrace::time_index> indices;
  std::uint64_t first_time = 0;  ///< from which elapsed time counts when not all records are read; 0 when they are
  std::string notice;            ///< to be printed before anything else
  std::string path;              ///< of the directory
  mutable bool damaged = false;  ///< something was reported that could not be read

  uftrace_data() = default;
  uftrace_data(const uftrace_data&) = delete;
  uftrace_data& operator=(const uftrace_data&) = delete;

  [[nodiscard]] const backsight::uftrace::recording& recording() const { return directory.recording(); }
  [[nodiscard]] as_uftrace::stack_options stacks() const { return {.depth = depth, .functions = functions.get()}; }
  /// Reports damage of one of the directory's files.
  void report(const std::string& file, const backsight::fault& fault) const;
  /// Closes the output of a command; bad_input when all went well but for damage.
  [[nodiscard]] int finish(output& to, int code) const;
};

/// Opens the directory; reports errors on stderr and gives bad_input, else success.
int open_uftrace_files(const arguments& from, uftrace_data& to);
/// The same, and selects what the command line asks for.
int open_uftrace(const arguments& from, uftrace_data& to);
/// Sets what default.opts says that concerns the reading; the command line overrides it.
void read_default_options(uftrace_data& to);
/// Sets what default.opts and the command line leave of an opened directory; gives success or usage.
int select_records(const arguments& from, uftrace_data& to);
/// `5us`, `2ms`, `1s`, `3m`, or nanoseconds.
[[nodiscard]] std::uint64_t read_duration(std::string_view text);
/// Reports what was damaged of all that was read.
void report_faults(const uftrace_data& data, const backsight::uftrace::merged_records& records);
/// Reports what is damaged of the data files, for commands that do not read them otherwise.
void check_data(const uftrace_data& data);
/// The same for the files of the scheduler and the kernel alone.
void check_others(const uftrace_data& data);

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
  /// See output::control.
  void control(std::string_view sequence) {
    flush();
    to_.control(sequence);
  }

 private:
  output& to_;
  std::string text_;
};

// The same as the functions below, into a buffer with room; they give the end of what they wrote. For the lines that
// are written millions of times.
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
using as_uftrace::add_format;

int uftrace_info(const arguments&);
int uftrace_dump(const arguments&);
int uftrace_report(const arguments&);
int uftrace_with_calls(const arguments&, const call_task&);
int uftrace_graph(const arguments&);
int uftrace_export(const arguments&);
int uftrace_replay(const arguments&);

/// The final names of tasks, by index in recording::data.
[[nodiscard]] std::vector<std::string> final_names(const backsight::uftrace::recording& from);

}  // namespace cli
