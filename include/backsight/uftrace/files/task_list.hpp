// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/core/lines.hpp>

// The file `task.txt`. Source: uftrace's utils/data-file.c.
namespace backsight::uftrace {

enum class task_event_kind : std::uint8_t {
  session,  ///< SESS: a program starts in `pid`, its mappings are in sid-SID.map; `name` is the program
  task,     ///< TASK: a thread `tid` of process `pid` starts, or goes on after an exec
  fork,     ///< FORK: process `pid`, a child of `parent`, starts
  dlopen,   ///< DLOP: `tid` loads the library `name` at `base`
};

/// One line of task.txt. Views into the caller's bytes.
struct task_event {
  task_event_kind kind = task_event_kind::session;
  std::uint64_t time = 0;  ///< nanoseconds of the trace clock
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint32_t parent = 0;
  std::string_view sid;  ///< 16 characters
  std::uint64_t base = 0;
  std::string_view name;
  std::uint64_t offset = 0;  ///< where the line or message begins
  std::uint64_t size = 0;    ///< of the line, with its end, or of the message
};

/// What task.txt holds, in the file's order (which is not always that of time), and the lines that were not understood.
struct task_list {
  std::vector<task_event> events;
  std::vector<fault> faults;  ///< bad_text for malformed lines, unknown_record for lines of another kind
};

namespace detail {

/// `KEY=` and a number at the front of `text`, with the blank behind it.
[[nodiscard]] inline bool take_field(std::string_view& text, std::string_view key, unsigned base,
                                     std::uint64_t& value) {
  if (!text::take(text, key)) return false;
  const auto number = text::take_number(text, base);
  if (!number) return false;
  value = *number;
  (void)text::take(text, " ");
  return true;
}
[[nodiscard]] inline bool take_id(std::string_view& text, std::string_view key, std::uint32_t& value) {
  std::uint64_t number = 0;
  if (!take_field(text, key, 10, number) || number > 0x7fffffff) return false;
  value = static_cast<std::uint32_t>(number);
  return true;
}
/// A name in double quotes up to the last one of the line: there is no escaping.
[[nodiscard]] inline bool take_name(std::string_view& text, std::string_view key, std::string_view& name) {
  if (!text::take(text, key) || !text::take(text, "\"")) return false;
  const std::size_t quote = text.rfind('"');
  if (quote == std::string_view::npos) return false;
  name = text.substr(0, quote);
  return true;
}
[[nodiscard]] inline bool take_sid(std::string_view& text, std::string_view& sid) {
  if (!text::take(text, "sid=") || text.size() < 16) return false;
  sid = text.substr(0, 16);
  text.remove_prefix(16);
  return text::take(text, " ");
}

/// One line of task.txt; false when it is malformed.
[[nodiscard]] inline bool read_task_line(std::string_view rest, task_event& event) {
  const std::string_view kind = rest.substr(0, 4);
  rest.remove_prefix(4);
  if (!text::take(rest, " timestamp=")) return false;
  const auto time = text::take_time(rest);
  if (!time || !text::take(rest, " ")) return false;
  event.time = *time;
  if (kind == "SESS") {
    event.kind = task_event_kind::session;
    if (!take_id(rest, "pid=", event.pid) && !take_id(rest, "tid=", event.pid)) return false;
    event.tid = event.pid;
    return take_sid(rest, event.sid) && take_name(rest, "exename=", event.name);
  }
  if (kind == "TASK") {
    event.kind = task_event_kind::task;
    return take_id(rest, "tid=", event.tid) && take_id(rest, "pid=", event.pid);
  }
  if (kind == "FORK") {
    event.kind = task_event_kind::fork;
    if (!take_id(rest, "pid=", event.pid) || !take_id(rest, "ppid=", event.parent)) return false;
    event.tid = event.pid;
    return true;
  }
  event.kind = task_event_kind::dlopen;
  if (!take_id(rest, "tid=", event.tid) || !take_sid(rest, event.sid)) return false;
  return take_field(rest, "base=", 16, event.base) && take_name(rest, "libname=", event.name);
}

}  // namespace detail

/// Reads task.txt. Lines that are malformed or of an unknown kind are skipped and listed as faults. Allocates.
[[nodiscard]] inline task_list read_task_text(byte_view bytes) {
  task_list list;
  text::lines text(text::as_text(bytes));
  while (text.next()) {
    const std::string_view line = text.line();
    if (line.empty()) continue;
    const std::string_view kind = line.substr(0, 4);
    const bool known = kind == "SESS" || kind == "TASK" || kind == "FORK" || kind == "DLOP";
    task_event event;
    event.offset = text.offset();
    event.size = line.size() + 1;
    if (known && detail::read_task_line(line, event)) list.events.push_back(event);
    else list.faults.push_back({known ? errc::bad_text : errc::unknown_record, event.offset, event.size});
  }
  if (const auto cut = text::cut_at(text::as_text(bytes))) list.faults.push_back({errc::truncated, *cut, 0});
  return list;
}

}  // namespace backsight::uftrace
