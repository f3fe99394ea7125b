// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <backsight/cfi/cie_reader.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/text.hpp>

namespace backsight::cli {

/// The canonical text of rows: one line an FDE, one line a row; docs/unwinding.md has the form.
class row_printer {
 public:
  explicit row_printer(byte_view section) : section_(section) {}

  static void append_hex(std::string& out, std::uint64_t value) {
    (void)text::hexadecimal(std::back_inserter(out), value);
  }
  void append(std::string& out, std::uint64_t location, const cfi::row& row) const {
    append_hex(out, location);
    out += " cfa=";
    switch (row.cfa.kind) {
      case cfi::cfa_kind::none: out += '?'; break;
      case cfi::cfa_kind::register_offset:
        out += 'r' + std::to_string(row.cfa.reg);
        append_signed(out, row.cfa.offset);
        break;
      case cfi::cfa_kind::expression: append_expression(out, "e:", row.cfa.expression); break;
    }
    for (const cfi::register_rule& rule : row.rules) {
      out += " r" + std::to_string(rule.reg) + '=';
      switch (rule.kind) {
        case cfi::rule_kind::undefined: out += 'u'; break;
        case cfi::rule_kind::same_value: out += 's'; break;
        case cfi::rule_kind::at_cfa_offset:
          out += 'c';
          append_signed(out, rule.value);
          break;
        case cfi::rule_kind::is_cfa_offset:
          out += 'v';
          append_signed(out, rule.value);
          break;
        case cfi::rule_kind::in_register: out += 'r' + std::to_string(static_cast<std::uint64_t>(rule.value)); break;
        case cfi::rule_kind::at_expression: append_expression(out, "e:", rule.expression()); break;
        case cfi::rule_kind::is_expression: append_expression(out, "x:", rule.expression()); break;
      }
    }
    out += '\n';
  }

 private:
  static void append_signed(std::string& out, std::int64_t value) {
    if (value >= 0) out += '+';
    out += std::to_string(value);
  }
  void append_expression(std::string& out, const char* kind, const cfi::expression_ref& at) const {
    out += kind;
    (void)text::hex_bytes(std::back_inserter(out), section_.subspan(static_cast<std::size_t>(at.offset), at.size));
  }
  byte_view section_;
};

/// The size that the text of a row will about have.
[[nodiscard]] inline std::uint64_t text_bytes(const cfi::row& row) {
  std::uint64_t size = 48 + (row.cfa.kind == cfi::cfa_kind::expression ? 2 * std::uint64_t{row.cfa.expression.size} : 0);
  for (const cfi::register_rule& rule : row.rules) size += 16 + 2 * std::uint64_t{rule.expression_size};
  return size;
}

/// Writes the canonical dump of a section with `write(text)`, piece by piece and by FDEs in ascending order, and calls
/// `report(error)` for every entry that is left out. `merged` leaves out rows of no length, outside of their FDE, and
/// equal to the one before. An FDE that ends in an error has its line and no rows; so has one whose rows repeat long
/// expressions so often that their text would be thousands of times as long as the FDE (errc::expansion).
template <class Arch, order O, class Write, class Report>
void dump_rows(const cfi::section<O>& section, bool merged, Write&& write, Report&& report) {
  std::vector<std::pair<cfi::fde, bool>> fdes;
  auto entries = section.entries();
  auto at = entries.begin();
  cfi::cie_reader<O> cies(section);
  for (; at != entries.end(); ++at) {
    if (at->error != errc::ok) {
      report(trace_error{at->error, at->offset});
      continue;
    }
    if (at->is_cie) continue;
    const result<cfi::cie>& c = cies.at(at->cie_offset);
    if (!c) {
      report(c.error());
      continue;
    }
    const auto fde = section.parse_fde(*at, *c);
    if (fde) fdes.emplace_back(*fde, c->signal_frame);
    else report(fde.error());
  }
  if (at.error()) report(at.error());
  std::sort(fdes.begin(), fdes.end(), [](const auto& a, const auto& b) {
    if (a.first.begin != b.first.begin) return a.first.begin < b.first.begin;
    if (a.first.end != b.first.end) return a.first.end < b.first.end;
    return a.first.offset < b.first.offset;
  });

  const row_printer printer(section.bytes());
  std::vector<cfi::context<>> memory(1);
  cfi::row_machine<Arch, O> machine(section, memory[0]);
  cfi::cie_loader<Arch, O> loader(section);
  cfi::row before;
  std::string text;
  for (const auto& [fde, signal] : fdes) {
    text += "fde ";
    row_printer::append_hex(text, fde.begin);
    text += ' ';
    row_printer::append_hex(text, fde.end);
    text += signal ? " S\n" : "\n";
    // Once for errors, as an FDE in error has no rows, and once for the rows.
    trace_error error = loader.load(machine, fde.cie_offset);
    if (!error) {
      std::uint64_t size = 0;
      machine.begin(fde);
      machine.for_each([&](const cfi::row& row) { size += text_bytes(row); });
      error = machine.error();
      const std::uint64_t most = (std::uint64_t{1} << 20) + 4096 * (fde.instructions_end - fde.offset);
      if (!error && size > most) error = {errc::expansion, fde.offset};
    }
    if (error) {
      report(error);
      continue;
    }
    bool first = true;
    machine.begin(fde);
    machine.for_each([&](const cfi::row& row) {
      if (merged) {
        if (row.end <= row.begin || row.begin < fde.begin || row.begin >= fde.end) return;
        if (!first && cfi::same_rules(section.bytes(), before, row)) return;
        before = row;
        first = false;
      }
      printer.append(text, row.begin, row);
      if (text.size() < 65536) return;
      write(text);
      text.clear();
    });
  }
  write(text);
}

}  // namespace backsight::cli
