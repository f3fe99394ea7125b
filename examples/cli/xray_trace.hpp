// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/xray/block_index.hpp>
#include <backsight/xray/instr_map.hpp>
#include <backsight/xray/xray.hpp>

#include "program.hpp"

namespace cli {

/// The names of functions by id, from the traced program; without one, the ids.
class xray_names {
 public:
  struct entry {
    std::string function;
    std::string source = "(unknown)";  ///< file:line:column as llvm-xray prints it without debug information
  };
  /// Reads the program's map and symbols; reports an error and gives false when it cannot. An empty path is no program.
  [[nodiscard]] bool open(const std::string& path);
  /// A function without name is "#ID", one whose address has no symbol "@(ADDRESS)", both as llvm-xray has it.
  [[nodiscard]] const entry& operator[](std::uint64_t function);
  /// A program was given and its map knows the id, though maybe no name.
  [[nodiscard]] bool knows(std::uint64_t function) const {
    return map_.address_of(static_cast<std::uint32_t>(function)).has_value();
  }

 private:
  input file_;
  backsight::xray::instr_map map_;
  backsight::elf::symbol_index symbols_;
  std::unordered_map<std::uint64_t, entry> cache_;
};

/// An opened log and what the user asked of it.
class xray_trace {
 public:
  /// Opens the log; reports an error and gives false when it cannot. With `any_version` a log of an unknown version is read
  /// by the layouts of the nearest known one, and the version noted as a fault: llvm-xray's fdr-dump looks at no version.
  [[nodiscard]] bool open(const std::string& path, bool any_version = false);
  [[nodiscard]] const backsight::xray::log& log() const { return log_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Takes note of a fault, once for each place; report_faults() prints them and gives the exit code.
  void add_fault(const backsight::fault& fault) { faults_.emplace(fault.offset, fault); }
  [[nodiscard]] const std::map<std::uint64_t, backsight::fault>& faults() const { return faults_; }
  int report_faults() const;

  /// A thread, and the blocks that it filled in order; basic-mode logs have no blocks and one nameless thread for all.
  struct traced_thread {
    std::int32_t process = 0, id = 0;
    std::vector<backsight::xray::block> blocks;
  };
  /// The threads in order of process and thread id; with `merge_processes` threads of one id in several processes are one.
  [[nodiscard]] std::vector<traced_thread> threads(bool merge_processes = false);

  /// Calls `f(event)` for each event of a thread in its order, for FDR logs; for basic-mode logs for each of the log.
  template <class F>
  void for_each_event(const traced_thread& of, F&& f) {
    for_each_event(of, f, [this](const backsight::fault& fault) { add_fault(fault); });
  }
  /// The same with the caller's own `note(fault)`; may be called by several threads at once.
  template <class F, class Note>
  void for_each_event(const traced_thread& of, F&& f, Note&& note) const {
    backsight::with_order(log_.byte_order(), [&](auto byte_order) {
      if (log_.type() == backsight::xray::log_type::basic) {
        backsight::xray::for_each_basic_event<byte_order()>(log_, f, note);
      } else {
        for (const auto& block : of.blocks) backsight::xray::for_each_event<byte_order()>(log_, block, f, note);
      }
    });
  }

  /// All events of the log sorted by time, stable; llvm-xray's convert and graph see a trace so.
  [[nodiscard]] std::vector<backsight::xray::event> sorted_events();

 private:
  std::string path_;
  input file_;
  std::vector<std::byte> patched_;
  backsight::xray::log log_;
  std::map<std::uint64_t, backsight::fault> faults_;
};

/// Reports that llvm-xray has nothing to compare a command with, and gives `usage`.
int no_such_form(const char* command);

int xray_info(const arguments&);
int xray_dump(const arguments&);
int xray_report(const arguments&);
int xray_stacks(const arguments&);
int xray_graph(const arguments&);
int xray_export(const arguments&);

}  // namespace cli
