// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <backsight/uftrace/schema.hpp>

namespace backsight::uftrace {

class time_index;

/// Where a merged record comes from, in the order in which equal times come out.
enum class record_source : std::uint8_t { task_file, kernel_file, perf_file, external_file };

/// A record of any source. Values and data are views of the recording's bytes.
struct merged_record {
  std::uint64_t time = 0;
  std::uint64_t address = 0;     ///< of the function; event id; number of lost records
  std::uint32_t data_index = 0;  ///< of the task in recording::data
  std::uint16_t depth = 0;
  record_type type = record_type::entry;
  record_source source = record_source::task_file;
  bool more = false;         ///< it has values or data
  byte_view payload;         ///< values with their padding; data of an event without padding; all of a kernel event
  std::uint64_t offset = 0;  ///< in its file

  [[nodiscard]] bool is_event() const noexcept { return type == record_type::event; }
  [[nodiscard]] bool is_sched_in() const noexcept { return is_event() && address == sched_in; }
  [[nodiscard]] bool is_sched_out() const noexcept {
    return is_event() && (address == sched_out || address == sched_out_preempted);
  }
};

struct merge_options {
  std::uint64_t shorter_than = 0;           ///< leave out functions and waits that took less, in nanoseconds
  bool scheduler = true;                    ///< include the perf files
  bool kernel = true;                       ///< include the kernel's functions and events
  bool external = false;                    ///< include extern.dat
  bool salvage = false;                     ///< go on behind damage; otherwise a task ends there, as in uftrace
  std::uint64_t from = 0;                   ///< leave out what lies before this time
  std::uint64_t until = ~std::uint64_t{0};  ///< and after this one
  std::uint64_t closes_at = 0;  ///< when functions end that are open at the end; 0: with the last record of their task
  /// The task files to read, by their place in recording::data; null for all. Must outlive the merge.
  const std::vector<bool>* tasks = nullptr;
  /// Indices of the task files by their place in recording::data, to find `from` where records have payloads; without
  /// them such a file is read from its start. Must outlive the merge.
  const std::vector<time_index>* indices = nullptr;
};

/// Damage in a task file.
struct task_fault {
  std::uint32_t data_index = 0;
  backsight::fault fault;
};

}  // namespace backsight::uftrace
