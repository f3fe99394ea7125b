// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/cfi/bpf_pages.hpp>
#include <backsight/cfi/cie_reader.hpp>
#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/program.hpp>
#include <backsight/cfi/row_text.hpp>

#include <backsight/cfi/table_builder.hpp>
#include <backsight/elf/sections.hpp>

#include "commands.hpp"
#include "elf_input.hpp"
#include "program.hpp"
#include "row_words.hpp"

namespace cli {

namespace {

namespace bs = backsight;
namespace cfi = backsight::cfi;

struct cfi_options {
  std::vector<std::string> paths;
  std::string path;
  std::string section;
  std::string code;  // The section of code in an object file.
  std::string output;
  std::string profile = "callee-saved";
  std::string form = "table";
  std::vector<std::string> addresses;
  bool merged = false;
  bool full = false;
  bool words = false;
};

int show_rows(const cfi_options& options) {
  const std::string& path = options.path;
  elf_input input;
  if (const int code = input.open(path); code != success) return code;
  bs::result<cfi::frame_section> found;
  if (options.section.empty()) {
    found = input.find(cfi::section_kind::eh_frame);
    if (found.error().code == bs::errc::missing_section) found = input.find(cfi::section_kind::debug_frame);
  } else {
    found = input.find(options.section == ".eh_frame" ? cfi::section_kind::eh_frame : cfi::section_kind::debug_frame);
  }
  if (!found) return input.report(found.error());
  if (!options.code.empty()) {
    if (const int code = input.choose_code(options.code); code != success) return code;
  }
  output out("-");
  int code = input.damage;
  bs::with_order(input.image.byte_order(), [&](auto o) {
    const cfi::section<o()> section(found->bytes, found->info);
    cfi::with_arch(input.image.machine(), [&](auto arch) {
      const auto write = [&](std::string_view text) { out.write(text); };
      const auto report = [&](const bs::trace_error& error) { code = report_error(path, error, "in the section"); };
      if (!options.words) return cfi::print_rows<decltype(arch)>(section, options.merged, write, report);
      cfi::print_rows<decltype(arch)>(
          section, options.merged, write, report, [&](auto to, bs::byte_view bytes, const cfi::row& row) {
            const auto size = static_cast<unsigned>(input.image.address_size());
            bs::text::literal(
                to, cfi::row_words(bytes, row, input.image.machine(), input.image.byte_order(), size).c_str());
          });
    });
  });
  return out.close(code);
}

/// Counts for `cfi stats`, of one or more files.
struct cfi_counts {
  std::map<std::string, std::uint64_t> instructions;
  std::array<std::uint64_t, 7> rules{};  // By rule_kind, of every register rule of every row.
  std::map<std::uint64_t, std::uint64_t> rows_in_fde;
  std::uint64_t cies = 0, fdes = 0, rows = 0, merged = 0, cfa_registers = 0, cfa_expressions = 0, errors = 0;
  std::uint64_t section_bytes = 0, table_bytes = 0, table_all_bytes = 0, code_bytes = 0, covered_bytes = 0;
};

template <class Arch, bs::order O, class Report>
void count_section(const cfi::section<O>& section, cfi_counts& counts, Report&& report) {
  const auto bad = [&](const bs::trace_error& error) {
    ++counts.errors;
    report(error);
  };
  cfi::cie_loader<Arch, O> cies(section);
  const auto memory = std::make_unique<cfi::context<>>();
  cfi::row_machine<Arch, O> machine(section, *memory);
  cfi::row before;
  const auto count_program = [&](const cfi::cie& c, std::uint64_t begin, std::uint64_t end) {
    for (const cfi::instruction& i : cfi::program<O>(section, c, begin, end)) {
      const char* name = bs::dwarf::name_of(i.code, Arch::signs_return_addresses);
      ++counts.instructions[name != nullptr ? name : "unknown"];
    }
  };
  counts.section_bytes += section.bytes().size();
  auto at = section.entries().begin();
  for (; at != std::default_sentinel; ++at) {
    const cfi::entry& e = *at;
    if (e.is_cie) {
      const auto c = section.parse_cie(e);
      if (!c) bad(c.error());
      if (c) ++counts.cies, count_program(*c, c->instructions, c->end);
      continue;
    }
    const bs::trace_error unusable =
        e.error != bs::errc::ok ? bs::trace_error{e.error, e.offset} : cies.load(machine, e.cie_offset);
    if (unusable) {
      bad(unusable);
      continue;
    }
    const auto f = section.parse_fde(e, machine.current_cie());
    if (!f) {
      bad(f.error());
      continue;
    }
    ++counts.fdes;
    count_program(machine.current_cie(), f->instructions, f->instructions_end);
    machine.begin(*f);
    std::uint64_t rows = 0;
    while (machine.next()) {
      const cfi::row& row = machine.current();
      ++counts.rows;
      if (row.end <= row.begin || row.begin < f->begin || row.begin >= f->end) continue;
      if (rows != 0 && cfi::same_rules(section.bytes(), before, row)) continue;
      before = row;
      ++rows;
      ++(row.cfa.kind == cfi::cfa_kind::expression ? counts.cfa_expressions : counts.cfa_registers);
      for (const cfi::register_rule& rule : row.rules) ++counts.rules[static_cast<std::size_t>(rule.kind)];
    }
    if (machine.error()) bad(machine.error());
    counts.merged += rows;
    ++counts.rows_in_fde[rows];
    if (f->end > f->begin) counts.covered_bytes += f->end - f->begin;
  }
  if (at.error()) bad(at.error());
  if constexpr (requires { Arch::saved; }) {
    if constexpr (O == bs::order::little) {
      if (const auto table = cfi::build_table<Arch>(section)) counts.table_bytes += table->bytes().size();
      if (const auto table = cfi::build_table<Arch>(section, {cfi::table_profile::all, {}})) {
        counts.table_all_bytes += table->bytes().size();
      }
    }
  }
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

int show_stats(const cfi_options& options) {
  cfi_counts counts;
  int code = success;
  std::size_t sections = 0, files = 0;
  for (const std::string& path : options.paths) {
    elf_input input;
    if (input.open(path) != success) {
      code = bad_input;
      continue;
    }
    ++files;
    if (input.damage != success) code = input.damage;
    std::size_t found_here = 0;
    for (const auto kind : {cfi::section_kind::eh_frame, cfi::section_kind::debug_frame}) {
      const auto found = input.find(kind);
      if (!found) {
        if (found.error().code != bs::errc::missing_section) code = input.report(found.error());
        continue;
      }
      ++found_here;
      bs::with_order(input.image.byte_order(), [&](auto o) {
        const cfi::section<o()> section(found->bytes, found->info);
        cfi::with_arch(input.image.machine(), [&](auto arch) {
          count_section<decltype(arch)>(section, counts, [&](const bs::trace_error& error) {
            code = report_error(path, error, "in the section");
          });
        });
      });
    }
    if (found_here == 0) say("backsight: %s has no call frame information\n", path.c_str());
    sections += found_here;
    for (const bs::elf::section s : input.image.sections()) {
      if ((s.flags & bs::elf::section_executable) != 0) counts.code_bytes += s.size;
    }
  }

  if (files == 0) return code;
  output out("-");
  const auto line = [&](const char* name, std::uint64_t value) { out.print("%-36s %12" PRIu64 "\n", name, value); };
  line("files", files);
  line("sections", sections);
  line("bytes of sections", counts.section_bytes);
  line("bytes of table, callee-saved", counts.table_bytes);
  line("bytes of table, all registers", counts.table_all_bytes);
  line("bytes of code", counts.code_bytes);
  out.print("%-36s %12" PRIu64 "  %6.2f %%\n", "bytes of code covered by FDEs", counts.covered_bytes,
            percent(counts.covered_bytes, counts.code_bytes));
  line("CIEs", counts.cies);
  line("FDEs", counts.fdes);
  line("rows", counts.rows);
  line("rows, merged", counts.merged);
  line("entries in error", counts.errors);

  std::vector<std::pair<std::string, std::uint64_t>> instructions(counts.instructions.begin(),
                                                                  counts.instructions.end());
  std::sort(instructions.begin(), instructions.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  std::uint64_t total = 0;
  for (const auto& [name, count] : instructions) total += count;
  out.print("\ninstructions%37" PRIu64 "\n", total);
  for (const auto& [name, count] : instructions) {
    out.print("  %-34s %12" PRIu64 "  %6.3f %%\n", name.c_str(), count, percent(count, total));
  }

  constexpr std::array<const char*, 7> names{"undefined", "same value", "offset",        "val offset",
                                             "register",  "expression", "val expression"};
  total = 0;
  for (const std::uint64_t count : counts.rules) total += count;
  out.print("\nregister rules of merged rows%20" PRIu64 "\n", total);
  for (std::size_t i = 0; i < names.size(); ++i) {
    out.print("  %-34s %12" PRIu64 "  %6.3f %%\n", names[i], counts.rules[i], percent(counts.rules[i], total));
  }
  total = counts.cfa_registers + counts.cfa_expressions;
  out.print("\nCFA rules of merged rows%25" PRIu64 "\n", total);
  out.print("  %-34s %12" PRIu64 "  %6.3f %%\n", "register and offset", counts.cfa_registers,
            percent(counts.cfa_registers, total));
  out.print("  %-34s %12" PRIu64 "  %6.3f %%\n", "expression", counts.cfa_expressions,
            percent(counts.cfa_expressions, total));

  out.print("\nmerged rows in an FDE             FDEs\n");
  std::uint64_t more = 0;
  for (const auto& [rows, fdes] : counts.rows_in_fde) {
    if (rows <= 30) out.print("  %20" PRIu64 " %15" PRIu64 "  %6.3f %%\n", rows, fdes, percent(fdes, counts.fdes));
    else more += fdes;
  }
  out.print("  %20s %15" PRIu64 "  %6.3f %%\n", "over 30", more, percent(more, counts.fdes));
  return out.close(code);
}

/// Builds the table of a file into `made`; reports errors and what is left out, and gives bad_input for both. After an
/// error there is no table.
int make_table(const cfi_options& options, elf_input& input, cfi::table_profile profile,
               std::optional<cfi::table>& made) {
  int code = input.damage;
  bool known = false;
  cfi::with_arch(input.image.machine(), [&](auto arch) {
    using machine = decltype(arch);
    if constexpr (requires { machine::saved; }) {
      if (input.image.byte_order() != machine::byte_order || input.image.address_size() != machine::address_size)
        return;
      known = true;
      std::vector<cfi::frame_section> found;
      if (const int bad = input.find_all({}, options.code, found); bad != success) {
        code = bad;
        return;
      }
      std::vector<cfi::section<machine::byte_order>> sections;
      for (const cfi::frame_section& s : found) sections.emplace_back(s.bytes, s.info);
      auto built = cfi::build_table<machine>(std::span<const cfi::section<machine::byte_order>>(sections),
                                             {profile, input.image.build_id()},
                                             [&](const bs::trace_error& error, std::uint32_t) {
                                               code = report_error(input.path, error, "in the section");
                                             });
      if (built) made = std::move(built.value());
      else code = report_error(input.path, built.error());
    }
  });
  return known ? code : report_error(input.path, "no unwind tables for this machine and byte order");
}

/// The table in pages for the kernel's BPF.
int write_pages(const cfi_options& options, const elf_input& input, const cfi::table_view& table, int code) {
  const auto made = cfi::make_bpf_pages(table);
  if (!made) {
    const bool other = made.error().code == bs::errc::unsupported_type;
    return other ? report_error(input.path, "pages for BPF are for x86-64") : report_error(input.path, made.error());
  }
  output out(options.output);
  out.write({reinterpret_cast<const char*>(made->bytes.data()), made->bytes.size()});
  code = out.close(code);
  if (code == success && options.output != "-") {
    say("%zu pages of 4096 bytes, %" PRIu64 " rows, %zu rules that need expressions\n",
        made->bytes.size() / cfi::bpf_pages::page_bytes, table.row_count(), made->general_rules);
  }
  return code;
}

int write_table(const cfi_options& options) {
  const bool in_pages = options.form == "bpf";
  if (in_pages && options.profile == "all") {
    say("backsight: --profile all does not apply to --form bpf, which keeps what callees preserve\n");
    return usage;
  }
  elf_input input;
  if (const int code = input.open(options.path); code != success) return code;
  const auto profile = options.profile == "all" ? cfi::table_profile::all : cfi::table_profile::callee_saved;
  std::optional<cfi::table> table;
  int code = make_table(options, input, profile, table);
  if (!table) return code;
  if (in_pages) return write_pages(options, input, table->view(), code);
  output out(options.output);
  out.write({reinterpret_cast<const char*>(table->bytes().data()), table->bytes().size()});
  code = out.close(code);
  if (code == success && options.output != "-") {
    note("%zu bytes, %" PRIu64 " rows\n", table->bytes().size(), table->view().row_count());
  }
  return code;
}

template <class Arch>
void print_rule(output& out, const cfi::table_view& table, std::uint64_t address) {
  out.print("%" PRIx64 " ", address);
  const cfi::rule_view<Arch> r(table.find(address));
  if (!r) return out.print("none\n");
  const char* signal = r[cfi::unwind_rule::signal_frame] ? " S" : "";
  switch (r[cfi::unwind_rule::shape]) {
    case cfi::rule_shape::outermost: return out.print("outermost%s\n", signal);
    case cfi::rule_shape::common: {
      constexpr int word = static_cast<int>(Arch::address_size);
      out.print("cfa=r%d%+d", int{r[cfi::unwind_rule::cfa_register]}, r[cfi::unwind_rule::cfa_offset]);
      std::map<unsigned, int> saved;
      if (const int words = r[cfi::unwind_rule::return_address_word]; words != 0) saved[Arch::return_address] = words;
      for (std::size_t i = 0; i < Arch::saved.size(); ++i) {
        const int words = r.saved_word(i);
        if (words != 0) saved[Arch::saved[i]] = words;
      }
      for (const auto& [reg, words] : saved) out.print(" r%u=c%+d", reg, words * word);
      return out.print("%s\n", signal);
    }
    case cfi::rule_shape::general:
    case cfi::rule_shape::aligned:
    case cfi::rule_shape::signal: {
      const bs::byte_view text = table.text_of(r);
      cfi::row row;
      (void)cfi::walk_general_rule(
          text,
          [&](const cfi::cfa_rule& cfa, std::uint64_t) {
            row.cfa = cfa;
            return true;
          },
          [&](const cfi::register_rule& rule_of) { return row.rules.set(rule_of); });
      std::string line;
      (void)cfi::print(std::back_inserter(line), text, address, row);
      out.print("%s%s\n", line.c_str() + line.find(' ') + 1, signal);
    }
  }
}

int look_up(const cfi_options& options) {
  const std::string& path = options.path;
  cli::input file;
  if (!file.open(path)) return bad_input;
  auto opened = cfi::table_view::open(file.bytes());
  std::optional<cfi::table> built;
  elf_input input;
  int code = success;
  if (opened.error().code == bs::errc::bad_magic) {
    if (const int bad = input.open(path); bad != success) return bad;
    code = make_table(options, input, cfi::table_profile::all, built);
    if (!built) return code;
    opened = built->view();
  } else if (!options.code.empty()) {
    say("backsight: %s: --code is for object files\n", path.c_str());
    return usage;
  }
  if (!opened) return report_error(path, opened.error());
  output out("-");
  for (const std::string& text : options.addresses) {
    char* end = nullptr;
    errno = 0;
    const std::uint64_t address = std::strtoull(text.c_str(), &end, 16);
    if (errno != 0 || end == text.c_str() || *end != '\0') {
      say("backsight: %s is not a hexadecimal address\n", text.c_str());
      return usage;
    }
    bool known = false;
    cfi::with_arch(static_cast<bs::elf::machine>(opened->machine()), [&](auto arch) {
      using machine = decltype(arch);
      if constexpr (requires { machine::saved; }) {
        known = opened->rule_bytes() == cfi::rule_size<machine>;
        if (known) print_rule<machine>(out, *opened, address);
      }
    });
    if (!known) return report_error(path, bs::trace_error{bs::errc::unsupported_type, 26});
  }
  return out.close(code);
}

}  // namespace

void add_cfi_commands(CLI::App& app, int& code) {
  CLI::App* const cfi_app = app.add_subcommand("cfi", "Show and compile the call frame information of ELF files");
  cfi_app->require_subcommand(1);
  const auto options = std::make_shared<cfi_options>();

  CLI::App* const stats = cfi_app->add_subcommand("stats", "Count instructions, rules and rows");
  stats->add_option("ELF", options->paths, "object files, programs or libraries")->required();
  stats->callback([options, &code] { code = show_stats(*options); });

  CLI::App* const rows = cfi_app->add_subcommand("rows", "Print every row");
  rows->add_option("ELF", options->path, "a program, library or object file")->required();
  auto* merged = rows->add_flag("--merged", options->merged, "leave out rows that are empty or repeat the one before");
  rows->add_flag("--full", options->full, "every row, as the section has them (the default)")->excludes(merged);
  rows->add_flag("--words", options->words, "registers by name, and expressions as formulas");
  rows->add_option("--section", options->section, "the section; .eh_frame when there is one, else .debug_frame")
      ->check(CLI::IsMember({".eh_frame", ".debug_frame"}));
  rows->add_option("--code", options->code, "in an object file, only the functions of this section of code");
  rows->callback([options, &code] { code = show_rows(*options); });

  CLI::App* const table = cfi_app->add_subcommand("table", "Compile an unwind table");
  table->add_option("ELF", options->path, "a program, library or object file")->required();
  table->add_option("-o,--output", options->output, "where to write; - is stdout")->type_name("FILE")->required();
  table->add_option("--profile", options->profile, "the registers to keep: callee-saved or all")
      ->check(CLI::IsMember({"callee-saved", "all"}));
  table->add_option("--form", options->form, "table (the default), or bpf: pages of 4096 bytes for the kernel's BPF")
      ->check(CLI::IsMember({"table", "bpf"}));
  table->add_option("--code", options->code, "in an object file, the section of code whose functions are meant; .text");
  table->callback([options, &code] { code = write_table(*options); });

  CLI::App* const lookup = cfi_app->add_subcommand("lookup", "Print the rules in force at link-time addresses");
  lookup->add_option("FILE", options->path, "a table, or an ELF file to build one from")->required();
  lookup->add_option("ADDRESS", options->addresses, "hexadecimal addresses")->required();
  lookup->add_option("--code", options->code,
                     "in an object file, the section of code whose functions are meant; .text");
  lookup->callback([options, &code] { code = look_up(*options); });

  add_sframe_command(*cfi_app, code);
  add_c_source_commands(*cfi_app, code);
}

}  // namespace cli
