// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <backsight/cfi/general_rule.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/lookup.hpp>
#include <backsight/cfi/table_builder.hpp>

namespace backsight::test {

/// The table and the interpreter say the same about one address. `row` is null where there is no information.
template <class Arch>
[[nodiscard]] bool agrees(const cfi::table_view& table, std::uint64_t address, const cfi::row* row, const cfi::cie& c,
                          byte_view section) {
  const cfi::rule_view<Arch> r(table.find(address));
  if (row == nullptr) return !r;
  if (!r) return false;
  if (r[cfi::unwind_rule::signal_frame] != c.signal_frame) return false;
  if (r[cfi::unwind_rule::return_address_signed] != row->return_address_signed) return false;

  const bool everything = table.profile() == cfi::table_profile::all || c.signal_frame;
  const auto wanted = [&](std::uint32_t reg) {
    return everything || reg == c.return_address_register || reg == Arch::stack_pointer ||
           std::find(Arch::saved.begin(), Arch::saved.end(), reg) != Arch::saved.end();
  };
  const cfi::register_rule* ra = row->rules.find(c.return_address_register);
  switch (r[cfi::unwind_rule::shape]) {
    case cfi::rule_shape::outermost: return ra != nullptr && ra->kind == cfi::rule_kind::undefined;
    case cfi::rule_shape::common: {
      if (row->cfa.kind != cfi::cfa_kind::register_offset || row->cfa.reg != r[cfi::unwind_rule::cfa_register] ||
          row->cfa.offset != r[cfi::unwind_rule::cfa_offset]) {
        return false;
      }
      constexpr std::int64_t word = Arch::address_size;
      const std::int64_t at = r[cfi::unwind_rule::return_address_word] * word;
      if (at != (ra == nullptr || ra->kind == cfi::rule_kind::same_value ? 0 : ra->value)) return false;
      for (std::size_t i = 0; i < Arch::saved.size(); ++i) {
        if (Arch::saved[i] == c.return_address_register) continue;
        const std::int64_t saved = r.saved_word(i) * word;
        const cfi::register_rule* expected = row->rules.find(Arch::saved[i]);
        const bool unchanged = expected == nullptr || expected->kind == cfi::rule_kind::same_value;
        if (unchanged ? saved != 0 : expected->kind != cfi::rule_kind::at_cfa_offset || expected->value != saved)
          return false;
      }
      for (const cfi::register_rule& expected : row->rules) {
        if (!wanted(expected.reg) || expected.kind == cfi::rule_kind::same_value) continue;
        const bool known = expected.reg == c.return_address_register || expected.reg == Arch::stack_pointer ||
                           std::find(Arch::saved.begin(), Arch::saved.end(), expected.reg) != Arch::saved.end();
        if (!known) return false;
      }
      return true;
    }
    case cfi::rule_shape::general:
    case cfi::rule_shape::aligned:
    case cfi::rule_shape::signal: {
      const byte_view text = table.text_of(r);
      const auto same = [&](const cfi::expression_ref& a, const cfi::expression_ref& b) {
        const byte_view x = text.subspan(static_cast<std::size_t>(a.offset), a.size);
        const byte_view y = section.subspan(static_cast<std::size_t>(b.offset), b.size);
        return std::equal(x.begin(), x.end(), y.begin(), y.end());
      };
      bool good = true;
      std::size_t count = 0;
      const trace_error error = cfi::walk_general_rule(
          text,
          [&](const cfi::cfa_rule& cfa, std::uint64_t column) {
            good =
                column == c.return_address_register && cfa.kind == row->cfa.kind &&
                (cfa.kind == cfi::cfa_kind::expression
                     ? same(cfa.expression, row->cfa.expression)
                     : cfa.kind == cfi::cfa_kind::none || (cfa.reg == row->cfa.reg && cfa.offset == row->cfa.offset));
            return good;
          },
          [&](const cfi::register_rule& rule_of) {
            const cfi::register_rule* expected = row->rules.find(rule_of.reg);
            good = expected != nullptr && expected->kind == rule_of.kind &&
                   (rule_of.has_expression() ? same(rule_of.expression(), expected->expression())
                                             : rule_of.value == expected->value);
            ++count;
            return good;
          });
      std::size_t kept = 0;
      for (const cfi::register_rule& expected : row->rules) kept += wanted(expected.reg) ? 1U : 0U;
      return !error && good && count == kept;
    }
  }
  return false;
}

/// Compares a table with the interpreter at the first and last address of every row, and around every FDE. Gives the
/// first address where they differ, as text; empty when there is none.
template <class Arch>
[[nodiscard]] std::string difference(const cfi::section<order::little>& section, const cfi::table_view& table,
                                     std::size_t& compared) {
  const auto index = cfi::fde_index<order::little>::build(section);
  const auto memory = std::make_unique<cfi::context<>>();
  cfi::section_unwinder<Arch, order::little> find(index, *memory);
  std::vector<std::uint64_t> addresses;
  const auto rows_memory = std::make_unique<cfi::context<>>();
  for (const cfi::entry& e : section.entries()) {
    if (e.is_cie || e.error != errc::ok) continue;
    const auto c = section.cie_at(e.cie_offset);
    if (!c) continue;
    const auto f = section.parse_fde(e, *c);
    if (!f) continue;
    for (const std::uint64_t at : {f->begin - 1, f->begin, f->end - 1, f->end}) addresses.push_back(at);
    (void)cfi::interpret<Arch>(section, *f, *rows_memory, [&](const cfi::row& r) {
      addresses.push_back(r.begin);
      addresses.push_back(r.end - 1);
    });
  }
  for (const std::uint64_t address : addresses) {
    const auto row = find.find_row(address);
    ++compared;
    // The rows of an FDE in error are left out of tables as a whole.
    const cfi::row* expected = row ? *row : nullptr;
    if (!agrees<Arch>(table, address, expected, find.cie(), section.bytes())) return std::to_string(address);
  }
  return {};
}

}  // namespace backsight::test
