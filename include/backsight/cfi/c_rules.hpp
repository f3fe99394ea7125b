// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <backsight/cfi/c_expression.hpp>
#include <backsight/cfi/c_packed_rules.hpp>
#include <backsight/cfi/c_rows.hpp>
#include <backsight/cfi/c_writer.hpp>
#include <backsight/cfi/general_rule.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi::detail {

/// Writes the rules of emitted code: one shared function for what nearly all rows are, and a function of its own for each
/// rule that is something else, its expressions as statements.
template <class Arch, class Out>
class c_rule_writer {
 public:
  using slots = c_slots<Arch>;

  /// `in_code`: rules are constants of the code that calls the shared function, and not an array.
  c_rule_writer(c_writer<Out>& out, const c_rows<Arch>& rows, bool in_code)
      : out_(out), rows_(rows), packed_(rows), in_code_(in_code) {}

  [[nodiscard]] const c_packed_rules<Arch>& packed() const noexcept { return packed_; }

  /// What all forms need in front: memory, stopping, the shared function and those of rules.
  void write_functions() {
    const auto p = out_.prefix();
    write_load();
    out_(
        "static int ", p, "_stop(struct backsight_context *c, int why) {\n",
        "  c->flags |= why == 1 ? UINT64_C(0x20) : UINT64_C(0x80);\n  c->error = (uint32_t)why;\n  return why;\n}\n\n");
    write_shared();
    for (std::size_t i = 0; i < rows_.rules().size(); ++i) {
      if (!packed_.rule(i)) write_own(i);
    }
  }

  /// Statements that keep compilers from calling functions unused that this object has no use for.
  void write_uses() {
    if (packed_.count() == 0) out_("  (void)", out_.prefix(), "_frame;\n");
    if (sized_) out_("  (void)", out_.prefix(), "_load_sized;\n");
  }

  /// A rule in words: `cfa = r7 + 16; pc = *(cfa - 8)`.
  void describe(std::size_t number) {
    const c_rule& rule = rows_.rules()[number];
    if (rule.outermost) return void(out_("outermost"));
    (void)walk_general_rule(
        rows_.text(rule),
        [&](const cfa_rule& cfa, std::uint64_t) {
          out_("cfa = ");
          if (cfa.kind == cfa_kind::register_offset) out_('r', cfa.reg), put_offset(cfa.offset);
          else out_(cfa.kind == cfa_kind::expression ? "(expression)" : "unknown");
          return true;
        },
        [&](const register_rule& r) {
          out_("; r", r.reg, " = ");
          switch (r.kind) {
            case rule_kind::undefined: out_("undefined"); break;
            case rule_kind::same_value: out_('r', r.reg); break;
            case rule_kind::at_cfa_offset: out_("*(cfa"), put_offset(r.value), out_(')'); break;
            case rule_kind::is_cfa_offset: out_("cfa"), put_offset(r.value); break;
            case rule_kind::in_register: out_('r', r.value); break;
            case rule_kind::at_expression: out_("*(expression)"); break;
            case rule_kind::is_expression: out_("(expression)"); break;
          }
          return true;
        });
    if (rule.signal_frame) out_("; signal frame");
  }

  /// The call that applies a rule.
  void call(std::size_t number) {
    const auto p = out_.prefix();
    if (const auto& rule = packed_.rule(number)) {
      out_(p, "_frame(c, ", c_wide{packed_.word_of(*rule, 0)}, out_.memory_arguments());
      for (std::size_t word = 1; word < packed_.words(); ++word) out_(", ", c_wide{packed_.word_of(*rule, word)});
      out_(')');
    } else {
      out_(p, "_rule_", number, "(c", out_.memory_arguments(), ')');
    }
  }

 private:
  void put_offset(std::int64_t offset) {
    out_(offset < 0 ? " - " : " + ",
         offset < 0 ? 0 - static_cast<std::uint64_t>(offset) : static_cast<std::uint64_t>(offset));
  }

  void write_load() {
    const auto p = out_.prefix();
    if (out_.has_deref()) {
      out_("#define ", p, "_load(address, deref, memory, value) ((deref)((memory), (address), (value)))\n\n");
    } else {
      const char* word = out_.narrow() ? "uint32_t" : "uint64_t";
      out_("static int ", p, "_load(uint64_t address, uint64_t *value) {\n  ", word, " word;\n",
           "  __builtin_memcpy(&word, (const void *)(uintptr_t)address, sizeof word);\n",
           "  *value = word;\n  return 1;\n}\n\n");
    }
    sized_ = needs_sized_load();
    if (!sized_) return;
    out_("static int ", p, "_load_sized(uint64_t address, unsigned size", out_.memory_parameters(),
         ", uint64_t *value) {\n");
    if (out_.has_deref()) {
      out_("  if (!deref(memory, address, value)) return 0;\n  if (size < ", Arch::address_size,
           "u) *value &= (UINT64_C(1) << (size * 8u)) - 1u;\n  return 1;\n}\n\n");
    } else {
      out_("  const unsigned char *bytes = (const unsigned char *)(uintptr_t)address;\n  unsigned i;\n  *value = 0;\n",
           "  for (i = 0; i < size; ++i) *value |= (uint64_t)bytes[i] << (i * 8u);\n  return 1;\n}\n\n");
    }
  }
  [[nodiscard]] bool needs_sized_load() const {
    bool found = false;
    for (const c_rule& rule : rows_.rules()) {
      if (rule.outermost) continue;
      const byte_view text = rows_.text(rule);
      const auto scan = [&](const expression_ref& e) {
        // A byte of another operation's operand may look like it; write_uses keeps that from being a warning.
        for (const std::byte b : text.subspan(static_cast<std::size_t>(e.offset), e.size)) {
          if (b == static_cast<std::byte>(dwarf::operation::deref_size)) found = true;
        }
      };
      (void)walk_general_rule(
          text,
          [&](const cfa_rule& cfa, std::uint64_t) {
            if (cfa.kind == cfa_kind::expression) scan(cfa.expression);
            return true;
          },
          [&](const register_rule& r) {
            if (r.has_expression()) scan(r.expression());
            return true;
          });
    }
    return found;
  }

  void write_pc(const char* from) {
    // What Arch::code_address does.
    if constexpr (Arch::signs_return_addresses) {
      out_("  pc = (", from, " >> 55 & 1u) != 0 ? ", from, " | UINT64_C(0xffff000000000000) : ", from,
           " & UINT64_C(0xffffffffffff);\n");
    } else if constexpr (Arch::code_address(1) == 0) {
      out_("  pc = ", from, " & ~UINT64_C(1);\n");
    } else {
      out_("  pc = ", from, ";\n");
    }
  }
  void write_return_address(const char* context) {
    if constexpr (!Arch::return_address_is_pc) {
      const std::size_t slot = slots::of(Arch::return_address);
      out_("  ", context, "r[", slot, "] = ra;\n  ", context, "flags |= ", c_wide{slots::flag(slot)}, ";\n");
    }
  }
  [[nodiscard]] std::uint64_t kept_flags() const {
    std::uint64_t flags = 0x70;
    for (std::size_t slot = 0; slot < slots::count; ++slot) flags |= rows_.keeps(slot) ? slots::flag(slot) : 0;
    return flags;
  }

  void write_shared() {
    const auto p = out_.prefix();
    out_(
        "/* cfa = r[slot] + offset; ra and the registers are saved at so many words from the cfa, 0 for unchanged. "
        "*/\n",
        "static ", in_code_ ? "BACKSIGHT_OUTLINE " : "", "int ", p, "_frame(struct backsight_context *c");
    if (in_code_) {
      // In the places of the step's own arguments, so that none has to be moved.
      out_(", uint64_t word_0", out_.memory_parameters());
      for (std::size_t word = 1; word < packed_.words(); ++word) out_(", uint64_t word_", word);
      out_(
          ") {\n  const unsigned slot = (unsigned)(word_0 & 255u);\n  const int ra_word = (int8_t)(word_0 >> 8 & "
          "255u);\n",
          "  const int32_t offset = (int32_t)(uint32_t)(word_0 >> 32);\n");
      for (std::size_t column = 0; column < packed_.columns().size(); ++column) {
        const auto [word, shift] = packed_.place_of(column);
        out_("  const int r", unsigned{Arch::saved[packed_.columns()[column]]}, " = (int8_t)(word_", word, " >> ",
             shift, " & 255u);\n");
      }
    } else {
      out_(out_.memory_parameters(), ", unsigned slot, int32_t offset, int ra_word");
      for (const std::size_t i : packed_.columns()) out_(", int r", unsigned{Arch::saved[i]});
      out_(") {\n");
    }
    out_("  uint64_t cfa, ra, pc;\n  if ((c->flags >> (slot < 4u ? slot : slot + 4u) & 1u) == 0) return ", p,
         "_stop(c, 4);\n  cfa = (c->r[slot] + (uint64_t)(int64_t)offset)", out_.cut(),
         ";\n  if (ra_word != 0) {\n    if (!", p, "_load((cfa + (uint64_t)(int64_t)(ra_word * ", Arch::address_size,
         "))", out_.cut(), out_.memory_arguments(), ", &ra)) return ", p, "_stop(c, 4);\n  } else {\n");
    const std::size_t own = slots::of(Arch::return_address);
    if constexpr (!Arch::return_address_is_pc) {
      out_("    if ((c->flags & ", c_wide{slots::flag(own)}, ") == 0) return ", p, "_stop(c, 6);\n");
    }
    out_("    ra = c->r[", own, "];\n  }\n");
    write_pc("ra");
    out_("  if (pc == 0) return ", p, "_stop(c, 1);\n  if (pc == c->r[0] && cfa <= c->r[1]) return ", p,
         "_stop(c, 5);\n");
    for (const std::size_t i : packed_.columns()) {
      const std::size_t slot = slots::of(Arch::saved[i]);
      const unsigned reg = Arch::saved[i];
      out_("  if (r", reg, " != 0) {\n    if (", p, "_load((cfa + (uint64_t)(int64_t)(r", reg, " * ",
           Arch::address_size, "))", out_.cut(), out_.memory_arguments(), ", &c->r[", slot,
           "])) c->flags |= ", c_wide{slots::flag(slot)}, ";\n    else c->flags &= ~", c_wide{slots::flag(slot)},
           ";\n  }\n");
    }
    out_("  c->r[0] = pc;\n  c->r[1] = cfa;\n");
    write_return_address("c->");
    out_("  c->flags = (c->flags & ", c_wide{kept_flags() & ~c_flag_exact}, ") | ", c_wide{slots::flag(1)},
         ";\n  return 0;\n}\n\n");
  }

  /// An offset from the CFA, as an expression of C.
  void put_cfa_plus(std::int64_t offset) {
    const auto value = static_cast<std::uint64_t>(offset);
    out_("(cfa + ", c_wide{Arch::address_size == 4 ? value & 0xffffffffU : value}, ")", out_.cut());
  }

  void write_head(std::size_t number) {
    out_("/* ");
    describe(number);
    out_(" */\nstatic ", in_code_ ? "BACKSIGHT_OUTLINE " : "", "int ", out_.prefix(), "_rule_", number,
         "(struct backsight_context *c", out_.memory_parameters(), ") {\n");
  }
  /// A rule that no frame can be unwound by.
  void write_stop(std::size_t number, int why) {
    write_head(number);
    if (out_.has_deref()) out_("  (void)deref;\n  (void)memory;\n");
    out_("  return ", out_.prefix(), "_stop(c, ", why, ");\n}\n\n");
  }
  void write_own(std::size_t number) {
    const auto p = out_.prefix();
    const c_rule& rule = rows_.rules()[number];
    const byte_view text = rows_.text(rule);
    if (rule.outermost) return write_stop(number, 1);
    std::uint64_t column = 0;
    cfa_rule cfa;
    std::vector<register_rule> rules;
    (void)walk_general_rule(
        text,
        [&](const cfa_rule& found, std::uint64_t return_address_column) {
          column = return_address_column;
          cfa = found;
          return true;
        },
        [&](const register_rule& r) {
          rules.push_back(r);
          return true;
        });
    const bool from_slot = cfa.kind == cfa_kind::register_offset && slots::of(cfa.reg) != slots::none;
    if (!from_slot && cfa.kind != cfa_kind::expression) return write_stop(number, cfa.kind == cfa_kind::none ? 6 : 4);
    // Expressions first, as functions.
    const std::size_t first_expression = expressions_;
    const auto code_of = [&](const expression_ref& e) {
      return text.subspan(static_cast<std::size_t>(e.offset), e.size);
    };
    if (cfa.kind == cfa_kind::expression) {
      c_expression<Arch, Out>(out_, code_of(cfa.expression), false, column).write(expressions_++);
    }
    for (const register_rule& r : rules) {
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
    for (const register_rule& r : rules) {
      if (r.reg == column) {
        has_return_address = true;
        outermost = r.kind == rule_kind::undefined;
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
    write_pc("ra");
    out_("  if (pc == 0) return ", p, "_stop(c, 1);\n  if (pc == c->r[0] && cfa <= c->r[1]) return ", p,
         "_stop(c, 5);\n  n.r[0] = pc;\n");
    write_return_address("n.");
    out_("  n.flags = (n.flags & ", c_wide{kept_flags() & ~c_flag_exact}, ")");
    if (rule.signal_frame) out_(" | UINT64_C(0x10)");
    out_(";\n  *c = n;\n  return 0;\n}\n\n");
  }
  void write_return_address_rule(const register_rule& r, std::uint64_t column, std::size_t& expression) {
    const auto p = out_.prefix();
    const auto from_register = [&](std::uint64_t reg) {
      const std::uint8_t slot = slots::of(reg);
      if (slot == slots::none) return void(out_("  return ", p, "_stop(c, 4);\n"));
      out_("  if ((c->flags & ", c_wide{slots::flag(slot)}, ") == 0) return ", p, "_stop(c, 4);\n  ra = c->r[",
           unsigned{slot}, "];\n");
    };
    switch (r.kind) {
      case rule_kind::undefined: break;
      case rule_kind::same_value: from_register(column); break;
      case rule_kind::in_register: from_register(static_cast<std::uint64_t>(r.value)); break;
      case rule_kind::is_cfa_offset: out_("  ra = "), put_cfa_plus(r.value), out_(";\n"); break;
      case rule_kind::at_cfa_offset:
        out_("  if (!", p, "_load("), put_cfa_plus(r.value),
            out_(out_.memory_arguments(), ", &ra)) return ", p, "_stop(c, 4);\n");
        break;
      case rule_kind::at_expression:
      case rule_kind::is_expression:
        out_("  error = ", p, "_expression_", expression++, "(c, cfa", out_.memory_arguments(),
             ", &ra);\n  if (error != 0) return ", p, "_stop(c, error);\n");
        if (r.kind == rule_kind::at_expression) {
          out_("  if (!", p, "_load(ra", out_.memory_arguments(), ", &ra)) return ", p, "_stop(c, 4);\n");
        }
        break;
    }
  }
  void write_register_rule(const register_rule& r, std::size_t& expression) {
    const auto p = out_.prefix();
    const std::size_t slot = slots::of(r.reg);
    const c_wide flag{slots::flag(slot)};
    const auto keep_if = [&](const char* condition_end) {
      out_(condition_end, " {\n    n.r[", slot, "] = v;\n    n.flags |= ", flag, ";\n  } else {\n    n.flags &= ~",
           flag, ";\n  }\n");
    };
    switch (r.kind) {
      case rule_kind::undefined: out_("  n.flags &= ~", flag, ";\n"); break;
      case rule_kind::same_value:
      case rule_kind::in_register: {
        const std::uint8_t from =
            slots::of(r.kind == rule_kind::same_value ? r.reg : static_cast<std::uint64_t>(r.value));
        if (from == slots::none) {
          out_("  n.flags &= ~", flag, ";\n");
          break;
        }
        out_("  v = c->r[", unsigned{from}, "];\n  if ((c->flags & ", c_wide{slots::flag(from)}, ") != 0");
        keep_if(")");
        break;
      }
      case rule_kind::is_cfa_offset:
        out_("  n.r[", slot, "] = "), put_cfa_plus(r.value), out_(";\n  n.flags |= ", flag, ";\n");
        break;
      case rule_kind::at_cfa_offset:
        out_("  if (", p, "_load("), put_cfa_plus(r.value), out_(out_.memory_arguments(), ", &v)");
        keep_if(")");
        break;
      case rule_kind::at_expression:
      case rule_kind::is_expression:
        out_("  if (", p, "_expression_", expression++, "(c, cfa", out_.memory_arguments(), ", &v) == 0");
        if (r.kind == rule_kind::at_expression) out_(" && ", p, "_load(v", out_.memory_arguments(), ", &v)");
        keep_if(")");
        break;
    }
  }

  c_writer<Out>& out_;
  const c_rows<Arch>& rows_;
  c_packed_rules<Arch> packed_;
  bool in_code_;
  std::size_t expressions_ = 0;
  bool sized_ = false;
};

}  // namespace backsight::cfi::detail
