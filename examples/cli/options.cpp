// SPDX-License-Identifier: Apache-2.0
#include "options.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include <CLI/CLI.hpp>

#include <backsight/core/duration.hpp>
#include <backsight/core/lines.hpp>

#include "calls.hpp"

namespace cli {

namespace {

enum : command_set {
  in_info = 1,
  in_dump = 2,
  in_report = 4,
  in_stacks = 8,
  in_graph = 16,
  in_export = 32,
  in_replay = 64,
  in_counts = 128,
  in_view = 256,
  in_windows = 512,
  in_split = 1024,
  in_merge = 2048,
  in_check = 4096,
  in_calls = 8192,
  in_diff = 16384,
  in_working_set = 1U << 15,
  in_hot = 1U << 16,
  in_reuse = 1U << 17,
  in_opcodes = 1U << 18,
  in_syscalls = 1U << 19,
};

constexpr std::array<trace_command, 20> commands{{
    {in_info, "info", "Show what a trace holds", &trace_format::info},
    {in_dump, "dump", "Show every record", &trace_format::dump},
    {in_report, "report", "Show calls and times of each function", &trace_format::report, report_calls, true},
    {in_stacks, "stacks", "Show the call paths that take most time", &trace_format::stacks, show_stacks, true},
    {in_graph, "graph", "Write the call graph in the DOT language, or show who calls a function and whom it calls",
     &trace_format::graph, show_graph, true},
    {in_replay, "replay", "Show the calls, indented, in the order of time", &trace_format::replay, replay_calls},
    {in_calls, "calls",
     "List every call: process, thread, start, duration, self, depth, function, arguments, result, caller",
     &trace_format::calls, list_calls, true},
    {in_diff, "diff", "Show what changed from one trace to another, by function", &trace_format::diff},
    {in_export, "export", "Write the trace for another program", &trace_format::export_to, export_calls, true},
    {in_check, "check",
     "Tell what a trace lacks: damage, lost records, calls without begin or end, names; of memtraces what breaks the "
     "rules of the format",
     &trace_format::check, check_calls},
    {in_counts, "counts", "Count the records of a memtrace per thread and window", &trace_format::counts},
    {in_view, "view", "Show a final memtrace record by record, threads merged by time", &trace_format::view},
    {in_working_set, "working-set", "Show the cache lines and pages that each window of a memtrace touches",
     &trace_format::working_sets},
    {in_hot, "hot", "Show the instructions, functions, cache lines or pages of a memtrace that are used most",
     &trace_format::hot},
    {in_reuse, "reuse", "Show how many other cache lines of a memtrace are used before one is used again",
     &trace_format::reuse},
    {in_opcodes, "opcodes", "Count the instructions of a memtrace by what they do", &trace_format::opcodes},
    {in_syscalls, "syscalls", "Count the system calls of a memtrace", &trace_format::syscalls},
    {in_windows, "windows", "List the windows of a memtrace", &trace_format::windows},
    {in_split, "split", "Write the windows of a merged final memtrace as a folder of window.NNNN folders",
     &trace_format::split},
    {in_merge, "merge", "Write the window.NNNN folders of a final memtrace as one folder", &trace_format::merge},
}};

constexpr auto own_form = option_use::form::own, peer_form = option_use::form::peer, any_form = option_use::form::any;
constexpr format_set memtraces = final_bit | raw_bit, with_calls = xray_bit | uftrace_bit | final_bit;
constexpr command_set analyses = in_working_set | in_hot | in_reuse | in_opcodes | in_syscalls;
constexpr command_set over_calls = in_report | in_stacks | in_graph | in_export | in_calls | in_diff;
constexpr const char* not_text = "--format=csv --format=tsv --format=json";
constexpr const char* output_group = "Output";
constexpr const char* filter_group = "Which calls";
constexpr const char* record_group = "Which records";
constexpr const char* input_group = "Where names are";
constexpr const char* work_group = "Work";

/// Where filters of calls have an effect.
std::vector<option_use> filtered() {
  return {{over_calls, with_calls, own_form},
          {in_replay, with_calls, own_form},
          {in_report | in_graph | in_replay | in_export | in_dump, uftrace_bit, peer_form},
          {in_dump, uftrace_bit, own_form, "", "", "--raw"}};
}
std::vector<option_use> filtered_beside(const char* needs, const char* values) {
  auto uses = filtered();
  for (option_use& use : uses) use.values = values;
  for (std::size_t i = 0; i + 1 < uses.size(); ++i) uses[i].needs = needs;
  return uses;
}
/// The same where threads are chosen, or times.
std::vector<option_use> chosen() {
  auto uses = filtered();
  uses.back() = {in_dump, uftrace_bit, own_form};
  return uses;
}

std::vector<option_use> of_threads() {
  auto uses = chosen();
  uses.push_back({in_counts | in_dump | in_windows, memtraces, own_form});
  uses.push_back({in_view | in_split | analyses, final_bit, own_form});
  return uses;
}

}  // namespace

std::span<const trace_command> trace_commands() { return commands; }

const std::vector<trace_option>& trace_options() {
  using a = arguments;
  using text = trace_option::text;
  static const std::vector<trace_option> table{
      {"--format",
       "FORM",
       output_group,
       "how to print",
       &a::format,
       {{in_info, xray_bit | profile_bit | memtraces | perf_bit, any_form, "text json"},
        {in_info, uftrace_bit, own_form, "text csv tsv json"},
        {in_dump, xray_bit | memtraces | perf_bit, own_form, "text csv json", "--hex"},
        {in_dump, uftrace_bit, own_form, "text json", "--hex --raw"},
        {in_report | in_stacks, with_calls | perf_bit, own_form, "text csv tsv json"},
        {in_calls | in_diff, with_calls, own_form, "text csv tsv json"},
        {in_graph, with_calls, own_form, "text csv tsv json", "", "FUNCTION"},
        {in_report, profile_bit, own_form, "text csv tsv json"},

        {in_counts, memtraces, own_form, "text csv tsv json"},
        {in_check, with_calls | raw_bit | profile_bit | perf_bit, any_form, "text json"},
        {analyses | in_view, final_bit, own_form, "text csv tsv json"},
        {in_windows, memtraces, own_form, "text csv tsv json"}}},
      {"--as",
       "TOOL",
       output_group,
       "print what this tool prints, byte for byte",
       &a::as,
       {{in_dump | in_report | in_export, xray_bit, any_form, "llvm-xray"},
        {in_info | in_dump | in_report | in_graph | in_export | in_replay, uftrace_bit, any_form, "uftrace"},
        {in_counts | in_view, final_bit, any_form, "drmemtrace"}}},
      {"--to",
       "KIND",
       output_group,
       "folded (flame graphs), chrome (trace events as JSON), perfetto, dot (Graphviz) or yaml",
       &a::to,
       {{in_export, xray_bit, own_form, "folded chrome perfetto dot yaml"},
        {in_export, xray_bit, peer_form, "chrome yaml"},
        {in_export, uftrace_bit, own_form, "folded chrome perfetto dot"},
        {in_export, uftrace_bit, peer_form, "folded chrome"},
        {in_export, final_bit, any_form, "folded chrome perfetto dot"},
        {in_export, perf_bit, any_form, "folded perfetto"}},
       text::any,
       true},
      {"-o,--output",
       "FILE",
       output_group,
       "where to write; - is stdout",
       &a::output,
       {{in_graph | in_export | in_replay | in_calls, ~format_set{0}}}},
      {"-o,--output",
       "FOLDER",
       output_group,
       "the folder to write",
       &a::output,
       {{in_split | in_merge, final_bit}},
       text::any,
       true},
      {"--force",
       "",
       output_group,
       "write into a folder that is not empty, too",
       &a::force,
       {{in_split | in_merge, final_bit}}},
      {"--hex",
       "",
       output_group,
       "an annotated hex dump: offset, bytes, member and value",
       &a::hex,
       {{in_dump, xray_bit | memtraces | perf_bit, own_form}, {in_dump, uftrace_bit, own_form, "", "--raw"}}},
      {"--raw",
       "",
       output_group,
       "names and values, in the layout of uftrace",
       &a::raw,
       {{in_dump, uftrace_bit, own_form}}},
      {"--task",
       "",
       output_group,
       "tasks in place of functions",
       &a::by_task,
       {{in_info, uftrace_bit}, {in_report | in_graph, uftrace_bit, peer_form}}},
      {"--avg-total",
       "",
       output_group,
       "average, minimum, maximum and deviation",
       &a::averages,
       {{in_report, uftrace_bit, peer_form, "", "--task"}}},
      {"--by",
       "WHAT",
       output_group,
       "what the rows are",
       &a::by,
       {{in_report, with_calls, own_form, "function thread process module"},
        {in_diff, with_calls, own_form, "module"},
        {in_graph, with_calls, own_form, "module", "FUNCTION"},
        {in_report, perf_bit, any_form, "function thread process module event"},
        {in_hot, final_bit, own_form, "pc function module line page"},
        {in_reuse, final_bit, own_form, "power distance"},
        {in_opcodes, final_bit, own_form, "opcode mnemonic bytes length kind"}}},
      {"-s,--sort",
       "COLUMN",
       output_group,
       "the column to sort by, largest first",
       &a::sort,
       {{in_report, with_calls, own_form, "self total count min mean median p90 p99 max name"},
        {in_report, profile_bit, any_form, "self sum count function"},
        {in_report, uftrace_bit, peer_form,
         "total self call count total_avg avg total_min min total_max max func function", "--task"},
        {in_report, perf_bit, any_form, "self sum"}}},
      {"-f,--fields",
       "COLUMNS",
       output_group,
       "columns: duration, tid, addr, time, delta, elapsed, task, module; none",
       &a::fields,
       {{in_replay, uftrace_bit}}},
      {"--no-merge",
       "",
       output_group,
       "an entry and its exit always on lines of their own",
       &a::no_merge,
       {{in_replay, uftrace_bit}}},
      {"--limit",
       "N",
       output_group,
       "at most so many rows or records",
       &a::limit,
       {{in_dump, ~format_set{0}, own_form, "", "--raw"},
        {in_report | in_stacks, with_calls | profile_bit | perf_bit, own_form},
        {in_report, uftrace_bit, peer_form, "", "--task"},
        {in_calls | in_diff, with_calls},
        {in_replay, xray_bit | final_bit},
        {in_hot | in_opcodes, final_bit},
        {in_view, final_bit}}},
      {"--full-names",
       "",
       output_group,
       "names as they are, also where a terminal has no room for them",
       &a::full_names,
       {{in_report | in_stacks, with_calls | perf_bit, own_form},
        {in_calls | in_diff, with_calls},
        {in_graph, with_calls, own_form, "", not_text, "FUNCTION"},
        {in_replay, xray_bit | final_bit},
        {in_windows, memtraces, any_form, "", not_text},
        {in_view | in_opcodes, final_bit, own_form, "", not_text},
        {in_hot, final_bit, own_form, "", "--format=csv --format=tsv --format=json --by=line --by=page"}}},
      {"--thousands",
       "",
       output_group,
       "a comma behind each three digits of large numbers, in text",
       &a::thousands,
       {{in_report | in_diff | in_stacks, with_calls, own_form, "", not_text},
        {in_graph, with_calls, own_form, "", not_text, "FUNCTION"},
        {in_counts | in_windows, memtraces, own_form, "", not_text},
        {analyses | in_view, final_bit, own_form, "", not_text}}},
      {"--unfold",
       "",
       output_group,
       "each level of recursion on a line of its own",
       &a::unfold,
       {{in_replay, xray_bit | final_bit}}},
      {"--per-window",
       "",
       output_group,
       "a row for each thread and window",
       &a::per_window,
       {{in_counts, memtraces, own_form}}},

      {"--begin",
       "AT",
       record_group,
       "leave out records before this byte offset; replay: before this time of the trace's clock, in nanoseconds",
       &a::begin,
       {{in_dump, ~format_set{0}, own_form, "", "--raw"}, {in_replay, uftrace_bit}}},
      {"--end",
       "AT",
       record_group,
       "leave out records from this byte offset on; replay: from this time on",
       &a::end,
       {{in_dump, ~format_set{0}, own_form, "", "--raw"}, {in_replay, uftrace_bit}}},
      {"--window",
       "N",
       record_group,
       "only the windows of this ordinal",
       &a::window,
       {{in_windows, memtraces},
        {in_counts | in_dump, memtraces, own_form},
        {in_view | in_split | analyses, final_bit, own_form}}},

      {"-F,--filter", "PATTERN", filter_group, "show only functions that match and what they call", &a::functions,
       filtered()},
      {"-N,--notrace", "PATTERN", filter_group, "leave out functions that match and what they call", &a::excluded,
       filtered()},
      {"-H,--hide", "PATTERN", filter_group, "leave out functions that match, but not what they call", &a::hidden,
       filtered()},
      {"-T,--trigger",
       "PATTERN@ACTION",
       filter_group,
       "actions are depth=N, filter, notrace and hide",
       &a::triggers,
       {{in_replay, uftrace_bit}, filtered()[2], filtered()[3]}},
      {"--match", "KIND", filter_group,
       "what patterns are; glob where none is given, regex with --as uftrace: glob, regex", &a::match,
       filtered_beside("--filter --notrace --hide --trigger", "glob regex")},
      {"-D,--depth", "LEVELS", filter_group, "levels of calls to show", &a::depth, filtered()},
      {"-t,--min-duration,--time-filter",
       "TIME",
       filter_group,
       "leave out what took less, such as 5us",
       &a::filter_time,
       {filtered()[0], filtered()[1], filtered()[2]},
       text::duration},
      {"-r,--range,--time-range", "START~STOP", filter_group,
       "times of the trace's clock or, with a unit, since the first record", &a::range, chosen()},
      {"--thread,--tid", "TID", filter_group, "show only these threads", &a::tids, of_threads()},
      {"--process,--pid",
       "PID",
       filter_group,
       "show only these processes",
       &a::pids,
       {{over_calls, with_calls, own_form}, {in_replay, xray_bit | final_bit}}},

      {"--symbols",
       "FILE",
       input_group,
       "the traced program, for the names of functions",
       &a::symbols,
       {{over_calls | in_replay, xray_bit | final_bit}, {in_check, xray_bit}, {in_report, profile_bit}},
       text::file},
      {"--sysroot",
       "FOLDER",
       input_group,
       "copies of the recorded machine's files; / when none is given",
       &a::sysroots,
       {{in_report | in_stacks | in_export, perf_bit},
        {in_hot, final_bit, own_form, "", "--by=line --by=page"},
        {in_view, final_bit, own_form},
        {over_calls | in_replay, final_bit, own_form, "", "--symbols"}},
       text::folder},
      {"--modules",
       "FILE",
       input_group,
       "the modules.log of the recording; that beside the trace when none is given",
       &a::modules,
       {{in_hot, final_bit, own_form, "", "--by=line --by=page"},
        {over_calls | in_replay, final_bit, own_form, "", "--symbols"}},
       text::file},
      {"--index",
       "FILE",
       work_group,
       "the index of the windows: used when it exists and is of this trace, else written",
       &a::index,
       {{in_windows, memtraces}}},
      {"--index",
       "FOLDER",
       work_group,
       "where indices are kept that make -r fast where records have values",
       &a::index,
       {{in_report | in_graph | in_export, uftrace_bit, peer_form, "", "", "--range"},
        {in_dump | in_replay, uftrace_bit, any_form, "", "", "--range"}},
       text::folder},
      {"--deduce-calls",
       "",
       work_group,
       "close calls whose exit is missing when a caller exits (llvm-xray's -d)",
       &a::deduce_calls,
       {{in_report, xray_bit, peer_form}}},
      {"-j,--jobs",
       "N",
       work_group,
       "parts of the trace to work on at once",
       &a::jobs,
       {{over_calls, with_calls, own_form},
        {in_replay, xray_bit | final_bit, own_form},
        {in_report, uftrace_bit, peer_form, "", "--task"}}},
  };
  return table;
}

namespace {

std::vector<std::string> words_of(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    if (end != at) words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}
template <class Words>
std::string list_of(const Words& words, const char* last = ", ") {
  std::string all;
  for (std::size_t i = 0; i < words.size(); ++i) all += (i == 0 ? "" : i + 1 == words.size() ? last : ", ") + words[i];
  return all;
}

std::size_t count_of(const CLI::App& given, const std::string& name) {
  const CLI::Option* const option = given.get_option_no_throw(name);
  return option == nullptr ? 0 : option->count();
}
/// The option, or `option=value`, was given.
bool is_given(const CLI::App& given, const arguments& asked, const std::string& condition) {
  // The last word behind graph, where that is no trace.
  if (condition == "FUNCTION") return !asked.about.empty();
  const std::size_t sign = condition.find('=');
  const std::string name = condition.substr(0, sign);
  if (count_of(given, name) == 0) return false;
  return sign == std::string::npos || given.get_option(name)->results().back() == condition.substr(sign + 1);
}
/// One of these was given.
bool has_one_of(const CLI::App& given, const arguments& asked, const char* conditions) {
  const auto words = words_of(conditions, ' ');
  return std::ranges::any_of(words, [&](const std::string& one) { return is_given(given, asked, one); });
}

bool is_used_in(const trace_option& option, const trace_command& command, format_set of) {
  return std::ranges::any_of(option.uses,
                             [&](const option_use& use) { return (use.in & command.bit) != 0 && (use.of & of) != 0; });
}
/// The formats that have the command.
format_set formats_with(const trace_command& command) {
  format_set all = 0;
  for (const trace_format* const format : formats) all |= has_command(*format, command) ? format->bit : 0;
  return all;
}
/// Its values in one command, over all formats.
std::vector<std::string> values_in(const trace_option& option, command_set in, format_set of) {
  std::vector<std::string> all;
  for (const option_use& use : option.uses) {
    if ((use.in & in) == 0 || (use.of & of) == 0) continue;
    if (*use.values == '\0') return {};
    for (const std::string& value : words_of(use.values, ' ')) {
      if (std::ranges::find(all, value) == all.end()) all.push_back(value);
    }
  }
  return all;
}

}  // namespace

std::string long_name(const trace_option& option) {
  for (const std::string& name : words_of(option.names, ',')) {
    if (name.starts_with("--")) return name;
  }
  return option.names;
}

bool has_command(const trace_format& format, const trace_command& command) {
  return format.*command.run != nullptr ||
         ((command.on_calls != nullptr || command.bit == in_diff) && format.with_calls != nullptr);
}

std::string commands_of(const trace_format& format) {
  std::vector<std::string> names;
  for (const trace_command& command : commands) {
    if (has_command(format, command)) names.emplace_back(command.name);
  }
  return list_of(names, " and ");
}

std::string matrix() {
  std::string text = "Commands by formats:\n  command     ";
  const auto cell = [&](std::string word, std::size_t width) {
    word.resize(std::max(width, word.size()), ' ');
    text += word;
  };
  const auto end_line = [&] {
    while (text.ends_with(' ')) text.pop_back();
    text += '\n';
  };
  for (const trace_format* const format : formats) cell(format->name, std::string(format->name).size() + 2);
  end_line();
  for (const trace_command& command : commands) {
    text += "  ";
    cell(command.name, 12);
    for (const trace_format* const format : formats)
      cell(has_command(*format, command) ? "yes" : "-", std::string(format->name).size() + 2);
    end_line();
  }
  return text;
}

void add_options(CLI::App& to, const trace_command& command, arguments& asked) {
  for (const trace_option& option : trace_options()) {
    const format_set here = formats_with(command);
    if (!is_used_in(option, command, here)) continue;
    // Two of one name, for different formats, are one to the parser.
    if (to.get_option_no_throw(long_name(option)) != nullptr) continue;
    std::string help = option.help;
    format_set used = 0;
    for (const option_use& use : option.uses) used |= (use.in & command.bit) != 0 ? use.of & here : 0;
    if (used != here) {
      std::vector<std::string> names;
      for (const trace_format* const format : formats) {
        if ((used & format->bit) != 0) names.emplace_back(format->name);
      }
      help += " [" + list_of(names) + "]";
    }
    const bool as_peer = std::ranges::all_of(
        option.uses, [&](const option_use& use) { return (use.in & command.bit) == 0 || use.when == peer_form; });
    if (as_peer) help += " [with --as]";
    CLI::Option* const added = std::visit(
        [&](auto member) {
          using value = std::remove_reference_t<decltype(asked.*member)>;
          if constexpr (std::is_same_v<value, bool>) {
            return to.add_flag(option.names, asked.*member, help);
          } else {
            CLI::Option* const made = to.add_option(option.names, asked.*member, help);
            if constexpr (std::is_same_v<value, std::vector<std::uint32_t>>) made->delimiter(',');
            // One word each time: what stands behind it is the trace.
            if constexpr (requires { (asked.*member).push_back({}); }) made->allow_extra_args(false);
            if constexpr (std::is_same_v<value, std::optional<std::uint64_t>> ||
                          std::is_same_v<value, std::vector<std::uint32_t>>) {
              made->check([](const std::string& given) {
                constexpr std::uint64_t most =
                    std::is_same_v<value, std::vector<std::uint32_t>> ? 0xffffffff : ~std::uint64_t{0};
                std::string_view rest = given;
                const auto number = backsight::text::take_number(rest, 10);
                if (!number || !rest.empty()) return "\"" + given + "\" is no number";
                return *number <= most ? std::string() : "\"" + given + "\" is too large";
              });
            }
            if constexpr (std::is_same_v<value, unsigned>) made->check(CLI::Range(1, 256));
            if constexpr (std::is_same_v<value, std::optional<std::int32_t>>) made->check(CLI::Range(0, 0x7fffffff));
            return made;
          }
        },
        option.sets);
    added->group(option.group);
    if (*option.value != '\0') {
      const auto values = values_in(option, command.bit, here);
      // Several columns may stand behind --sort; check_options looks at each.
      if (!values.empty() && option.sets != trace_option::target(&arguments::sort)) added->check(CLI::IsMember(values));
      added->type_name(values.empty()                ? option.value
                       : list_of(values).size() > 40 ? option.value
                                                     : [&] {
                                                         std::string joined;
                                                         for (const std::string& one : values)
                                                           joined += (joined.empty() ? "" : "|") + one;
                                                         return joined;
                                                       }());
      if (!values.empty() && list_of(values).size() > 40) added->description(help + ": " + list_of(values));
    }
    if (option.what == trace_option::text::file) added->check(CLI::ExistingFile);
    const bool folder = option.what == trace_option::text::folder;
    const bool always = std::ranges::none_of(trace_options(), [&](const trace_option& other) {
      return &other != &option && is_used_in(other, command, here) && long_name(other) == long_name(option);
    });
    if (folder && always) added->check(CLI::ExistingDirectory);
    if (option.what == trace_option::text::duration) {
      added->check([](const std::string& given) {
        return backsight::text::read_duration(given)
                   ? std::string()
                   : "\"" + given + "\" is no time: a number, with ns (or nothing), us, ms, s, m or h behind it";
      });
    }
    if (option.required) added->required();
  }
}

int check_options(const CLI::App& given, const trace_command& command, const trace_format& format,
                  const arguments& asked) {
  const auto form = asked.as.empty() ? own_form : peer_form;
  const auto fits = [&](const option_use& use) {
    return (use.in & command.bit) != 0 && (use.of & format.bit) != 0 && (use.when == any_form || use.when == form);
  };
  for (const trace_option& option : trace_options()) {
    const std::string name = long_name(option);
    if (count_of(given, name) == 0) continue;
    const auto used = std::ranges::find_if(option.uses, fits);
    if (used != option.uses.end()) {
      if (*used->unless != '\0' && has_one_of(given, asked, used->unless)) {
        const auto words = words_of(used->unless, ' ');
        const auto beside =
            std::ranges::find_if(words, [&](const std::string& one) { return is_given(given, asked, one); });
        say("backsight: %s has no effect beside %s\n", name.c_str(), beside->c_str());
        return usage;
      }
      if (*used->needs != '\0' && !has_one_of(given, asked, used->needs)) {
        say("backsight: %s has no effect without %s\n", name.c_str(),
            list_of(words_of(used->needs, ' '), " or ").c_str());
        return usage;
      }
      const auto values = words_of(used->values, ' ');
      const auto results = given.get_option(name)->results();
      std::vector<std::string> given_values;
      for (const std::string& result : results) {
        for (std::string& one : words_of(result, ',')) given_values.push_back(std::move(one));
      }
      for (const std::string& value : given_values) {
        if (values.empty() || std::ranges::find(values, value) != values.end()) continue;
        say("backsight: %s of %s has no %s %s%s; it has %s\n", command.name, format.a_trace, name.c_str(),
            value.c_str(), form == peer_form ? (" with --as " + asked.as).c_str() : "",
            list_of(values, " and ").c_str());
        return usage;
      }
      continue;
    }
    // Another option of the same name may be the one that was meant.
    if (std::ranges::any_of(trace_options(), [&](const trace_option& other) {
          return long_name(other) == name && std::ranges::any_of(other.uses, fits);
        })) {
      continue;
    }
    std::vector<std::string> others;
    for (const trace_option& other : trace_options()) {
      if (std::ranges::any_of(other.uses, fits)) others.push_back(long_name(other));
    }
    std::vector<std::string> where;
    for (const trace_format* const other : formats) {
      if (other != &format && is_used_in(option, command, other->bit)) where.emplace_back(other->name);
    }
    const bool other_form = is_used_in(option, command, format.bit);
    std::string text = name + " has no effect on " + command.name + " of " + format.a_trace;
    if (other_form) text += form == own_form ? " without --as" : " with --as " + asked.as;
    else if (!where.empty()) text += ", but of " + list_of(where, " and ");
    text += others.empty() ? "; no option has" : "; what has is " + list_of(others);
    say("backsight: %s\n", text.c_str());
    return usage;
  }
  return success;
}

std::string nearest(std::string_view given, const std::vector<std::string>& words) {
  // Insertions, deletions, replacements and swaps of neighbours.
  const auto distance = [](std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> rows(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) rows[i][0] = i;
    for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
      for (std::size_t j = 1; j <= b.size(); ++j) {
        rows[i][j] =
            std::min({rows[i - 1][j] + 1, rows[i][j - 1] + 1, rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
        if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
          rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
    return rows[a.size()][b.size()];
  };
  if (given.size() > 64) return {};
  const std::string* best = nullptr;
  std::size_t least = given.size() / 3 + 2;
  for (const std::string& word : words) {
    const std::size_t here = word.starts_with(given) ? 1 : distance(given, word);
    if (here >= least) continue;
    least = here;
    best = &word;
  }
  return best == nullptr ? std::string() : *best;
}

std::string unknown_word(const CLI::App& app, std::span<char* const> words) {
  const CLI::App* at = &app;
  bool is_value = false;
  for (const char* const each : words) {
    const std::string word = each;
    if (word == "--") return {};
    if (is_value) {
      is_value = false;
      continue;
    }
    if (word.size() < 2 || word[0] != '-' || std::isdigit(static_cast<unsigned char>(word[1])) != 0) {
      const auto below = at->get_subcommands([](const CLI::App*) { return true; });
      if (below.empty()) continue;
      const auto found = std::ranges::find_if(below, [&](const CLI::App* sub) { return sub->get_name() == word; });
      if (found != below.end()) {
        at = *found;
        continue;
      }
      std::vector<std::string> names;
      for (const CLI::App* const sub : below) {
        if (!sub->get_group().empty()) names.push_back(sub->get_name());
      }
      const std::string like = nearest(word, names);
      return "there is no command " + word +
             (like.empty() ? "; there are " + list_of(names, " and ") : "; do you mean " + like + "?");
    }
    const bool is_long = word[1] == '-';
    const std::string name = is_long ? word.substr(0, word.find('=')) : word.substr(0, 2);
    if (const CLI::Option* const known = at->get_option_no_throw(name)) {
      const bool whole = is_long ? name.size() == word.size() : word.size() == 2;
      is_value = whole && known->get_items_expected_max() > 0;
      continue;
    }
    std::vector<std::string> names;
    for (const CLI::Option* const option : at->get_options()) {
      for (const std::string& one : option->get_lnames()) names.push_back("--" + one);
      for (const std::string& one : option->get_snames()) names.push_back("-" + one);
    }
    const std::string like = is_long ? nearest(name, names) : std::string();
    const std::string of = at == &app ? std::string("there is no option ") : at->get_name() + " has no option ";
    return of + name + (like.empty() ? "" : "; do you mean " + like + "?");
  }
  return {};
}

}  // namespace cli
