// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include <backsight/cfi/unwind.hpp>
#include <backsight/io/file_kind.hpp>

#include "commands.hpp"
#include "compiled_objects.hpp"
#include "core_stacks.hpp"
#include "perf_commands.hpp"
#include "perf_objects.hpp"
#include "program.hpp"
#include "sample_corpus.hpp"
#include "stack_printer.hpp"

namespace cli {

namespace {

using backsight::cli::sample_corpus;
using backsight::cli::stack_samples;
namespace cfi = backsight::cfi;

struct unwind_options {
  std::string corpus;
  std::string folder;
  std::string with = "table";
  std::string objects;
  bool check = false;
  std::string as;
  std::string fields;
  perf_data::stack_options stacks;
  std::string format = "text";
  bool has_longest = false;
};

/// What the command takes; a bit for each, for the options that apply to it.
enum class input_form : unsigned { samples = 1, recording = 2, core = 4, unknown = 8 };

const char* name_of(input_form form) {
  switch (form) {
    case input_form::samples: return "stack samples";
    case input_form::recording: return "a perf.data recording";
    case input_form::core: return "a core file";
    case input_form::unknown: break;
  }
  return "";
}

/// Says which of the folders is none; true when all are.
bool are_folders(const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    if (is_directory(folder)) continue;
    say("backsight: %s is not a folder\n", folder.c_str());
    return false;
  }
  return true;
}

/// What the command does with a recording of perf.
int unwind_recording(const unwind_options& options) {
  if (!are_folders(options.stacks.sysroots)) return usage;
  if (options.as.empty()) {
    if (!options.fields.empty()) {
      say("backsight: --fields is for --as perf-script\n");
      return usage;
    }
    return perf_data::print_stacks(options.corpus, options.stacks);
  }
  perf_data::stack_options stacks = options.stacks;
  stacks.as_perf = true;
  return perf_data::print_as_perf_script(
      options.corpus, stacks,
      options.fields.empty() ? "comm,pid,tid,time,event,period,ip,sym,symoff,dso" : options.fields);
}

/// What the command does with a core file.
int unwind_core_file(const unwind_options& options) {
  core_options asked;
  asked.folders = options.stacks.sysroots;
  if (!options.folder.empty()) asked.folders.push_back(options.folder);
  if (!are_folders(asked.folders)) return usage;
  asked.format = options.format;
  if (options.has_longest) asked.longest = options.stacks.longest;
  return unwind_core(options.corpus, asked);
}

/// Of what form the input is. Reports why it is of none.
input_form form_of(const std::string& path) {
  if (is_directory(path)) {
    if (perf_data::is_recording(path, {})) return input_form::recording;
    (void)report_error(path, {backsight::errc::bad_magic, 0});
    return input_form::unknown;
  }
  input file;
  const auto is_of_use = [](backsight::byte_view head) {
    return backsight::io::file_kind_of(head) != backsight::io::file_kind::other;
  };
  if (!file.open(path, is_of_use)) return input_form::unknown;
  const backsight::byte_view head = file.bytes().first(std::min<std::size_t>(file.bytes().size(), 64));
  if (is_core_file(head)) return input_form::core;
  if (perf_data::is_recording(path, head)) return input_form::recording;
  if (backsight::io::file_kind_of(head) == backsight::io::file_kind::stack_samples) return input_form::samples;
  (void)report_error(path, {backsight::errc::bad_magic, 0});
  return input_form::unknown;
}

constexpr std::size_t longest_stack = std::size_t{1} << 16;

/// The modules of stack samples, and the names in those whose files are there.
class sample_modules {
 public:
  sample_modules(const std::string& folder, const sample_corpus& corpus)
      : names_({folder}, {".", {}, {}, backsight::order::little}, list_) {
    using namespace backsight;
    for (std::size_t set = 0; set < corpus.samples.map_sets.size(); ++set) {
      for (const stack_samples::map& map : corpus.samples.map_sets[set]) {
        perf::mapping made;
        made.begin = map.begin;
        made.end = map.end;
        made.file_offset = map.file_offset;
        made.protection = 5;
        const stack_samples::object& object = corpus.samples.objects[map.object];
        const std::string& path = object.path;
        made.kind = path == "[vdso]" ? perf::file_kind::vdso : perf::file_kind::file;
        const auto id = id_of(object.build_id);
        const std::uint32_t number =
            list_.add_mapping(static_cast<std::int32_t>(set), made, path, id, [](auto&&...) {});
        const byte_view bytes = corpus.files[map.object].bytes();
        if (has_file_.size() <= number) has_file_.resize(number + 1, false);
        if (bytes.empty()) continue;
        has_file_[number] = true;
        names_.set_bytes(number, bytes);
      }
    }
    names_.prepare();
  }

  [[nodiscard]] const backsight::perf::mapping* find(std::uint32_t set, std::uint64_t address) {
    return list_.find_process(static_cast<std::int32_t>(set)).maps->find(address);
  }
  [[nodiscard]] described_frame describe(std::uint32_t set, const cfi::explained_frame& frame) {
    const backsight::perf::mapping* const at = find(set, frame.lookup_address());
    if (at == nullptr) return {frame, nullptr, {}, {}};
    return {frame, at, has_file_[at->file] ? names_.name_of(*at, frame.lookup_address()) : perf_data::found_name(),
            list_.files()[at->file].name};
  }

 private:
  [[nodiscard]] static backsight::perf::build_id id_of(const std::string& digits) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    return backsight::perf::build_id(bytes);
  }
  backsight::perf::process_list list_;
  perf_data::objects names_;
  std::vector<bool> has_file_;  // By the number of the file.
};

/// Prints the stack of each sample.
int print_samples(const unwind_options& options, const sample_corpus& corpus,
                  const backsight::cli::compiled_objects* compiled, int code) {
  sample_modules modules(options.folder, corpus);
  output out("-");
  stack_printer printer(out, options.format, sample_corpus::arch::address_size);
  std::vector<described_frame> frames;
  std::vector<std::uint64_t> pcs(compiled == nullptr ? 0 : longest_stack);
  for (std::size_t i = 0; i < corpus.samples.samples.size(); ++i) {
    const stack_samples::sample& sample = corpus.samples.samples[i];
    frames.clear();
    const auto take = [&](const cfi::explained_frame& one) { frames.push_back(modules.describe(sample.map_set, one)); };
    cfi::stop why = cfi::stop::none;
    if (compiled != nullptr) {
      const auto walked = compiled->walk(sample, pcs);
      why = walked.why;
      for (std::size_t k = 0; k < walked.count; ++k) {
        take({.pc = pcs[k], .pc_is_next = k == 0});
        if (k != 0) frames.back().found_by = "compiled unwinder";
      }
    } else {
      why = cfi::explained_walk<sample_corpus::arch>(
          sample_corpus::first_frame(sample), corpus.spaces[sample.map_set], sample_corpus::memory_of(sample),
          longest_stack, [&](std::uint64_t address) { return modules.find(sample.map_set, address) != nullptr; }, take);
    }
    const std::string number = std::to_string(i), thread = std::to_string(sample.thread);
    printer.print(
        (i == 0 ? "sample " : "\nsample ") + number + " thread " + thread + "\n",
        "\"sample\": " + number + ", \"thread\": " + thread + ", \"time_ns\": " + std::to_string(sample.time_ns),
        frames, why);
  }
  printer.finish();
  return out.close(code);
}

int unwind_samples(const unwind_options& options) {
  input file;
  if (!file.open(options.corpus)) return bad_input;
  if (!is_directory(options.folder)) {
    say("backsight: %s is not a folder\n", options.folder.c_str());
    return usage;
  }
  note_input(options.folder);
  // Of a file that is cut or damaged the samples before that are walked.
  auto opened = stack_samples::open(file.bytes());
  int code = success;
  if (!opened) code = report_error(options.corpus, opened.error());
  if (!opened && opened.partial().samples.empty()) return code;
  sample_corpus corpus;
  corpus.samples = std::move(opened.partial());
  const std::size_t files = corpus.load(
      options.folder, [](const std::string& path) { note("backsight: no file for %s\n", path.c_str()); },
      [&](const std::string& path, const backsight::trace_error& error) { code = report_error(path, error); });
  if (files == 0) return report_error(options.folder, "has none of the files of these samples");

  const bool with_compiled = options.with == "compiled";
  backsight::cli::compiled_objects compiled;
  if (with_compiled) {
    compiled.load(options.objects, corpus, [](const std::string& path, const std::string& why) {
      say("backsight: no compiled unwinder for %s: %s\n", path.c_str(), why.c_str());
    });
  }
  if (!options.check) return print_samples(options, corpus, with_compiled ? &compiled : nullptr, code);
  output out("-");
  const auto cache = std::make_unique<cfi::rule_cache<sample_corpus::arch>>();
  std::vector<std::uint64_t> pcs(longest_stack);
  std::size_t frames = 0, differences = 0;
  for (std::size_t i = 0; i < corpus.samples.samples.size(); ++i) {
    const stack_samples::sample& sample = corpus.samples.samples[i];
    auto frame = sample_corpus::first_frame(sample);
    const auto memory = sample_corpus::memory_of(sample);
    const auto walked = with_compiled ? compiled.walk(sample, pcs)
                                      : cfi::walk(frame, corpus.spaces[sample.map_set], memory, pcs, *cache);
    frames += walked.count;
    const auto begin = pcs.begin();
    for (std::size_t list = 0; list < sample.expected.size(); ++list) {
      const auto& expected = sample.expected[list];
      constexpr std::uint32_t stopped_at_limit = 2;
      const std::size_t compared =
          sample.expected_status[list] == stopped_at_limit ? std::min(walked.count, expected.size()) : walked.count;
      const auto end = begin + static_cast<std::ptrdiff_t>(compared);
      const auto [here, there] = std::mismatch(begin, end, expected.begin(), expected.end());
      if (here == end && there == expected.end()) continue;
      out.print("sample %zu differs from list %zu at frame %td: %zu frames, %zu expected (%s)\n", i, list, here - begin,
                walked.count, expected.size(), message(walked.why));
      ++differences;
      break;
    }
  }
  out.print("%zu samples, %zu frames, %zu differences\n", corpus.samples.samples.size(), frames, differences);
  return out.close(differences == 0 ? code : bad_input);
}

}  // namespace

void add_unwind_command(CLI::App& app, int& code) {
  const auto options = std::make_shared<unwind_options>();
  CLI::App* const sub = app.add_subcommand(
      "unwind", "Unwind recordings, core files and stack samples with tables made from the mapped files");
  sub->add_option("SAMPLES", options->corpus,
                  "a perf.data recording (a file, - for stdin, or a folder), a core file, or a file of stack samples")
      ->required();
  auto* sysroot = sub->add_option("--sysroot", options->stacks.sysroots,
                                  "perf.data, core files: folders with copies of the recorded machine's files, by path "
                                  "or build id; / when none is given")
                      ->type_name("FOLDER");
  auto* as = sub->add_option("--as", options->as, "perf.data: print what this tool prints: perf-script")
                 ->check(CLI::IsMember({"perf-script"}));
  auto* fields = sub->add_option("--fields", options->fields, "perf.data: the fields for --as perf-script")->needs(as);
  auto* jobs =
      sub->add_option("-j,--jobs", options->stacks.jobs, "perf.data: threads to work with")->check(CLI::Range(1, 256));
  auto* longest =
      sub->add_option(
             "--max-stack", options->stacks.longest,
             "perf.data: frames of a stack at most, recorded and unwound each; core files: 1024 when it is not given")
          ->check(CLI::Range(1, 65536));
  auto* format = sub->add_option("--format", options->format,
                                 "core files, stack samples: text, json (a line for each stack), or folded "
                                 "(function;...;function STACKS)")
                     ->check(CLI::IsMember({"text", "json", "folded"}));
  auto* folder = sub->add_option("--elf-dir", options->folder,
                                 "stack samples, core files: the folder of the mapped files, each named BUILD-ID.elf")
                     ->type_name("FOLDER");
  auto* check = sub->add_flag("--check", options->check,
                              "compare with the expected pcs in the file; exit code 1 when any differ");
  auto* with =
      sub->add_option("--with", options->with, "what unwinds: table, or compiled for the objects of `cfi compile`")
          ->check(CLI::IsMember({"table", "compiled"}));
  sub->add_option("--objects", options->objects, "the folder that `cfi compile` wrote")
      ->type_name("FOLDER")
      ->needs(with);
  sub->callback([=, &code] {
    const input_form form = form_of(options->corpus);
    if (form == input_form::unknown) {
      code = bad_input;
      return;
    }
    constexpr auto samples = static_cast<unsigned>(input_form::samples),
                   recording = static_cast<unsigned>(input_form::recording),
                   core = static_cast<unsigned>(input_form::core);
    const std::pair<const CLI::Option*, unsigned> applies[]{{sysroot, recording | core},
                                                            {as, recording},
                                                            {fields, recording},
                                                            {jobs, recording},
                                                            {longest, recording | core},
                                                            {format, samples | core},
                                                            {folder, samples | core},
                                                            {check, samples},
                                                            {with, samples}};
    for (const auto& [one, forms] : applies) {
      if (one->count() == 0 || (forms & static_cast<unsigned>(form)) != 0) continue;
      say("backsight: %s does not apply to %s\n", one->get_name().c_str(), name_of(form));
      code = usage;
      return;
    }
    options->has_longest = longest->count() != 0;
    if (form != input_form::samples) {
      note_input(options->corpus);
      code = form == input_form::core ? unwind_core_file(*options) : unwind_recording(*options);
      return;
    }
    if (options->folder.empty()) {
      say("backsight: stack samples need --elf-dir\n");
      code = usage;
      return;
    }
    if (options->check && format->count() != 0) {
      say("backsight: --format has no effect beside --check\n");
      code = usage;
      return;
    }
    if (options->with == "compiled" && options->objects.empty()) {
      say("backsight: --with compiled needs --objects\n");
      code = usage;
      return;
    }
    code = unwind_samples(*options);
  });
}

}  // namespace cli
