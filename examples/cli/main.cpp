// SPDX-License-Identifier: Apache-2.0
// backsight: shows traces. Each command finds out the format of its input and hands over to that format.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <backsight/version.hpp>

#include "commands.hpp"
#include "memtrace_commands.hpp"
#include "program.hpp"
#include "signals.hpp"

namespace {

// Formats that look at more of a file come before those that look at less.
constexpr std::array formats{&cli::perf_format, &cli::uftrace_format, &cli::memtrace_format, &cli::xray_profile_format, &cli::xray_format};

/// The first bytes of a file or of a stream, none for a folder; reports an error and gives false when it cannot be read.
bool read_head(const std::string& path, std::vector<std::byte>& head) {
  if (cli::is_directory(path)) return true;
  cli::input all;
  if (!all.open(path)) return false;
  const auto first = all.bytes().first(std::min<std::size_t>(all.bytes().size(), 64));
  head.assign(first.begin(), first.end());
  return true;
}

/// The format of the input, or null after saying why there is none.
const cli::trace_format* format_of(const std::string& path) {
  std::vector<std::byte> head;
  if (!read_head(path, head)) return nullptr;
  for (const cli::trace_format* format : formats) {
    if (format->detect(path, head)) return format;
  }
  cli::report_error(path, backsight::trace_error{backsight::errc::bad_magic, 0}, "no known kind of trace begins like this");
  return nullptr;
}

using command = int (*cli::trace_format::*)(const cli::arguments&);

/// Runs the command of the input's format.
int run(command which, const char* name, const cli::arguments& arguments) {
  cli::note_input(arguments.path());
  const cli::trace_format* const format = format_of(arguments.path());
  if (format == nullptr) return cli::bad_input;
  if (format->*which == nullptr) {
    cli::say("backsight: %s does not apply to a %s trace\n", name, format->name);
    return cli::usage;
  }
  if (format != &cli::perf_format && (!arguments.sysroots.empty() || !arguments.by.empty())) {
    cli::say("backsight: --sysroot and --by do not apply to a %s trace\n", format->name);
    return cli::usage;
  }
  if (!arguments.as.empty() && (format->tool == nullptr || arguments.as != format->tool)) {
    cli::say("backsight: %s does not read %s traces\n", arguments.as.c_str(), format->name);
    return cli::usage;
  }
  return (format->*which)(arguments);
}

/// A command that works on every format that has it.
CLI::App* add_trace_command(CLI::App& app, command which, const char* name, const char* help, cli::arguments& arguments,
                            int& code) {
  CLI::App* const sub = app.add_subcommand(name, help);
  sub->add_option("TRACE", arguments.paths, "a trace: a file, - for stdin, or a folder for formats that are folders")->required()->expected(1);
  sub->callback([which, name, &arguments, &code] { code = run(which, name, arguments); });
  return sub;
}

void add_format(CLI::App* sub, cli::arguments& arguments, std::vector<std::string> kinds) {
  sub->add_option("--format", arguments.format, "how to print")->check(CLI::IsMember(std::move(kinds)));
}
/// Offers a command in the form of those tools that have one like it.
void add_as(CLI::App* sub, cli::arguments& arguments, std::vector<std::string> tools = {"llvm-xray", "uftrace"}) {
  std::string help = "print what this tool prints:";
  for (const std::string& tool : tools) help += (tool == tools.front() ? " " : ", ") + tool;
  sub->add_option("--as", arguments.as, help)->check(CLI::IsMember(std::move(tools)));
}
void add_symbols(CLI::App* sub, cli::arguments& arguments) {
  sub->add_option("--symbols", arguments.symbols, "the traced program, for the names of functions")->check(CLI::ExistingFile);
}
void add_sysroot(CLI::App* sub, cli::arguments& arguments) {
  sub->add_option("--sysroot", arguments.sysroots, "perf.data: folders with copies of the recorded machine's files; / when none is given")->check(CLI::ExistingDirectory);
}
void add_output(CLI::App* sub, cli::arguments& arguments) {
  sub->add_option("-o,--output", arguments.output, "where to write; - is stdout")->capture_default_str();
}

/// What concerns traces of several tasks and nested calls: uftrace directories.
void add_call_filters(CLI::App* sub, cli::arguments& arguments) {
  sub->add_option("-D,--depth", arguments.depth, "uftrace: levels of calls to show");
  sub->add_option("-t,--time-filter", arguments.filter_time, "uftrace: leave out what took less, such as 5us");
  sub->add_option("-r,--time-range", arguments.range, "uftrace: START~STOP, timestamps or, with a unit, times since the first record");
  sub->add_option("-F,--filter", arguments.functions, "uftrace: show only what functions that match this pattern call");
  sub->add_option("-N,--notrace", arguments.excluded, "uftrace: leave out functions that match this pattern and what they call");
  sub->add_option("-H,--hide", arguments.hidden, "uftrace: leave out functions that match this pattern, but not what they call");
  sub->add_option("-T,--trigger", arguments.triggers, "uftrace: PATTERN@ACTION, ... with depth=N, filter, notrace or hide");
  sub->add_option("--match", arguments.match, "uftrace: what patterns are; glob, but regex with --as uftrace")->check(CLI::IsMember({"glob", "regex"}));
  sub->add_option("--tid", arguments.tids, "uftrace: show only these tasks")->delimiter(',');
  sub->add_option("--index", arguments.index, "uftrace: a folder for indices that make -r fast where records have values")->check(CLI::ExistingDirectory);
}

void add_replay(CLI::App& app, cli::arguments& arguments, int& code) {
  auto* replay = add_trace_command(app, &cli::trace_format::replay, "replay", "Show the calls, indented, in the order of time", arguments, code);
  add_as(replay, arguments, {"uftrace"});
  add_call_filters(replay, arguments);
  add_output(replay, arguments);
  replay->add_flag("--no-merge", arguments.no_merge, "an entry and its exit always on lines of their own");
  replay->add_option("-f,--fields", arguments.fields, "columns: duration, tid, addr, time, delta, elapsed, task, module");
  replay->add_option("--begin", arguments.begin, "leave out records before this time, in nanoseconds of the trace clock");
  replay->add_option("--end", arguments.end, "leave out records from this time on");
}

void add_commands(CLI::App& app, cli::arguments& arguments, int& code) {
  using cli::trace_format;
  auto* info = add_trace_command(app, &trace_format::info, "info", "Show what a trace holds", arguments, code);
  add_format(info, arguments, {"text", "json"});
  add_as(info, arguments, {"uftrace"});
  info->add_flag("--task", arguments.by_task, "uftrace: the tasks");

  auto* dump = add_trace_command(app, &trace_format::dump, "dump", "Show every record", arguments, code);
  add_format(dump, arguments, {"text", "csv", "json"});
  add_as(dump, arguments);
  dump->add_flag("--hex", arguments.hex, "an annotated hex dump: offset, bytes, member and value");
  dump->add_option("--limit", arguments.limit, "stop after this many records");
  dump->add_option("--begin", arguments.begin, "leave out records before this byte offset");
  dump->add_option("--end", arguments.end, "leave out records from this byte offset on");

  dump->add_flag("--raw", arguments.raw, "uftrace: names and values in the layout of uftrace");
  add_call_filters(dump, arguments);

  auto* report = add_trace_command(app, &trace_format::report, "report", "Show calls and times of each function", arguments, code);
  add_format(report, arguments, {"text", "csv", "tsv", "json"});
  add_as(report, arguments);
  add_symbols(report, arguments);
  report->add_flag("--task", arguments.by_task, "uftrace: times of tasks");
  report->add_flag("--avg-total", arguments.averages, "uftrace: average, minimum, maximum and deviation");
  add_call_filters(report, arguments);
  report->add_option("-s,--sort", arguments.sort, "the column to sort by, largest first: sum, self, count, min, median, 90p, 99p, max, function");
  report->add_flag("--deduce-calls", arguments.deduce_calls, "close calls whose exit is missing when a caller exits (llvm-xray's -d)");
  report->add_option("--limit", arguments.limit, "at most this many rows");
  report->add_option("-j,--jobs", arguments.jobs, "threads of the traced program to work on at once")->check(CLI::Range(1, 256));

  add_sysroot(report, arguments);
  report->add_option("--by", arguments.by, "perf.data: what the rows are")->check(CLI::IsMember({"function", "module", "thread", "event"}));

  auto* stacks = add_trace_command(app, &trace_format::stacks, "stacks", "Show the call paths that take most time", arguments, code);
  add_symbols(stacks, arguments);
  add_format(stacks, arguments, {"text", "csv", "tsv", "json"});
  stacks->add_option("--limit", arguments.limit, "at most this many paths");
  add_sysroot(stacks, arguments);

  auto* graph = add_trace_command(app, &trace_format::graph, "graph", "Write the call graph: in the DOT language, as a tree for uftrace", arguments, code);
  add_as(graph, arguments, {"uftrace"});
  graph->add_flag("--task", arguments.by_task, "uftrace: the tree of tasks");
  add_call_filters(graph, arguments);
  add_symbols(graph, arguments);
  add_output(graph, arguments);

  auto* exported = add_trace_command(app, &trace_format::export_to, "export", "Write the trace for another program", arguments, code);
  exported->add_option("--to", arguments.to, "folded (flame graphs), chrome (trace events as JSON), perfetto, dot (Graphviz) or yaml")
      ->required()
      ->check(CLI::IsMember({"folded", "chrome", "perfetto", "dot", "yaml"}));
  add_as(exported, arguments);
  add_symbols(exported, arguments);
  add_call_filters(exported, arguments);
  add_sysroot(exported, arguments);
  add_output(exported, arguments);

  add_replay(app, arguments, code);
}

/// A descriptor that is closed must not be given to a file that is opened: what is printed would go there. To write to a
/// descriptor that is for reading only is an error, as it is to write to a closed one.
void hold_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    if (::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

int run_program(int count, char** words) {
  CLI::App app("backsight shows the traces that profilers leave behind", "backsight");
  app.require_subcommand(1);
  char version[32];
  std::snprintf(version, sizeof version, "backsight %d.%d.%d", BACKSIGHT_VERSION_MAJOR, BACKSIGHT_VERSION_MINOR,
                BACKSIGHT_VERSION_PATCH);
  app.set_version_flag("--version", std::string(version));
  cli::arguments arguments;
  int code = cli::success;
  add_commands(app, arguments, code);
  cli::add_cfi_commands(app, code);
  cli::add_unwind_command(app, code);
  cli::memtrace::add_commands(app, code);
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    std::ostringstream help, problem;
    const int result = app.exit(error, help, problem);
    cli::say_text(problem.str());
    cli::output out("-");
    out.write(help.str());
    return out.close(result == 0 ? cli::success : cli::usage);
  }
  return cli::inputs_are_whole() || code != cli::success ? code : cli::bad_input;
}

}  // namespace

int main(int count, char** words) {
  hold_standard_descriptors();
  cli::handle_signals();
  try {
    return run_program(count, words);
  } catch (const cli::ended& end) {
    return end.code;
  } catch (const std::bad_alloc&) {
    cli::say("backsight: out of memory\n");
  } catch (const std::exception& error) {
    cli::say("backsight: %s\n", error.what());
  }
  return cli::bad_input;
}
