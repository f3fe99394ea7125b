// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/uftrace/files/info.hpp>
#include <backsight/uftrace/files/kernel_header.hpp>
#include <backsight/uftrace/files/memory_map.hpp>
#include <backsight/uftrace/files/task_list.hpp>
#include <backsight/uftrace/files/task_messages.hpp>
#include <backsight/uftrace/recording.hpp>

// Puts the files of a directory together. Source: uftrace's utils/session.c, utils/symbol.c and utils/fstack.c.
namespace backsight::uftrace {

namespace detail {

class recording_builder {
 public:
  recording_builder(const directory_index& files, const object_opener& opener, recording& out)
      : files_(files),
        out_(out),
        loader_(files, out.info.has(feature::argument) || out.info.has(feature::retval), opener, out.faults) {}

  void build() {
    read_specs();
    read_tasks();
    read_data_files();
    read_kernel();
    if (const auto* events = find("events.txt")) read_events(*events);
    if (const auto* external = find("extern.dat")) out_.external = external->bytes;
    if (const auto* note = find("note.txt")) out_.note = text::as_text(note->bytes);
    if (const auto* options = find("default.opts")) out_.options = text::as_text(options->bytes);
  }

 private:
  void note_faults(const std::string& file, const std::vector<fault>& faults) {
    for (const fault& f : faults) out_.faults.push_back({file, f});
  }

  void read_specs() {
    const std::size_t size = out_.info.long_size();
    const std::string_view type = out_.info.value("pattern_type");
    const names::pattern_kind kind = type == "simple" ? names::pattern_kind::exact
                                     : type == "glob" ? names::pattern_kind::glob
                                                      : names::pattern_kind::regular_expression;
    value_rules& rules = out_.values;
    for (const info_line& line : out_.info.lines) {
      const auto add = [&](function_specs& to, bool returns) {
        const errc error = to.add(line.value, size, returns, out_.patterns, kind);
        if (error != errc::ok) out_.faults.push_back({"info", {error, line.offset, 0}});
      };
      if (line.key == "argspec" && line.name.empty()) {
        add(rules.arguments, false);
        if (line.value.find("retval") != std::string_view::npos) add(rules.returns_among_arguments, true);
      } else if (line.key == "retspec") {
        add(rules.returns, true);
      } else if (line.key == "argauto") {
        rules.automatic_arguments.add(line.value, size, false);
      } else if (line.key == "retauto") {
        rules.automatic_returns.add(line.value, size, true);
      } else if (line.key == "enumauto") {
        read_enumerations(line.value, out_.auto_enumerations.all);
      } else if (line.key == "auto-args") {
        rules.all_automatic = line.value == "1";
      }
    }
    out_.auto_enumerations.index();
  }

  /// The session that process `pid` was in at `time`, or -1.
  [[nodiscard]] std::int64_t latest_session(std::uint32_t pid, std::uint64_t time) const {
    const auto after = session_order_.upper_bound({pid, time});
    if (after == session_order_.begin()) return -1;
    const auto found = std::prev(after);
    return found->first.first == pid ? static_cast<std::int64_t>(found->second) : -1;
  }

  void refer(task& t, std::int64_t session_number, std::uint64_t time) {
    if (session_number < 0) return;
    if (!t.sessions.empty()) t.sessions.back().until = time;
    t.sessions.push_back({static_cast<std::uint32_t>(session_number), time, ~std::uint64_t{0}});
    name_after(t, out_.sessions[static_cast<std::size_t>(session_number)].program);
  }
  static void name_after(task& t, std::string_view program) {
    t.comm = std::string(text::base_name(program).substr(0, 15));
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
    if (!whole && file == nullptr) out_.faults.push_back({"task.txt", {errc::not_found, 0, 0}});
    out_.history = session_history(out_.tasks, out_.task_index);
    for (session& s : out_.sessions) {
      std::sort(s.libraries.begin(), s.libraries.end(), [](const object_mapping& a, const object_mapping& b) {
        return a.time != b.time ? a.time < b.time : a.end < b.end;
      });
      for (object_mapping& library : s.libraries) library.end = ~std::uint64_t{0};
    }
  }

  void take_tasks(const std::string& file, const task_list& list) {
    note_faults(file, list.faults);
    for (const task_event& event : list.events) {
      switch (event.kind) {
        case task_event_kind::session: add_session(event); break;
        case task_event_kind::task: add_task(event, event.pid, 0); break;
        case task_event_kind::fork: add_task(event, event.parent, event.parent); break;
        case task_event_kind::dlopen: add_library(file, event); break;
      }
    }
  }

  /// `above` is the process of a thread, or the one that forked a process.
  void add_task(const task_event& event, std::uint32_t above, std::uint32_t parent) {
    std::int64_t found = latest_session(above, event.time);
    const auto [at, added] = out_.task_index.emplace(event.tid, static_cast<std::uint32_t>(out_.tasks.size()));
    if (added) {
      const std::uint32_t up = out_.find_task(above);
      if (found < 0 && up < out_.tasks.size() && !out_.tasks[up].sessions.empty() &&
          out_.tasks[up].sessions.back().from < event.time)
        found = out_.tasks[up].sessions.back().session;
      out_.tasks.push_back({event.tid, event.pid, parent, event.time, {}, {}});
    }
    refer(out_.tasks[at->second], found, event.time);
  }

  void add_session(const task_event& event) {
    const auto number = static_cast<std::uint32_t>(out_.sessions.size());
    session s;
    s.sid = event.sid;
    s.pid = event.pid;
    s.start_time = event.time;
    s.program = event.name;
    const auto [known, added] = map_index_.try_emplace(event.sid, read_map{});
    if (added) known->second = add_map("sid-" + std::string(event.sid) + ".map");
    s.mappings = out_.maps[known->second.number];  // Where they are stays when the recording moves.
    s.kernel_base = known->second.kernel_base;
    // Of several with one id the first process has the libraries, and of its sessions the first.
    session_key& first = known->second.first;
    if (session_key(event.pid, event.time) < first) {
      first = {event.pid, event.time};
      known->second.session = number;
    }
    session_order_[{event.pid, event.time}] = number;
    // A later session of the same process takes the task's name before its TASK line comes.
    if (const std::uint32_t task = out_.find_task(event.pid); task != task_data::no_task)
      name_after(out_.tasks[task], event.name);
    out_.sessions.push_back(std::move(s));
  }

  using session_key = std::pair<std::uint32_t, std::uint64_t>;
  struct read_map {
    std::size_t number = 0;  ///< in recording::maps
    std::uint64_t kernel_base = 0;
    std::uint32_t session = 0;  ///< that has the libraries
    session_key first{~std::uint32_t{0}, ~std::uint64_t{0}};
  };

  [[nodiscard]] read_map add_map(const std::string& name) {
    read_map made;
    made.number = out_.maps.size();
    std::vector<object_mapping> mappings;
    if (const directory_file* const file = find(name)) {
      const memory_map map = read_memory_map(file->bytes);
      note_faults(name, map.faults);
      made.kernel_base = map.kernel_base;
      for (const mapping& m : map.mappings) {
        if (!is_tracer_library(m.path)) mappings.push_back({m.start, m.end, 0, object_of(m.path, m.build_id)});
      }
    } else {
      out_.faults.push_back({name, {errc::not_found, 0, 0}});
    }
    if (find("python.fake.sym") != nullptr) {
      const std::uint32_t python = object_of("python.fake", {});
      const std::uint64_t count = out_.objects[python].symbols.symbols().size();
      mappings.push_back({0, (count + 4095) / 4096 * 4096, 0, python});
    }
    std::sort(mappings.begin(), mappings.end(), [](const object_mapping& a, const object_mapping& b) {
      return a.start != b.start ? a.start < b.start : a.object < b.object;
    });
    out_.maps.push_back(std::move(mappings));
    return made;
  }

  /// uftrace ends at a library whose session no line before it names.
  void add_library(const std::string& file, const task_event& event) {
    const auto known = map_index_.find(event.sid);
    if (known == map_index_.end()) {
      out_.faults.push_back({file, {errc::unpaired_record, event.offset, event.size}});
      return;
    }
    // The end keeps the order of the file until all are sorted by time.
    std::vector<object_mapping>& libraries = out_.sessions[known->second.session].libraries;
    libraries.push_back({event.base, libraries.size(), event.time, object_of(event.name, {})});
  }

  std::uint32_t object_of(std::string_view path, std::string_view build_id) {
    const std::string key = std::string(path) + '\n' + std::string(build_id);
    const auto [at, added] = object_index_.emplace(key, static_cast<std::uint32_t>(out_.objects.size()));
    if (added) out_.objects.push_back(loader_.load(path, build_id));
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
      if (file.name.starts_with("perf-cpu") && file.name.ends_with(".dat"))
        out_.perf.push_back({file.name, file.bytes});
    }
    std::sort(out_.perf.begin(), out_.perf.end(),
              [](const perf_data& a, const perf_data& b) { return a.file < b.file; });
  }

  void read_kernel() {
    const directory_file* const header = find("kernel_header");
    if (!out_.info.has(feature::kernel) || header == nullptr) return;
    kernel_trace& kernel = out_.kernel;
    for (const directory_file& file : files_.all()) {
      if (file.name.starts_with("kernel-cpu")) kernel.files.push_back(file);
    }
    if (kernel.files.empty()) return;
    const auto cpu_of = [](std::string_view name) {
      return text::take(name, "kernel-cpu") ? text::take_number(name, 10).value_or(0) : 0;
    };
    std::sort(kernel.files.begin(), kernel.files.end(), [&](const directory_file& a, const directory_file& b) {
      return std::pair(cpu_of(a.name), a.name) < std::pair(cpu_of(b.name), b.name);
    });
    kernel.header = read_kernel_header(header->bytes);
    note_faults(header->name, kernel.header.faults);
    kernel.object = static_cast<std::uint32_t>(out_.objects.size());
    object_file m;
    m.path = "[kernel]";
    if (const directory_file* const symbols = find("kallsyms")) {
      m.symbols = read_symbols(symbols->bytes);
      note_faults(symbols->name, m.symbols.faults());
    }
    for (const directory_file& file : kernel.files) {
      if (file.bytes.size() % kernel.header.pages.page_size != 0)
        out_.faults.push_back({file.name, {errc::truncated, file.bytes.size(), 0}});
    }
    out_.objects.push_back(std::move(m));
  }

  void read_events(const directory_file& file) {
    text::lines text(text::as_text(file.bytes));
    while (text.next()) {
      std::string_view rest = text.line();
      const bool event = text::take(rest, "EVENT: ");
      const auto id = event ? text::take_number(rest, 10) : std::nullopt;
      if (id && text::take(rest, " ")) out_.user_events.emplace_back(*id, rest);
      else if (!text.line().empty())
        out_.faults.push_back({file.name, {errc::bad_text, text.offset(), text.line().size() + 1}});
    }
    // Names are views of one text, so where they are tells the order of the lines.
    std::sort(out_.user_events.begin(), out_.user_events.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first < b.first : a.second.data() < b.second.data();
    });
  }

  [[nodiscard]] const directory_file* find(const std::string& name) const { return files_.find(name); }

  const directory_index& files_;
  recording& out_;
  object_loader loader_;
  std::unordered_map<std::string, std::uint32_t> object_index_;
  std::unordered_map<std::string_view, read_map> map_index_;  ///< by session id
  std::map<session_key, std::uint32_t> session_order_;        ///< sessions by process and start; of equal ones the last
};

}  // namespace detail

/// Opens a data directory from its files. The error is that of the file `info` (offset in it), or not_found when there
/// is no such file; bad_text is not fatal and is listed in `faults`. Reads all text files once; data files are not
/// touched. `objects` opens programs and libraries whose .sym files are missing; without it they have no symbols.
[[nodiscard]] inline result<recording> open(const std::vector<directory_file>& files,
                                            names::pattern_engine patterns = {}, const object_opener& objects = {}) {
  recording opened;
  opened.patterns = patterns;
  const detail::directory_index index(files);
  const directory_file* const file = index.find("info");
  if (file == nullptr) return {errc::not_found, 0};
  result<info> head = read_info(file->bytes);
  if (!head && head.error().code != errc::bad_text) return head.error();
  if (!head) opened.faults.push_back({"info", {head.error().code, head.error().offset, 0}});
  opened.info = std::move(head.partial());
  detail::recording_builder(index, objects, opened).build();
  return opened;
}

}  // namespace backsight::uftrace
