// SPDX-License-Identifier: Apache-2.0
#include "uftrace_data.hpp"

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include <sys/stat.h>

#include <backsight/core/text.hpp>
#ifdef BACKSIGHT_HAVE_RE2
#include <backsight/io/re2_patterns.hpp>
#endif

namespace cli {

using namespace backsight;

namespace {

bool detect(const std::string& path, byte_view) {
  if (!is_directory(path)) return false;
  struct stat status{};
  return ::stat((path + "/info").c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

void uftrace_data::report(const std::string& file, const fault& fault) const {
  damaged = true;
  report_fault(path + "/" + file, fault);
}

int uftrace_data::finish(output& to, int code) const { return to.close(damaged && code == success ? bad_input : code); }

names::pattern_engine name_patterns() {
#ifdef BACKSIGHT_HAVE_RE2
  return io::re2_patterns();
#else
  return {};
#endif
}

int open_uftrace_files(const arguments& from, uftrace_data& to) {
  auto opened = io::uftrace_directory::open(from.path(), true, name_patterns());
  if (!opened) {
    if (opened.error().code == errc::io) return report_error(from.path(), why_not_read(errno));
    return report_error(from.path() + "/info", opened.error());
  }
  to.directory = std::move(opened).value();
  to.path = from.path();
  for (const uftrace::directory_file& file : to.directory.files()) note_mapping(to.path + "/" + file.name, file.bytes);
  for (const uftrace::directory_file& file : to.directory.objects()) note_mapping(file.name, file.bytes);
  for (const std::string& name : to.directory.passed_by())
    (void)report_error(to.path + "/" + name, "no file that a recording has; passed by");
  for (const auto& [file, fault] : to.recording().faults) {
    to.report(file, fault);
    if (fault.code == errc::capacity || fault.code == errc::unsupported_type)
      (void)report_error(
          to.path + "/" + file,
          fault.code == errc::capacity
              ? "a pattern takes more than is allowed; values of the functions that it names are not known"
              : "patterns are regular expressions, and this program was built without RE2");
  }
  return success;
}

int open_uftrace(const arguments& from, uftrace_data& to) {
  const int code = open_uftrace_files(from, to);
  return code == success ? select_records(from, to) : code;
}

void report_faults(const uftrace_data& data, const uftrace::merged_records& records) {
  for (const auto& [index, fault] : records.faults()) data.report(data.recording().data[index].file, fault);
  for (const auto& [file, fault] : records.other_faults()) data.report(file, fault);
}

namespace {

void check(const uftrace_data& data, const uftrace::merge_options& merging) {
  uftrace::resolver names(data.recording());
  uftrace::merged_records records(names, merging);
  uftrace::merged_record r;
  while (records.next(r)) {
  }
  report_faults(data, records);
}

}  // namespace

void check_data(const uftrace_data& data) { check(data, data.merging); }

void check_others(const uftrace_data& data) {
  const std::vector<bool> none(data.recording().data.size());
  uftrace::merge_options merging = data.merging;
  merging.tasks = &none;
  check(data, merging);
}

namespace {

/// `00` to `99`, one after the other.
constexpr auto digit_pairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

char* put_pair(char* to, std::uint64_t value) {
  std::memcpy(to, digit_pairs.data() + 2 * value, 2);
  return to + 2;
}

}  // namespace

char* put_decimal(char* to, std::uint64_t value, std::size_t width) {
  char digits[24];
  std::size_t at = sizeof digits;
  while (value >= 100) {
    at -= 2;
    put_pair(digits + at, value % 100);
    value /= 100;
  }
  if (value >= 10) {
    at -= 2;
    put_pair(digits + at, value);
  } else {
    digits[--at] = static_cast<char>('0' + value);
  }
  const std::size_t size = sizeof digits - at;
  for (; width > size; --width) *to++ = ' ';
  return put_text(to, {digits + at, size});
}

char* put_hexadecimal(char* to, std::uint64_t value, std::size_t width) {
  std::size_t size = value == 0 ? 1 : (static_cast<std::size_t>(std::bit_width(value)) + 3) / 4;
  for (; width > size; --width) *to++ = ' ';
  char* const end = to + size;
  (void)text::hexadecimal(to, value);
  return end;
}

char* put_time(char* to, std::uint64_t nanoseconds, std::size_t seconds_width) {
  to = put_decimal(to, nanoseconds / 1'000'000'000, seconds_width);
  const auto rest = static_cast<std::uint32_t>(nanoseconds % 1'000'000'000);
  *to++ = '.';
  *to++ = static_cast<char>('0' + rest / 100'000'000);
  to = put_pair(to, rest / 1'000'000 % 100);
  to = put_pair(to, rest / 10'000 % 100);
  to = put_pair(to, rest / 100 % 100);
  return put_pair(to, rest % 100);
}

char* put_duration(char* to, std::uint64_t nanoseconds) {
  if (nanoseconds == 0) {
    std::memset(to, ' ', 10);
    return to + 10;
  }
  if (nanoseconds >> 63 != 0) nanoseconds = 0 - nanoseconds;
  static constexpr std::uint64_t limits[] = {1000, 1000, 1000, 60, 24};
  static constexpr char units[] = "usms s m h";
  std::uint64_t whole = nanoseconds, part = 0;
  std::size_t unit = 0;
  if (nanoseconds < 1'000'000) {
    part = nanoseconds % 1000;
    whole = nanoseconds / 1000;
  } else {
    // After a minute the part holds seconds, and an hour has 24 minutes: so does uftrace.
    for (;; ++unit) {
      part = whole % limits[unit];
      whole /= limits[unit];
      if (unit == 4 || whole < limits[unit + 1]) break;
    }
  }
  if (whole > 999) whole = part = 999;
  to[0] = whole >= 100 ? static_cast<char>('0' + whole / 100) : ' ';
  to[1] = whole >= 10 ? static_cast<char>('0' + whole / 10 % 10) : ' ';
  to[2] = static_cast<char>('0' + whole % 10);
  to[3] = '.';
  to[4] = static_cast<char>('0' + part / 100);
  put_pair(to + 5, part % 100);
  to[7] = ' ';
  to[8] = units[2 * unit];
  to[9] = units[2 * unit + 1];
  return to + 10;
}

void add_padded(std::string& out, std::uint64_t value, std::size_t width) {
  char text[64];
  out.append(text, put_decimal(text, value, width));
}
void add_padded_hex(std::string& out, std::uint64_t value, std::size_t width) {
  char text[64];
  out.append(text, put_hexadecimal(text, value, width));
}
void add_time(std::string& out, std::uint64_t nanoseconds, std::size_t seconds_width) {
  char text[64];
  out.append(text, put_time(text, nanoseconds, seconds_width));
}
void add_duration(std::string& out, std::uint64_t nanoseconds) {
  char text[10];
  out.append(text, put_duration(text, nanoseconds));
}

std::vector<std::string> final_names(const uftrace::recording& from) {
  std::vector<std::string> names;
  for (const uftrace::task_data& d : from.data) {
    names.push_back(d.task == uftrace::task_data::no_task ? std::string() : from.tasks[d.task].comm);
  }
  for (const uftrace::perf_data& file : from.perf) {
    uftrace::perf_source source(from, file.bytes);
    while (source.next()) {
      const uftrace::merged_record& r = source.current();
      if (r.address == uftrace::task_name) names[r.data_index] = std::string(text::as_text(r.payload));
    }
  }
  return names;
}

const trace_format uftrace_format{.bit = uftrace_bit,
                                  .name = "uftrace",
                                  .a_trace = "a uftrace directory",
                                  .tool = "uftrace",
                                  .detect = detect,
                                  .with_calls = uftrace_with_calls,
                                  .info = uftrace_info,
                                  .dump = uftrace_dump,
                                  .report = uftrace_report,
                                  .graph = uftrace_graph,
                                  .export_to = uftrace_export,
                                  .replay = uftrace_replay};

}  // namespace cli
