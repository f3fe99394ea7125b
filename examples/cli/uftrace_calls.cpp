// SPDX-License-Identifier: Apache-2.0
// uftrace directories as traces of calls.
#include <backsight/core/lines.hpp>
#include <backsight/io/uftrace_directory.hpp>
#include <backsight/uftrace/calls.hpp>

#include "call_analysis.hpp"
#include "uftrace_data.hpp"

namespace cli {

using namespace backsight;

int uftrace_with_calls(const arguments& asked, const call_task& task) {
  uftrace_data data;
  if (const int code = open_uftrace_files(asked, data); code != success) return code;
  // What was asked for when recording holds where the command line says nothing.
  arguments wanted = asked;
  read_default_options(data);
  if (wanted.filter_time.empty() && data.merging.shorter_than != 0)
    wanted.filter_time = std::to_string(data.merging.shorter_than);
  if (!wanted.depth && data.depth != 1024) wanted.depth = data.depth;
  // Its files of the scheduler and the kernel hold no calls of this trace, but who reads it wants to know what is
  // damaged.
  check_others(data);
  fault_notes notes;
  std::uint64_t bytes = 0;
  for (const uftrace::task_data& each : data.recording().data) bytes += each.bytes.size();
  call_input input{.asked = wanted, .bytes = bytes, .notes = notes, .unreadable = data.damaged, .has_ids = false};
  uftrace::call_options options{.by_module = asked.by == "module"};
  if (shows_values(asked)) {
    options.values = [](uftrace::resolver& names, const uftrace::merged_record& record, std::string& to) {
      as_uftrace::value_writer(names).values(to, record, as_uftrace::text_style::replay);
    };
  }
  return run_task(uftrace::calls(data.recording(), std::move(options)), input, task);
}

}  // namespace cli
