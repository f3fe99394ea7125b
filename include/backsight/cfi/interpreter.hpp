// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/cfi/interpreter_context.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>
#include <backsight/dwarf/constants.hpp>
#include <backsight/dwarf/pointer_encoding.hpp>

namespace backsight::cfi {

/// Runs the instructions of one FDE after the other and stops at every row: load_cie, begin, then next() until it is
/// false, then error(). Rows come as the section has them, empty and repeated ones included. A template over the
/// architecture, which decides the address width and what vendor instructions mean, and the byte order.
template <class Arch, order O, class Context = context<>>
class row_machine {
 public:
  constexpr row_machine(const section<O>& from, Context& memory) noexcept : section_(from), context_(memory) {}

  /// Reads a CIE and runs its instructions; keeps the last one. Errors: those of section::cie_at and of next().
  [[nodiscard]] constexpr trace_error load_cie(std::uint64_t offset) noexcept {
    if (holds_cie(offset)) return {};
    const auto found = section_.cie_at(offset);
    if (!found) return found.error();
    return load_cie(*found);
  }
  /// The context holds the initial rules of the CIE at this offset.
  [[nodiscard]] constexpr bool holds_cie(std::uint64_t offset) const noexcept {
    return context_.cie_section_ != nullptr && context_.cie_section_ == section_.bytes().data() &&
           context_.cie_.offset == offset;
  }
  [[nodiscard]] constexpr trace_error load_cie(const cie& c) noexcept {
    hold(c);
    context_.initial_rules_.clear();
    context_.initial_cfa_ = {};
    context_.initial_signed_ = 0;
    start(0, 0, c.instructions, c.end);
    for_each([](const row&) {});
    if (error()) return error();
    context_.initial_rules_ = context_.row_.rules;
    context_.initial_cfa_ = context_.row_.cfa;
    if (context_.initial_cfa_.kind != cfa_kind::register_offset) context_.initial_cfa_.offset = 0;
    context_.initial_signed_ = context_.row_.return_address_signed;
    context_.cie_section_ = section_.bytes().data();
    return {};
  }

  /// What the instructions of the CIE loaded last gave, and how to load it again without running them.
  [[nodiscard]] constexpr const rule_list& initial_rules() const noexcept { return context_.initial_rules_; }
  [[nodiscard]] constexpr const cfa_rule& initial_cfa() const noexcept { return context_.initial_cfa_; }
  [[nodiscard]] constexpr std::uint8_t initial_signing() const noexcept { return context_.initial_signed_; }
  template <class Rules>
  constexpr void load_cie(const cie& c, const Rules& rules, const cfa_rule& cfa, std::uint8_t is_signed) noexcept {
    hold(c);
    context_.initial_rules_.clear();
    for (const register_rule& rule : rules) context_.initial_rules_.set(rule);
    context_.initial_cfa_ = cfa;
    context_.initial_signed_ = is_signed;
    context_.cie_section_ = section_.bytes().data();
  }

  /// Begins an FDE of the CIE loaded last.
  constexpr void begin(const fde& f) noexcept { start(f.begin, f.end, f.instructions, f.instructions_end); }

  /// Goes to the next row; false at the end and after an error. The last row reaches to the end of the FDE.
  [[nodiscard]] constexpr bool next() noexcept {
    return run([](const row&) { return true; });
  }

  /// Goes to the next row that covers `address`; false when none does and after an error. Cheaper than next() until the
  /// row is found, as rows on the way are not made ready for the caller.
  [[nodiscard]] constexpr bool find(std::uint64_t address) noexcept {
    return run([address](const row& r) { return r.begin <= address && address < r.end; });
  }

  /// Calls `sink(row)` for every row that is left.
  template <class Sink>
  constexpr void for_each(Sink&& sink) {
    (void)run([&](const row& r) {
      sink(r);
      return false;
    });
  }

  /// The row that next() or find() went to; valid until the next call.
  [[nodiscard]] constexpr const row& current() const noexcept { return context_.row_; }
  [[nodiscard]] constexpr const cie& current_cie() const noexcept { return context_.cie_; }
  /// What ended the FDE before its end, at its offset in the section: errc::unknown_record (instruction),
  /// bad_transition (restore_state without remember_state, def_cfa_offset without a register, set_loc to a lower
  /// address, restore in a CIE), out_of_range (an advance beyond all addresses), capacity, those of the cursor.
  [[nodiscard]] constexpr const trace_error& error() const noexcept { return from_.error(); }

 private:
  /// Runs instructions up to the end of a row for which `wanted` is true.
  template <class Wanted>
  [[nodiscard]] constexpr bool run(Wanted wanted) noexcept {
    if (finished_) return false;
    row& now = context_.row_;
    now.begin = now.end;
    cursor<O> from = from_;  // A local one stays in registers.
    while (!from.at_end()) {
      const auto code = from.template read<std::uint8_t>();
      const unsigned low = code & 0x3fU;
      switch (code >> 6) {
        case 1: advance(from, low); break;
        case 2: set(from, low, rule_kind::at_cfa_offset, scaled(from.uleb128())); continue;
        case 3: restore_initial(from, low); continue;
        default:
          if (!execute(static_cast<dwarf::call_frame>(code), from)) continue;
      }
      if (wanted(now) && !from.failed()) {
        from_ = from;
        return true;
      }
      now.begin = now.end;
    }
    from_ = from;
    finished_ = true;
    now.end = fde_end_;
    return !from.failed() && wanted(now);
  }

  constexpr void hold(const cie& c) noexcept {
    context_.cie_section_ = nullptr;
    context_.cie_ = c;
    context_.highest_address_ = dwarf::wrap(~std::uint64_t{0}, c.address_size);
    context_.longest_advance_ = context_.highest_address_ / (c.code_alignment == 0 ? 1 : c.code_alignment);
  }
  constexpr void start(std::uint64_t begin, std::uint64_t end, std::uint64_t first, std::uint64_t last) noexcept {
    row& now = context_.row_;
    now.rules = context_.initial_rules_;
    now.cfa = context_.initial_cfa_;
    now.return_address_signed = context_.initial_signed_;
    context_.forget();
    now.end = begin;  // Where the first row begins.
    fde_end_ = end;
    finished_ = false;
    from_ = cursor<O>(section_.bytes().first(static_cast<std::size_t>(last)));
    from_.seek(first);
  }

  [[nodiscard]] constexpr std::int64_t scaled(std::uint64_t factored) const noexcept {
    return static_cast<std::int64_t>(factored * static_cast<std::uint64_t>(context_.cie_.data_alignment));
  }

  /// Ends the present row so many units of code further on.
  constexpr void advance(cursor<O>& from, std::uint64_t delta) noexcept {
    const std::uint64_t begin = context_.row_.begin;
    if (delta > context_.longest_advance_ || delta * context_.cie_.code_alignment > context_.highest_address_ - begin)
        [[unlikely]] {
      return from.fail(errc::out_of_range);
    }
    context_.row_.end = begin + delta * context_.cie_.code_alignment;
  }
  constexpr void move_to(cursor<O>& from, std::uint64_t location) noexcept {
    if (location < context_.row_.begin) return from.fail(errc::bad_transition);
    context_.row_.end = location;
  }

  // After an error of the cursor these work on zeros, in a row that nobody gets to see. Inline always: calls are 2 %
  // more instructions of building a table (GCC 12).
  [[gnu::always_inline]] constexpr void set(cursor<O>& from, std::uint64_t reg, rule_kind kind, std::int64_t value,
                                            std::uint32_t size = 0) noexcept {
    if (reg > 0xffffffffU) return from.fail(errc::bad_value);
    if (!context_.row_.rules.set({static_cast<std::uint32_t>(reg), kind, size, value})) from.fail(errc::capacity);
  }
  constexpr void restore_initial(cursor<O>& from, std::uint64_t reg) noexcept {
    if (context_.cie_section_ == nullptr) [[unlikely]]
      return from.fail(errc::bad_transition);
    // The rule of the CIE comes back; where it has none, the register is unspecified again.
    if (const register_rule* rule = context_.initial_rules_.find(reg)) context_.row_.rules.set(*rule);
    else context_.row_.rules.erase(reg);
  }
  constexpr void define_cfa(cursor<O>& from, std::uint64_t reg, std::int64_t offset) noexcept {
    if (reg > 0xffffffffU) return from.fail(errc::bad_value);
    context_.row_.cfa = {cfa_kind::register_offset, static_cast<std::uint32_t>(reg), offset, {}};
  }
  constexpr void define_cfa_offset(cursor<O>& from, std::int64_t offset) noexcept {
    if (context_.row_.cfa.kind != cfa_kind::register_offset) return from.fail(errc::bad_transition);
    context_.row_.cfa.offset = offset;
  }
  [[nodiscard]] static constexpr expression_ref block(cursor<O>& from) noexcept {
    const std::uint64_t size = from.uleb128();
    const std::uint64_t offset = from.position();
    from.skip(size);
    if (size > 0xffffffffU) from.fail(errc::bad_size);
    return {offset, static_cast<std::uint32_t>(size)};
  }
  constexpr void set_expression(cursor<O>& from, rule_kind kind) noexcept {
    const std::uint64_t reg = from.uleb128();
    const expression_ref at = block(from);
    set(from, reg, kind, static_cast<std::int64_t>(at.offset), at.size);
  }
  /// Executes an instruction that has no operand in its opcode. True when it ends the row.
  // Inline always: a call for each is 6 % more instructions of building a table (GCC 12).
  [[nodiscard, gnu::always_inline]] constexpr bool execute(dwarf::call_frame code, cursor<O>& from) noexcept {
    using enum dwarf::call_frame;
    switch (code) {
      case nop: return false;
      case set_loc: {
        const auto bases = section_.bases();
        const auto to = dwarf::read_pointer(from, context_.cie_.pointer_encoding, context_.cie_.address_size, bases);
        move_to(from, to.address);
        return true;
      }
      case advance_loc1: advance(from, from.template read<std::uint8_t>()); return true;
      case advance_loc2: advance(from, from.template read<std::uint16_t>()); return true;
      case advance_loc4: advance(from, from.template read<std::uint32_t>()); return true;
      case mips_advance_loc8: advance(from, from.template read<std::uint64_t>()); return true;
      case offset_extended: {
        const std::uint64_t reg = from.uleb128();
        const std::uint64_t factored = from.uleb128();
        set(from, reg, rule_kind::at_cfa_offset, scaled(factored));
        return false;
      }
      case offset_extended_sf: {
        const std::uint64_t reg = from.uleb128();
        const std::int64_t factored = from.sleb128();
        set(from, reg, rule_kind::at_cfa_offset, scaled(static_cast<std::uint64_t>(factored)));
        return false;
      }
      case gnu_negative_offset_extended: {
        const std::uint64_t reg = from.uleb128();
        const std::uint64_t factored = from.uleb128();
        set(from, reg, rule_kind::at_cfa_offset, scaled(0 - factored));
        return false;
      }
      case restore_extended: {
        const std::uint64_t reg = from.uleb128();
        restore_initial(from, reg);
        return false;
      }
      case undefined: set(from, from.uleb128(), rule_kind::undefined, 0); return false;
      case same_value: set(from, from.uleb128(), rule_kind::same_value, 0); return false;
      case register_: {
        const std::uint64_t reg = from.uleb128();
        const std::uint64_t other = from.uleb128();
        set(from, reg, rule_kind::in_register, static_cast<std::int64_t>(other));
        return false;
      }
      case remember_state:
        if (!context_.remember()) from.fail(errc::capacity);
        return false;
      case restore_state:
        if (!context_.restore()) from.fail(errc::bad_transition);
        return false;
      case def_cfa: {
        const std::uint64_t reg = from.uleb128();
        const std::uint64_t offset = from.uleb128();
        define_cfa(from, reg, static_cast<std::int64_t>(offset));
        return false;
      }
      case def_cfa_sf: {
        const std::uint64_t reg = from.uleb128();
        const std::int64_t factored = from.sleb128();
        define_cfa(from, reg, scaled(static_cast<std::uint64_t>(factored)));
        return false;
      }
      // After an expression DWARF 5 calls this invalid; libgcrypt has it, and means the last numeric offset.
      case def_cfa_register: define_cfa(from, from.uleb128(), context_.row_.cfa.offset); return false;
      case def_cfa_offset: define_cfa_offset(from, static_cast<std::int64_t>(from.uleb128())); return false;
      case def_cfa_offset_sf: define_cfa_offset(from, scaled(static_cast<std::uint64_t>(from.sleb128()))); return false;
      case def_cfa_expression: {
        const expression_ref at = block(from);
        context_.row_.cfa.kind = cfa_kind::expression;
        context_.row_.cfa.expression = at;
        return false;
      }
      case dwarf::call_frame::expression: set_expression(from, rule_kind::at_expression); return false;
      case val_expression: set_expression(from, rule_kind::is_expression); return false;
      case val_offset: {
        const std::uint64_t reg = from.uleb128();
        const std::uint64_t factored = from.uleb128();
        set(from, reg, rule_kind::is_cfa_offset, scaled(factored));
        return false;
      }
      case val_offset_sf: {
        const std::uint64_t reg = from.uleb128();
        const std::int64_t factored = from.sleb128();
        set(from, reg, rule_kind::is_cfa_offset, scaled(static_cast<std::uint64_t>(factored)));
        return false;
      }
      case gnu_args_size: (void)from.uleb128(); return false;
      case gnu_window_save:
        if constexpr (Arch::signs_return_addresses) context_.row_.return_address_signed ^= 1U;
        return false;
      case aarch64_negate_ra_state_with_pc:
        if constexpr (Arch::signs_return_addresses) context_.row_.return_address_signed ^= 3U;
        return false;
      case llvm_def_aspace_cfa: {
        const std::uint64_t reg = from.uleb128();
        const std::uint64_t offset = from.uleb128();
        (void)from.uleb128();
        define_cfa(from, reg, static_cast<std::int64_t>(offset));
        return false;
      }
      case llvm_def_aspace_cfa_sf: {
        const std::uint64_t reg = from.uleb128();
        const std::int64_t factored = from.sleb128();
        (void)from.uleb128();
        define_cfa(from, reg, scaled(static_cast<std::uint64_t>(factored)));
        return false;
      }
      default: from.fail(errc::unknown_record); return false;
    }
  }

  section<O> section_;
  Context& context_;
  cursor<O> from_;
  std::uint64_t fde_end_ = 0;
  bool finished_ = true;
};

/// Runs one FDE and calls `sink(row)` for each of its rows in order. The row is valid during the call. Errors as for
/// row_machine::error(); rows seen before an error belong to a refused FDE.
template <class Arch, order O, class Context, class Sink>
constexpr trace_error interpret(const section<O>& from, const fde& f, Context& memory, Sink&& sink) {
  row_machine<Arch, O, Context> machine(from, memory);
  if (const trace_error error = machine.load_cie(f.cie_offset)) return error;
  machine.begin(f);
  machine.for_each(sink);
  return machine.error();
}

}  // namespace backsight::cfi
