// SPDX-License-Identifier: Apache-2.0
#include "xray_trace.hpp"

#include <algorithm>
#include <utility>

namespace cli {

using namespace backsight;

namespace {

/// Closing angle brackets side by side, as LLVM's demangler and C++ since 2011 write them; libstdc++'s leaves a blank.
std::string close_brackets(std::string_view name) {
  std::string closed;
  closed.reserve(name.size());
  for (std::size_t at = 0; at < name.size(); ++at) {
    const bool between = name[at] == ' ' && at + 1 < name.size() && name[at + 1] == '>' && closed.ends_with('>');
    if (!between || closed.ends_with("operator>")) closed += name[at];
  }
  return closed;
}

std::string readable(const std::string& name) { return close_brackets(demangle(name)); }

}  // namespace

int no_such_form(const char* command) {
  say("backsight: llvm-xray has no %s to print as\n", command);
  return usage;
}

bool xray_names::open(const std::string& path) {
  if (path.empty()) return true;
  if (!file_.open(path)) return false;
  auto opened = xray::function_names::open(file_.bytes(), &readable);
  if (!opened) return report_error(path, opened.error(), "xray_instr_map"), false;
  names_ = std::move(opened).value();
  return true;
}

std::string xray_names::source_of(std::uint64_t function) const {
  const auto& known = names_[function];
  if (!known.named) return "(unknown)";
  return (known.source.empty() ? "<invalid>" : std::string(known.source)) + ":0:0";
}

bool xray_trace::open(const std::string& path, bool any_version) {
  path_ = path;
  if (!file_.open(path)) return false;
  auto opened = xray::open(file_.bytes());
  if (opened.error().code == errc::unsupported_version && any_version) {
    add_fault({opened.error().code, opened.error().offset, 0});
    patched_.assign(file_.bytes().begin(), file_.bytes().end());
    using header = xray::file_header;
    const mutable_record<header, order::little> head(patched_.data());
    head.set(header::version, head.view()[header::version] > 5 ? 5 : 2);
    opened = xray::open(patched_);
  }
  if (!opened) return report_error(path, opened.error()), false;
  log_ = *opened;
  return true;
}

std::vector<xray_trace::traced_thread> xray_trace::threads(bool merge_processes) {
  auto found = xray::threads_of(log_, merge_processes);
  if (found.error()) add_fault({found.error().code, found.error().offset, log_.bytes().size() - found.error().offset});
  return std::move(found).partial();
}

std::vector<xray::event> xray_trace::sorted_events() {
  std::vector<xray::event> events;
  for (const auto& thread : threads()) {
    for_each_event(thread, [&](const xray::event& event) { events.push_back(event); });
  }
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  return events;
}

}  // namespace cli
