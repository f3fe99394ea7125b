// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/core/lines.hpp>
#include <backsight/core/offset_of.hpp>
#include <backsight/uftrace/schema.hpp>

// The file `info`. Source: uftrace's cmds/info.c and cmds/record.c.
namespace backsight::uftrace {

/// The names of the bits of feat_mask, as `uftrace dump` prints them; null for bits that it does not know.
inline constexpr std::array<const char*, 14> feature_names{
    "PLTHOOK", "TASK_SESSION", "KERNEL",    "ARGUMENT",   "RETVAL",          "SYM_REL_ADDR", "MAX_STACK",
    "EVENT",   "PERF_EVENT",   "AUTO_ARGS", "DEBUG_INFO", "ESTIMATE_RETURN", "SYM_SIZE",     "CALLSITE"};
/// The names of the bits of info_mask.
inline constexpr std::array<const char*, 16> info_names{
    "EXE_NAME",  "EXE_BUILD_ID", "EXIT_STATUS", "CMDLINE",     "CPUINFO",      "MEMINFO", "OSINFO",     "TASKINFO",
    "USAGEINFO", "LOADINFO",     "ARG_SPEC",    "RECORD_DATE", "PATTERN_TYPE", "VERSION", "UTC_OFFSET", "SYSCTL"};

/// Bits of feat_mask that change how the directory is read.
enum class feature : std::uint8_t {
  plthook,
  task_session,
  kernel,
  argument,
  retval,
  sym_rel_addr,
  max_stack,
  event,
  perf_event,
  auto_args,
  debug_info,
  estimate_return,
  sym_size,
  callsite,
};

/// One line of the text part: `key:value`, where the value of a group (`cpuinfo:desc=X`) is split again at its `=`.
struct info_line {
  std::string_view key;    ///< before the colon
  std::string_view name;   ///< between colon and `=` where the line belongs to a group of lines; else empty
  std::string_view value;  ///< the rest
  std::uint64_t offset = 0;
};

/// What the file `info` tells. Views into the caller's bytes, which must outlive it.
struct info {
  std::uint32_t version = 0;
  std::uint16_t header_size = 0;      ///< in the recorder's byte order; readers use 40
  std::uint16_t raw_header_size = 0;  ///< as a little-endian number, which is how uftrace prints it
  order byte_order = order::little;
  bool is_64 = true;
  std::uint64_t feat_mask = 0;
  std::uint64_t info_mask = 0;
  std::uint16_t max_stack = 1024;
  std::vector<info_line> lines;  ///< all lines of the text part, unknown ones included, in file order

  [[nodiscard]] bool has(feature f) const noexcept { return (feat_mask >> static_cast<unsigned>(f) & 1) != 0; }
  /// The item of that bit of info_mask was written.
  [[nodiscard]] bool has_item(unsigned bit) const noexcept { return (info_mask >> bit & 1) != 0; }
  /// The size of a long and of an address in the traced program.
  [[nodiscard]] std::size_t long_size() const noexcept { return is_64 ? 8 : 4; }

  /// The value of the first line with that key (and name); empty when there is none.
  [[nodiscard]] std::string_view value(std::string_view key, std::string_view name = {}) const noexcept {
    for (const info_line& line : lines) {
      if (line.key == key && line.name == name) return line.value;
    }
    return {};
  }
  /// The tids of the recorded tasks in the file's order. Allocates.
  [[nodiscard]] std::vector<std::uint32_t> tids() const {
    std::vector<std::uint32_t> all;
    std::string_view rest = value("taskinfo", "tids");
    while (const auto tid = text::take_number(rest, 10)) {
      all.push_back(static_cast<std::uint32_t>(*tid));
      if (!text::take(rest, ",")) break;
    }
    return all;
  }
  /// Nanoseconds that the recording took; 0 when not known.
  [[nodiscard]] std::uint64_t elapsed_ns() const noexcept {
    std::string_view rest = value("elapsed_time");
    return text::take_time(rest).value_or(0);
  }
  /// Seconds from the trace clock to real time; 0 in old recordings.
  [[nodiscard]] std::uint64_t utc_offset() const noexcept {
    std::string_view rest = value("utc_offset");
    return text::take_number(rest, 10).value_or(0);
  }
};

/// Reads the file `info`. Errors: truncated, bad_magic, unsupported_version, bad_value (byte order or class), bad_text
/// for a line without a colon or a missing item; with bad_text, partial() holds everything that was readable. Allocates
/// the lines.
[[nodiscard]] inline result<info> read_info(byte_view bytes) {
  constexpr std::array<unsigned char, 8> magic{'F', 't', 'r', 'a', 'c', 'e', '!', 0};
  for (std::size_t i = 0; i < magic.size() && i < bytes.size(); ++i) {
    if (std::to_integer<unsigned char>(bytes[i]) != magic[i]) return {errc::bad_magic, i};
  }
  if (bytes.size() < size_of<file_header>) return {errc::truncated, bytes.size()};
  info read;
  // Single bytes are the same in either byte order.
  const record<file_header, order::little> raw(bytes.data());
  const unsigned elf_data = raw[file_header::elf_data], elf_class = raw[file_header::elf_class];
  if (elf_data != 1 && elf_data != 2) return {errc::bad_value, offset_of<file_header>(file_header::elf_data)};
  if (elf_class != 1 && elf_class != 2) return {errc::bad_value, offset_of<file_header>(file_header::elf_class)};
  read.byte_order = elf_data == 1 ? order::little : order::big;
  read.is_64 = elf_class == 2;
  with_order(read.byte_order, [&](auto o) {
    const record<file_header, o()> head(bytes.data());
    read.version = head[file_header::version];
    read.header_size = head[file_header::header_size];
    read.feat_mask = head[file_header::feat_mask];
    read.info_mask = head[file_header::info_mask];
    if (read.has(feature::max_stack)) read.max_stack = head[file_header::max_stack];
  });
  read.raw_header_size = raw[file_header::header_size];
  if (read.version != 3 && read.version != 4)
    return {errc::unsupported_version, offset_of<file_header>(file_header::version)};

  trace_error error;
  const auto note = [&error](std::uint64_t offset) {
    if (!error) error = {errc::bad_text, offset};
  };
  constexpr std::string_view groups[] = {"cpuinfo", "osinfo", "taskinfo", "usageinfo"};
  text::lines text(text::as_text(bytes), size_of<file_header>);
  while (text.next()) {
    const std::string_view line = text.line();
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      if (!line.empty()) note(text.offset());
      continue;
    }
    info_line item{line.substr(0, colon), {}, line.substr(colon + 1), text.offset()};
    for (const std::string_view group : groups) {
      const std::size_t equals = item.value.find('=');
      if (item.key != group || equals == std::string_view::npos) continue;
      item.name = item.value.substr(0, equals);
      item.value.remove_prefix(equals + 1);
      break;
    }
    if (item.key == "argspec" && item.value.starts_with("lines=")) {
      item.name = "lines";
      item.value.remove_prefix(6);
    }
    read.lines.push_back(item);
  }
  constexpr std::string_view first_keys[] = {"exename",      "build_id",        "exit_status", "cmdline",
                                             "cpuinfo",      "meminfo",         "osinfo",      "taskinfo",
                                             "usageinfo",    "loadinfo",        "argspec",     "record_date",
                                             "pattern_type", "uftrace_version", "utc_offset",  "sysctl"};
  for (unsigned bit = 0; bit < 16; ++bit) {
    if (!read.has_item(bit)) continue;
    bool found = false;
    for (const info_line& line : read.lines) found = found || line.key == first_keys[bit];
    if (!found) note(bytes.size());
  }
  if (const auto cut = text::cut_at(text::as_text(bytes.subspan(size_of<file_header>)))) note(bytes.size());
  return {std::move(read), error};
}

}  // namespace backsight::uftrace
