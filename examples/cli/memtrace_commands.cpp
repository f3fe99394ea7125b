// SPDX-License-Identifier: Apache-2.0
// check of memtraces.
#include "memtrace_commands.hpp"

#include <cinttypes>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include <backsight/core/escape.hpp>
#include <backsight/memtrace/check.hpp>

#include "memtrace_input.hpp"

namespace cli::memtrace {

using namespace backsight;
using namespace backsight::memtrace;

int check(const arguments& asked) {
  const std::vector<trace_folder> folders = folders_at(asked.path());
  if (folders.empty()) return report_error(asked.path(), "no memtraces are here");
  output out(asked.output);
  const bool json = asked.format == "json";
  const char* file_separator = "";
  if (json) out.write("[");
  int code = success;
  for (const trace_folder& folder : folders) {
    for (const std::string& path : folder.files) {
      const auto kind = stage_of(path);
      const loaded_file file(path);
      const trace_error damage = file.error() ? file.error() : damage_of(file.bytes());
      if (damage) code = report_error(path, damage, detail_of(path, damage));
      std::uint64_t findings = 0, stragglers = 0;
      if (json) {
        out.print("%s\n{\"file\":", std::exchange(file_separator, ","));
        text::quoted(output_iterator(out), path);
        out.write(",\"findings\":[");
      }
      const char* separator = "";
      const auto tell = [&](std::uint64_t offset, const char* what, bool is_note, std::uint64_t instruction,
                            const std::optional<std::uint64_t>& window) {
        if (json) {
          out.print("%s\n{\"offset\":%" PRIu64 ",\"message\":\"%s\",\"is_note\":%s,\"instruction\":%" PRIu64
                    ",\"window\":%s}",
                    std::exchange(separator, ","), offset, what, is_note ? "true" : "false", instruction,
                    window ? std::to_string(*window).c_str() : "null");
          return;
        }
        out.print("%s:%" PRIu64 ": %s%s, instruction %" PRIu64 ", window %s\n", path.c_str(), offset,
                  is_note ? "note: " : "", what, instruction, window ? std::to_string(*window).c_str() : "-");
      };
      const auto end_file = [&] {
        if (json) out.print("],\"count\":%" PRIu64 ",\"blocks_after_their_window\":%" PRIu64 "}", findings, stragglers);
        else
          out.print("%s: %" PRIu64 " findings, %" PRIu64 " blocks that ran after their window\n", path.c_str(),
                    findings, stragglers);
      };
      if (kind.partial() == stage::raw) {
        if (!read_raw_header(file.bytes())) {
          if (json) end_file();
          continue;
        }
        if (json && damage)
          tell(damage.offset,
               damage.code == errc::bad_end ? "the file does not end with a footer" : message(damage.code), false, 0,
               {});
        else if (damage.code == errc::bad_end)
          out.print("%s:%" PRIu64 ": the file does not end with a footer\n", path.c_str(), damage.offset);
        if (damage) ++findings;
      } else {
        const auto trace = final_trace::open(file.bytes());
        if (!trace) {
          if (!damage) code = report_error(path, trace.error());
          if (json) end_file();
          continue;
        }
        trace_checker checker(*trace);
        checker.for_each_finding([&](const check_result& one) {
          if (one.what == finding::straggler) ++stragglers;
          else ++findings;
          tell(one.offset, message(one.what), one.what == finding::straggler, one.instruction, one.window);
        });
      }
      end_file();
      if (findings != 0) code = bad_input;
    }
  }
  if (json) out.write("\n]\n");
  return out.close(code);
}

}  // namespace cli::memtrace
