// SPDX-License-Identifier: Apache-2.0
// The commands of memtraces, and check.
#include "memtrace_commands.hpp"

#include <cinttypes>
#include <cstdio>

#include <CLI/CLI.hpp>

#include <backsight/memtrace/check.hpp>

#include "memtrace_input.hpp"

namespace cli::memtrace {

using namespace backsight;
using namespace backsight::memtrace;

int check(const options& asked) {
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

void add_commands(CLI::App& app, int& code) {
  static options asked;
  const auto add = [&](const char* name, const char* help, int (*run)(const options&)) {
    CLI::App* const sub = app.add_subcommand(name, help);
    sub->add_option("TRACE", asked.paths, "a memtrace, raw or final: a file, a folder of them or of window.NNNN folders, or the folder of a recording")->required()->expected(1);
    sub->callback([run, &code] {
      note_input(asked.path());
      code = run(asked);
    });
    return sub;
  };
  CLI::App* const count = add("counts", "Count the records of a memtrace per thread and window", counts);
  count->add_flag("--per-window", asked.per_window, "a row for each thread and window (there is no other table)");
  count->add_option("--format", asked.format, "how to print")->check(CLI::IsMember({"text", "tsv"}));
  count->add_option("--as", asked.as, "print what this tool prints, byte for byte but for the order of threads with as many instructions: drmemtrace (-tool basic_counts)")->check(CLI::IsMember({"drmemtrace"}));
  CLI::App* const shown = add("view", "Show a final memtrace record by record, threads merged by time, as DynamoRIO's view does but for the text of instructions", view);
  shown->add_option("--as", asked.as, "drmemtrace, which is the only form: byte for byte but for the text of instructions, which is capstone's")->check(CLI::IsMember({"drmemtrace"}));
  shown->add_option("--limit", asked.limit, "stop after this many records");
  CLI::App* const listed = add("windows", "List the windows of a memtrace", windows);
  listed->add_option("--format", asked.format, "how to print")->check(CLI::IsMember({"text", "tsv", "json"}));
  listed->add_option("--window", asked.window, "only the windows of this ordinal");
  listed->add_option("--index", asked.index, "a file with the index of the windows: used when it exists and is of this trace, else written");
  CLI::App* const parted = add("split", "Write the windows of a merged final memtrace as a folder of window.NNNN folders", split);
  parted->add_option("-o,--output", asked.output, "the folder to write")->required();
  parted->add_flag("--force", asked.force, "write into a folder that is not empty, too");
  CLI::App* const joined = add("merge", "Write the window.NNNN folders of a final memtrace as one folder", merge);
  joined->add_option("-o,--output", asked.output, "the folder to write")->required();
  joined->add_flag("--force", asked.force, "write into a folder that is not empty, too");
  add("check", "Check the invariants of a memtrace", check);
}

}  // namespace cli::memtrace
