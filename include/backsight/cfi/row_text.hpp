// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/cfi/cie_reader.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/text.hpp>

// Rows as text: the canonical form in which those of two readers are compared; docs/unwinding.md has it.
namespace backsight::cfi {

namespace detail {

template <class Out>
Out print_signed(Out out, std::int64_t value) {
  if (value >= 0) *out++ = '+';
  return text::decimal(out, value);
}

template <class Out>
Out print_expression(Out out, const char* kind, byte_view section, const expression_ref& at) {
  return text::hex_bytes(text::literal(out, kind), section.subspan(static_cast<std::size_t>(at.offset), at.size));
}

/// The size that the text of a row will about have.
[[nodiscard]] inline std::uint64_t text_bytes(const row& of) {
  std::uint64_t size = 48 + (of.cfa.kind == cfa_kind::expression ? 2 * std::uint64_t{of.cfa.expression.size} : 0);
  for (const register_rule& rule : of.rules) size += 16 + 2 * std::uint64_t{rule.expression_size};
  return size;
}

}  // namespace detail

/// Prints where a row is valid from, how its CFA is found, and a rule for each register that has one, such as
/// `1040 cfa=r7+16 r6=c-16 r16=c-8`; no line end. `section` holds the expressions. Out takes chars.
template <class Out>
Out print(Out out, byte_view section, std::uint64_t location, const row& of) {
  out = text::literal(text::hexadecimal(out, location), " cfa=");
  switch (of.cfa.kind) {
    case cfa_kind::none: *out++ = '?'; break;
    case cfa_kind::register_offset:
      *out++ = 'r';
      out = detail::print_signed(text::decimal(out, of.cfa.reg), of.cfa.offset);
      break;
    case cfa_kind::expression: out = detail::print_expression(out, "e:", section, of.cfa.expression); break;
  }
  for (const register_rule& rule : of.rules) {
    out = text::literal(text::decimal(text::literal(out, " r"), rule.reg), "=");
    switch (rule.kind) {
      case rule_kind::undefined: *out++ = 'u'; break;
      case rule_kind::same_value: *out++ = 's'; break;
      case rule_kind::at_cfa_offset:
        *out++ = 'c';
        out = detail::print_signed(out, rule.value);
        break;
      case rule_kind::is_cfa_offset:
        *out++ = 'v';
        out = detail::print_signed(out, rule.value);
        break;
      case rule_kind::in_register:
        *out++ = 'r';
        out = text::decimal(out, static_cast<std::uint64_t>(rule.value));
        break;
      case rule_kind::at_expression: out = detail::print_expression(out, "e:", section, rule.expression()); break;
      case rule_kind::is_expression: out = detail::print_expression(out, "x:", section, rule.expression()); break;
    }
  }
  return out;
}

namespace detail {

struct canonical_words {
  template <class Out>
  void operator()(Out out, byte_view section, const row& of) const {
    (void)print(out, section, of.begin, of);
  }
};

}  // namespace detail

/// Prints all rows of a section with `write(std::string_view)`, piece by piece: a line `fde begin end` for each FDE
/// (with ` S` behind it in a signal frame), in ascending order, and a line for each of its rows; calls `report(error)`
/// for every entry that is left out. `merged` leaves out rows of no length, outside of their FDE, and equal to the one
/// before. An FDE that ends in an error has its line and no rows; so has one whose rows repeat long expressions so
/// often that their text would be thousands of times as long as the FDE (errc::expansion).
/// `words(out, section, row)` prints a row otherwise.
template <class Arch, order O, class Write, class Report, class Words = detail::canonical_words>
void print_rows(const section<O>& of, bool merged, Write&& write, Report&& report, Words&& words = {}) {
  std::vector<std::pair<fde, bool>> fdes;
  auto entries = of.entries();
  auto at = entries.begin();
  cie_reader<O> cies(of);
  for (; at != entries.end(); ++at) {
    if (at->error != errc::ok) {
      report(trace_error{at->error, at->offset});
      continue;
    }
    if (at->is_cie) continue;
    const result<cie>& c = cies.at(at->cie_offset);
    if (!c) {
      report(c.error());
      continue;
    }
    const auto parsed = of.parse_fde(*at, *c);
    if (parsed) fdes.emplace_back(*parsed, c->signal_frame);
    else report(parsed.error());
  }
  if (at.error()) report(at.error());
  std::sort(fdes.begin(), fdes.end(), [](const auto& a, const auto& b) {
    if (a.first.begin != b.first.begin) return a.first.begin < b.first.begin;
    if (a.first.end != b.first.end) return a.first.end < b.first.end;
    return a.first.offset < b.first.offset;
  });

  std::vector<context<>> memory(1);
  row_machine<Arch, O> machine(of, memory[0]);
  cie_loader<Arch, O> loader(of);
  row before;
  std::vector<char> lines;
  auto out = std::back_inserter(lines);
  for (const auto& [one, signal] : fdes) {
    (void)text::hexadecimal(text::literal(out, "fde "), one.begin);
    (void)text::hexadecimal(text::literal(out, " "), one.end);
    (void)text::literal(out, signal ? " S\n" : "\n");
    // Once for errors, as an FDE in error has no rows, and once for the rows.
    trace_error error = loader.load(machine, one.cie_offset);
    if (!error) {
      std::uint64_t size = 0;
      machine.begin(one);
      machine.for_each([&](const row& here) { size += detail::text_bytes(here); });
      error = machine.error();
      const std::uint64_t most = (std::uint64_t{1} << 20) + 4096 * (one.instructions_end - one.offset);
      if (!error && size > most) error = {errc::expansion, one.offset};
    }
    if (error) {
      report(error);
      continue;
    }
    bool first = true;
    machine.begin(one);
    machine.for_each([&](const row& here) {
      if (merged) {
        if (here.end <= here.begin || here.begin < one.begin || here.begin >= one.end) return;
        if (!first && same_rules(of.bytes(), before, here)) return;
        before = here;
        first = false;
      }
      words(out, of.bytes(), here);
      *out++ = '\n';
      if (lines.size() < 65536) return;
      write(std::string_view(lines.data(), lines.size()));
      lines.clear();
    });
  }
  write(std::string_view(lines.data(), lines.size()));
}

}  // namespace backsight::cfi
