// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/cfi/general_rule.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/emit/unwinder_c/detail/c_expression.hpp>
#include <backsight/emit/unwinder_c/detail/c_frame.hpp>
#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/c_rule_words.hpp>
#include <backsight/emit/unwinder_c/detail/c_writer.hpp>
#include <backsight/emit/unwinder_c/detail/slots.hpp>

namespace backsight::emit::unwinder_c::detail {

/// Writes a function of its own for a rule that is more than words from the CFA, its expressions as statements.
template <class Arch, class Out>
class c_own_rules {
 public:
  using slots = unwinder_c::slots<Arch>;

  c_own_rules(c_writer<Out>& out, const c_rows<Arch>& rows, bool in_code) : out_(out), rows_(rows), in_code_(in_code) {}

  void write(std::size_t number) {
    const auto p = out_.prefix();
    const c_rule& rule = rows_.rules()[number];
    const byte_view text = rows_.text(rule);
    if (rule.outermost) return write_stop(number, 1);
    std::uint64_t column = 0;
    cfi::cfa_rule cfa;
    std::vector<cfi::register_rule> rules;
    (void)cfi::walk_general_rule(
        text,
        [&](const cfi::cfa_rule& found, std::uint64_t return_address_column) {
          column = return_address_column;
          cfa = found;
          return true;
        },
        [&](const cfi::register_rule& r) {
          rules.push_back(r);
          return true;
        });
    const bool from_slot = cfa.kind == cfi::cfa_kind::register_offset && slots::of(cfa.reg) != slots::none;
    if (!from_slot && cfa.kind != cfi::cfa_kind::expression)
      return write_stop(number, cfa.kind == cfi::cfa_kind::none ? 6 : 4);
    // Expressions first, as functions.
    const std::size_t first_expression = expressions_;
    const auto code_of = [&](const cfi::expression_ref& e) {
      return text.subspan(static_cast<std::size_t>(e.offset), e.size);
    };
    if (cfa.kind == cfi::cfa_kind::expression) {
      c_expression<Arch, Out>(out_, code_of(cfa.expression), false, column).write(expressions_++);
    }
    for (const cfi::register_rule& r : rules) {
      if (!r.has_expression()) continue;
      c_expression<Arch, Out>(out_, code_of(r.expression()), true, column).write(expressions_++);
    }

    std::size_t expression = first_expression;
    write_head(number);
    out_("  struct backsight_context n = *c;\n  uint64_t cfa = 0, ra = 0, pc = 0, v = 0;\n  int error = 0;\n",
         "  (void)n;\n  (void)ra;\n  (void)pc;\n  (void)v;\n  (void)error;\n");
    if (out_.has_deref()) out_("  (void)deref;\n  (void)memory;\n");
    if (from_slot) {
      const std::size_t slot = slots::of(cfa.reg);
      const auto offset = static_cast<std::uint64_t>(cfa.offset);
      out_("  if ((c->flags & ", c_wide{slots::flag(slot)}, ") == 0) return ", p, "_stop(c, 4);\n  cfa = (c->r[", slot,
           "] + ", c_wide{Arch::address_size == 4 ? offset & 0xffffffffU : offset}, ")", out_.cut(), ";\n");
    } else {
      out_("  error = ", p, "_expression_", expression++, "(c, 0", out_.memory_arguments(),
           ", &cfa);\n  if (error != 0) return ", p, "_stop(c, error);\n");
    }
    out_("  n.r[1] = cfa;\n  n.flags |= ", c_wide{slots::flag(1)}, ";\n");
    bool has_return_address = false, outermost = false;
    for (const cfi::register_rule& r : rules) {
      if (r.reg == column) {
        has_return_address = true;
        outermost = r.kind == cfi::rule_kind::undefined;
        write_return_address_rule(r, column, expression);
      } else {
        write_register_rule(r, expression);
      }
    }
    if (outermost) return void(out_("  return ", p, "_stop(c, 1);\n}\n\n"));
    if (!has_return_address) {
      const std::uint8_t slot = slots::of(column);
      if (slot == slots::none) return void(out_("  return ", p, "_stop(c, 6);\n}\n\n"));
      out_("  if ((c->flags & ", c_wide{slots::flag(slot)}, ") == 0) return ", p, "_stop(c, 6);\n  ra = c->r[",
           unsigned{slot}, "];\n");
    }
    write_pc<Arch>(out_, "ra");
    out_("  if (pc == 0) return ", p, "_stop(c, 1);\n  if (pc == c->r[0] && cfa <= c->r[1]) return ", p,
         "_stop(c, 5);\n  n.r[0] = pc;\n");
    write_return_address<Arch>(out_, "n.");
    out_("  n.flags = (n.flags & ", c_wide{kept_flags(rows_) & ~unwinder_c::flag_pc_is_next}, ")");
    if (rule.signal_frame) out_(" | UINT64_C(0x10)");
    out_(";\n  *c = n;\n  return 0;\n}\n\n");
  }

 private:
  /// An offset from the CFA, as an expression of C.
  void put_cfa_plus(std::int64_t offset) {
    const auto value = static_cast<std::uint64_t>(offset);
    out_("(cfa + ", c_wide{Arch::address_size == 4 ? value & 0xffffffffU : value}, ")", out_.cut());
  }

  void write_head(std::size_t number) {
    out_("/* ");
    describe_rule(out_, rows_, number);
    out_(" */\nstatic ", in_code_ ? "BACKSIGHT_OUTLINE " : "", "int ", out_.prefix(), "_rule_", number,
         "(struct backsight_context *c", out_.memory_parameters(), ") {\n");
  }
  /// A rule that no frame can be unwound by.
  void write_stop(std::size_t number, int why) {
    write_head(number);
    if (out_.has_deref()) out_("  (void)deref;\n  (void)memory;\n");
    out_("  return ", out_.prefix(), "_stop(c, ", why, ");\n}\n\n");
  }
  void write_return_address_rule(const cfi::register_rule& r, std::uint64_t column, std::size_t& expression) {
    const auto p = out_.prefix();
    const auto from_register = [&](std::uint64_t reg) {
      const std::uint8_t slot = slots::of(reg);
      if (slot == slots::none) return void(out_("  return ", p, "_stop(c, 4);\n"));
      out_("  if ((c->flags & ", c_wide{slots::flag(slot)}, ") == 0) return ", p, "_stop(c, 4);\n  ra = c->r[",
           unsigned{slot}, "];\n");
    };
    switch (r.kind) {
      case cfi::rule_kind::undefined: break;
      case cfi::rule_kind::same_value: from_register(column); break;
      case cfi::rule_kind::in_register: from_register(static_cast<std::uint64_t>(r.value)); break;
      case cfi::rule_kind::is_cfa_offset: out_("  ra = "), put_cfa_plus(r.value), out_(";\n"); break;
      case cfi::rule_kind::at_cfa_offset:
        out_("  if (!", p, "_load("), put_cfa_plus(r.value),
            out_(out_.memory_arguments(), ", &ra)) return ", p, "_stop(c, 4);\n");
        break;
      case cfi::rule_kind::at_expression:
      case cfi::rule_kind::is_expression:
        out_("  error = ", p, "_expression_", expression++, "(c, cfa", out_.memory_arguments(),
             ", &ra);\n  if (error != 0) return ", p, "_stop(c, error);\n");
        if (r.kind == cfi::rule_kind::at_expression) {
          out_("  if (!", p, "_load(ra", out_.memory_arguments(), ", &ra)) return ", p, "_stop(c, 4);\n");
        }
        break;
    }
  }
  void write_register_rule(const cfi::register_rule& r, std::size_t& expression) {
    const auto p = out_.prefix();
    const std::size_t slot = slots::of(r.reg);
    const c_wide flag{slots::flag(slot)};
    const auto keep_if = [&](const char* condition_end) {
      out_(condition_end, " {\n    n.r[", slot, "] = v;\n    n.flags |= ", flag, ";\n  } else {\n    n.flags &= ~",
           flag, ";\n  }\n");
    };
    switch (r.kind) {
      case cfi::rule_kind::undefined: out_("  n.flags &= ~", flag, ";\n"); break;
      case cfi::rule_kind::same_value:
      case cfi::rule_kind::in_register: {
        const std::uint8_t from =
            slots::of(r.kind == cfi::rule_kind::same_value ? r.reg : static_cast<std::uint64_t>(r.value));
        if (from == slots::none) {
          out_("  n.flags &= ~", flag, ";\n");
          break;
        }
        out_("  v = c->r[", unsigned{from}, "];\n  if ((c->flags & ", c_wide{slots::flag(from)}, ") != 0");
        keep_if(")");
        break;
      }
      case cfi::rule_kind::is_cfa_offset:
        out_("  n.r[", slot, "] = "), put_cfa_plus(r.value), out_(";\n  n.flags |= ", flag, ";\n");
        break;
      case cfi::rule_kind::at_cfa_offset:
        out_("  if (", p, "_load("), put_cfa_plus(r.value), out_(out_.memory_arguments(), ", &v)");
        keep_if(")");
        break;
      case cfi::rule_kind::at_expression:
      case cfi::rule_kind::is_expression:
        out_("  if (", p, "_expression_", expression++, "(c, cfa", out_.memory_arguments(), ", &v) == 0");
        if (r.kind == cfi::rule_kind::at_expression) out_(" && ", p, "_load(v", out_.memory_arguments(), ", &v)");
        keep_if(")");
        break;
    }
  }

  c_writer<Out>& out_;
  const c_rows<Arch>& rows_;
  bool in_code_;
  std::size_t expressions_ = 0;
};

}  // namespace backsight::emit::unwinder_c::detail
