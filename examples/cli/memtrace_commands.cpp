// SPDX-License-Identifier: Apache-2.0
// check of memtraces.
#include "memtrace_commands.hpp"

#include <cinttypes>
#include <cstdio>

#include <backsight/memtrace/check.hpp>

#include "memtrace_input.hpp"

namespace cli::memtrace {

using namespace backsight;
using namespace backsight::memtrace;

int check(const arguments& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  output out(asked.output);
  int code = success;
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      const auto kind = stage_of(path);
      const loaded_file file(path);
      const trace_error damage = file.error() ? file.error() : damage_of(file.bytes());
      if (damage) code = report_error(path, damage, detail_of(path, damage));
      std::uint64_t findings = 0, stragglers = 0;
      if (kind.partial() == stage::raw) {
        if (!read_raw_header(file.bytes())) continue;
        if (damage.code == errc::bad_end) out.print("%s:%" PRIu64 ": the file does not end with a footer\n", path.c_str(), damage.offset);
        if (damage) ++findings;
      } else {
        const auto trace = final_trace::open(file.bytes());
        if (!trace) {
          if (!damage) code = report_error(path, trace.error());
          continue;
        }
        trace_checker checker(*trace);
        checker.run([&](const check_result& one) {
          if (one.what == finding::straggler) ++stragglers;
          else ++findings;
          const std::string window = one.window ? std::to_string(*one.window) : "-";
          out.print("%s:%" PRIu64 ": %s%s, instruction %" PRIu64 ", window %s\n", path.c_str(), one.offset,
                    one.what == finding::straggler ? "note: " : "", message(one.what), one.instruction, window.c_str());
        });
      }
      out.print("%s: %" PRIu64 " findings, %" PRIu64 " blocks that ran after their window\n", path.c_str(), findings, stragglers);
      if (findings != 0) code = bad_input;
    }
  }
  return out.close(code);
}

}  // namespace cli::memtrace
