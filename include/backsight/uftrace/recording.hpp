// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/uftrace/arguments.hpp>
#include <backsight/uftrace/enumerations.hpp>
#include <backsight/uftrace/info.hpp>
#include <backsight/uftrace/kernel_header.hpp>
#include <backsight/uftrace/memory_map.hpp>
#include <backsight/uftrace/object_files.hpp>
#include <backsight/uftrace/records.hpp>
#include <backsight/uftrace/task_list.hpp>
#include <backsight/uftrace/task_messages.hpp>

// A whole uftrace data directory. Source: uftrace's utils/session.c, utils/symbol.c and utils/fstack.c.
namespace backsight::uftrace {

/// An object file in the address space of a session.
struct object_mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;  ///< of a library loaded by dlopen: no end, its symbols tell
  std::uint64_t time = 0;  ///< when dlopen loaded it
  std::uint32_t object = 0;
};

/// One image of an address space: made at program start and by every exec.
struct session {
  std::string_view sid;
  std::uint32_t pid = 0;
  std::uint64_t start_time = 0;
  std::string_view program;
  std::vector<object_mapping> mappings;   ///< sorted by address
  std::vector<object_mapping> libraries;  ///< loaded by dlopen, in the order of the file
  std::uint64_t kernel_base = 0;
};

/// A task's stay in a session: `from` up to `until`, in nanoseconds.
struct session_reference {
  std::uint32_t session = 0;
  std::uint64_t from = 0;
  std::uint64_t until = ~std::uint64_t{0};
};

/// A thread or process that task.txt names.
struct task {
  std::uint32_t tid = 0;
  std::uint32_t pid = 0;
  std::uint32_t parent = 0;  ///< the pid of the process that forked it; 0 for others
  std::uint64_t time = 0;    ///< of its line
  std::string comm;          ///< at most 15 characters, by the program of its last session
  std::vector<session_reference> sessions;
};

/// A task file that `info` lists. It may be missing or empty.
struct task_data {
  std::uint32_t tid = 0;
  bool present = false;
  std::string file;
  byte_view bytes;
  std::uint32_t task = no_task;  ///< index of the task; no_task when task.txt does not name it
  static constexpr std::uint32_t no_task = 0xffffffff;
};

/// A file of scheduler events, in the order in which uftrace reads them: by name.
struct perf_data {
  std::string file;
  byte_view bytes;
};

/// What the kernel recorded. Without files there is no kernel data.
struct kernel_trace {
  kernel_header header;
  std::vector<directory_file> files;  ///< kernel-cpuN.dat, by N
  std::uint32_t object = no_object;   ///< index of the object file with the symbols of kallsyms
  static constexpr std::uint32_t no_object = 0xffffffff;
};

/// Searches names by a regular expression, for recordings whose specifications are such. Headers here come without an
/// engine: io/uftrace_directory.hpp gives that of POSIX. Null members: patterns match nothing.
struct pattern_engine {
  void* (*compile)(const char* pattern) = nullptr;
  bool (*search)(const void* compiled, const char* text) = nullptr;
  void (*release)(void* compiled) = nullptr;
};

/// A uftrace data directory, opened: what its text files tell, and views of its data files. The bytes must outlive it.
struct recording {
  uftrace::info info;
  std::vector<session> sessions;
  std::vector<task> tasks;  ///< in the order of task.txt
  std::vector<object_file> objects;  ///< programs and libraries with their symbols
  std::vector<task_data> data;  ///< in the order of `info`
  std::vector<perf_data> perf;
  kernel_trace kernel;
  std::vector<std::pair<std::uint64_t, std::string_view>> user_events;  ///< id and name
  byte_view external;      ///< extern.dat
  std::string_view note;   ///< note.txt
  std::string_view options;  ///< default.opts
  std::vector<function_spec> arguments, return_values;            ///< by hand
  std::vector<function_spec> auto_arguments, auto_return_values;  ///< known library functions
  std::vector<enumeration> auto_enumerations;
  bool use_auto = false;  ///< recorded with -a
  std::vector<file_fault> faults;
  pattern_engine patterns;

  /// The index of the task of that tid, or task_data::no_task.
  [[nodiscard]] std::uint32_t find_task(std::uint32_t tid) const noexcept {
    const auto at = task_index.find(tid);
    return at == task_index.end() ? task_data::no_task : at->second;
  }
  /// The index of the session of a task at a time; -1 when there is none. Follows the process and its parents.
  [[nodiscard]] std::int64_t session_at(std::uint32_t task_number, std::uint64_t time) const noexcept {
    for (std::size_t steps = 0; task_number < tasks.size() && steps <= tasks.size(); ++steps) {
      const task& t = tasks[task_number];
      for (const session_reference& reference : t.sessions) {
        if (reference.from <= time && time < reference.until) return reference.session;
      }
      const std::uint32_t up = t.parent != 0 ? t.parent : t.pid;
      if (up == t.tid) break;
      task_number = find_task(up);
    }
    return -1;
  }

  std::unordered_map<std::uint32_t, std::uint32_t> task_index;  ///< from tid to the index in `tasks`
  std::unordered_map<std::uint32_t, std::uint32_t> data_index;  ///< from tid to the index in `data`
};

namespace detail {

class recording_builder {
 public:
  recording_builder(const directory_index& files, const object_opener& opener, recording& out)
      : files_(files), opener_(opener), out_(out) {}

  void build() {
    read_specs();
    read_tasks();
    read_data_files();
    read_kernel();
    if (const auto* events = find("events.txt")) read_events(*events);
    if (const auto* external = find("extern.dat")) out_.external = external->bytes;
    if (const auto* note = find("note.txt")) out_.note = as_text(note->bytes);
    if (const auto* options = find("default.opts")) out_.options = as_text(options->bytes);
  }

 private:
  void note_faults(const std::string& file, const std::vector<fault>& faults) {
    for (const fault& f : faults) out_.faults.push_back({file, f});
  }

  void read_specs() {
    const std::size_t size = out_.info.long_size();
    for (const info_line& line : out_.info.lines) {
      const auto add = [&](std::vector<function_spec>& to) {
        for (function_spec& spec : read_function_specs(line.value, size)) to.push_back(std::move(spec));
      };
      if (line.key == "argspec" && line.name.empty()) add(out_.arguments);
      else if (line.key == "retspec") add(out_.return_values);
      else if (line.key == "argauto") add(out_.auto_arguments);
      else if (line.key == "retauto") add(out_.auto_return_values);
      else if (line.key == "enumauto") read_enumerations(line.value, out_.auto_enumerations);
      else if (line.key == "auto-args") out_.use_auto = line.value == "1";
    }
  }

  /// The session that process `pid` was in at `time`, or -1.
  [[nodiscard]] std::int64_t latest_session(std::uint32_t pid, std::uint64_t time) const {
    std::int64_t best = -1;
    for (std::size_t i = 0; i < out_.sessions.size(); ++i) {
      const session& s = out_.sessions[i];
      if (s.pid != pid || s.start_time > time) continue;
      if (best < 0 || s.start_time >= out_.sessions[static_cast<std::size_t>(best)].start_time) best = static_cast<std::int64_t>(i);
    }
    return best;
  }

  void refer(task& t, std::int64_t session_number, std::uint64_t time) {
    if (session_number < 0) return;
    if (!t.sessions.empty()) t.sessions.back().until = time;
    t.sessions.push_back({static_cast<std::uint32_t>(session_number), time, ~std::uint64_t{0}});
    name_after(t, out_.sessions[static_cast<std::size_t>(session_number)].program);
  }
  static void name_after(task& t, std::string_view program) { t.comm = std::string(base_name(program).substr(0, 15)); }

  task& task_of(std::uint32_t tid, std::uint32_t pid, std::uint32_t parent, std::uint64_t time) {
    const auto [at, added] = out_.task_index.emplace(tid, static_cast<std::uint32_t>(out_.tasks.size()));
    if (added) out_.tasks.push_back({tid, pid, parent, time, {}, {}});
    return out_.tasks[at->second];
  }

  void read_tasks() {
    // Old recorders wrote a binary file. Where that is damaged, uftrace goes on with the text.
    bool whole = false;
    if (const directory_file* const file = find("task")) {
      const task_list list = read_task_messages(file->bytes, out_.info.byte_order);
      whole = list.faults.empty();
      take_tasks(file->name, list);
    }
    const directory_file* const file = find("task.txt");
    if (!whole && file != nullptr) take_tasks(file->name, read_task_text(file->bytes));
  }

  void take_tasks(const std::string& file, const task_list& list) {
    note_faults(file, list.faults);
    for (const task_event& event : list.events) {
      switch (event.kind) {
        case task_event_kind::session: add_session(event); break;
        case task_event_kind::task: {
          task& t = task_of(event.tid, event.pid, 0, event.time);
          refer(t, latest_session(event.pid, event.time), event.time);
          break;
        }
        case task_event_kind::fork: {
          std::int64_t found = latest_session(event.parent, event.time);
          if (found < 0) {
            if (const std::uint32_t up = out_.find_task(event.parent); up != task_data::no_task) {
              for (const session_reference& r : out_.tasks[up].sessions) {
                if (r.from <= event.time) found = r.session;
              }
            }
          }
          refer(task_of(event.tid, event.pid, event.parent, event.time), found, event.time);
          break;
        }
        case task_event_kind::dlopen: add_library(event); break;
      }
    }
  }

  void add_session(const task_event& event) {
    session s;
    s.sid = event.sid;
    s.pid = event.pid;
    s.start_time = event.time;
    s.program = event.name;
    const std::string name = "sid-" + std::string(event.sid) + ".map";
    if (const directory_file* const file = find(name)) {
      const memory_map map = read_memory_map(file->bytes);
      note_faults(name, map.faults);
      s.kernel_base = map.kernel_base;
      for (const mapping& m : map.mappings) {
        if (is_tracer_library(m.path)) continue;
        s.mappings.push_back({m.start, m.end, 0, object_of(m.path, m.build_id)});
      }
    }
    if (find("python.fake.sym") != nullptr) {
      const std::uint32_t python = object_of("python.fake", {});
      const std::uint64_t count = out_.objects[python].symbols.symbols().size();
      s.mappings.push_back({0, (count + 4095) / 4096 * 4096, 0, python});
    }
    std::sort(s.mappings.begin(), s.mappings.end(), [](const object_mapping& a, const object_mapping& b) {
      return a.start != b.start ? a.start < b.start : a.object < b.object;
    });
    // A later session of the same process takes the task's name before its TASK line comes.
    if (const std::uint32_t known = out_.find_task(event.pid); known != task_data::no_task) name_after(out_.tasks[known], event.name);
    out_.sessions.push_back(std::move(s));
  }

  void add_library(const task_event& event) {
    for (session& s : out_.sessions) {
      if (s.sid == event.sid)
        s.libraries.push_back({event.base, ~std::uint64_t{0}, event.time, object_of(event.name, {})});
    }
  }

  std::uint32_t object_of(std::string_view path, std::string_view build_id) {
    const std::string key = std::string(path) + '\n' + std::string(build_id);
    const auto [at, added] = object_index_.emplace(key, static_cast<std::uint32_t>(out_.objects.size()));
    if (!added) return at->second;
    const bool values = out_.info.has(feature::argument) || out_.info.has(feature::retval);
    out_.objects.push_back(load_object_file(files_, path, build_id, values, opener_, out_.faults));
    return at->second;
  }

  void read_data_files() {
    for (const std::uint32_t tid : out_.info.tids()) {
      task_data d;
      d.tid = tid;
      d.file = std::to_string(tid) + ".dat";
      d.task = out_.find_task(tid);
      if (const directory_file* const file = find(d.file)) {
        d.present = true;
        d.bytes = file->bytes;
      }
      out_.data_index.emplace(tid, static_cast<std::uint32_t>(out_.data.size()));
      out_.data.push_back(std::move(d));
    }
    if (!out_.info.has(feature::perf_event)) return;
    for (const directory_file& file : files_.all()) {
      if (file.name.starts_with("perf-cpu") && file.name.ends_with(".dat")) out_.perf.push_back({file.name, file.bytes});
    }
    std::sort(out_.perf.begin(), out_.perf.end(), [](const perf_data& a, const perf_data& b) { return a.file < b.file; });
  }

  void read_kernel() {
    const directory_file* const header = find("kernel_header");
    if (!out_.info.has(feature::kernel) || header == nullptr) return;
    kernel_trace& kernel = out_.kernel;
    for (const directory_file& file : files_.all()) {
      if (file.name.starts_with("kernel-cpu")) kernel.files.push_back(file);
    }
    if (kernel.files.empty()) return;
    const auto cpu_of = [](std::string_view name) { return take(name, "kernel-cpu") ? take_number(name, 10).value_or(0) : 0; };
    std::sort(kernel.files.begin(), kernel.files.end(), [&](const directory_file& a, const directory_file& b) {
      return std::pair(cpu_of(a.name), a.name) < std::pair(cpu_of(b.name), b.name);
    });
    kernel.header = read_kernel_header(header->bytes);
    note_faults(header->name, kernel.header.faults);
    kernel.object = static_cast<std::uint32_t>(out_.objects.size());
    object_file m;
    m.path = "[kernel]";
    if (const directory_file* const symbols = find("kallsyms")) m.symbols = read_symbols(symbols->bytes);
    out_.objects.push_back(std::move(m));
  }

  void read_events(const directory_file& file) {
    lines text(as_text(file.bytes));
    while (text.next()) {
      std::string_view rest = text.line();
      const bool event = take(rest, "EVENT: ");
      const auto id = event ? take_number(rest, 10) : std::nullopt;
      if (id && take(rest, " ")) out_.user_events.emplace_back(*id, rest);
      else if (!text.line().empty()) out_.faults.push_back({file.name, {errc::bad_text, text.offset(), text.line().size() + 1}});
    }
  }

  [[nodiscard]] const directory_file* find(const std::string& name) const { return files_.find(name); }

  const directory_index& files_;
  const object_opener& opener_;
  recording& out_;
  std::unordered_map<std::string, std::uint32_t> object_index_;
};

}  // namespace detail

/// Opens a data directory from its files. The error is that of the file `info` (offset in it), or not_found when there is no
/// such file; bad_text is not fatal and is listed in `faults`. Reads all text files once; data files are not touched.
/// `objects` opens programs and libraries whose .sym files are missing; without it they have no symbols.
[[nodiscard]] inline result<recording> open(const std::vector<directory_file>& files, pattern_engine patterns = {},
                                            const object_opener& objects = {}) {
  recording opened;
  opened.patterns = patterns;
  const detail::directory_index index(files);
  detail::recording_builder builder(index, objects, opened);
  const directory_file* const file = index.find("info");
  if (file == nullptr) return {errc::not_found, 0};
  result<info> head = read_info(file->bytes);
  if (!head && head.error().code != errc::bad_text) return head.error();
  if (!head) opened.faults.push_back({"info", {head.error().code, head.error().offset, 0}});
  opened.info = std::move(head.partial());
  builder.build();
  return opened;
}

}  // namespace backsight::uftrace
