// SPDX-License-Identifier: Apache-2.0
#include "uftrace_data.hpp"

#include <cerrno>
#include <cstring>

#include <sys/stat.h>

namespace cli {

using namespace backsight;

namespace {

bool detect(const std::string& path, byte_view) {
  if (!is_directory(path)) return false;
  struct stat status {};
  return ::stat((path + "/info").c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

/// `5us`, `2ms`, `1s`, `3m`, or nanoseconds.
std::uint64_t read_duration(std::string_view text) {
  const std::uint64_t number = uftrace::detail::take_number(text, 10).value_or(0);
  if (text == "us") return number * 1000;
  if (text == "ms") return number * 1'000'000;
  if (text == "s") return number * 1'000'000'000;
  if (text == "m") return number * 60'000'000'000;
  return number;
}

}  // namespace

int open_uftrace(const arguments& from, uftrace_data& to) {
  auto opened = io::uftrace_directory::open(from.path());
  if (!opened) {
    if (opened.error().code == errc::io) return report_error(from.path(), std::strerror(errno));
    return report_error(from.path() + "/info", opened.error());
  }
  to.directory = std::move(opened).value();
  const uftrace::recording& recording = to.recording();
  for (const auto& [file, fault] : recording.faults) report_fault(from.path() + "/" + file, fault);
  std::string_view words = recording.options;
  std::string_view option;
  while (!words.empty()) {
    const std::size_t end = words.find_first_of(" \n\t");
    std::string_view word = words.substr(0, end);
    words = end == std::string_view::npos ? std::string_view{} : words.substr(end + 1);
    if (option == "-t") to.shorter_than = read_duration(word);
    if (option == "-D") to.depth = static_cast<std::int32_t>(uftrace::detail::take_number(word, 10).value_or(1024));
    option = word;
  }
  if (!from.filter_time.empty()) to.shorter_than = read_duration(from.filter_time);
  if (from.depth) to.depth = *from.depth;
  return success;
}

void report_faults(const arguments& from, const uftrace::merge& records) {
  for (const auto& [index, fault] : records.faults()) {
    report_fault(from.path() + "/" + records.source().data[index].file, fault);
  }
}

void add_padded(std::string& out, std::uint64_t value, std::size_t width) {
  char digits[24];
  std::size_t at = sizeof digits;
  do {
    digits[--at] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  const std::size_t size = sizeof digits - at;
  if (size < width) out.append(width - size, ' ');
  out.append(digits + at, size);
}

void add_padded_hex(std::string& out, std::uint64_t value, std::size_t width) {
  char digits[16];
  std::size_t at = sizeof digits;
  do {
    digits[--at] = "0123456789abcdef"[value & 15];
    value >>= 4;
  } while (value != 0);
  const std::size_t size = sizeof digits - at;
  if (size < width) out.append(width - size, ' ');
  out.append(digits + at, size);
}

void add_time(std::string& out, std::uint64_t nanoseconds, std::size_t seconds_width) {
  add_padded(out, nanoseconds / 1'000'000'000, seconds_width);
  std::uint64_t rest = nanoseconds % 1'000'000'000;
  char digits[10] = {'.'};
  for (std::size_t i = 9; i != 0; --i) {
    digits[i] = static_cast<char>('0' + rest % 10);
    rest /= 10;
  }
  out.append(digits, sizeof digits);
}

void add_duration(std::string& out, std::uint64_t nanoseconds) {
  if (nanoseconds == 0) {
    out.append(10, ' ');
    return;
  }
  if (nanoseconds >> 63 != 0) nanoseconds = 0 - nanoseconds;
  static constexpr std::uint64_t limits[] = {1000, 1000, 1000, 60, 24};
  static constexpr char units[] = "usms s m h";
  std::uint64_t whole = nanoseconds, part = 0;
  std::size_t unit = 0;
  // After a minute the part holds seconds, and an hour has 24 minutes: so does uftrace.
  for (;; ++unit) {
    part = whole % limits[unit];
    whole /= limits[unit];
    if (unit == 4 || whole < limits[unit + 1]) break;
  }
  if (whole > 999) whole = part = 999;
  char text[10];
  text[0] = whole >= 100 ? static_cast<char>('0' + whole / 100) : ' ';
  text[1] = whole >= 10 ? static_cast<char>('0' + whole / 10 % 10) : ' ';
  text[2] = static_cast<char>('0' + whole % 10);
  text[3] = '.';
  text[4] = static_cast<char>('0' + part / 100);
  text[5] = static_cast<char>('0' + part / 10 % 10);
  text[6] = static_cast<char>('0' + part % 10);
  text[7] = ' ';
  text[8] = units[2 * unit];
  text[9] = units[2 * unit + 1];
  out.append(text, sizeof text);
}

std::vector<std::string> final_names(const uftrace::recording& from) {
  std::vector<std::string> names;
  for (const uftrace::task_data& d : from.data) {
    names.push_back(d.task == uftrace::task_data::no_task ? std::string() : from.tasks[d.task].comm);
  }
  for (const uftrace::perf_data& file : from.perf) {
    uftrace::detail::perf_source source(from, file.bytes);
    while (source.next()) {
      const uftrace::merged_record& r = source.current();
      if (r.address == uftrace::task_name) names[r.data_index] = std::string(uftrace::detail::as_text(r.payload));
    }
  }
  return names;
}

const trace_format uftrace_format{.name = "uftrace",
                                  .tool = "uftrace",
                                  .detect = detect,
                                  .info = uftrace_info,
                                  .dump = uftrace_dump,
                                  .report = uftrace_report,
                                  .stacks = uftrace_stacks,
                                  .graph = uftrace_graph,
                                  .export_to = uftrace_export,
                                  .replay = uftrace_replay};

}  // namespace cli
