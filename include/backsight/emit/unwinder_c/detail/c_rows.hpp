// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <backsight/cfi/general_rule.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/dwarf/constants.hpp>
#include <backsight/dwarf/operation.hpp>
#include <backsight/emit/unwinder_c/detail/slots.hpp>

namespace backsight::emit::unwinder_c::detail {

/// A row for emitted code: from `begin` up to the next row, `rule` is in force.
struct c_row {
  std::uint64_t begin = 0;
  std::uint32_t rule = cfi::table_view::no_rule;
};

/// A distinct rule: its text as write_general_rule has it, inside a common buffer.
struct c_rule {
  std::size_t offset = 0;
  std::size_t size = 0;
  bool signal_frame = false;
  bool outermost = false;
};

/// The rows of a table with the registers that emitted code is to recover, equal neighbours made one.
template <class Arch>
class c_rows {
 public:
  using slots = unwinder_c::slots<Arch>;

  c_rows(const cfi::table_view& from, unwinder_c::registers wanted) {
    if (wanted == unwinder_c::registers::all) {
      keep_.fill(true);
    } else {
      for (const std::size_t slot : {slots::pc, slots::stack_pointer, slots::frame_pointer, slots::base})
        keep_[slot] = true;
      for (std::size_t i = 0; i < from.rule_count(); ++i) keep_what_is_read(from, cfi::rule_view<Arch>(from.rule(i)));
    }
    std::vector<std::uint32_t> numbers(from.rule_count(), cfi::table_view::no_rule);
    known_rules known;
    from.for_each_row([&](std::uint64_t begin, std::uint32_t rule) {
      std::uint32_t number = cfi::table_view::no_rule;
      if (rule != cfi::table_view::no_rule) {
        if (numbers[rule] == cfi::table_view::no_rule)
          numbers[rule] = intern(from, cfi::rule_view<Arch>(from.rule(rule)), known);
        number = numbers[rule];
      }
      if (!rows_.empty() && rows_.back().rule == number) return;
      if (rows_.empty() && number == cfi::table_view::no_rule) return;
      rows_.push_back({begin, number});
    });
  }

  [[nodiscard]] const std::vector<c_row>& rows() const noexcept { return rows_; }
  [[nodiscard]] const std::vector<c_rule>& rules() const noexcept { return rules_; }
  [[nodiscard]] byte_view text(const c_rule& rule) const noexcept {
    return byte_view(texts_).subspan(rule.offset, rule.size);
  }
  /// A context's slot is recovered.
  [[nodiscard]] bool keeps(std::size_t slot) const noexcept { return keep_[slot]; }

 private:
  void keep_register(std::uint64_t reg) {
    // Others than those that callees preserve have no rules; their values in the first frame stay.
    if (slots::of(reg) == slots::none) return;
    for (const std::uint8_t saved : Arch::saved) {
      if (saved == reg) keep_[slots::of(reg)] = true;
    }
  }
  void keep_what_is_read(const cfi::table_view& from, cfi::rule_view<Arch> rule) {
    if (rule[cfi::unwind_rule::shape] == cfi::rule_shape::common)
      return keep_register(rule[cfi::unwind_rule::cfa_register]);
    if (!cfi::has_text(rule[cfi::unwind_rule::shape])) return;
    const byte_view text = from.text_of(rule);
    const auto read_by = [&](const cfi::expression_ref& e) {
      const byte_view code = text.subspan(static_cast<std::size_t>(e.offset), e.size);
      for (std::size_t at = 0; at < code.size();) {
        const auto op = dwarf::decode_operation<order::little>(code, at, Arch::address_size);
        if (!op.valid()) return;
        if (op.reads_register()) keep_register(op.first);
        at = op.next;
      }
    };
    std::uint64_t return_address_column = 0;
    (void)cfi::walk_general_rule(
        text,
        [&](const cfi::cfa_rule& cfa, std::uint64_t column) {
          return_address_column = column;
          if (cfa.kind == cfi::cfa_kind::register_offset) keep_register(cfa.reg);
          if (cfa.kind == cfi::cfa_kind::expression) read_by(cfa.expression);
          return true;
        },
        [&](const cfi::register_rule& r) {
          if (r.reg != return_address_column) return true;
          if (r.kind == cfi::rule_kind::in_register) keep_register(static_cast<std::uint64_t>(r.value));
          if (r.has_expression()) read_by(r.expression());
          return true;
        });
  }

  using known_rules = std::map<std::vector<std::byte>, std::uint32_t, cfi::detail::rule_text_order>;

  [[nodiscard]] std::uint32_t intern(const cfi::table_view& from, cfi::rule_view<Arch> rule, known_rules& known) {
    const std::size_t offset = texts_.size();
    c_rule made{offset, 0, rule[cfi::unwind_rule::signal_frame],
                rule[cfi::unwind_rule::shape] == cfi::rule_shape::outermost};
    if (!made.outermost) put_text(from, rule);
    made.size = texts_.size() - offset;
    std::vector<std::byte> key(texts_.begin() + static_cast<std::ptrdiff_t>(offset), texts_.end());
    key.push_back(static_cast<std::byte>((made.signal_frame ? 1U : 0U) | (made.outermost ? 2U : 0U)));
    const auto number = static_cast<std::uint32_t>(rules_.size());
    const auto [at, is_new] = known.emplace(std::move(key), number);
    if (is_new) rules_.push_back(made);
    else texts_.resize(offset);
    return at->second;
  }
  void put_text(const cfi::table_view& from, cfi::rule_view<Arch> rule) {
    cfi::row r;
    std::uint64_t column = Arch::return_address;
    byte_view expressions;
    if (rule[cfi::unwind_rule::shape] == cfi::rule_shape::common) {
      const auto saved_at = [&](std::uint32_t reg, std::int64_t word) {
        if (word != 0) r.rules.set({reg, cfi::rule_kind::at_cfa_offset, 0, word * Arch::address_size});
      };
      r.cfa = {
          cfi::cfa_kind::register_offset, rule[cfi::unwind_rule::cfa_register], rule[cfi::unwind_rule::cfa_offset], {}};
      saved_at(Arch::return_address, rule[cfi::unwind_rule::return_address_word]);
      for (std::size_t i = 0; i < Arch::saved.size(); ++i) {
        saved_at(Arch::saved[i], rule.saved_word(i));
      }
    } else {
      expressions = from.text_of(rule);
      (void)cfi::walk_general_rule(
          expressions,
          [&](const cfi::cfa_rule& cfa, std::uint64_t return_address_column) {
            r.cfa = cfa;
            column = return_address_column;
            return true;
          },
          [&](const cfi::register_rule& one) { return r.rules.set(one); });
    }
    cfi::write_general_rule(
        r, column, expressions,
        [&](std::uint32_t reg) { return reg == column || (slots::of(reg) != slots::none && keep_[slots::of(reg)]); },
        [&](std::byte b) { texts_.push_back(b); });
  }

  std::array<bool, slots::count> keep_{};
  std::vector<c_row> rows_;
  std::vector<c_rule> rules_;
  std::vector<std::byte> texts_;
};

}  // namespace backsight::emit::unwinder_c::detail
