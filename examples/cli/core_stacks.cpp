// SPDX-License-Identifier: Apache-2.0
// The stacks of the threads of a core file.
#include "core_stacks.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include <backsight/cfi/core_registers.hpp>
#include <backsight/cfi/explained_walk.hpp>
#include <backsight/core/escape.hpp>
#include <backsight/elf/core_file.hpp>
#include <backsight/elf/core_memory.hpp>
#include <backsight/io/file_kind.hpp>

#include "perf_objects.hpp"
#include "program.hpp"
#include "stack_printer.hpp"

namespace cli {

namespace {

using namespace backsight;

/// A process as its core file has it: memory, mappings, and the files that they show.
class dumped_process {
 public:
  dumped_process(const std::string& path, const core_options& options, const elf::core_file& core,
                 elf::core_memory memory)
      : core_(core), memory_(std::move(memory)), files_(options.folders, {".", {}, {}, core.file.byte_order()}, list_) {
    for (const elf::core_mapping& one : core.mappings) add(one);
    add_rest();
    files_.prepare();
    for (const auto& [number, bytes] : own_) files_.set_bytes(number, bytes);
    if (core.mappings.empty()) say("backsight: %s: no list of mapped files (NT_FILE)\n", path.c_str());
  }

  [[nodiscard]] const elf::core_memory& memory() const { return memory_; }
  [[nodiscard]] const perf::mapping* find(std::uint64_t address) { return maps().find(address); }
  [[nodiscard]] described_frame describe(const cfi::explained_frame& frame) {
    const perf::mapping* const at = find(frame.lookup_address());
    if (at == nullptr) return {frame, nullptr, {}, {}};
    return {frame, at, files_.name_of(*at, frame.lookup_address()), list_.files()[at->file].name};
  }

  /// A word of memory: of the core file, or where that leaves out what cannot have changed, of the mapped file.
  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) {
    if (const auto word = memory_(address)) return word;
    const perf::mapping* const at = find(address);
    constexpr std::uint32_t writable = 2;
    if (at == nullptr || at->kind != perf::file_kind::file || (at->protection & writable) != 0) return std::nullopt;
    const auto bytes = files_.bytes(at->file);
    const std::uint64_t offset = at->file_address(address);
    if (!bytes || offset > bytes->size() || bytes->size() - offset < memory_.word_size()) return std::nullopt;
    return memory_.word_of(bytes->subspan(static_cast<std::size_t>(offset)));
  }

  /// Adds what is mapped at an address in code; false where no code is.
  template <class Arch>
  [[nodiscard]] bool prepare(cfi::address_space<Arch>& space, std::uint64_t address) {
    const perf::mapping* const at = find(address);
    if (at == nullptr || !at->is_executable()) return false;
    if (space.find(address) != nullptr) return true;
    tell_unchecked(*at);
    cfi::mapped_object object;
    object.begin = at->begin;
    object.end = at->end;
    object.id = at->file;
    if (files_.find_object<Arch>(*at, address, object) && !space.add(object)) return true;
    // Without a table; others may lie around it.
    return !space.add({address, address + 1, 0, {}, at->file}) || space.find(address) != nullptr;
  }

 private:
  [[nodiscard]] const perf::mapping_set& maps() { return *list_.find_process(core_.process).maps; }

  /// mmap's numbers for how memory may be used, of those of a segment.
  [[nodiscard]] static std::uint32_t protection_of(std::uint32_t segment_flags) {
    return (segment_flags & 4U) >> 2 | (segment_flags & 2U) | (segment_flags & 1U) << 2;
  }
  [[nodiscard]] perf::mapping mapping_of(std::uint64_t begin, std::uint64_t end, std::uint64_t offset) const {
    perf::mapping made;
    made.begin = begin;
    made.end = end;
    made.file_offset = offset;
    // A list of segments that was cut says nothing of it.
    const auto* const part = memory_.find(begin);
    made.protection = part == nullptr ? 5 : protection_of(part->flags);
    return made;
  }

  /// Adds a mapping of a file. Its build id stands in its first page, which is in the core file as a rule.
  void add(const elf::core_mapping& one) {
    if (one.file_offset == 0) {
      if (const auto image = elf::open(memory_.bytes_from(one.begin)))
        ids_[one.path] = perf::build_id(image->build_id());
    }
    perf::mapping made = mapping_of(one.begin, one.end, one.file_offset);
    made.kind = perf::kind_of_file(one.path, false);
    const auto id = ids_.find(one.path);
    list_.add_mapping(core_.process, made, one.path, id == ids_.end() ? perf::build_id() : id->second,
                      [](auto&&...) {});
  }
  /// What no file is mapped to: the vdso, whose bytes the core file has, and memory that code may have been written to.
  void add_rest() {
    for (const elf::core_memory::part& one : memory_.parts()) {
      if ((one.flags & elf::segment_executable) == 0 || find(one.begin) != nullptr) continue;
      perf::mapping made = mapping_of(one.begin, one.end, 0);
      const bool is_vdso = core_.vdso == one.begin;
      made.kind = is_vdso ? perf::file_kind::vdso : perf::file_kind::anonymous;
      const std::uint32_t number =
          list_.add_mapping(core_.process, made, is_vdso ? "[vdso]" : "//anon", {}, [](auto&&...) {});
      if (is_vdso && !one.bytes.empty()) own_.emplace_back(number, one.bytes);
    }
  }

  /// A file of that path may be another one than was mapped.
  void tell_unchecked(const perf::mapping& at) {
    const perf::mapped_file& file = list_.files()[at.file];
    if (file.kind != perf::file_kind::file || file.id.is_known() || !unchecked_.insert(at.file).second) return;
    if (const auto* const found = files_.file(at.file); found != nullptr)
      say("backsight: the core file has no build id of %s; %s is used unchecked\n", file.name.c_str(),
          found->path.c_str());
  }

  const elf::core_file& core_;
  elf::core_memory memory_;
  perf::process_list list_;
  perf_data::objects files_;
  std::map<std::string_view, perf::build_id> ids_;
  std::vector<std::pair<std::uint32_t, byte_view>> own_;
  std::set<std::uint32_t> unchecked_;
};

template <class Arch>
int unwind_threads(const std::string& path, const core_options& options, const elf::core_file& core,
                   dumped_process& process) {
  output out("-");
  int code = success;
  if (options.format == "text") {
    std::string head = "process " + std::to_string(core.process) + ' ';
    text::shown(std::back_inserter(head), core.program);
    head += ": ";
    // The kernel puts a blank behind each word.
    text::shown(std::back_inserter(head), core.arguments.substr(0, core.arguments.find_last_not_of(' ') + 1));
    if (const std::int32_t signal = core.threads.front().signal; signal != 0)
      head += "\nsignal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
    out.write(head + '\n');
  }
  stack_printer printer(out, options.format, static_cast<unsigned>(process.memory().word_size()));
  cfi::address_space<Arch> space;
  std::vector<described_frame> frames;
  for (const elf::core_thread& thread : core.threads) {
    const auto first = cfi::first_frame<Arch>(thread.registers, core.file.byte_order());
    if (!first) {
      code = report_error(path, {errc::truncated, thread.offset}, "registers");
      continue;
    }
    frames.clear();
    const cfi::stop why = cfi::explained_walk<Arch>(
        *first, space, process, options.longest,
        [&](std::uint64_t address) { return process.prepare<Arch>(space, address); },
        [&](const cfi::explained_frame& one) { frames.push_back(process.describe(one)); });
    printer.print("\nthread " + std::to_string(thread.id) + "\n",
                  "\"thread\": " + std::to_string(thread.id) + ", \"signal\": " + std::to_string(thread.signal), frames,
                  why);
  }
  printer.finish();
  return out.close(code);
}

}  // namespace

bool is_core_file(byte_view head) { return io::file_kind_of(head) == io::file_kind::core; }

int unwind_core(const std::string& path, const core_options& options) {
  input file;
  if (!file.open(path, is_core_file)) return bad_input;
  int code = success;
  const auto on_fault = [&](const fault& damage) {
    report_fault(path, damage);
    code = bad_input;
  };
  const auto core = elf::open_core(file.bytes(), on_fault);
  if (!core) return report_error(path, core.error());
  if (core->missing != 0)
    code = report_error(path, {errc::truncated, file.bytes().size()},
                        std::to_string(core->missing) + " bytes of memory are missing");
  if (core->threads.empty()) return report_error(path, {errc::not_found, 0}, "no threads (NT_PRSTATUS)");
  dumped_process process(path, options, *core, elf::core_memory(core->file, on_fault));
  const auto unwound = [&]() -> std::optional<int> {
    using elf::machine;
    switch (core->file.machine()) {
      case machine::x86_64: return unwind_threads<cfi::arch::x86_64>(path, options, *core, process);
      case machine::i386: return unwind_threads<cfi::arch::i386>(path, options, *core, process);
      case machine::aarch64: return unwind_threads<cfi::arch::aarch64>(path, options, *core, process);
      case machine::arm: return unwind_threads<cfi::arch::arm>(path, options, *core, process);
      case machine::riscv:
        if (core->file.address_size() == 8) return unwind_threads<cfi::arch::riscv64>(path, options, *core, process);
        return std::nullopt;
      default: return std::nullopt;
    }
  }();
  constexpr std::uint64_t machine_offset = 18;
  if (!unwound)
    return report_error(path, {errc::unsupported_type, machine_offset}, "stacks of this machine are not unwound");
  return *unwound != success ? *unwound : code;
}

}  // namespace cli
