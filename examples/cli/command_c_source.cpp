// SPDX-License-Identifier: Apache-2.0
// The commands cfi emit-c and cfi compile: unwind tables as C source and as shared objects.
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/core/checksum.hpp>
#include <backsight/core/escape.hpp>
#include <backsight/core/text.hpp>
#include <backsight/elf/symbols.hpp>
#include <backsight/emit/unwinder_c/unwinder_c.hpp>
#include <backsight/io/mapped_file.hpp>

#include "commands.hpp"
#include "elf_input.hpp"
#include "program.hpp"
#include "temporary_path.hpp"

extern char** environ;

namespace cli {

namespace {

namespace bs = backsight;
namespace cfi = backsight::cfi;
namespace unwinder_c = backsight::emit::unwinder_c;

struct c_source_options {
  std::vector<std::string> paths;
  std::string path;
  std::string section;
  std::string code;
  std::string form = "table";
  std::string prefix = "backsight";
  std::string registers = "ra";
  std::string output = "-";
  unsigned jobs = 0;
  bool deref = false, names = false, runtime = false;
};

unwinder_c::options emitter_options(const c_source_options& options) {
  unwinder_c::options o;
  o.form = options.form == "tree"     ? unwinder_c::form::tree
           : options.form == "switch" ? unwinder_c::form::switch_
                                      : unwinder_c::form::table;
  o.registers = options.registers == "all" ? unwinder_c::registers::all : unwinder_c::registers::return_address;
  o.prefix = options.prefix;
  o.deref = options.deref;
  return o;
}

/// The functions of a file, ascending; of several that begin together the first in its symbol table.
std::vector<unwinder_c::function> functions_of(const bs::elf::image& image) {
  std::vector<unwinder_c::function> found;
  for (const bs::elf::section s : image.sections()) {
    if (s.type != bs::elf::section_symbols && s.type != bs::elf::section_dynamic_symbols) continue;
    const auto symbols = bs::elf::symbols_of(image, s);
    if (!symbols) continue;
    for (const bs::elf::symbol symbol : *symbols) {
      if (!symbol.is_function() || symbol.section == bs::elf::section_undefined || symbol.name.empty()) continue;
      found.push_back({symbol.value, symbol.value + symbol.size, symbol.name});
    }
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  found.erase(std::unique(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.begin == b.begin; }),
              found.end());
  return found;
}

/// Emits the sections of a file through `to`; reports errors and what is left out. `made` tells whether all of the text
/// is there.
template <class Out>
int emit(elf_input& input, const c_source_options& options, const unwinder_c::options& wanted, Out to, bool& made) {
  std::vector<cfi::frame_section> found;
  if (const int code = input.find_all(options.section, options.code, found); code != success) return code;
  std::vector<cfi::section<bs::order::little>> sections;
  for (const cfi::frame_section& s : found) sections.emplace_back(s.bytes, s.info);
  const std::string& path = input.path;
  int code = -1;
  if (input.image.byte_order() == bs::order::little) {
    cfi::with_arch(input.image.machine(), [&](auto arch) {
      using machine = decltype(arch);
      if constexpr (requires { machine::saved; }) {
        code = input.damage;
        const auto done = unwinder_c::write<machine>(
            to, std::span<const cfi::section<bs::order::little>>(sections), wanted,
            [&](const bs::trace_error& error, std::uint32_t) { code = report_error(path, error, "in the section"); });
        made = !done.error();
        if (!made) code = report_error(path, done.error());
      }
    });
  }
  return code == -1 ? report_error(path, "no unwinder for this machine") : code;
}

int emit_source(const c_source_options& options) {
  elf_input input;
  if (const int code = input.open(options.path); code != success) return code;
  unwinder_c::options wanted = emitter_options(options);
  std::vector<unwinder_c::function> functions;
  if (options.names) functions = functions_of(input.image);
  wanted.names = functions;
  if (!unwinder_c::is_identifier(wanted.prefix)) {
    say("backsight: %s is not an identifier of C\n", options.prefix.c_str());
    return usage;
  }
  output out(options.output);
  int code = success;
  if (options.runtime) {
    code = -1;
    cfi::with_arch(input.image.machine(), [&](auto arch) {
      using machine = decltype(arch);
      if constexpr (requires { machine::saved; }) {
        (void)unwinder_c::write_runtime<machine>(output_iterator(out));
        code = success;
      }
    });
    if (code == -1) code = report_error(options.path, "no unwinder for this machine");
  } else {
    bool made = false;
    code = emit(input, options, wanted, output_iterator(out), made);
  }
  // Half a source is of no use.
  if (code != success && options.output != "-") return code;
  return out.close(code);
}

/// The C compiler: the one that CC names, or the first of cc, gcc and clang on the path.
std::string find_compiler() {
  if (const char* const cc = std::getenv("CC"); cc != nullptr && *cc != '\0') return cc;
  const char* const path = std::getenv("PATH");
  for (const char* name : {"cc", "gcc", "clang"}) {
    std::string folders = path == nullptr ? "/usr/bin" : path;
    for (std::size_t at = 0; at <= folders.size();) {
      const std::size_t end = std::min(folders.find(':', at), folders.size());
      const std::string candidate = folders.substr(at, end - at) + "/" + name;
      if (::access(candidate.c_str(), X_OK) == 0) return candidate;
      at = end + 1;
    }
  }
  return {};
}

/// Runs a program and waits; true when it ends with code 0.
bool run(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) return false;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return false;
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool holds(const std::string& path, const std::string& text) {
  const auto file = bs::io::mapped_file::open_regular(path.c_str());
  const bs::byte_view bytes = file.partial().bytes();
  return file && std::ranges::equal(bytes, std::as_bytes(std::span(text)));
}
/// Makes a file of the text below a folder; false with the reason in errno.
bool write_file(temporary_path& file, const std::string& folder, const std::string& text) {
  const int descriptor = file.make_file(folder);
  if (descriptor < 0) return false;
  std::FILE* const stream = ::fdopen(descriptor, "wb");
  const bool written = std::fwrite(text.data(), 1, text.size(), stream) == text.size();
  return std::fclose(stream) == 0 && written;
}

bool is_input_at(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && is_input(status);
}

/// Compiles one file unless its object is there already, made from the same text.
int compile_one(const std::string& path, const c_source_options& options, const std::string& compiler,
                std::mutex& mutex) {
  elf_input input;
  std::string text;
  std::string id;
  {
    const std::lock_guard lock(mutex);  // Errors are reported in here.
    if (const int code = input.open(path); code != success) return code;
  }
  unwinder_c::options wanted = emitter_options(options);
  wanted.prefix = "backsight";
  wanted.deref = true;
  // Of a damaged file there is an object all the same, for what can be read.
  bool emitted = false;
  const int code = emit(input, options, wanted, std::back_inserter(text), emitted);
  if (!emitted) return code;
  (void)bs::text::hex_bytes(std::back_inserter(id), input.image.build_id());
  if (id.empty()) {
    const bs::byte_view bytes = std::as_bytes(std::span(text));
    id = "text-";
    (void)bs::text::hexadecimal(std::back_inserter(id), bs::checksum(bytes), 16);
  }
  const std::string stem = options.output + "/" + id;
  const bool cached = holds(stem + ".c", text) && ::access((stem + ".so").c_str(), R_OK) == 0;
  if (!cached) {
    if (is_input_at(stem + ".so") || is_input_at(stem + ".c")) {
      (void)report_error(path, stem + ".so is an input, and is not overwritten");
      return usage;
    }
    // Names of its own while it is made, so that a reader sees a whole object or none.
    temporary_path source, object;
    if (!write_file(source, options.output, text)) return report_error(options.output, std::strerror(errno));
    object.watch(source.path() + ".so");
    const bool made =
        run({compiler, "-std=c11", options.form == "table" ? "-O2" : "-Os", "-fPIC", "-shared", "-nostdlib",
             "-fno-asynchronous-unwind-tables", "-o", object.path(), "-x", "c", source.path()});
    if (!made) return report_error(path, "cannot compile " + stem + ".c");
    if (std::rename(object.path().c_str(), (stem + ".so").c_str()) != 0 ||
        std::rename(source.path().c_str(), (stem + ".c").c_str()) != 0) {
      return report_error(stem + ".so", std::strerror(errno));
    }
    source.keep();
    object.keep();
  }
  const std::lock_guard lock(mutex);
  output out("-");
  bs::text::cell(output_iterator(out), stem + ".so", '\t');
  out.write("\t");
  bs::text::cell(output_iterator(out), path, '\t');
  out.write(cached ? "\tcached\n" : "\tcompiled\n");
  return out.close(code);
}

int compile_objects(const c_source_options& options) {
  const std::string compiler = find_compiler();
  if (compiler.empty()) {
    say("backsight: no C compiler: set CC, or have cc, gcc or clang on the path\n");
    return bad_input;
  }
  // All inputs are known before anything is written.
  for (const std::string& path : options.paths) note_input(path);
  std::error_code error;
  std::filesystem::create_directories(options.output, error);
  if (!error && !is_directory(options.output)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) return report_error(options.output, error.message());
  std::atomic<std::size_t> next{0};
  std::atomic<int> code{success};
  std::mutex mutex;
  progress shown(options.paths.size(), "compiling");
  const auto work = [&] {
    for (std::size_t i = next++; i < options.paths.size(); i = next++) {
      if (const int one = compile_one(options.paths[i], options, compiler, mutex); one != success)
        code = std::max(code.load(), one);
      shown.add(1);
    }
  };
  const unsigned wanted = options.jobs != 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  const std::size_t count = std::min<std::size_t>(wanted, options.paths.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < count; ++i) threads.emplace_back(work);
    work();
  }
  return code;
}

void add_common(CLI::App* sub, c_source_options& options) {
  sub->add_option("--section", options.section,
                  "only this section; else .eh_frame and, for what it lacks, .debug_frame")
      ->check(CLI::IsMember({".eh_frame", ".debug_frame"}));
  sub->add_option("--code", options.code, "in an object file, the section of code whose functions are meant; .text");
  sub->add_option("--form", options.form, "how rows are found: table (the default), tree or switch")
      ->check(CLI::IsMember({"table", "tree", "switch"}));
  sub->add_option("--registers", options.registers,
                  "ra (the default): what return addresses need; all: every register that is saved")
      ->check(CLI::IsMember({"ra", "all"}));
}

}  // namespace

void add_c_source_commands(CLI::App& cfi_app, int& code) {
  const auto options = std::make_shared<c_source_options>();
  CLI::App* const emitted = cfi_app.add_subcommand("emit-c", "Write an unwinder for a file as C source");
  emitted->add_option("ELF", options->path, "a program or library")->required();
  add_common(emitted, *options);
  emitted->add_option("--prefix", options->prefix, "begins the name of the function PREFIX_step");
  emitted->add_flag("--deref", options->deref, "read memory through a function that the caller gives");
  emitted->add_flag("--names", options->names, "name the functions in comments");
  emitted->add_flag("--runtime", options->runtime, "write the header that walks stacks with such unwinders instead");
  emitted->add_option("-o,--output", options->output, "where to write; - is stdout")->type_name("FILE");
  emitted->callback([options, &code] { code = emit_source(*options); });

  CLI::App* const compiled =
      cfi_app.add_subcommand("compile", "Compile an unwinder for each file, named after its build-id");
  compiled->add_option("ELF", options->paths, "programs and libraries")->required();
  add_common(compiled, *options);
  compiled->add_option("-o,--output", options->output, "the folder of the objects; what is there and current is kept")
      ->type_name("FOLDER")
      ->required();
  compiled->add_option("-j,--jobs", options->jobs, "compilers to run at once; as many as processors by default");
  compiled->callback([options, &code] { code = compile_objects(*options); });
}

}  // namespace cli
