// SPDX-License-Identifier: Apache-2.0
// backsight: shows traces. Each command finds out the format of its input and hands over to that format.
#include <algorithm>
#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <ranges>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <backsight/io/file_kind.hpp>
#include <backsight/version.hpp>

#include "calls.hpp"
#include "command_tree.hpp"
#include "commands.hpp"
#include "input_kind.hpp"
#include "memtrace_input.hpp"
#include "options.hpp"
#include "program.hpp"
#include "signals.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace {

/// A stream that begins so is read to its end. Others are of no use, and may have none.
bool is_of_use(backsight::byte_view head) {
  return backsight::io::file_kind_of(head) != backsight::io::file_kind::other ||
         cli::memtrace::stage_of_bytes(head) != cli::memtrace::stage::unknown || cli::xray_format.detect("", head) ||
         cli::xray_profile_format.detect("", head);
}

/// The first bytes of a file or of a stream, none for a folder; reports an error and gives false when it cannot be
/// read.
bool read_head(const std::string& path, std::vector<std::byte>& head) {
  if (cli::is_directory(path)) return true;
  cli::input all;
  if (!all.open(path, is_of_use)) return false;
  const auto first = all.bytes().first(std::min<std::size_t>(all.bytes().size(), 64));
  head.assign(first.begin(), first.end());
  return true;
}

/// What stands last behind graph is a function, unless it is another trace.
bool is_trace(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return false;
  std::vector<std::byte> head;
  if (!cli::is_directory(path)) {
    std::FILE* const file = std::filesystem::is_regular_file(path, ignored) ? std::fopen(path.c_str(), "rb") : nullptr;
    if (file == nullptr) return false;
    head.resize(64);
    head.resize(std::fread(head.data(), 1, head.size(), file));
    std::fclose(file);
    // Packed, it is for the reading of its head to say.
    if (backsight::io::file_kind_of(head) != backsight::io::file_kind::other && !read_head(path, head)) return false;
  }
  return std::ranges::any_of(cli::formats, [&](const cli::trace_format* one) { return one->detect(path, head); });
}

/// The format of the input, or null after saying why there is none.
const cli::trace_format* format_of(const std::string& path) {
  std::vector<std::byte> head;
  if (!read_head(path, head)) return nullptr;
  for (const cli::trace_format* format : std::views::reverse(cli::formats)) {
    if (format->detect(path, head)) return format;
  }
  cli::report_error(path, backsight::trace_error{backsight::errc::bad_magic, 0}, cli::what_it_is(path, head));
  return nullptr;
}

/// The same, where a stream for a command that one format alone has is not waited for.
const cli::trace_format* format_for(const cli::trace_command& command, const std::string& path) {
  const auto has = [&](const cli::trace_format* format) { return cli::has_command(*format, command); };
  if (path == "-" && std::ranges::count_if(cli::formats, has) == 1) return *std::ranges::find_if(cli::formats, has);
  return format_of(path);
}

/// Runs the command on several traces at once.
int run_on_many(const CLI::App& given, const cli::trace_command& command, const cli::arguments& arguments) {
  if (!arguments.as.empty() || arguments.to == "yaml") {
    const std::string form = arguments.as.empty() ? "--to yaml" : "--as " + arguments.as;
    cli::say("backsight: %s with %s takes one trace\n", command.name, form.c_str());
    return cli::usage;
  }
  std::vector<const cli::trace_format*> found;
  int code = cli::success;
  std::size_t of_perf = 0, of_calls = 0;
  for (const std::string& path : arguments.paths) {
    cli::note_input(path);
    const cli::trace_format* const format = format_for(command, path);
    found.push_back(format);
    if (format == nullptr) {
      code = cli::bad_input;  // It was said; the others are shown.
      continue;
    }
    const bool is_perf = format == &cli::perf_format && cli::has_command(*format, command);
    if (!is_perf && format->with_calls == nullptr) {
      cli::say("backsight: %s of %s takes no second trace\n", command.name, format->a_trace);
      return cli::usage;
    }
    (is_perf ? of_perf : of_calls) += 1;
    if (const int refused = cli::check_options(given, command, *format, arguments); refused != cli::success)
      return refused;
  }
  if (of_perf != 0 && (of_calls != 0 || arguments.to == "perfetto")) {
    cli::say(of_calls != 0 ? "backsight: samples of perf.data files and traces of calls cannot be put together\n"
                           : "backsight: export --to perfetto takes one perf.data file\n");
    return cli::usage;
  }
  if (of_perf + of_calls == 0) return cli::bad_input;
  if (command.run == &cli::trace_format::export_to) cli::manner.no_pager = true;
  cli::manner.thousands = arguments.thousands;
  if (of_calls != 0) return command.on_calls(arguments, cli::joined_format(std::move(found)));
  cli::arguments readable = arguments;
  readable.paths.clear();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != nullptr) readable.paths.push_back(arguments.paths[i]);
  }
  return std::max(code, (cli::perf_format.*command.run)(readable));
}

/// Runs the command of the input's format.
int run(const CLI::App& given, const cli::trace_command& command, const cli::arguments& arguments) {
  if (command.many && arguments.paths.size() > 1) return run_on_many(given, command, arguments);
  cli::note_input(arguments.path());
  const cli::trace_format* const format = format_for(command, arguments.path());
  if (format == nullptr) return cli::bad_input;
  if (cli::manner.verbose) cli::say("%s: %s\n", arguments.path().c_str(), format->a_trace);
  if (!cli::has_command(*format, command)) {
    const bool raw = format == &cli::raw_memtrace_format && cli::has_command(cli::memtrace_format, command);
    cli::say(
        "backsight: %s does not apply to %s%s; what does is %s\n", command.name, format->a_trace,
        raw ? ", which has the blocks of instructions only: make a final trace of it first, as drraw2trace does" : "",
        cli::commands_of(*format).c_str());
    return cli::usage;
  }
  if (const int code = cli::check_options(given, command, *format, arguments); code != cli::success) return code;

  // What a format alone can, and what it prints as its tool does, is its own; the rest is written once for all.
  const bool of_its_own = format->*command.run != nullptr &&
                          (!arguments.as.empty() || arguments.to == "yaml" ||
                           command.run == &cli::trace_format::replay || command.run == &cli::trace_format::check);
  if (of_its_own && !arguments.about.empty()) {
    cli::say("backsight: FUNCTION has no effect with --as %s\n", arguments.as.c_str());
    return cli::usage;
  }
  if (command.run == &cli::trace_format::export_to) cli::manner.no_pager = true;  // It is for programs.
  cli::manner.thousands = arguments.thousands;
  cli::full_names = arguments.full_names;
  if (command.run == &cli::trace_format::diff) {
    cli::note_input(arguments.paths.back());
    const cli::trace_format* const other = format_for(command, arguments.paths.back());
    if (other == nullptr) return cli::bad_input;
    if (other->with_calls == nullptr) {
      cli::say("backsight: diff does not apply to %s; what does is %s\n", other->a_trace,
               cli::commands_of(*other).c_str());
      return cli::usage;
    }
    if (const int code = cli::check_options(given, command, *other, arguments); code != cli::success) return code;
    return cli::diff_calls(arguments, *format, *other);
  }
  if (command.on_calls != nullptr && format->with_calls != nullptr && !of_its_own)
    return command.on_calls(arguments, *format);
  return (format->*command.run)(arguments);
}

void add_commands(CLI::App& app, cli::arguments& arguments, int& code) {
  for (const cli::trace_command& command : cli::trace_commands()) {
    CLI::App* const sub = app.add_subcommand(command.name, command.help)->group("Traces");
    const bool is_graph = command.run == &cli::trace_format::graph, is_diff = command.run == &cli::trace_format::diff;
    std::string what = "a trace: a file, - for stdin, or a folder for formats that are folders";
    if (command.many) what += "; several are put together";
    if (is_graph) what += "; behind them the function whose callers and callees to show";
    sub->add_option("TRACE", arguments.paths, what)
        ->required()
        ->expected(is_diff ? 2 : 1, is_diff        ? 2
                                    : command.many ? CLI::detail::expected_max_vector_size
                                                   : 1)
        ->type_name("");
    cli::add_options(*sub, command, arguments);
    sub->callback([sub, &command, &arguments, &code] {
      if (command.run == &cli::trace_format::graph && arguments.paths.size() > 1 && !is_trace(arguments.paths.back())) {
        arguments.about = arguments.paths.back();
        arguments.paths.pop_back();
      }
      code = run(*sub, command, arguments);
    });
  }
}

/// A descriptor that is closed must not be given to a file that is opened: what is printed would go there. To write to
/// a descriptor that is for reading only is an error, as it is to write to a closed one.
void hold_standard_descriptors() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (::fcntl(descriptor, F_GETFD) >= 0) continue;
    if (::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return;
  }
}

// A macro's value as text: its own name where it has none.
#define BACKSIGHT_TEXT(value) #value
#define BACKSIGHT_VALUE_TEXT(macro) BACKSIGHT_TEXT(macro)
#define BACKSIGHT_IS_SET(macro) (std::string_view(BACKSIGHT_VALUE_TEXT(macro)) == "1")

/// What was built in.
std::string version_text() {
  char first[32];
  std::snprintf(first, sizeof first, "backsight %d.%d.%d", BACKSIGHT_VERSION_MAJOR, BACKSIGHT_VERSION_MINOR,
                BACKSIGHT_VERSION_PATCH);
  struct feature {
    const char* name;
    bool has;
  };
  constexpr std::array packings{feature{"zlib", BACKSIGHT_IS_SET(BACKSIGHT_HAVE_ZLIB)},
                                feature{"lz4", BACKSIGHT_IS_SET(BACKSIGHT_HAVE_LZ4)},
                                feature{"snappy", BACKSIGHT_IS_SET(BACKSIGHT_HAVE_SNAPPY)},
                                feature{"zip", BACKSIGHT_IS_SET(BACKSIGHT_HAVE_LIBZIP)},
                                feature{"zstd", BACKSIGHT_IS_SET(BACKSIGHT_HAVE_ZSTD)},
                                feature{"lzma", BACKSIGHT_IS_SET(BACKSIGHT_HAVE_LZMA)}};
  constexpr std::array others{feature{"regular expressions (RE2)", BACKSIGHT_IS_SET(BACKSIGHT_HAVE_RE2)},
                              feature{"text of instructions (capstone)", BACKSIGHT_IS_SET(BACKSIGHT_HAVE_CAPSTONE)}};
  const auto list = [](const auto& features, bool has) {
    std::string text;
    for (const feature& one : features) {
      if (one.has == has) text += (text.empty() ? "" : ", ") + std::string(one.name);
    }
    return text.empty() ? std::string("none") : text;
  };
  std::string names, tools;
  const auto add = [](std::string& to, const char* name) { to += (to.empty() ? "" : ", ") + std::string(name); };
  for (const cli::trace_format* const format : cli::formats) {
    add(names, format->name);
    if (format->tool != nullptr && tools.find(format->tool) == std::string::npos) add(tools, format->tool);
  }
  std::vector<feature> all(packings.begin(), packings.end());
  all.insert(all.end(), others.begin(), others.end());
  return std::string(first) + "\nformats       " + names + "\nprints as     " + tools + "\npackings      " +
         list(packings, true) + "\nbuilt with    " + list(others, true) + "\nnot built in  " + list(all, false);
}

/// What every command takes.
void add_manners(CLI::App& app) {
  CLI::Option* const quiet =
      app.add_flag("-q,--quiet", cli::manner.quiet, "say nothing but errors: no notes, no progress");
  CLI::Option* const verbose =
      app.add_flag("-v,--verbose", cli::manner.verbose, "say what was found and what it took, too");
  quiet->excludes(verbose);
  CLI::Option* const color =
      app.add_option("--color", cli::manner.color, "when to colour: auto is on a terminal where NO_COLOR is not set")
          ->check(CLI::IsMember({"auto", "always", "never"}))
          ->type_name("auto|always|never");
  CLI::Option* const pager =
      app.add_flag("--no-pager", cli::manner.no_pager,
                   "print to the terminal itself, not by way of $BACKSIGHT_PAGER, $PAGER or less");
  for (CLI::Option* const option : {quiet, verbose, color, pager}) option->group("Manners");
  for (CLI::App* const below : app.get_subcommands([](CLI::App*) { return true; })) add_manners(*below);
}

/// A command for those who install the program: writes what is told of its commands.
void add_pages(CLI::App& app, std::string& wanted, std::string& to, int& code) {
  CLI::App* const sub = app.add_subcommand("pages", "Write the manual page or the completions of a shell")->group("");
  sub->add_option("KIND", wanted, "which")->required()->check(CLI::IsMember({"man", "bash", "zsh", "fish"}));
  sub->add_option("-o,--output", to, "where to write; - is stdout");
  sub->callback([&] {
    cli::output out(to);
    const cli::command_text program = cli::command_tree(app);
    if (wanted == "man") cli::write_manual(out, program, version_text(), cli::matrix());
    else cli::write_completions(out, program, wanted);
    code = out.close(cli::success);
  });
}

/// Writes what --help prints, in lines that fit a terminal.
void write_help(cli::output& out, const CLI::App& app, const std::string& text) {
  const std::size_t width = cli::terminal_width();
  out.write(width == 0 ? text : cli::folded_text(text, width, app.get_formatter()->get_column_width()));
}

/// `help` and `help COMMAND` are what --help behind it prints.
void add_help(CLI::App& app, std::vector<std::string>& names, int& code) {
  CLI::App* const sub = app.add_subcommand("help", "Show the commands, or the options of one")->group("");
  sub->add_option("COMMAND", names, "of which command");
  sub->callback([&] {
    const CLI::App* about = &app;
    std::string whole = app.get_name();
    for (const std::string& name : names) {
      const auto below = about->get_subcommands([&](const CLI::App* one) { return one->get_name() == name; });
      if (below.empty()) {
        std::vector<char*> words;
        for (std::string& one : names) words.push_back(one.data());
        const std::string unknown = cli::unknown_word(app, words);
        cli::say("backsight: %s\n", unknown.empty() ? "there is no such command" : unknown.c_str());
        code = cli::usage;
        return;
      }
      about = below.front();
      whole += " " + name;
    }
    cli::output out("-");
    write_help(out, app, app.get_formatter()->make_help(about, whole, CLI::AppFormatMode::Normal));
    code = out.close(cli::success);
  });
}

/// With --verbose: how long it took, and the most memory.
void say_what_it_took(std::chrono::steady_clock::time_point begin) {
  if (!cli::manner.verbose) return;
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  cli::say("backsight: %.3f s, %.1f MB of memory at most\n", time.count(), static_cast<double>(used.ru_maxrss) / 1e3);
}

int run_program(int count, char** words) {
  const auto begin = std::chrono::steady_clock::now();
  CLI::App app("backsight shows the traces that profilers leave behind", "backsight");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text, "the version, and what was built in");
  cli::arguments arguments;
  int code = cli::success;
  add_commands(app, arguments, code);
  cli::add_cfi_commands(app, code);
  cli::add_unwind_command(app, code);
  add_manners(app);
  std::string page, page_file = "-";
  add_pages(app, page, page_file, code);
  std::vector<std::string> about;
  add_help(app, about, code);
  app.footer("\n" + cli::matrix() + "\nCOMMAND --help lists the options of a command.");
  try {
    app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    std::ostringstream help, problem;
    const int result = app.exit(error, help, problem);
    const std::string unknown = result == 0 ? std::string() : cli::unknown_word(app, {words + 1, words + count});
    if (!unknown.empty()) {
      cli::say("backsight: %s\n", unknown.c_str());
      return cli::usage;
    }
    cli::say_text(problem.str());
    cli::output out("-");
    write_help(out, app, help.str());
    return out.close(result == 0 ? cli::success : cli::usage);
  }
  say_what_it_took(begin);
  return cli::inputs_are_whole() || code != cli::success ? code : cli::bad_input;
}

/// Runs the program, whatever is thrown.
int run_guarded(int count, char** words) {
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

}  // namespace

int main(int count, char** words) {
  hold_standard_descriptors();
  cli::handle_signals();
  const int code = run_guarded(count, words);
  cli::end_pager();
  return code;
}
