// SPDX-License-Identifier: Apache-2.0
// Final memtraces as traces of calls, by their calls and returns.
#include <cinttypes>
#include <deque>
#include <optional>

#include <backsight/elf/symbols.hpp>
#include <backsight/memtrace/calls.hpp>

#include "call_analysis.hpp"
#include "memtrace_commands.hpp"
#include "memtrace_input.hpp"
#include "memtrace_names.hpp"

namespace cli::memtrace {

namespace {

using namespace backsight;

/// The symbols of a program that runs where it was linked to.
class program_symbols {
 public:
  /// Reports an error and gives false when there are none. An empty path is no program.
  bool open(const std::string& path) {
    if (path.empty()) return true;
    if (!file_.open(path)) return false;
    const auto image = elf::open(file_.bytes());
    if (!image) return report_error(path, image.error()), false;
    constexpr std::uint16_t executable = 2;  // ET_EXEC
    if (image->type() != executable)
      return report_error(path, "the program can be loaded anywhere, and where it was is not known"), false;
    symbols_ = elf::symbol_index(*image, elf::symbols(*image));
    return true;
  }
  [[nodiscard]] std::string name_of(std::uint64_t address) const {
    const auto found = symbols_.find(address);
    if (!found) return {};
    std::string name = demangle(std::string(found->found.name));
    if (address == found->found.value) return name;
    char offset[24];
    std::snprintf(offset, sizeof offset, "+0x%" PRIx64, address - found->found.value);
    return name + offset;
  }

 private:
  input file_;
  elf::symbol_index symbols_;
};

}  // namespace

int with_calls(const arguments& asked, const call_task& task) {
  program_symbols symbols;
  if (!symbols.open(asked.symbols)) return bad_input;
  code_names names;
  const int named = asked.symbols.empty() ? names.open(asked) : int{success};
  std::deque<loaded_file> loaded;
  std::vector<backsight::memtrace::calls::file> files;
  fault_notes notes;
  std::uint64_t size = 0;
  bool raw = false, unreadable = false;
  for (const trace_folder& folder : folders_at(asked.path())) {
    for (const std::string& path : folder.files) {
      if (stage_of(path).partial() == stage::raw) {
        raw = true;
        continue;
      }
      const loaded_file& file = loaded.emplace_back(path);
      if (file.error()) {
        report_error(path, file.error(), detail_of(path, file.error()));
        unreadable = true;
        if (file.bytes().empty()) continue;
      }
      size += file.bytes().size();
      // Faults are told as of files below the path.
      const bool below = path.size() > asked.path().size() && path.compare(0, asked.path().size(), asked.path()) == 0;
      std::string name = below ? path.substr(asked.path().size()) : "";
      name.erase(0, std::min(name.find_first_not_of('/'), name.size()));
      files.push_back({file.bytes(), std::move(name)});
    }
  }
  if (raw && files.empty())
    return report_error(
        asked.path(),
        "a raw memtrace has no instructions, only the blocks that they are in; make a final trace of it first");
  if (files.empty() && !unreadable) return report_error(asked.path(), "no memtraces are here");
  backsight::memtrace::call_options options;
  if (!asked.symbols.empty()) options.name = [&symbols](std::uint64_t address) { return symbols.name_of(address); };
  else if (names.has_modules()) {
    options.name = [&names](std::uint64_t address) {
      return names.find(address).module.empty() ? std::string() : names.text(address);
    };
  }
  if (!asked.symbols.empty()) {
    options.module = [&](std::uint64_t address) {
      return symbols.name_of(address).empty() ? std::string() : asked.symbols;
    };
  } else if (names.has_modules()) {
    options.module = [&names](std::uint64_t address) { return names.find(address).module; };
  }
  options.values = shows_values(asked);
  const bool has_modules = static_cast<bool>(options.module);
  unreadable = unreadable || named != success;
  call_input input{.asked = asked, .bytes = size, .notes = notes, .unreadable = unreadable};
  const backsight::memtrace::calls trace(files, std::move(options));
  if (trace.is_by_markers())
    input.no_modules = "its instructions were filtered: functions have the numbers of their markers, and no places";
  else if (!has_modules) input.no_modules = "no modules.log is beside the trace; --modules or --symbols name one";
  return run_task(trace, input, task);
}

}  // namespace cli::memtrace
