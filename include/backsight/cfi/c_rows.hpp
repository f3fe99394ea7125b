// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

namespace backsight::cfi {

/// Which registers emitted code recovers.
enum class c_registers : std::uint8_t {
  return_address,  ///< Return address, stack and frame pointer, rbx or its like, and what the object's CFAs read.
  all,             ///< Every register that a context holds.
};

/// Where a context of emitted code holds the registers of a machine: slot 0 is the pc, 1 the stack pointer, 2 the frame
/// pointer, 3 rbx (x86) or the link register; then the others by number, those from 32 on only when callees preserve them.
template <class Arch>
struct c_slots {
  static constexpr std::uint8_t none = 0xff;
  static constexpr std::size_t pc = 0, stack_pointer = 1, frame_pointer = 2, base = 3;
  static constexpr unsigned base_register = Arch::return_address_is_pc ? 3 : Arch::return_address;

  struct numbering {
    std::array<std::uint8_t, Arch::register_count> slot_of{};
    std::array<std::uint8_t, Arch::register_count + 1> register_of{};
    std::size_t count = 4;
  };
  static constexpr numbering numbers = [] {
    numbering n;
    n.slot_of.fill(none);
    n.register_of.fill(none);
    if (Arch::return_address_is_pc) n.slot_of[Arch::return_address] = pc, n.register_of[pc] = Arch::return_address;
    const auto put = [&](unsigned reg, std::size_t slot) {
      n.slot_of[reg] = static_cast<std::uint8_t>(slot);
      n.register_of[slot] = static_cast<std::uint8_t>(reg);
    };
    put(Arch::stack_pointer, stack_pointer);
    put(Arch::frame_pointer, frame_pointer);
    put(base_register, base);
    for (unsigned reg = 0; reg < Arch::register_count && reg < 32; ++reg) {
      if (n.slot_of[reg] == none) put(reg, n.count++);
    }
    for (const std::uint8_t reg : Arch::saved) {
      if (n.slot_of[reg] == none) put(reg, n.count++);
    }
    return n;
  }();
  static constexpr std::size_t count = numbers.count;
  static_assert(count <= 60);

  /// The slot of a register; `none` when contexts do not hold it.
  [[nodiscard]] static constexpr std::uint8_t of(std::uint64_t reg) noexcept {
    return reg < Arch::register_count ? numbers.slot_of[static_cast<std::size_t>(reg)] : none;
  }
  /// The bit of a slot among the flags of a context: the first four are the seed's, bit 7 says error, 4 and 5 are below.
  [[nodiscard]] static constexpr std::uint64_t flag(std::size_t slot) noexcept {
    return std::uint64_t{1} << (slot < 4 ? slot : slot + 4);
  }
};

/// Bits of a context's flags besides those of registers.
inline constexpr std::uint64_t c_flag_exact = 0x10, c_flag_end = 0x20, c_flag_error = 0x80;

namespace detail {

/// A row for emitted code: from `begin` up to the next row, `rule` is in force.
struct c_row {
  std::uint64_t begin = 0;
  std::uint32_t rule = table_view::no_rule;
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
  using slots = c_slots<Arch>;

  c_rows(const table_view& from, c_registers wanted) {
    if (wanted == c_registers::all) {
      keep_.fill(true);
    } else {
      for (const std::size_t slot : {slots::pc, slots::stack_pointer, slots::frame_pointer, slots::base})
        keep_[slot] = true;
      for (std::size_t i = 0; i < from.rule_count(); ++i) keep_what_is_read(from, from.rule(i));
    }
    std::vector<std::uint32_t> numbers(from.rule_count(), table_view::no_rule);
    std::map<std::vector<std::byte>, std::uint32_t, detail::rule_text_order> known;
    from.for_each_row([&](std::uint64_t begin, std::uint32_t rule) {
      std::uint32_t number = table_view::no_rule;
      if (rule != table_view::no_rule) {
        if (numbers[rule] == table_view::no_rule) numbers[rule] = intern(from, from.rule(rule), known);
        number = numbers[rule];
      }
      if (!rows_.empty() && rows_.back().rule == number) return;
      if (rows_.empty() && number == table_view::no_rule) return;
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
  void keep_what_is_read(const table_view& from, const std::byte* bytes) {
    const rule_view rule(bytes);
    if (rule[unwind_rule::shape] == rule_shape::common) return keep_register(rule[unwind_rule::cfa_register]);
    if (!has_text(rule[unwind_rule::shape])) return;
    const byte_view text = from.text_of(bytes);
    const auto read_by = [&](const expression_ref& e) {
      const byte_view code = text.subspan(static_cast<std::size_t>(e.offset), e.size);
      for (std::size_t at = 0; at < code.size();) {
        const auto op = dwarf::decode_operation<order::little>(code, at, Arch::address_size);
        if (!op.valid()) return;
        if (op.reads_register()) keep_register(op.first);
        at = op.next;
      }
    };
    std::uint64_t return_address_column = 0;
    (void)walk_general_rule(
        text,
        [&](const cfa_rule& cfa, std::uint64_t column) {
          return_address_column = column;
          if (cfa.kind == cfa_kind::register_offset) keep_register(cfa.reg);
          if (cfa.kind == cfa_kind::expression) read_by(cfa.expression);
          return true;
        },
        [&](const register_rule& r) {
          if (r.reg != return_address_column) return true;
          if (r.kind == rule_kind::in_register) keep_register(static_cast<std::uint64_t>(r.value));
          if (r.has_expression()) read_by(r.expression());
          return true;
        });
  }

  [[nodiscard]] std::uint32_t intern(const table_view& from, const std::byte* bytes,
                                     std::map<std::vector<std::byte>, std::uint32_t, detail::rule_text_order>& known) {
    const rule_view rule(bytes);
    const std::size_t offset = texts_.size();
    c_rule made{offset, 0, rule[unwind_rule::signal_frame], rule[unwind_rule::shape] == rule_shape::outermost};
    if (!made.outermost) put_text(from, bytes);
    made.size = texts_.size() - offset;
    std::vector<std::byte> key(texts_.begin() + static_cast<std::ptrdiff_t>(offset), texts_.end());
    key.push_back(static_cast<std::byte>((made.signal_frame ? 1U : 0U) | (made.outermost ? 2U : 0U)));
    const auto number = static_cast<std::uint32_t>(rules_.size());
    const auto [at, is_new] = known.emplace(std::move(key), number);
    if (is_new) rules_.push_back(made);
    else texts_.resize(offset);
    return at->second;
  }
  void put_text(const table_view& from, const std::byte* bytes) {
    const rule_view rule(bytes);
    row r;
    std::uint64_t column = Arch::return_address;
    byte_view expressions;
    if (rule[unwind_rule::shape] == rule_shape::common) {
      const auto saved_at = [&](std::uint32_t reg, std::int64_t word) {
        if (word != 0) r.rules.set({reg, rule_kind::at_cfa_offset, 0, word * Arch::address_size});
      };
      r.cfa = {cfa_kind::register_offset, rule[unwind_rule::cfa_register], rule[unwind_rule::cfa_offset], {}};
      saved_at(Arch::return_address, rule[unwind_rule::return_address_word]);
      for (std::size_t i = 0; i < Arch::saved.size(); ++i) {
        saved_at(Arch::saved[i], load<std::int8_t, order::little>(bytes + unwind_rule::size + i));
      }
    } else {
      expressions = from.text_of(bytes);
      (void)walk_general_rule(
          expressions,
          [&](const cfa_rule& cfa, std::uint64_t return_address_column) {
            r.cfa = cfa;
            column = return_address_column;
            return true;
          },
          [&](const register_rule& one) { return r.rules.set(one); });
    }
    write_general_rule(
        r, column, expressions,
        [&](std::uint32_t reg) { return reg == column || (slots::of(reg) != slots::none && keep_[slots::of(reg)]); },
        [&](std::byte b) { texts_.push_back(b); });
  }

  std::array<bool, slots::count> keep_{};
  std::vector<c_row> rows_;
  std::vector<c_rule> rules_;
  std::vector<std::byte> texts_;
};

}  // namespace detail

}  // namespace backsight::cfi
