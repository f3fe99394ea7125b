// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/cfi/general_rule.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/c_writer.hpp>

namespace backsight::emit::unwinder_c::detail {

/// Writes a rule in words: `cfa = r7 + 16; pc = *(cfa - 8)`.
template <class Arch, class Out>
void describe_rule(c_writer<Out>& out, const c_rows<Arch>& rows, std::size_t number) {
  const auto put_offset = [&](std::int64_t offset) {
    out(offset < 0 ? " - " : " + ",
        offset < 0 ? 0 - static_cast<std::uint64_t>(offset) : static_cast<std::uint64_t>(offset));
  };
  const c_rule& rule = rows.rules()[number];
  if (rule.outermost) return void(out("outermost"));
  (void)cfi::walk_general_rule(
      rows.text(rule),
      [&](const cfi::cfa_rule& cfa, std::uint64_t) {
        out("cfa = ");
        if (cfa.kind == cfi::cfa_kind::register_offset) out('r', cfa.reg), put_offset(cfa.offset);
        else out(cfa.kind == cfi::cfa_kind::expression ? "(expression)" : "unknown");
        return true;
      },
      [&](const cfi::register_rule& r) {
        out("; r", r.reg, " = ");
        switch (r.kind) {
          case cfi::rule_kind::undefined: out("undefined"); break;
          case cfi::rule_kind::same_value: out('r', r.reg); break;
          case cfi::rule_kind::at_cfa_offset: out("*(cfa"), put_offset(r.value), out(')'); break;
          case cfi::rule_kind::is_cfa_offset: out("cfa"), put_offset(r.value); break;
          case cfi::rule_kind::in_register: out('r', r.value); break;
          case cfi::rule_kind::at_expression: out("*(expression)"); break;
          case cfi::rule_kind::is_expression: out("(expression)"); break;
        }
        return true;
      });
  if (rule.signal_frame) out("; signal frame");
}

}  // namespace backsight::emit::unwinder_c::detail
