// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <backsight/cfi/general_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/dwarf/constants.hpp>
#include <backsight/emit/unwinder_c/detail/c_frame.hpp>
#include <backsight/emit/unwinder_c/detail/c_own_rules.hpp>
#include <backsight/emit/unwinder_c/detail/c_packed_rules.hpp>
#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/c_rule_words.hpp>
#include <backsight/emit/unwinder_c/detail/c_writer.hpp>
#include <backsight/emit/unwinder_c/detail/slots.hpp>

namespace backsight::emit::unwinder_c::detail {

/// Writes the rules of emitted code: one shared function for what nearly all rows are, and a function of its own for
/// each rule that is something else, its expressions as statements.
template <class Arch, class Out>
class c_rule_writer {
 public:
  using slots = unwinder_c::slots<Arch>;

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
    c_own_rules<Arch, Out> own(out_, rows_, in_code_);
    for (std::size_t i = 0; i < rows_.rules().size(); ++i) {
      if (!packed_.rule(i)) own.write(i);
    }
  }

  /// Statements that keep compilers from calling functions unused that this object has no use for.
  void write_uses() {
    if (packed_.count() == 0) out_("  (void)", out_.prefix(), "_frame;\n");
    if (sized_) out_("  (void)", out_.prefix(), "_load_sized;\n");
  }

  /// A rule in words: `cfa = r7 + 16; pc = *(cfa - 8)`.
  void describe(std::size_t number) { describe_rule(out_, rows_, number); }

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
      const auto scan = [&](const cfi::expression_ref& e) {
        // A byte of another operation's operand may look like it; write_uses keeps that from being a warning.
        for (const std::byte b : text.subspan(static_cast<std::size_t>(e.offset), e.size)) {
          if (b == static_cast<std::byte>(dwarf::operation::deref_size)) found = true;
        }
      };
      (void)cfi::walk_general_rule(
          text,
          [&](const cfi::cfa_rule& cfa, std::uint64_t) {
            if (cfa.kind == cfi::cfa_kind::expression) scan(cfa.expression);
            return true;
          },
          [&](const cfi::register_rule& r) {
            if (r.has_expression()) scan(r.expression());
            return true;
          });
    }
    return found;
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
    write_pc<Arch>(out_, "ra");
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
    write_return_address<Arch>(out_, "c->");
    out_("  c->flags = (c->flags & ", c_wide{kept_flags(rows_) & ~unwinder_c::flag_pc_is_next}, ") | ",
         c_wide{slots::flag(1)}, ";\n  return 0;\n}\n\n");
  }

  c_writer<Out>& out_;
  const c_rows<Arch>& rows_;
  c_packed_rules<Arch> packed_;
  bool in_code_;
  bool sized_ = false;
};

}  // namespace backsight::emit::unwinder_c::detail
