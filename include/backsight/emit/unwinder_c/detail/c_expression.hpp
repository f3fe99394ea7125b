// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/core/bytes.hpp>
#include <backsight/dwarf/constants.hpp>
#include <backsight/dwarf/operation.hpp>
#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/c_writer.hpp>
#include <backsight/emit/unwinder_c/detail/slots.hpp>

namespace backsight::emit::unwinder_c::detail {

/// Writes an expression as a C function of straight statements. Where the stack is how deep is known when the text is
/// written: a place that is reached with two depths is written twice.
template <class Arch, class Out>
class c_expression {
 public:
  using slots = unwinder_c::slots<Arch>;
  static constexpr unsigned width = Arch::address_size;
  static constexpr std::size_t most_depth = 64, most_steps = 1024;  // As dwarf::evaluate.

  c_expression(c_writer<Out>& out, byte_view code, bool starts_with_cfa, std::uint64_t column)
      : out_(out), code_(code), column_(column), start_(starts_with_cfa ? 1 : 0) {}

  void write(std::size_t number) {
    find_states();
    out_("static int ", out_.prefix(), "_expression_", number, "(const struct backsight_context *c, uint64_t cfa",
         out_.memory_parameters(), ", uint64_t *value) {\n  uint64_t s[", deepest_ + 1, "] = {0};\n");
    if (counts_) out_("  unsigned steps = 0;\n");
    out_("  (void)c;\n  (void)cfa;\n  (void)s;\n  (void)value;\n");
    if (out_.has_deref()) out_("  (void)deref;\n  (void)memory;\n");
    if (start_ == 1) out_("  s[0] = cfa", out_.cut(), ";\n");
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const state& s = states_[i];
      if (s.labelled) out_(" at_", i, ":\n");
      if (counts_ && s.at < code_.size()) out_("  if (steps++ == ", most_steps, ") return 6;\n");
      write_state(s);
      if (!s.ends && (i + 1 == states_.size() || s.next != i + 1)) out_("  goto at_", s.next, ";\n");
    }
    out_("}\n\n");
  }

 private:
  static constexpr std::size_t nowhere = ~std::size_t{0};
  struct state {
    std::size_t at = 0;
    std::size_t depth = 0;
    std::size_t next = nowhere;    // The state behind, unless it ends.
    std::size_t branch = nowhere;  // The other state behind a bra.
    bool ends = false;
    bool labelled = false;
  };

  [[nodiscard]] static int pops(dwarf::operation code) noexcept {
    using enum dwarf::operation;
    switch (code) {
      case deref:
      case deref_size:
      case dup:
      case drop:
      case abs:
      case neg:
      case not_:
      case plus_uconst:
      case bra: return 1;
      case over:
      case swap:
      case and_:
      case div:
      case minus:
      case mod:
      case mul:
      case or_:
      case plus:
      case shl:
      case shr:
      case shra:
      case xor_:
      case eq:
      case ge:
      case gt:
      case le:
      case lt:
      case ne: return 2;
      case rot: return 3;
      default: return 0;
    }
  }
  [[nodiscard]] static int pushes(const dwarf::decoded_operation& op) noexcept {
    using enum dwarf::operation;
    if (op.is_constant() || op.reads_register() || op.code == pick) return 1;
    switch (op.code) {
      case nop:
      case skip:
      case bra:
      case drop:
      case stack_value: return 0;
      case dup:
      case swap: return 2;
      case over:
      case rot: return 3;
      default: return 1;
    }
  }
  /// The operation cannot be carried out at this depth, whatever the values are.
  [[nodiscard]] bool impossible(const dwarf::decoded_operation& op, std::size_t depth) const noexcept {
    const auto taken = static_cast<std::size_t>(pops(op.code)), given = static_cast<std::size_t>(pushes(op));
    if (!op.valid() || depth < taken || depth - taken + given > most_depth) return true;
    if (op.code == dwarf::operation::pick && op.first >= depth) return true;
    return op.code == dwarf::operation::deref_size && (op.first == 0 || op.first > width);
  }
  [[nodiscard]] std::size_t target(const dwarf::decoded_operation& op) const noexcept {
    const std::int64_t to = static_cast<std::int64_t>(op.next) + op.second;
    return to < 0 || to > static_cast<std::int64_t>(code_.size()) ? nowhere : static_cast<std::size_t>(to);
  }

  /// The states that can be reached, those that follow each other in a row where possible.
  void find_states() {
    states_.clear();
    deepest_ = start_;
    counts_ = false;
    std::vector<std::size_t> open;
    // Where a state is already; nowhere when it is new.
    std::vector<std::size_t> known((code_.size() + 1) * (most_depth + 1), nowhere);
    const auto key = [](std::size_t at, std::size_t depth) { return at * (most_depth + 1) + depth; };
    struct pending {
      std::size_t from, at, depth;
      bool branch;
    };
    std::vector<pending> rest{{nowhere, 0, start_, false}};
    while (!rest.empty()) {
      pending p = rest.back();
      rest.pop_back();
      for (;;) {
        std::size_t& number = known[key(p.at, p.depth)];
        const bool seen = number != nowhere;
        if (!seen) number = states_.size();
        if (p.from != nowhere) {
          (p.branch ? states_[p.from].branch : states_[p.from].next) = number;
          // Only a way back can make more steps than there are operations.
          if (p.at <= states_[p.from].at) counts_ = true;
        }
        const bool in_a_row = !seen && p.from != nowhere && p.from + 1 == number && !p.branch;
        if (seen) {
          states_[number].labelled = true;
          break;
        }
        const std::size_t self = number;
        states_.push_back({p.at, p.depth, nowhere, nowhere, false, !in_a_row && p.from != nowhere});
        state& s = states_.back();
        if (p.at == code_.size()) {
          s.ends = true;
          break;
        }
        const auto op = dwarf::decode_operation<order::little>(code_, p.at, width);
        if (op.valid() && op.reads_register() && slot_read(op.first) == slots::none) s.ends = true;
        if (impossible(op, p.depth) || s.ends) {
          s.ends = true;
          break;
        }
        const std::size_t depth =
            p.depth - static_cast<std::size_t>(pops(op.code)) + static_cast<std::size_t>(pushes(op));
        deepest_ = depth > deepest_ ? depth : deepest_;
        std::size_t next = op.next;
        if (op.code == dwarf::operation::stack_value) next = code_.size();
        if (op.code == dwarf::operation::skip) next = target(op);
        if (op.code == dwarf::operation::bra && target(op) != nowhere) rest.push_back({self, target(op), depth, true});
        if (next == nowhere) {
          s.ends = true;
          break;
        }
        p = {self, next, depth, false};
      }
    }
    if (states_.size() > most_steps) counts_ = true;
  }

  [[nodiscard]] std::uint8_t slot_read(std::uint64_t reg) const noexcept {
    // The pc of the frame itself where the return address column is the pc.
    if (Arch::return_address_is_pc && (reg == column_ || reg == Arch::return_address)) return slots::pc;
    return slots::of(reg);
  }

  void write_state(const state& s) {
    using enum dwarf::operation;
    if (s.at == code_.size()) {
      if (s.depth == 0) out_("  return 6;\n");
      else out_("  *value = s[", s.depth - 1, "];\n  return 0;\n");
      return;
    }
    const auto op = dwarf::decode_operation<order::little>(code_, s.at, width);
    if (op.valid() && op.reads_register()) {
      const std::uint8_t slot = slot_read(op.first);
      if (slot == slots::none) return void(out_("  return 4;\n"));
      if (slot != slots::pc) out_("  if ((c->flags & ", c_wide{slots::flag(slot)}, ") == 0) return 4;\n");
      if (s.depth >= most_depth) return void(out_("  return 6;\n"));
      out_("  s[", s.depth, "] = (c->r[", slot, "] + ", c_wide{cut(static_cast<std::uint64_t>(op.second))}, ")",
           out_.cut(), ";\n");
      return;
    }
    if (impossible(op, s.depth)) return void(out_("  return 6;\n"));
    if (op.is_constant()) return void(out_("  s[", s.depth, "] = ", c_wide{cut(op.first)}, ";\n"));
    const std::size_t d = s.depth, a = d - 1, b = d - 2;  // The top and the one below.
    const auto binary = [&](const char* sign) {
      out_("  s[", b, "] = (s[", b, "] ", sign, " s[", a, "])", out_.cut(), ";\n");
    };
    const auto compare = [&](const char* sign) {
      out_("  s[", b, "] = ");
      put_signed(b);
      out_(' ', sign, ' ');
      put_signed(a);
      out_(" ? 1u : 0u;\n");
    };
    switch (op.code) {
      case deref:
        out_("  if (!", out_.prefix(), "_load(s[", a, "]", out_.memory_arguments(), ", &s[", a, "])) return 4;\n");
        cut_slot(a);
        break;
      case deref_size:
        out_("  if (!", out_.prefix(), "_load_sized(s[", a, "], ", op.first, "u", out_.memory_arguments(), ", &s[", a,
             "])) return 4;\n");
        break;
      case dup: out_("  s[", d, "] = s[", a, "];\n"); break;
      case drop:
      case nop:
      case skip:
      case stack_value: break;
      case over: out_("  s[", d, "] = s[", b, "];\n"); break;
      case pick: out_("  s[", d, "] = s[", d - 1 - static_cast<std::size_t>(op.first), "];\n"); break;
      case swap: out_("  { uint64_t t = s[", a, "]; s[", a, "] = s[", b, "]; s[", b, "] = t; }\n"); break;
      case rot:
        out_("  { uint64_t t = s[", a, "]; s[", a, "] = s[", b, "]; s[", b, "] = s[", d - 3, "]; s[", d - 3,
             "] = t; }\n");
        break;
      case abs:
        out_("  if (");
        put_signed(a);
        out_(" < 0) s[", a, "] = (0u - s[", a, "])", out_.cut(), ";\n");
        break;
      case and_: binary("&"); break;
      case or_: binary("|"); break;
      case xor_: binary("^"); break;
      case plus: binary("+"); break;
      case minus: binary("-"); break;
      case mul: binary("*"); break;
      case plus_uconst: out_("  s[", a, "] = (s[", a, "] + ", c_wide{cut(op.first)}, ")", out_.cut(), ";\n"); break;
      case div:
        out_("  if (s[", a, "] == 0) return 6;\n  s[", b, "] = (");
        put_signed(a);
        out_(" == -1 ? 0u - s[", b, "] : (uint64_t)(");
        put_signed(b);
        out_(" / ");
        put_signed(a);
        out_("))", out_.cut(), ";\n");
        break;
      case mod: out_("  if (s[", a, "] == 0) return 6;\n  s[", b, "] %= s[", a, "];\n"); break;
      case neg: out_("  s[", a, "] = (0u - s[", a, "])", out_.cut(), ";\n"); break;
      case not_: out_("  s[", a, "] = ~s[", a, "]", out_.cut(), ";\n"); break;
      case shl:
        out_("  s[", b, "] = (s[", a, "] >= ", width * 8, " ? 0u : s[", b, "] << s[", a, "])", out_.cut(), ";\n");
        break;
      case shr: out_("  s[", b, "] = s[", a, "] >= ", width * 8, " ? 0u : s[", b, "] >> s[", a, "];\n"); break;
      case shra:
        out_("  s[", b, "] = (uint64_t)(");
        put_signed(b);
        out_(" >> (s[", a, "] >= ", width * 8, " ? ", width * 8 - 1, "u : s[", a, "]))", out_.cut(), ";\n");
        break;
      case eq: compare("=="); break;
      case ne: compare("!="); break;
      case ge: compare(">="); break;
      case gt: compare(">"); break;
      case le: compare("<="); break;
      case lt: compare("<"); break;
      case bra:
        if (s.branch == nowhere) out_("  if (s[", a, "] != 0) return 6;\n");
        else out_("  if (s[", a, "] != 0) goto at_", s.branch, ";\n");
        break;
      default: break;
    }
    if (s.ends) out_("  return 6;\n");
  }
  void put_signed(std::size_t index) {
    if (out_.narrow()) out_("(int64_t)(int32_t)(uint32_t)s[", index, "]");
    else out_("(int64_t)s[", index, "]");
  }
  void cut_slot(std::size_t index) {
    if (out_.narrow()) out_("  s[", index, "] &= 0xffffffffu;\n");
  }
  [[nodiscard]] static std::uint64_t cut(std::uint64_t value) noexcept {
    return width == 4 ? value & 0xffffffffU : value;
  }

  c_writer<Out>& out_;
  byte_view code_;
  std::uint64_t column_;
  std::size_t start_;
  std::size_t deepest_ = 0;
  bool counts_ = false;
  std::vector<state> states_;
};

}  // namespace backsight::emit::unwinder_c::detail
