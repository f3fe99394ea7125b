// SPDX-License-Identifier: Apache-2.0
#include "xray_trace.hpp"

#include <algorithm>
#include <cinttypes>

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

}  // namespace

int no_such_form(const char* command) {
  say("backsight: llvm-xray has no %s to print as\n", command);
  return usage;
}

bool xray_names::open(const std::string& path) {
  if (path.empty()) return true;
  if (!file_.open(path)) return false;
  const auto image = elf::open(file_.bytes());
  if (!image) return report_error(path, image.error()), false;
  auto map = xray::read_instr_map(*image);
  if (!map) return report_error(path, map.error(), "xray_instr_map"), false;
  map_ = std::move(map).value();
  symbols_ = elf::symbol_index(*image, elf::symbols(*image));
  return true;
}

const xray_names::entry& xray_names::operator[](std::uint64_t function) {
  const auto [at, inserted] = cache_.try_emplace(function);
  entry& found = at->second;
  if (!inserted) return found;
  const auto address = map_.address_of(static_cast<std::uint32_t>(function));
  if (!address) {
    found.function = "#" + std::to_string(function);
  } else if (const auto symbol = symbols_.find(*address)) {
    found.function = close_brackets(demangle(std::string(symbol->found.name)));
    found.source = (symbol->file.empty() ? "<invalid>" : std::string(symbol->file)) + ":0:0";
  } else {
    char text[24];
    std::snprintf(text, sizeof text, "@(%" PRIx64 ")", *address);
    found.function = text;
  }
  return found;
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

int xray_trace::report_faults() const {
  for (const auto& [offset, fault] : faults_) report_fault(path_, fault);
  return faults_.empty() ? success : bad_input;
}

std::vector<xray_trace::traced_thread> xray_trace::threads(bool merge_processes) {
  std::vector<traced_thread> found;
  if (log_.type() == xray::log_type::basic) return {traced_thread{}};
  auto index = xray::index_blocks(log_);
  if (index.error()) add_fault({index.error().code, index.error().offset, log_.bytes().size() - index.error().offset});
  auto& blocks = index.partial();
  xray::sort_by_thread(blocks);
  if (merge_processes) {
    std::stable_sort(blocks.begin(), blocks.end(), [](const auto& a, const auto& b) { return a.thread_id < b.thread_id; });
  }
  for (const auto& info : blocks) {
    const bool same = !found.empty() && found.back().id == info.thread_id &&
                      (merge_processes || found.back().process == info.process_id);
    if (!same) found.push_back({info.process_id, info.thread_id, {}});
    found.back().blocks.push_back(info.where);
  }
  return found;
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
