// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

#include "input_file.hpp"
#include "output_file.hpp"
#include "terminal.hpp"

namespace cli {

/// Exit codes of the program.
enum exit_code : int { success = 0, bad_input = 1, usage = 2 };

/// What the user asked for. One spelling for all commands and formats; a command reads what concerns it.
struct arguments {
  std::vector<std::string> paths;
  std::string format = "text";  ///< text, csv, tsv or json
  std::string as;               ///< the tool whose output to print byte for byte
  std::string to;               ///< the kind of export
  std::string output = "-";
  std::string symbols;
  std::string sort;
  std::optional<std::uint64_t> begin, end, limit;
  bool hex = false;
  bool deduce_calls = false;
  unsigned jobs = 1;
  bool by_task = false;     ///< tasks in place of functions
  bool averages = false;    ///< report: average, minimum, maximum and deviation
  bool no_merge = false;    ///< replay: an entry and its exit on lines of their own
  bool raw = false;         ///< dump: the records of a uftrace directory as they are, task by task
  bool true_depth = false;  ///< undo what uftrace's depth field lost
  std::string fields;       ///< replay: the columns
  std::string filter_time;  ///< leave out what took less
  std::vector<std::string> functions;  ///< patterns of functions to show
  std::vector<std::string> excluded;   ///< patterns of functions to leave out with what they call
  std::vector<std::string> hidden;     ///< patterns of functions to leave out alone
  std::vector<std::string> triggers;   ///< patterns of functions with what happens there
  std::string match;                   ///< the kind of these patterns
  std::string range;                   ///< START~STOP
  std::string index;                   ///< the folder of kept indices
  std::vector<std::uint32_t> tids;     ///< tasks to show
  std::optional<std::int32_t> depth;   ///< levels to show
  std::vector<std::string> sysroots;   ///< perf.data: folders with copies of the recorded machine's files
  std::string by;                      ///< perf.data: what the rows of a report are

  [[nodiscard]] const std::string& path() const { return paths.front(); }
};

/// Reports `file:offset: message` on stderr and gives bad_input.
int report_error(const std::string& file, const backsight::trace_error& error, std::string_view detail = {});
/// Reports `file: message` on stderr and gives bad_input.
int report_error(const std::string& file, std::string_view message);
/// Reports a fault that was passed over, as `file:offset: message; N bytes skipped`.
void report_fault(const std::string& file, const backsight::fault& fault);

/// Shows on stderr how far the work is, only on a terminal and only after half a second. Threads may share one.
class progress {
 public:
  explicit progress(std::uint64_t total_bytes, const char* what = "reading");
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress();
  /// So many more bytes are done.
  void add(std::uint64_t bytes) {
    if (terminal_) show(done_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  }

 private:
  void show(std::uint64_t done);
  std::uint64_t total_;
  const char* what_;
  bool terminal_, shown_ = false;
  std::atomic<std::uint64_t> done_{0};
  std::mutex one_;
  std::chrono::steady_clock::time_point next_;
};

/// Progress is shown each time so many events, of about eight bytes each, are done.
inline constexpr std::uint64_t events_between_updates = 1U << 20;
inline constexpr std::uint64_t bytes_between_updates = events_between_updates * 8;

/// A demangled C++ name; the name itself when it is none or its text would be too long.
[[nodiscard]] std::string demangle(const std::string& name);
/// The same without parameters, return type and what the compiler appends to the name (.cold, .part.0).
[[nodiscard]] std::string demangle_function(std::string_view name);
/// A file or a folder exists at `path`.
[[nodiscard]] bool is_directory(const std::string& path);

/// What the program can do with one kind of trace; null where a command means nothing for it.
struct trace_format {
  const char* name = nullptr;
  /// What `--as` calls the format's own tool; null when no common command prints as it does.
  const char* tool = nullptr;
  /// The trace is of this format, told from its first 64 bytes (`head`, empty for a folder) or the folder's files.
  bool (*detect)(const std::string& path, backsight::byte_view head) = nullptr;
  int (*info)(const arguments&) = nullptr;
  int (*dump)(const arguments&) = nullptr;
  int (*report)(const arguments&) = nullptr;
  int (*stacks)(const arguments&) = nullptr;
  int (*graph)(const arguments&) = nullptr;
  int (*export_to)(const arguments&) = nullptr;
  int (*replay)(const arguments&) = nullptr;
};

extern const trace_format memtrace_format;
extern const trace_format xray_format;
extern const trace_format xray_profile_format;
extern const trace_format uftrace_format;
extern const trace_format perf_format;

}  // namespace cli
