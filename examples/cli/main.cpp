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

#include <backsight/io/file_kind.hpp>
#include <backsight/version.hpp>

#include "calls.hpp"
#include "commands.hpp"
#include "input_kind.hpp"
#include "memtrace_input.hpp"
#include "options.hpp"
#include "program.hpp"
#include "signals.hpp"

namespace {

// Formats that look at more of a file come before those that look at less.
constexpr std::array formats{&cli::perf_format,          &cli::uftrace_format,      &cli::memtrace_format,
                             &cli::raw_memtrace_format,  &cli::xray_profile_format, &cli::xray_format};

/// A stream that begins so is read to its end. Others are of no use, and may have none.
bool is_of_use(backsight::byte_view head) {
  return backsight::io::file_kind_of(head) != backsight::io::file_kind::other ||
         cli::memtrace::stage_of_bytes(head) != cli::memtrace::stage::unknown || cli::xray_format.detect("", head) ||
         cli::xray_profile_format.detect("", head);
}

/// The first bytes of a file or of a stream, none for a folder; reports an error and gives false when it cannot be read.
bool read_head(const std::string& path, std::vector<std::byte>& head) {
  if (cli::is_directory(path)) return true;
  cli::input all;
  if (!all.open(path, is_of_use)) return false;
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
  cli::report_error(path, backsight::trace_error{backsight::errc::bad_magic, 0}, cli::what_it_is(path, head, formats));
  return nullptr;
}

/// The same, where a stream for a command that one format alone has is not waited for.
const cli::trace_format* format_for(const cli::trace_command& command, const std::string& path) {
  const auto has = [&](const cli::trace_format* format) { return cli::has_command(*format, command); };
  if (path == "-" && std::ranges::count_if(formats, has) == 1) return *std::ranges::find_if(formats, has);
  return format_of(path);
}

/// Runs the command of the input's format.
int run(const CLI::App& given, const cli::trace_command& command, const cli::arguments& arguments) {
  cli::note_input(arguments.path());
  const cli::trace_format* const format = format_for(command, arguments.path());
  if (format == nullptr) return cli::bad_input;
  if (!cli::has_command(*format, command)) {
    const bool raw = format == &cli::raw_memtrace_format && cli::has_command(cli::memtrace_format, command);
    cli::say("backsight: %s does not apply to %s%s; what does is %s\n", command.name, format->a_trace,
             raw ? ", which has the blocks of instructions only: make a final trace of it first, as drraw2trace does" : "",
             cli::commands_of(*format).c_str());
    return cli::usage;
  }
  if (const int code = cli::check_options(given, command, *format, arguments); code != cli::success) return code;
  
  // What a format alone can, and what it prints as its tool does, is its own; the rest is written once for all.
  const bool of_its_own = format->*command.run != nullptr && (!arguments.as.empty() || arguments.to == "yaml" ||
                                                              command.run == &cli::trace_format::replay);
  if (of_its_own && !arguments.about.empty()) {
    cli::say("backsight: FUNCTION has no effect with --as %s\n", arguments.as.c_str());
    return cli::usage;
  }
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
    sub->add_option("TRACE", arguments.paths, "a trace: a file, - for stdin, or a folder for formats that are folders")
        ->required()
        ->expected(command.run == &cli::trace_format::diff ? 2 : 1, command.run == &cli::trace_format::graph ||
                                                                           command.run == &cli::trace_format::diff
                                                                       ? 2
                                                                       : 1)
        ->type_name("");
    cli::add_options(*sub, command, arguments);
    sub->callback([sub, &command, &arguments, &code] {
      if (command.run == &cli::trace_format::graph && arguments.paths.size() == 2) {
        arguments.about = arguments.paths.back();
        arguments.paths.pop_back();
      }
      code = run(*sub, command, arguments);
    });
  }
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
