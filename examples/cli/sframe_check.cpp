// SPDX-License-Identifier: Apache-2.0
// `backsight cfi sframe --check`: does a file's .sframe say what its .eh_frame says?
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/cfi/sframe/compare.hpp>
#include <backsight/elf/symbols.hpp>

#include "sframe_input.hpp"
#include "table.hpp"

namespace cli {
namespace {

namespace bs = backsight;
namespace cfi = backsight::cfi;
namespace sframe = backsight::cfi::sframe;

std::string sframe_hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%" PRIx64, value);
  return text;
}
std::string signed_text(std::int64_t value) { return (value < 0 ? "" : "+") + std::to_string(value); }

/// A place in the words of the comparison; `expressions` is the section that other expressions lie in.
std::string place_text(const sframe::place& p, bool of_cfa, bs::byte_view expressions) {
  using enum sframe::place::kind;
  const auto reg = [&] { return "r" + std::to_string(p.reg); };
  switch (p.how) {
    case unchanged: return of_cfa ? "?" : "u";
    case undefined: return "U";
    case at_cfa: return "c" + signed_text(p.offset);
    case is_cfa: return "c=" + std::to_string(p.offset);
    case at_register: return "*(" + reg() + signed_text(p.offset) + ")";
    case is_register: return reg() + (p.offset != 0 || of_cfa ? signed_text(p.offset) : "");
    case expression:
    case at_expression: break;
  }
  std::string text = p.how == sframe::place::kind::at_expression ? "*@" : "@";
  for (std::size_t i = 0; i < p.reg; ++i) {
    char digits[4];
    std::snprintf(digits, sizeof digits, "%02x",
                  std::to_integer<unsigned>(expressions[static_cast<std::size_t>(p.offset) + i]));
    text += digits;
  }
  return text;
}

std::string rows_text(const std::vector<sframe::interval>& rows, std::uint64_t from, bs::byte_view expressions) {
  std::string text;
  for (const sframe::interval& one : rows) {
    if (!text.empty()) text += "; ";
    text += sframe_hex(one.begin - from) + ".." + sframe_hex(one.end - from);
    if (one.row.outermost) {
      text += " outermost";
      continue;
    }
    text += " " + place_text(one.row.cfa, true, expressions) +
            " ra=" + place_text(one.row.return_address, false, expressions) +
            " fp=" + place_text(one.row.frame_pointer, false, expressions) +
            (one.row.return_address_signed ? " signed" : "");
  }
  return text;
}

/// The functions of a file by their address, in files whose sections have addresses of their own; of those at one
/// address the first that is not empty.
std::map<std::uint64_t, std::string> functions_by_address(const bs::elf::image& image) {
  std::map<std::uint64_t, std::string> names, empty;
  constexpr std::uint16_t relocatable = 1;
  for (const bs::elf::symbol s : bs::elf::symbols(image)) {
    if (!s.is_function() || s.section == bs::elf::section_undefined) continue;
    const bool counts = image.type() == relocatable && s.section < image.sections().size();
    (s.size != 0 ? names : empty)
        .emplace(s.value + (counts ? image.sections()[s.section].address : 0), std::string(s.name));
  }
  names.merge(empty);
  return names;
}

int check_one(table& out, const std::string& path) {
  sframe_input input;
  if (const int code = input.open(path, true); code != success) return code;
  const auto found = input.file.find(cfi::section_kind::eh_frame);
  if (!found) return input.file.report(found.error());
  const auto names = functions_by_address(input.file.image);

  int code = input.file.damage;
  std::vector<sframe::frame_function> functions;
  bs::with_order(input.file.image.byte_order(), [&](auto o) {
    const cfi::section<o()> from(found->bytes, found->info);
    cfi::with_arch(input.file.image.machine(), [&](auto arch) {
      sframe::frame_reader<decltype(arch), o()> reader(from, input.section.machine());
      reader.for_each([&](const sframe::frame_function& f) { functions.push_back(f); },
                      [&](const bs::trace_error& error) { code = report_error(path, error, "in .eh_frame"); });
    });
  });
  sframe::compare(
      input.section, functions,
      [&](const sframe::difference& d) {
        const auto name = names.find(d.begin);
        out.text(path);
        out.text(name != names.end() ? name->second : sframe_hex(d.begin));
        out.text(sframe_hex(d.size));
        out.text(sframe::name_of(d.kind));
        out.text(rows_text(d.sframe, d.begin, {}));
        out.text(rows_text(d.frame, d.begin, found->bytes));
        out.end_row();
        code = bad_input;
      },
      [&](const sframe::problem& p) { code = input.report(p); });
  return code;
}

}  // namespace

int check_sframe(const std::vector<std::string>& paths) {
  output out("-");
  table differences(out, "tsv", {{"file"}, {"function"}, {"size"}, {"kind"}, {".sframe"}, {".eh_frame"}});
  int code = success;
  for (const std::string& path : paths) code = std::max(code, check_one(differences, path));
  differences.finish();
  return out.close(code);
}

}  // namespace cli
