// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/cfi/row_table.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/cfi/sframe/defect.hpp>
#include <backsight/cfi/sframe/interval.hpp>
#include <backsight/cfi/sframe/row.hpp>
#include <backsight/cfi/sframe/section.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cfi::sframe {

/// Turns rows of SFrame into rows of call frame information. A row is valid until the next one is made; its expressions
/// are in expressions().
class row_maker {
 public:
  explicit row_maker(const section& from) : registers_(registers_of(from.machine())) {}

  /// The row for the addresses from `begin` to `end`.
  [[nodiscard]] const row& make(const sframe_row& from, std::uint64_t begin, std::uint64_t end) {
    code_.clear();
    row_.begin = begin;
    row_.end = end;
    row_.rules.clear();
    row_.return_address_signed = from.return_address_signed ? 1 : 0;
    if (from.outermost) {
      row_.cfa = {cfa_kind::register_offset, registers_.stack_pointer, 0, {}};
      (void)row_.rules.set({registers_.return_address, rule_kind::undefined, 0, 0});
      return row_;
    }
    if (from.cfa.how == place::kind::is_register) {
      row_.cfa = {cfa_kind::register_offset, from.cfa.reg, from.cfa.offset, {}};
    } else {
      row_.cfa = {cfa_kind::expression, 0, 0, expression_of(from.cfa, true)};
    }
    set(registers_.return_address, from.return_address);
    set(registers_.frame_pointer, from.frame_pointer);
    return row_;
  }
  [[nodiscard]] byte_view expressions() const noexcept { return code_; }

 private:
  /// Register + offset, and a load of what is there.
  [[nodiscard]] expression_ref expression_of(const place& of, bool read) {
    const std::size_t begin = code_.size();
    const auto push = [&](std::byte b) { code_.push_back(b); };
    if (of.reg < 32) {
      push(static_cast<std::byte>(0x70 + of.reg));  // DW_OP_breg0 and on
    } else {
      push(std::byte{0x92});  // DW_OP_bregx
      detail::put_uleb(push, of.reg);
    }
    detail::put_sleb(push, of.offset);
    if (read) push(std::byte{0x06});  // DW_OP_deref
    return {begin, static_cast<std::uint32_t>(code_.size() - begin)};
  }
  void set(std::uint32_t reg, const place& at) {
    using enum place::kind;
    register_rule rule{reg, rule_kind::same_value, 0, at.offset};
    switch (at.how) {
      case unchanged: return;
      case undefined: rule.kind = rule_kind::undefined; break;
      case at_cfa: rule.kind = rule_kind::at_cfa_offset; break;
      case is_cfa: rule.kind = rule_kind::is_cfa_offset; break;
      case expression:
      case at_expression: return;  // Not of SFrame.
      case at_register:
      case is_register:
        if (at.how == is_register && at.offset == 0) {
          rule.kind = rule_kind::in_register;
          rule.value = at.reg;
          break;
        }
        const expression_ref code = expression_of(at, false);
        rule.kind = at.how == at_register ? rule_kind::at_expression : rule_kind::is_expression;
        rule.value = static_cast<std::int64_t>(code.offset);
        rule.expression_size = code.size;
        break;
    }
    (void)row_.rules.set(rule);
  }

  registers registers_;
  row row_;
  std::vector<std::byte> code_;
};

/// So many rows may come of functions that repeat, and 64 more for each byte of the section.
inline constexpr std::uint64_t most_repeated = 1 << 20;

/// Calls `f(function, index, intervals)` for each function of a section in the order of the list, what is broken left
/// out and told to `report(problem)`; functions that overlap others are told and shown all the same. Rows that say the
/// same as the one before are joined, and rows of functions that repeat (PLTs) are told for each block. A function's
/// rows may begin behind its begin. The intervals are valid during the call.
template <class F, class Report>
void for_each_function(const section& from, F&& f, Report&& report) {
  std::vector<bool> bad(from.function_count());
  from.check([&](const problem& what, std::uint32_t index) {
    if (index < bad.size()) bad[index] = what.what != defect::functions_overlap;
    report(what);
  });
  problem none;
  std::vector<interval> intervals;
  std::vector<sframe_row> rows;
  std::uint64_t repeated = 0;
  for (std::uint32_t index = 0; index < from.function_count(); ++index) {
    if (bad[index]) continue;
    const function of = from.function_at(index, none);
    rows.clear();
    intervals.clear();
    (void)from.for_each_row(of, [&](const sframe_row& r) { rows.push_back(r); });
    const std::uint64_t block = of.repeat != 0 ? of.repeat : of.size;
    if (of.repeat != 0) {
      repeated += (of.size + block - 1) / block * (rows.size() + 1);
      if (repeated > most_repeated + 64 * from.bytes().size()) {
        report(problem{defect::rep_count, of.entry_offset});
        continue;
      }
    }
    for (std::uint64_t at = 0; at < of.size; at += block) {
      const std::uint64_t end = std::min<std::uint64_t>(of.size, at + block);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint64_t next = i + 1 < rows.size() ? std::min(end, at + rows[i + 1].start) : end;
        append_interval(intervals, {of.begin + at + rows[i].start, of.begin + next, rows[i]});
      }
    }
    f(of, index, static_cast<const std::vector<interval>&>(intervals));
  }
}

/// Calls `f(row, function, expressions)` for each row of a section, ascending by address, as for_each_function tells
/// them; functions that overlap others are left out.
template <class F, class Report>
void for_each_row(const section& from, F&& f, Report&& report) {
  struct one_function {
    function what;
    std::size_t first = 0, count = 0;
  };
  std::vector<bool> overlaps(from.function_count());
  from.check([&](const problem& what, std::uint32_t index) {
    if (index < overlaps.size()) overlaps[index] = what.what == defect::functions_overlap;
  });
  std::vector<one_function> functions;
  std::vector<interval> rows;
  for_each_function(
      from,
      [&](const function& of, std::uint32_t index, const std::vector<interval>& its) {
        if (overlaps[index]) return;
        functions.push_back({of, rows.size(), its.size()});
        rows.insert(rows.end(), its.begin(), its.end());
      },
      report);
  std::stable_sort(functions.begin(), functions.end(),
                   [](const one_function& a, const one_function& b) { return a.what.begin < b.what.begin; });
  row_maker maker(from);
  for (const one_function& of : functions) {
    for (std::size_t i = of.first; i < of.first + of.count; ++i) {
      const row& made = maker.make(rows[i].row, rows[i].begin, rows[i].end);
      f(made, of.what, maker.expressions());
    }
  }
}

/// Builds an unwind table from an SFrame section, as from others: return address, stack pointer and frame pointer are
/// recovered, other registers are taken as unchanged, since the format does not tell. `report(problem)` is called for
/// what is left out. Errors: errc::unsupported_type (for another machine than Arch), errc::capacity.
template <class Arch, class Report>
[[nodiscard]] result<table> build_table(const section& from, const table_options& options, Report&& report) {
  const bool same = from.machine() == abi::x86_64 ? Arch::elf_machine == 62
                                                  : from.machine() == abi::aarch64_little && Arch::elf_machine == 183;
  if (!same) return {errc::unsupported_type, 4};
  cie common;
  common.return_address_register = registers_of(from.machine()).return_address;
  return build_table_of_rows<Arch>(options, fingerprint_of_ends(from.bytes()), [&](auto&& add) {
    for_each_row(
        from,
        [&](const row& r, const function& of, byte_view expressions) {
          common.signal_frame = of.signal_frame;
          add(r, common, expressions);
        },
        report);
  });
}

}  // namespace backsight::cfi::sframe
