// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/cfi/interpreter.hpp>
#include <backsight/core/text.hpp>
#include <backsight/dwarf/operation.hpp>
#include <backsight/elf/sections.hpp>

// Rows for people: registers by name, rules and expressions as formulas.
namespace backsight::cfi {

/// The name of a register by its DWARF number: `rsp`, `x29`; `r7` where the machine or the number has none here.
[[nodiscard]] inline std::string register_name(elf::machine machine, std::uint64_t number) {
  constexpr std::string_view x86_64[]{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                      "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
  constexpr std::string_view i386[]{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"};
  constexpr std::string_view riscv[]{"zero", "ra", "sp", "gp", "tp",  "t0",  "t1", "t2", "s0", "s1", "a0",
                                     "a1",   "a2", "a3", "a4", "a5",  "a6",  "a7", "s2", "s3", "s4", "s5",
                                     "s6",   "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};
  const auto of = [&](const auto& names, std::uint64_t at) { return std::string(names[static_cast<std::size_t>(at)]); };
  const auto numbered = [](const char* prefix, std::uint64_t at) { return prefix + std::to_string(at); };
  switch (machine) {
    case elf::machine::x86_64:
      if (number < std::size(x86_64)) return of(x86_64, number);
      if (number < 33) return numbered("xmm", number - 17);
      break;
    case elf::machine::i386:
      if (number < std::size(i386)) return of(i386, number);
      break;
    case elf::machine::aarch64:
      if (number < 31) return numbered("x", number);
      if (number == 31) return "sp";
      if (number == 32) return "pc";
      if (number == 34) return "ra_sign_state";
      if (number >= 64 && number < 96) return numbered("v", number - 64);
      break;
    case elf::machine::arm:
      if (number == 13) return "sp";
      if (number == 14) return "lr";
      if (number == 15) return "pc";
      if (number >= 256 && number < 288) return numbered("d", number - 256);
      break;
    case elf::machine::riscv:
      if (number < std::size(riscv)) return of(riscv, number);
      if (number < 64) return numbered("f", number - 32);
      break;
    default: break;
  }
  return numbered("r", number);
}

namespace detail {

[[nodiscard]] inline std::string with_offset(std::string base, std::int64_t offset) {
  if (offset == 0) return base;
  return base + (offset > 0 ? "+" : "") + std::to_string(offset);
}

/// A formula on the stack of an expression; what is more than one value gets parentheses as an operand.
struct formula {
  std::string text;
  bool is_sum = false;
};
[[nodiscard]] inline std::string operand(const formula& one) { return one.is_sum ? "(" + one.text + ")" : one.text; }

/// The sign between two operands; null for another operation.
[[nodiscard]] constexpr const char* sign_of(dwarf::operation code) noexcept {
  using enum dwarf::operation;
  switch (code) {
    case plus: return "+";
    case minus: return "-";
    case mul: return "*";
    case div: return "/";
    case mod: return "%";
    case and_: return "&";
    case or_: return "|";
    case xor_: return "^";
    case shl: return "<<";
    case shr:
    case shra: return ">>";
    case eq: return "==";
    case ne: return "!=";
    case lt: return "<";
    case le: return "<=";
    case gt: return ">";
    case ge: return ">=";
    default: return nullptr;
  }
}

}  // namespace detail

/// A DWARF expression as a formula: `[rsp+8]` is what lies in memory there, of `[rsp]:4` four bytes. `on_stack` is what
/// the stack holds at the beginning, `cfa` for the rules of registers. Empty for one that branches, is damaged, or
/// would be a formula of more than 1,000 characters.
[[nodiscard]] inline std::string formula_of(byte_view expression, elf::machine machine, order byte_order,
                                            unsigned address_size, std::string_view on_stack = {}) {
  using enum dwarf::operation;
  constexpr std::size_t longest = 1000;
  std::vector<detail::formula> stack;
  if (!on_stack.empty()) stack.push_back({std::string(on_stack)});
  for (std::size_t at = 0; at < expression.size();) {
    const dwarf::decoded_operation op = byte_order == order::little
                                            ? dwarf::decode_operation<order::little>(expression, at, address_size)
                                            : dwarf::decode_operation<order::big>(expression, at, address_size);
    if (!op.valid() || op.code == bra || op.code == skip || stack.size() > 64) return {};
    at = op.next;
    const auto has = [&](std::size_t count) { return stack.size() >= count; };
    const auto last = [&](std::size_t back) -> detail::formula& { return stack[stack.size() - back]; };
    if (op.reads_register()) {
      stack.push_back({detail::with_offset(register_name(machine, op.first), op.second), op.second != 0});
    } else if (op.is_constant()) {
      const auto value = static_cast<std::int64_t>(op.first);
      stack.push_back({std::to_string(value), value < 0});
    } else if (const char* const sign = detail::sign_of(op.code)) {
      if (!has(2)) return {};
      detail::formula right = std::move(last(1));
      stack.pop_back();
      last(1) = {detail::operand(last(1)) + sign + detail::operand(right), true};
    } else {
      switch (op.code) {
        case nop:
        case stack_value: break;
        case plus_uconst:
          if (!has(1)) return {};
          last(1) = {detail::operand(last(1)) + "+" + std::to_string(op.first), true};
          break;
        case deref:
          if (!has(1)) return {};
          last(1) = {"[" + last(1).text + "]"};
          break;
        case deref_size:
          if (!has(1)) return {};
          last(1) = {"[" + last(1).text + "]:" + std::to_string(op.first)};
          break;
        case neg:
          if (!has(1)) return {};
          last(1) = {"-" + detail::operand(last(1)), true};
          break;
        case not_:
          if (!has(1)) return {};
          last(1) = {"~" + detail::operand(last(1)), true};
          break;
        case abs:
          if (!has(1)) return {};
          last(1) = {"abs(" + last(1).text + ")"};
          break;
        case dup:
          if (!has(1)) return {};
          stack.push_back(detail::formula(last(1)));
          break;
        case drop:
          if (!has(1)) return {};
          stack.pop_back();
          break;
        case over:
          if (!has(2)) return {};
          stack.push_back(detail::formula(last(2)));
          break;
        case pick: {
          if (op.first >= stack.size()) return {};
          stack.push_back(detail::formula(last(static_cast<std::size_t>(op.first) + 1)));
          break;
        }
        case swap:
          if (!has(2)) return {};
          std::swap(last(1), last(2));
          break;
        case rot: {
          // The first becomes the third.
          if (!has(3)) return {};
          std::swap(last(1), last(2));
          std::swap(last(2), last(3));
          break;
        }
        default: return {};
      }
    }
    if (!stack.empty() && stack.back().text.size() > longest) return {};
  }
  return stack.empty() ? std::string() : std::move(stack.back().text);
}

/// A row as people read it: where it is valid from, the CFA, and where each register of the caller is: `1040 cfa=rsp+16
/// rbp=[cfa-16] rip=[cfa-8]`. `=same` keeps its value, `=?` has none, a formula without brackets is the value itself.
/// What formula_of() cannot say stands as its bytes, behind `expression:`.
[[nodiscard]] inline std::string row_words(byte_view section, const row& of, elf::machine machine, order byte_order,
                                           unsigned address_size) {
  std::string text;
  const auto out = std::back_inserter(text);
  (void)text::hexadecimal(out, of.begin);
  const auto formula = [&](const expression_ref& at, std::string_view on_stack) {
    const byte_view bytes = section.subspan(static_cast<std::size_t>(at.offset), at.size);
    std::string made = formula_of(bytes, machine, byte_order, address_size, on_stack);
    if (made.empty()) (void)text::hex_bytes(text::literal(std::back_inserter(made), "expression:"), bytes);
    return made;
  };
  text += " cfa=";
  switch (of.cfa.kind) {
    case cfa_kind::none: text += '?'; break;
    case cfa_kind::register_offset:
      text += detail::with_offset(register_name(machine, of.cfa.reg), of.cfa.offset);
      break;
    case cfa_kind::expression: text += formula(of.cfa.expression, {}); break;
  }
  for (const register_rule& rule : of.rules) {
    text += " " + register_name(machine, rule.reg) + "=";
    switch (rule.kind) {
      case rule_kind::undefined: text += '?'; break;
      case rule_kind::same_value: text += "same"; break;
      case rule_kind::at_cfa_offset: text += "[" + detail::with_offset("cfa", rule.value) + "]"; break;
      case rule_kind::is_cfa_offset: text += detail::with_offset("cfa", rule.value); break;
      case rule_kind::in_register: text += register_name(machine, static_cast<std::uint64_t>(rule.value)); break;
      case rule_kind::at_expression: text += "[" + formula(rule.expression(), "cfa") + "]"; break;
      case rule_kind::is_expression: text += formula(rule.expression(), "cfa"); break;
    }
  }
  return text;
}

}  // namespace backsight::cfi
