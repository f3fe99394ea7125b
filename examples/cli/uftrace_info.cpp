// SPDX-License-Identifier: Apache-2.0
// info of uftrace directories: what was recorded, where, and its tasks.
#include "uftrace_data.hpp"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>

#include <backsight/core/escape.hpp>

#include "as/uftrace/info.hpp"
#include "table.hpp"

namespace cli {

using namespace backsight;

namespace {

void print_json(const uftrace::recording& recording, text_out& out) {
  std::string& text = out.text();
  const auto quoted = [&](std::string_view value) { (void)backsight::text::quoted(std::back_inserter(text), value); };
  const uftrace::info& info = recording.info;
  add_format(text,
             "{\"format\":\"uftrace\",\"version\":%u,\"byte_order\":\"%s\",\"bits\":%d,\"features\":%llu,\"info\":{",
             info.version, info.byte_order == order::little ? "little" : "big", info.is_64 ? 64 : 32,
             static_cast<unsigned long long>(info.feat_mask));
  bool first = true;
  for (const uftrace::info_line& line : info.lines) {
    if (line.name == "lines") continue;
    if (!first) text += ',';
    first = false;
    quoted(line.name.empty() ? std::string(line.key) : std::string(line.key) + ":" + std::string(line.name));
    text += ':';
    quoted(line.value);
  }
  text += "},\"tasks\":[";
  for (std::size_t i = 0; i < recording.data.size(); ++i) {
    const uftrace::task_data& d = recording.data[i];
    add_format(text, "%s{\"tid\":%u,\"present\":%s,\"bytes\":%zu,\"name\":", i == 0 ? "" : ",", d.tid,
               d.present ? "true" : "false", d.bytes.size());
    quoted(d.task == uftrace::task_data::no_task ? std::string() : recording.tasks[d.task].comm);
    text += '}';
  }
  text += "]}";
  out.line();
}

/// A task as its row tells it.
struct told_task {
  const uftrace::task* task = nullptr;
  std::string name;
  std::uint64_t time = 0;   ///< of its line
  std::uint64_t bytes = 0;  ///< of its records
  bool starts_program = false;
};

std::vector<told_task> tasks_of(const uftrace::recording& recording) {
  const auto names = final_names(recording);
  std::unordered_set<std::uint32_t> starters;
  for (const uftrace::session& one : recording.sessions) starters.insert(one.pid);
  std::vector<told_task> all;
  for (const uftrace::task& one : recording.tasks) {
    told_task made{.task = &one, .name = one.comm, .time = one.time, .starts_program = starters.contains(one.tid)};
    const auto data = recording.data_index.find(one.tid);
    if (data != recording.data_index.end()) {
      made.bytes = recording.data[data->second].bytes.size();
      made.name = names[data->second];
    }
    all.push_back(std::move(made));
  }
  std::ranges::stable_sort(all, {}, [](const told_task& one) { return std::pair(one.time, one.task->tid); });
  return all;
}

/// The earliest time that is told of its programs and tasks.
std::uint64_t begin_of(const uftrace::recording& recording) {
  std::uint64_t first = ~std::uint64_t{0};
  for (const uftrace::session& one : recording.sessions) first = std::min(first, one.start_time);
  for (const uftrace::task& one : recording.tasks) first = std::min(first, one.time);
  return first;
}

/// Seconds since 1970 of the moment at which the trace's clock was 0; none where the recorder did not tell it.
std::optional<std::uint64_t> clock_begin(const uftrace::info& info) {
  std::string_view text = info.value("utc_offset");
  return text::take_number(text, 10);
}

std::string utc_text(std::uint64_t seconds, std::uint64_t nanoseconds) {
  const auto time = static_cast<std::time_t>(seconds + nanoseconds / 1'000'000'000);
  std::tm parts{};
  char text[64];
  if (::gmtime_r(&time, &parts) == nullptr || std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts) == 0)
    return {};
  std::string date = text;
  add_format(date, ".%06llu UTC", static_cast<unsigned long long>(nanoseconds % 1'000'000'000 / 1000));
  return date;
}

std::string seconds_text(std::uint64_t nanoseconds) {
  std::string text;
  add_format(text, "%llu.%09llu", static_cast<unsigned long long>(nanoseconds / 1'000'000'000),
             static_cast<unsigned long long>(nanoseconds % 1'000'000'000));
  return text;
}

void print_task_table(const arguments& asked, const uftrace::recording& recording, output& out,
                      std::string_view indent) {
  const auto tasks = tasks_of(recording);
  const std::uint64_t begin = begin_of(recording);
  table rows(out, asked.format,
             {{.key = "time_ns", .not_in_text = true},
              {.key = "after s", .width = 12, .text_only = true},
              {.key = "process", .width = 8},
              {.key = "thread", .width = 8},
              {.key = "parent", .width = 8},
              {.key = "bytes", .width = 10},
              {.key = "starts_program", .width = 14, .narrow = "starts"},
              {.key = "name", .is_left = true, .is_name = true}},
             {.indent = indent, .gap = "  "});
  for (const told_task& one : tasks) {
    rows.id(one.time).text(seconds_text(one.time - begin)).id(one.task->pid).id(one.task->tid);
    rows.id(one.task->parent == 0 ? std::nullopt : std::optional<std::uint64_t>(one.task->parent));
    rows.number(one.bytes).flag(one.starts_program).text(one.name).end_row();
  }
  rows.finish();
}

/// What is told of a recording, by name.
std::vector<std::pair<std::string, std::string>> facts_of(const uftrace::recording& recording) {
  const uftrace::info& info = recording.info;
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&](std::string name, std::string_view value) {
    if (!value.empty()) facts.emplace_back(std::move(name), std::string(value));
  };
  add("format", "uftrace, version " + std::to_string(info.version) +
                    (info.byte_order == order::little ? ", little-endian" : ", big-endian") +
                    (info.is_64 ? ", 64 bits" : ", 32 bits"));
  if (const auto begin = clock_begin(info); begin && !recording.tasks.empty())
    add("begin", utc_text(*begin, begin_of(recording)));
  add("recorded", info.value("record_date"));
  add("elapsed", info.value("elapsed_time"));
  add("by", std::string(info.value("uftrace_version").empty() ? "" : "uftrace ") +
                std::string(info.value("uftrace_version")));
  add("command", info.value("cmdline"));
  add("program", info.value("exename"));
  add("build id", info.value("build_id"));
  add("arguments", info.value("argspec"));
  add("return values", info.value("retspec"));
  add("patterns", info.value("pattern_type"));
  if (const std::string_view status = info.value("exit_status"); !status.empty())
    add("exit", as_uftrace::exit_status(status));
  add("machine", info.value("osinfo", "hostname"));
  add("system", info.value("osinfo", "distro"));
  add("kernel", info.value("osinfo", "kernel"));
  add("cpu", info.value("cpuinfo", "desc"));
  add("cpus", info.value("cpuinfo", "nr_cpus"));
  add("memory", info.value("meminfo"));
  add("load", info.value("loadinfo"));
  add("settings", info.value("sysctl"));
  for (const auto& [key, name, unit] :
       {std::tuple{"systime", "kernel time", " s"}, std::tuple{"usrtime", "user time", " s"},
        std::tuple{"ctxsw", "switches", ""}, std::tuple{"maxrss", "resident", " KB at most"},
        std::tuple{"pagefault", "page faults", ""}, std::tuple{"iops", "disk", ""}}) {
    const std::string_view value = info.value("usageinfo", key);
    if (!value.empty()) add(name, std::string(value) + unit);
  }
  std::uint64_t bytes = 0;
  for (const uftrace::task_data& one : recording.data) bytes += one.bytes.size();
  add("records", with_thousands(std::to_string(bytes)) + " bytes of " + std::to_string(recording.data.size()) +
                     " threads, " + std::to_string(recording.perf.size()) + " files of the scheduler");
  return facts;
}

void print_facts(const arguments& asked, const uftrace::recording& recording, output& out) {
  const auto facts = facts_of(recording);
  if (asked.format != "text") {
    table rows(out, asked.format, {{.key = "name"}, {.key = "value"}});
    for (const auto& [name, value] : facts) rows.text(name).text(value).end_row();
    return rows.finish();
  }
  std::string line;
  for (const auto& [name, value] : facts) {
    line = name;
    line.resize(std::max<std::size_t>(14, name.size() + 2), ' ');
    text::shown(std::back_inserter(line), value);
    out.write(line + '\n');
  }
  out.print("tasks         %zu\n", recording.tasks.size());
  print_task_table(asked, recording, out, "  ");
}

void print_as_uftrace(const arguments& asked, const uftrace::recording& recording, output& to) {
  std::string text;
  const auto names = final_names(recording);
  if (asked.by_task) {
    as_uftrace::print_tasks(recording, names, text);
  } else {
    as_uftrace::print_system(recording.info, text);
    as_uftrace::print_process(recording, names, text);
    if (!recording.note.empty()) {
      text += "#\n# extra note information\n# ======================\n";
      text += recording.note;
    }
    text += '\n';
  }
  to.write(text);
}

}  // namespace

int uftrace_info(const arguments& from) {
  uftrace_data data;
  if (const int code = open_uftrace(from, data); code != success) return code;
  output to(from.output);
  check_data(data);
  const uftrace::recording& recording = data.recording();
  if (!from.as.empty()) {
    print_as_uftrace(from, recording, to);
  } else if (from.by_task) {
    print_task_table(from, recording, to, "");
  } else if (from.format == "json") {
    text_out out(to);
    print_json(recording, out);
  } else {
    print_facts(from, recording, to);
    if (from.format == "text" && !recording.note.empty()) to.write("\n" + std::string(recording.note));
  }
  return data.finish(to, success);
}

}  // namespace cli
