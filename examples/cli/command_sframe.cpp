// SPDX-License-Identifier: Apache-2.0
// `backsight cfi sframe`: what a file's .sframe says, in the words of objdump --sframe.
#include <cinttypes>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <backsight/cfi/sframe/section.hpp>

#include "commands.hpp"
#include "program.hpp"
#include "sframe_input.hpp"

namespace cli {
namespace {

namespace sframe = backsight::cfi::sframe;

std::string register_name(const sframe::section& of, std::uint32_t reg) {
  const sframe::registers names = sframe::registers_of(of.machine());
  if (reg == names.stack_pointer) return "sp";
  if (reg == names.frame_pointer) return "fp";
  return "r" + std::to_string(reg);
}
std::string with_sign(std::int64_t value) { return (value < 0 ? "" : "+") + std::to_string(value); }

std::string text_of(const sframe::section& of, const sframe::place& p) {
  using enum sframe::place::kind;
  switch (p.how) {
    case unchanged: return "u";
    case undefined: return "U";
    case at_cfa: return "c" + with_sign(p.offset);
    case is_cfa: return "c=" + std::to_string(p.offset);
    case at_register: return "(" + register_name(of, p.reg) + with_sign(p.offset) + ")";
    case is_register:
    case expression:
    case at_expression: break;
  }
  return register_name(of, p.reg) + with_sign(p.offset);
}

void print_row(output& out, const sframe::section& of, const sframe::function& f, const sframe::sframe_row& r) {
  const std::uint64_t pc = r.start + (f.repeat != 0 ? 0 : f.begin);
  if (r.outermost) return out.print("    %016" PRIx64 "  RA undefined\n", pc);
  const bool fixed = of.fixed_return_address() != 0;
  const sframe::place at_fixed{sframe::place::kind::at_cfa, 0, of.fixed_return_address()};
  std::string address = text_of(of, r.return_address);
  // Version 1's objdump does not tell what is fixed.
  if (r.return_address_padding) address = "U";
  else if (fixed && r.return_address == at_fixed) address = of.version() == 1 ? "u" : "f";
  address += r.signed_bit ? "[s]" : "";
  // Of rows that only know stack and frame pointer, objdump writes a plus whatever the sign.
  const std::string cfa =
      f.flexible ? text_of(of, r.cfa) : register_name(of, r.cfa.reg) + "+" + std::to_string(r.cfa.offset);
  out.print("    %016" PRIx64 "  %-10s%-10s%s\n", pc, cfa.c_str(), text_of(of, r.frame_pointer).c_str(),
            address.c_str());
}

void print_header(output& out, const sframe::section& of) {
  out.print("  Header :\n\n    Version: SFRAME_VERSION_%u\n    Flags: ", of.version());
  const char* between = "";
  for (const auto& [flag, name] :
       {std::pair{of.flag_sorted, "SFRAME_F_FDE_SORTED"}, std::pair{of.flag_frame_pointer, "SFRAME_F_FRAME_POINTER"},
        std::pair{of.flag_relative_starts, "SFRAME_F_FDE_FUNC_START_PCREL"}}) {
    if ((of.flags() & flag) == 0) continue;
    out.print("%s%s", between, name);
    between = ",\n           ";
  }
  out.print("%s\n", of.flags() == 0 ? "NONE" : "");
  if (of.version() != 1) {
    if (of.fixed_frame_pointer() != 0) out.print("    CFA fixed FP offset: %d\n", of.fixed_frame_pointer());
    if (of.fixed_return_address() != 0) out.print("    CFA fixed RA offset: %d\n", of.fixed_return_address());
  }
  out.print("    Num FDEs: %u\n    Num FREs: %u\n\n  Function Index :\n", of.function_count(), of.row_count());
}

int show_sframe(const std::string& path) {
  sframe_input input;
  if (const int code = input.open(path, false); code != success) return code;
  const sframe::section& of = input.section;

  int code = input.file.damage;
  std::vector<bool> bad(of.function_count());
  of.check([&](const sframe::problem& p, std::uint32_t index) {
    if (index < bad.size()) bad[index] = p.what != sframe::defect::functions_overlap;
    code = input.report(p);
  });
  output out("-");
  print_header(out, of);
  for (std::uint32_t i = 0; i < of.function_count(); ++i) {
    if (bad[i]) continue;
    sframe::problem none;
    const sframe::function f = of.function_at(i, none);
    const std::string attributes = std::string(f.signal_frame ? "S" : "") + (f.flexible ? "F" : "");
    out.print("\n    func idx [%u]: pc = 0x%" PRIx64 ", size = %u bytes%s%s%s%s\n", i, f.begin, f.size,
              attributes.empty() ? "" : ", attr = \"", attributes.c_str(), attributes.empty() ? "" : "\"",
              f.key_b ? ", pauth = B key" : "");
    out.print("    STARTPC%s      CFA       FP        RA\n", f.repeat != 0 ? "[m]" : "   ");
    (void)of.for_each_row(f, [&](const sframe::sframe_row& r) { print_row(out, of, f, r); });
  }
  return out.close(code);
}

}  // namespace

void add_sframe_command(CLI::App& cfi, int& code) {
  CLI::App* const command = cfi.add_subcommand("sframe", "Print, compare or write a .sframe section");
  struct sframe_options {
    std::vector<std::string> paths;
    std::string output;
    bool check = false, write = false;
  };
  const auto options = std::make_shared<sframe_options>();
  command->add_option("ELF", options->paths, "a program, library or object file; several with --check")->required();
  CLI::Option* const check = command->add_flag(
      "--check", options->check, "list the functions of which .sframe says something else than .eh_frame");
  CLI::Option* const write =
      command->add_flag("--write", options->write, "copy the file with a .sframe made of its .eh_frame");
  CLI::Option* const output =
      command->add_option("-o,--output", options->output, "with --write: where to; - is stdout")->type_name("FILE");
  write->needs(output)->excludes(check);
  output->needs(write);
  command->callback([options, &code] {
    if (options->check) code = check_sframe(options->paths);
    else if (options->paths.size() != 1) code = usage, say("backsight: several files are for --check\n");
    else if (options->write) code = write_sframe(options->paths.front(), options->output);
    else code = show_sframe(options->paths.front());
  });
}

}  // namespace cli
