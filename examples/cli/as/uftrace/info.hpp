// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <backsight/uftrace/perf_source.hpp>
#include <backsight/uftrace/recording.hpp>

#include "number_text.hpp"

// What `uftrace info` prints. Source: uftrace's cmds/info.c.
namespace cli::as_uftrace {

using namespace backsight;

/// `# KEY                 : VALUE`.
inline void add_line(std::string& out, const char* key, std::string_view value) {
  add_format(out, "# %-20s: ", key);
  out += value;
  out += '\n';
}

/// The parts of a value such as `19.4 / 23.5 GB (free / total)`.
inline std::string_view number_at(std::string_view text, std::size_t index) {
  for (; index != 0; --index) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return {};
    text.remove_prefix(slash + 1);
  }
  while (text.starts_with(' ')) text.remove_prefix(1);
  return text.substr(0, text.find_first_of(" /("));
}

inline std::string exit_status(std::string_view text) {
  const auto status = static_cast<unsigned>(text::take_number(text, 10).value_or(0));
  if (status == 65536) return "terminated by finish trigger";
  if ((status & 0x7f) == 0) return "exited with code: " + std::to_string(status >> 8 & 0xff);
  const int signal = static_cast<int>(status & 0x7f);
  return "terminated by signal: " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

inline std::string fixed3(std::string_view seconds) {
  std::string text;
  add_format(text, "%.3f", std::strtod(std::string(seconds).c_str(), nullptr));
  return text;
}

inline void print_system(const uftrace::info& info, std::string& out) {
  out += "# system information\n# ==================\n";
  if (info.has_item(13)) add_line(out, "program version", info.value("uftrace_version"));
  if (info.has_item(11)) add_line(out, "recorded on", info.value("record_date"));
  if (info.has_item(3)) add_line(out, "cmdline", info.value("cmdline"));
  if (info.has_item(4)) {
    const std::string_view count = info.value("cpuinfo", "nr_cpus");
    add_line(out, "cpu info", info.value("cpuinfo", "desc"));
    add_line(out, "number of cpus",
             std::string(number_at(count, 0)) + " / " + std::string(number_at(count, 1)) + " (online / possible)");
  }
  if (info.has_item(5)) add_line(out, "memory info", info.value("meminfo"));
  if (info.has_item(9)) {
    std::string text;
    for (std::size_t i = 0; i < 3; ++i) {
      add_format(text, "%s%.2f", i == 0 ? "" : " / ",
                 std::strtod(std::string(number_at(info.value("loadinfo"), i)).c_str(), nullptr));
    }
    add_line(out, "system load", text + " (1 / 5 / 15 min)");
  }
  if (info.has_item(6)) {
    add_line(out, "kernel version", info.value("osinfo", "kernel"));
    add_line(out, "hostname", info.value("osinfo", "hostname"));
    add_line(out, "distro", info.value("osinfo", "distro"));
  }
  if (info.has_item(15)) {
    std::string_view rest = info.value("sysctl");
    for (const char* name : {"perf_event_paranoid", "kptr_restrict"}) {
      const std::size_t at = rest.find(name);
      if (at == std::string_view::npos) continue;
      std::string_view value = rest.substr(at + std::strlen(name) + 1);
      add_line(out, name, value.substr(0, value.find(' ')));
    }
  }
}

inline void print_process(const uftrace::recording& recording, const std::vector<std::string>& names,
                          std::string& out) {
  const uftrace::info& info = recording.info;
  out += "#\n# process information\n# ===================\n";
  if (info.has_item(7)) {
    add_line(out, "number of tasks", info.value("taskinfo", "nr_tid"));
    std::string list;
    for (std::size_t i = 0; i < recording.data.size(); ++i) {
      if (i != 0) list += ", ";
      list += std::to_string(recording.data[i].tid) + "(" + names[i] + ")";
    }
    add_line(out, "task list", list);
  }
  if (info.has_item(0)) add_line(out, "exe image", info.value("exename"));
  if (info.has_item(1)) add_line(out, "build id", info.value("build_id"));
  if (info.has_item(10)) {
    for (const auto& [key, label] : {std::pair{"argspec", "arguments"}, std::pair{"retspec", "return values"}}) {
      const std::string_view spec = info.value(key);
      if (!spec.empty()) add_line(out, label, spec);
    }
    if (recording.values.all_automatic) add_line(out, "auto-args", "true");
  }
  if (info.has_item(12)) add_line(out, "pattern", info.value("pattern_type"));
  if (info.has_item(2)) add_line(out, "exit status", exit_status(info.value("exit_status")));
  if (info.has_item(11)) add_line(out, "elapsed time", info.value("elapsed_time"));
  if (info.has_item(8)) {
    const auto use = [&](const char* name) { return info.value("usageinfo", name); };
    const auto pair = [&](const char* name) {
      return std::string(number_at(use(name), 0)) + " / " + std::string(number_at(use(name), 1));
    };
    add_line(out, "cpu time", fixed3(use("systime")) + " / " + fixed3(use("usrtime")) + " sec (sys / user)");
    add_line(out, "context switch", pair("ctxsw") + " (voluntary / involuntary)");
    add_line(out, "max rss", std::string(use("maxrss")) + " KB");
    add_line(out, "page fault", pair("pagefault") + " (major / minor)");
    add_line(out, "disk iops", pair("iops") + " (read / write)");
  }
}

inline void print_tasks(const uftrace::recording& recording, const std::vector<std::string>& names, std::string& out) {
  add_format(out, "#%23s  %5s  %9s  %-16s  %s", "TIMESTAMP     ", "FLAGS", "   TID   ", "TASK", "DATA SIZE");
  out += '\n';
  std::vector<std::uint32_t> order(recording.tasks.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return recording.tasks[a].tid < recording.tasks[b].tid; });
  std::vector<std::uint64_t> first(recording.data.size(), ~std::uint64_t{0});
  for (const uftrace::perf_data& file : recording.perf) {
    uftrace::perf_source source(recording, file.bytes);
    while (source.next())
      first[source.current().data_index] = std::min(first[source.current().data_index], source.current().time);
  }
  std::unordered_set<std::uint32_t> starters;
  for (const uftrace::session& s : recording.sessions) starters.insert(s.pid);
  for (const std::uint32_t i : order) {
    const uftrace::task& t = recording.tasks[i];
    const auto data = recording.data_index.find(t.tid);
    std::uint64_t time = t.time;
    std::uint64_t size = 0;
    std::string comm = t.comm;
    if (data != recording.data_index.end()) {
      time = std::min(time, first[data->second]);
      size = recording.data[data->second].bytes.size();
      comm = names[data->second];
    }
    const bool starts = starters.contains(t.tid);
    const std::string flags = std::string(t.tid == t.pid ? "F" : "") + (starts ? "S" : "");
    add_format(out, " %13llu.%09llu  %-5s  [%7u]  %-16s ", static_cast<unsigned long long>(time / 1'000'000'000),
               static_cast<unsigned long long>(time % 1'000'000'000), flags.c_str(), t.tid, comm.c_str());
    if (size != 0) {
      add_format(out, " %5llu.%03llu MB", static_cast<unsigned long long>(size / 1024 / 1024),
                 static_cast<unsigned long long>(std::min<std::uint64_t>(size / 1024 % 1024, 999)));
    }
    out += '\n';
  }
}

}  // namespace cli::as_uftrace
