// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include <backsight/cfi/cie_reader.hpp>
#include <backsight/cfi/interpreter.hpp>
#include <backsight/cfi/placed_rule.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/cfi/sframe/interval.hpp>
#include <backsight/cfi/sframe/row.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/dwarf/expression.hpp>
#include <backsight/dwarf/operation.hpp>

namespace backsight::cfi::sframe {

/// A function of .eh_frame or .debug_frame in the terms of SFrame.
struct frame_function {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t offset = 0;  ///< Of its FDE in the section.
  bool signal_frame = false;
  bool key_b = false;
  bool usual_column = false;         ///< Its CIE's return address is the register that SFrame takes for it.
  bool moves_stack_pointer = false;  ///< A row says that the caller's stack pointer is not the CFA.
  std::vector<interval> rows;
};

/// Reads the functions of a section with call frame information in the terms of SFrame: of each row the CFA, the return
/// address and the frame pointer. A CFA whose expression asks for the pc, as those of PLTs do, is worked out for each
/// address.
template <class Arch, order O>
class frame_reader {
 public:
  frame_reader(const cfi::section<O>& from, abi of)
      : section_(from), abi_(of), registers_(registers_of(of)), memory_(1) {}

  /// Calls `f(frame_function)` for each FDE that covers something, in the order of the section; the function is valid
  /// during the call. Calls `report(trace_error)` for those that are left out.
  template <class F, class Report>
  void for_each(F&& f, Report&& report) {
    cie_loader<Arch, O> cies(section_);
    row_machine<Arch, O> machine(section_, memory_[0]);
    auto at = section_.entries().begin();
    for (; at != std::default_sentinel; ++at) {
      const entry& e = *at;
      if (e.is_cie) continue;
      trace_error error = e.error != errc::ok ? trace_error{e.error, e.offset} : cies.load(machine, e.cie_offset);
      if (!error) {
        const auto found = section_.parse_fde(e, machine.current_cie());
        if (found) error = read(machine, *found);
        else error = found.error();
      }
      if (error) report(error);
      else if (made_.end > made_.begin) f(static_cast<const frame_function&>(made_));
    }
    if (at.error()) report(at.error());
  }

 private:
  /// So many addresses are looked at one by one, in a section.
  static constexpr std::uint64_t most_single = 1 << 20;
  static constexpr unsigned word_bytes = 8;  // On all machines of SFrame.

  [[nodiscard]] trace_error read(row_machine<Arch, O>& machine, const fde& from) {
    const cie& common = machine.current_cie();
    made_.rows.clear();
    made_.begin = from.begin;
    made_.end = from.end;
    made_.offset = from.offset;
    made_.signal_frame = common.signal_frame;
    made_.key_b = common.b_key;
    made_.usual_column = common.return_address_register == registers_.return_address;
    made_.moves_stack_pointer = false;
    // Section garbage collection leaves discarded functions at address 0.
    if (from.begin >= from.end || (from.begin == 0 && !section_.info().code_at_zero)) {
      made_.end = made_.begin;
      return {};
    }
    expressions_.clear();
    machine.begin(from);
    machine.for_each([&](const row& r) {
      if (r.end > r.begin && r.begin >= from.begin && r.begin < from.end) add(r, common.return_address_register);
    });
    return machine.error();
  }
  void add(const row& r, std::uint64_t column) {
    interval one{r.begin, r.end, {}};
    sframe_row& to = one.row;
    const register_rule* back = r.rules.find(column);
    if (back != nullptr && back->kind == rule_kind::undefined) {
      to.outermost = true;
      return append_interval(made_.rows, one);
    }
    if (const register_rule* stack = r.rules.find(registers_.stack_pointer)) {
      // On s390x the caller's is 160 below the CFA, and saved there too.
      const bool usual = abi_ == abi::s390x ? stack->kind == rule_kind::at_cfa_offset ||
                                                  (stack->kind == rule_kind::is_cfa_offset && stack->value == -160)
                                            : stack->kind == rule_kind::is_cfa_offset && stack->value == 0;
      made_.moves_stack_pointer = made_.moves_stack_pointer || !usual;
    }
    to.return_address_signed = (r.return_address_signed & 1U) != 0;
    to.return_address = place_of(back);
    to.frame_pointer = place_of(r.rules.find(registers_.frame_pointer));
    if (r.cfa.kind == cfa_kind::register_offset) {
      to.cfa = {place::kind::is_register, r.cfa.reg, r.cfa.offset};
    } else if (r.cfa.kind == cfa_kind::expression) {
      if (add_single(one, r.cfa.expression, column)) return;
      to.cfa = place_of(r.cfa.expression, false);
    }
    append_interval(made_.rows, one);
  }
  [[nodiscard]] place place_of(const register_rule* rule) {
    using enum place::kind;
    if (rule == nullptr) return {};
    switch (rule->kind) {
      case rule_kind::undefined: return {undefined, 0, 0};
      case rule_kind::same_value: return {};
      case rule_kind::at_cfa_offset: return {at_cfa, 0, rule->value};
      case rule_kind::is_cfa_offset: return {is_cfa, 0, rule->value};
      case rule_kind::in_register: return {is_register, static_cast<std::uint32_t>(rule->value), 0};
      case rule_kind::at_expression: return place_of(rule->expression(), true);
      case rule_kind::is_expression: return place_of(rule->expression(), false);
    }
    return {};
  }
  /// Of an expression, or of what memory holds where it leads.
  [[nodiscard]] place place_of(const expression_ref& e, bool read) {
    using enum place::kind;
    const byte_view code = section_.bytes().subspan(static_cast<std::size_t>(e.offset), e.size);
    const auto plain = cfi::detail::plain_expression(code, word_bytes);
    if (plain && plain->reg <= 0xffffffffU && !(plain->read && read)) {
      return {plain->read || read ? at_register : is_register, static_cast<std::uint32_t>(plain->reg), plain->offset};
    }
    // The same bytes elsewhere are the same rule.
    std::uint64_t offset = e.offset;
    bool known = false;
    for (const expression_ref& other : expressions_) {
      if (!cfi::detail::same_bytes(section_.bytes(), e, other)) continue;
      offset = other.offset;
      known = true;
      break;
    }
    if (!known && expressions_.size() < 64) expressions_.push_back(e);
    return {read ? at_expression : expression, e.size, static_cast<std::int64_t>(offset)};
  }
  /// Takes an interval address by address whose CFA depends on the pc; false when it does not, or is no register and
  /// offset.
  [[nodiscard]] bool add_single(interval one, const expression_ref& e, std::uint64_t column) {
    const byte_view code = section_.bytes().subspan(static_cast<std::size_t>(e.offset), e.size);
    if (one.end - one.begin > most_single - single_) return false;
    const std::uint64_t end = one.end;
    std::vector<place> places;
    for (std::uint64_t pc = one.begin; pc != end; ++pc) {
      const auto at = cfa_at(code, pc, column);
      if (!at) return false;
      places.push_back(*at);
    }
    single_ += end - one.begin;
    for (const place& at : places) {
      one.end = one.begin + 1;
      one.row.cfa = at;
      append_interval(made_.rows, one);
      one.begin = one.end;
    }
    return true;
  }
  /// The CFA of an expression that asks for the pc and one more register, of which it takes a fixed distance.
  [[nodiscard]] std::optional<place> cfa_at(byte_view code, std::uint64_t pc, std::uint64_t column) const {
    constexpr std::uint64_t first = std::uint64_t{1} << 40, second = (std::uint64_t{1} << 41) + 0x12345670;
    std::optional<std::uint64_t> reg;
    bool asked = false, several = false;
    const auto value_with = [&](std::uint64_t base) {
      return dwarf::evaluate<O>(
          code, {word_bytes, 64}, std::nullopt,
          [&](std::uint64_t number) -> std::optional<std::uint64_t> {
            if (number == column) {
              asked = true;
              return pc;
            }
            several = several || (reg && *reg != number);
            reg = number;
            return base;
          },
          [](std::uint64_t) -> std::optional<std::uint64_t> { return std::nullopt; });
    };
    const auto one = value_with(first), two = value_with(second);
    if (!one || !two || !asked || several || !reg || *reg > 0xffffffffU || *one - first != *two - second)
      return std::nullopt;
    return place{place::kind::is_register, static_cast<std::uint32_t>(*reg), static_cast<std::int64_t>(*one - first)};
  }

  cfi::section<O> section_;
  abi abi_;
  registers registers_;
  std::vector<context<>> memory_;
  frame_function made_;
  std::vector<expression_ref> expressions_;  // Of the function that is read.
  std::uint64_t single_ = 0;
};

}  // namespace backsight::cfi::sframe
