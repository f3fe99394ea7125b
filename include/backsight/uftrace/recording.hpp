// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/uftrace/enumerations.hpp>
#include <backsight/uftrace/files/info.hpp>
#include <backsight/uftrace/files/kernel_header.hpp>
#include <backsight/uftrace/object_files.hpp>
#include <backsight/uftrace/task_sessions.hpp>
#include <backsight/uftrace/value_rules.hpp>

// A whole uftrace data directory. Source: uftrace's utils/session.c, utils/symbol.c and utils/fstack.c.
namespace backsight::uftrace {

/// A task file that `info` lists. It may be missing or empty.
struct task_data {
  std::uint32_t tid = 0;
  bool present = false;
  std::string file;
  byte_view bytes;
  std::uint32_t task = no_task;  ///< index of the task; no_task when task.txt does not name it
  static constexpr std::uint32_t no_task = session_history::no_task;
};

/// A file of scheduler events, in the order in which uftrace reads them: by name.
struct perf_data {
  std::string file;
  byte_view bytes;
};

/// What the kernel recorded. Without files there is no kernel data.
struct kernel_trace {
  kernel_header header;
  std::vector<directory_file> files;  ///< kernel-cpuN.dat, by N
  std::uint32_t object = no_object;   ///< index of the object file with the symbols of kallsyms
  static constexpr std::uint32_t no_object = 0xffffffff;
};

/// A uftrace data directory, opened: what its text files tell, and views of its data files. The bytes must outlive it.
/// It is moved, not copied: it has views of itself.
struct recording {
  recording() = default;
  recording(recording&&) noexcept = default;
  recording& operator=(recording&&) noexcept = default;

  uftrace::info info;
  std::vector<session> sessions;
  std::vector<task> tasks;           ///< in the order of task.txt
  std::vector<object_file> objects;  ///< programs and libraries with their symbols
  std::vector<task_data> data;       ///< in the order of `info`
  std::vector<perf_data> perf;
  kernel_trace kernel;
  std::vector<std::pair<std::uint64_t, std::string_view>> user_events;  ///< id and name, by id
  byte_view external;                                                   ///< extern.dat
  std::string_view note;                                                ///< note.txt
  std::string_view options;                                             ///< default.opts
  value_rules values;  ///< which functions have which arguments and return values
  enumeration_set auto_enumerations;
  std::vector<file_fault> faults;
  names::pattern_engine patterns;
  /// The mappings of each map file, which sessions refer to.
  std::vector<std::vector<object_mapping>> maps;

  /// The index of the task of that tid, or task_data::no_task.
  [[nodiscard]] std::uint32_t find_task(std::uint32_t tid) const noexcept {
    const auto at = task_index.find(tid);
    return at == task_index.end() ? task_data::no_task : at->second;
  }
  /// The index of the session of a task at a time; -1 when there is none. Follows the process and its parents.
  [[nodiscard]] std::int64_t session_at(std::uint32_t task_number, std::uint64_t time) const {
    return stay_at(task_number, time).session;
  }
  /// The same with the time for which it holds.
  [[nodiscard]] session_stay stay_at(std::uint32_t task_number, std::uint64_t time) const {
    return history.at(tasks, task_number, time);
  }

  std::unordered_map<std::uint32_t, std::uint32_t> task_index;  ///< from tid to the index in `tasks`
  std::unordered_map<std::uint32_t, std::uint32_t> data_index;  ///< from tid to the index in `data`
  session_history history;
};

}  // namespace backsight::uftrace
