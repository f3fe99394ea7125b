// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
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

namespace backsight {
class any_call_trace;
}

namespace cli {

/// Exit codes of the program.
enum exit_code : int { success = 0, bad_input = 1, usage = 2 };

/// Which calls to show, for every trace that has calls.
struct call_filters {
  std::vector<std::string> functions;  ///< patterns of functions to show
  std::vector<std::string> excluded;   ///< patterns of functions to leave out with what they call
  std::vector<std::string> hidden;     ///< patterns of functions to leave out alone
  std::string match;                   ///< the kind of these patterns
  std::optional<std::int32_t> depth;   ///< levels to show
  std::string filter_time;             ///< leave out what took less
  std::string range;                   ///< START~STOP
  std::vector<std::uint32_t> tids;     ///< threads to show
  std::vector<std::uint32_t> pids;     ///< processes to show

  /// Some calls are to be left out.
  [[nodiscard]] bool any() const {
    return !functions.empty() || !excluded.empty() || !hidden.empty() || depth || !filter_time.empty() ||
           !range.empty() || !tids.empty() || !pids.empty();
  }
};

/// What only uftrace directories have.
struct uftrace_options {
  bool by_task = false;               ///< tasks in place of functions
  bool averages = false;              ///< report: average, minimum, maximum and deviation
  bool no_merge = false;              ///< replay: an entry and its exit on lines of their own
  bool raw = false;                   ///< dump: names and values, in the layout of uftrace
  std::string fields;                 ///< replay: the columns
  std::vector<std::string> triggers;  ///< patterns of functions with what happens there
};

/// What only memtraces have.
struct memtrace_options {
  std::optional<std::uint64_t> window;  ///< the one window to show
  bool per_window = false;
  std::string modules;  ///< where the module table is
  bool force = false;   ///< write into a folder that is not empty
};

/// What only perf.data recordings have.
struct perf_options {
  std::vector<std::string> sysroots;  ///< folders with copies of the recorded machine's files
};

/// What the user asked for. One spelling for all commands and formats; what an option has no effect on refuses it, see
/// options.hpp.
struct arguments : call_filters, uftrace_options, memtrace_options, perf_options {
  std::vector<std::string> paths;
  std::string format = "text";  ///< text, csv, tsv or json
  std::string as;               ///< the tool whose output to print byte for byte
  std::string to;               ///< the kind of export
  std::string output = "-";
  std::string symbols;
  std::string sort;
  std::string by;     ///< what the rows of a report are
  std::string index;  ///< where indices are kept
  std::string about;  ///< graph: the function whose callers and callees to show
  std::optional<std::uint64_t> begin, end, limit;
  bool hex = false;
  bool deduce_calls = false;
  bool full_names = false;
  bool thousands = false;  ///< in text
  bool unfold = false;     ///< replay: each level of recursion
  unsigned jobs = 1;

  [[nodiscard]] const std::string& path() const { return paths.front(); }
};

/// Reports `file:offset: message` on stderr and gives bad_input.
int report_error(const std::string& file, const backsight::trace_error& error, std::string_view detail = {});
/// Reports `file: message` on stderr and gives bad_input.
int report_error(const std::string& file, std::string_view message);
/// Reports a fault that was passed over, as `file:offset: message; N bytes skipped`.
void report_fault(const std::string& file, const backsight::fault& fault);

/// Shows on stderr how far the work is, how fast and how long it will take, only on a terminal and only after half a
/// second. Threads may share one.
class progress {
 public:
  /// A total of 0 is not known.
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
  std::chrono::steady_clock::time_point begin_, next_;
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

struct call_input;
/// What a command does with the calls that the filters leave, see calls.hpp; gives an exit code.
using call_task = std::function<int(const backsight::any_call_trace& trace, call_input& input)>;

/// What the program can do with one kind of trace; null where a command means nothing for it.
struct trace_format {
  std::uint32_t bit = 0;          ///< of a format_set, see options.hpp
  const char* name = nullptr;     ///< in the matrix
  const char* a_trace = nullptr;  ///< in a sentence: "an XRay log"
  /// What `--as` calls the format's own tool; null when no common command prints as it does.
  const char* tool = nullptr;
  /// The trace is of this format, told from its first 64 bytes (`head`, empty for a folder) or the folder's files.
  bool (*detect)(const std::string& path, backsight::byte_view head) = nullptr;
  /// Opens the trace and gives it to a task, see calls.hpp: what every trace of calls has is written once.
  int (*with_calls)(const arguments&, const call_task&) = nullptr;
  int (*info)(const arguments&) = nullptr;
  int (*dump)(const arguments&) = nullptr;
  int (*report)(const arguments&) = nullptr;
  int (*stacks)(const arguments&) = nullptr;
  int (*graph)(const arguments&) = nullptr;
  int (*export_to)(const arguments&) = nullptr;
  int (*replay)(const arguments&) = nullptr;
  int (*calls)(const arguments&) = nullptr;
  int (*diff)(const arguments&) = nullptr;
  int (*counts)(const arguments&) = nullptr;
  int (*view)(const arguments&) = nullptr;
  int (*windows)(const arguments&) = nullptr;
  int (*split)(const arguments&) = nullptr;
  int (*merge)(const arguments&) = nullptr;
  int (*check)(const arguments&) = nullptr;
  int (*working_sets)(const arguments&) = nullptr;
  int (*hot)(const arguments&) = nullptr;
  int (*reuse)(const arguments&) = nullptr;
  int (*opcodes)(const arguments&) = nullptr;
  int (*syscalls)(const arguments&) = nullptr;
};

// The bits of formats.
inline constexpr std::uint32_t xray_bit = 1, profile_bit = 2, uftrace_bit = 4, final_bit = 8, raw_bit = 16,
                               perf_bit = 32;

extern const trace_format memtrace_format;
extern const trace_format raw_memtrace_format;
extern const trace_format xray_format;
extern const trace_format xray_profile_format;
extern const trace_format uftrace_format;
extern const trace_format perf_format;

/// The formats, as they stand in the matrix. An input is of the last that takes it: those that look at more of a file
/// come behind those that look at less.
inline constexpr std::array formats{&xray_format,     &xray_profile_format, &uftrace_format,
                                    &memtrace_format, &raw_memtrace_format, &perf_format};

}  // namespace cli
