// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <backsight/xray/names.hpp>
#include <backsight/xray/threads.hpp>
#include <backsight/xray/xray.hpp>

#include "fault_notes.hpp"
#include "program.hpp"

namespace cli {

/// The traced program with the names of functions, as llvm-xray writes them.
class xray_names {
 public:
  /// Reads the program's map and symbols; reports an error and gives false when it cannot. An empty path is no program.
  [[nodiscard]] bool open(const std::string& path);
  [[nodiscard]] const std::string& operator[](std::uint64_t function) const { return names_[function].function; }
  /// file:line:column as llvm-xray prints it without debug information.
  [[nodiscard]] std::string source_of(std::uint64_t function) const;
  [[nodiscard]] bool knows(std::uint64_t function) const { return names_.knows(function); }
  [[nodiscard]] const backsight::xray::function_names& names() const { return names_; }

 private:
  input file_;
  backsight::xray::function_names names_;
};

/// An opened log and what the user asked of it.
class xray_trace {
 public:
  /// Opens the log; reports an error and gives false when it cannot. With `any_version` a log of an unknown version is
  /// read by the layouts of the nearest known one, and the version noted as a fault: llvm-xray's fdr-dump looks at no
  /// version.
  [[nodiscard]] bool open(const std::string& path, bool any_version = false);
  [[nodiscard]] const backsight::xray::log& log() const { return log_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Takes note of a fault, once for each place; report_faults() prints them and gives the exit code.
  void add_fault(const backsight::fault& fault) { faults_.add({}, fault); }
  [[nodiscard]] fault_notes& faults() { return faults_; }
  [[nodiscard]] const fault_notes& faults() const { return faults_; }
  int report_faults() const { return faults_.report(path_); }

  using traced_thread = backsight::xray::traced_thread;
  /// The threads in order of process and thread id; with `merge_processes` threads of one id in several processes are
  /// one.
  [[nodiscard]] std::vector<traced_thread> threads(bool merge_processes = false);

  /// Calls `f(event)` for each event of a thread in its order, for FDR logs; for basic-mode logs for each of the log.
  template <class F>
  void for_each_event(const traced_thread& of, F&& f) {
    backsight::xray::for_each_event(log_, of, f, [this](const backsight::fault& fault) { add_fault(fault); });
  }

  /// All events of the log sorted by time, stable; llvm-xray's convert and graph see a trace so.
  [[nodiscard]] std::vector<backsight::xray::event> sorted_events();

 private:
  std::string path_;
  input file_;
  std::vector<std::byte> patched_;
  backsight::xray::log log_;
  fault_notes faults_;
};

/// Reports that llvm-xray has nothing to compare a command with, and gives `usage`.
int no_such_form(const char* command);

int xray_info(const arguments&);
int xray_dump(const arguments&);
int xray_report(const arguments&);
int xray_with_calls(const arguments&, const call_task&);
int xray_export(const arguments&);

}  // namespace cli
