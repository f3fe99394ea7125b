// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <backsight/cfi/general_rule.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/core/record.hpp>
#include <backsight/dwarf/expression.hpp>

namespace backsight::cfi {

/// Why a walk over frames ended.
enum class stop : std::uint8_t {
  none,            ///< It goes on.
  outermost,       ///< The outermost frame: its return address is undefined or zero.
  no_object,       ///< No mapped object covers the pc.
  no_information,  ///< The mapped object has no call frame information for the pc.
  unreadable,      ///< A word of the stack could not be read: the end of a snapshot, mostly.
  no_progress,     ///< The caller has the same pc and no higher stack pointer, or the walk goes round.
  bad_rule,        ///< The rule for the pc cannot be evaluated.
  limit,           ///< The room for frames was used up.
};

/// A text for the reason; static, never null.
[[nodiscard]] constexpr const char* message(stop why) noexcept {
  switch (why) {
    case stop::none: return "going on";
    case stop::outermost: return "outermost frame";
    case stop::no_object: return "no mapped object at this address";
    case stop::no_information: return "no call frame information at this address";
    case stop::unreadable: return "memory cannot be read";
    case stop::no_progress: return "no progress";
    case stop::bad_rule: return "rule cannot be evaluated";
    case stop::limit: return "too many frames";
  }
  return "unknown reason";
}

/// A stack reader: gives the word of the machine's address size at an address. It may also have
/// `prefetch(address)`, which fetches the cache line ahead, and `reader(address, size)` for expressions.
template <class M>
concept memory_reader = requires(M& memory, std::uint64_t address) {
  { memory(address) } -> std::convertible_to<std::optional<std::uint64_t>>;
};

/// How a frame was found from the one before.
enum class found_by : std::uint8_t { call_frame_information, frame_pointer, stack_scan };

/// One frame of a walk: its pc, and its registers as far as they are known. Trivially copyable. Saved registers are
/// read from the stack when they are asked for, so that a step costs one read of memory.
template <class Arch>
struct frame {
  static constexpr std::size_t lanes = rule_lanes<Arch>;
  static constexpr std::uint8_t no_column = 0xff;
  /// The column of a register that a callee preserves, by number; no_column for others.
  static constexpr std::array<std::uint8_t, Arch::register_count> columns = [] {
    std::array<std::uint8_t, Arch::register_count> all{};
    all.fill(no_column);
    for (std::size_t i = 0; i < Arch::saved.size(); ++i) all[Arch::saved[i]] = static_cast<std::uint8_t>(i);
    return all;
  }();

  std::uint64_t pc = 0;    ///< The next instruction, or the return address as it was found.
  bool pc_is_next = true;  ///< It is no return address: in the first frame, and in one that a signal interrupted.
  found_by how = found_by::call_frame_information;
  /// A bit for each register that was lost; it counts while `where` has no place for the register.
  std::array<std::uint64_t, (Arch::register_count + 63) / 64> undefined{};
  std::array<std::uint64_t, Arch::register_count> value{};
  std::array<std::uint64_t, lanes> where{};  ///< Where a preserved register is saved; 0: it is in `value`.

  [[nodiscard]] constexpr std::uint64_t stack_pointer() const noexcept { return value[Arch::stack_pointer]; }
  /// The address to look the frame up with: a call may be the last instruction of its function, so the return address
  /// itself may belong to another row or function.
  [[nodiscard]] constexpr std::uint64_t lookup_address() const noexcept { return pc_is_next ? pc : pc - 1; }

  /// The value of a register in this frame; absent when it is lost, unreadable or not one that frames hold.
  /// A register that callees do not preserve has the value that it had in the first frame or in a signal frame.
  template <memory_reader Memory>
  [[nodiscard]] constexpr std::optional<std::uint64_t> get(std::uint64_t reg, Memory&& memory) const noexcept {
    if (reg >= Arch::register_count) return std::nullopt;
    const std::uint8_t column = columns[reg];
    if (column != no_column && where[column] != 0) return memory(where[column]);
    if ((undefined[reg / 64] >> (reg % 64) & 1U) != 0) return std::nullopt;
    return value[reg];
  }
};

/// A frame from a full set of registers, numbered as DWARF does on the machine; missing ones are zero.
template <class Arch, std::size_t Count>
[[nodiscard]] constexpr frame<Arch> first_frame(std::uint64_t pc,
                                                const std::array<std::uint64_t, Count>& registers) noexcept {
  frame<Arch> f;
  f.pc = pc;
  for (std::size_t i = 0; i < Count && i < f.value.size(); ++i) f.value[i] = registers[i];
  return f;
}

namespace detail {

/// Makes the caller's frame out of rules one by one. All new values come from the old frame, so that changes are noted
/// and made at the end; copying the frame costs more.
template <class Arch, order O, class Memory>
class caller_builder {
 public:
  constexpr caller_builder(const frame<Arch>& callee, byte_view expressions, Memory& memory) noexcept
      : callee_(callee), expressions_(expressions), memory_(memory) {}

  constexpr bool set_cfa(const cfa_rule& rule, std::uint64_t return_address_column) noexcept {
    column_ = return_address_column;
    if (rule.kind == cfa_kind::register_offset) {
      const auto base = callee_.get(rule.reg, memory_);
      if (!base) return fail(stop::unreadable);
      cfa_ = wrap(*base + static_cast<std::uint64_t>(rule.offset));
    } else if (rule.kind == cfa_kind::expression) {
      const auto value = evaluate(rule.expression, std::nullopt);
      if (!value) return false;
      cfa_ = *value;
    } else {
      return fail(stop::bad_rule);
    }
    return true;
  }

  constexpr bool set_register(const register_rule& rule) noexcept {
    if (rule.reg == column_) return set_return_address(rule);
    if (rule.reg >= Arch::register_count) return true;
    const auto reg = static_cast<std::uint8_t>(rule.reg);
    if (rule.kind == rule_kind::at_cfa_offset && frame<Arch>::columns[reg] != frame<Arch>::no_column) {
      return note({reg, fate::saved, wrap(cfa_ + static_cast<std::uint64_t>(rule.value))});
    }
    if (const auto found = value_of(rule)) return note({reg, fate::known, *found});
    // A register that cannot be had does not end the walk unless it is needed.
    why_ = stop::none;
    return note({reg, fate::lost, 0});
  }

  /// Finishes the caller's frame into `out`; a reason to stop leaves it alone.
  [[nodiscard]] constexpr stop finish(frame<Arch>& out, bool signal_frame) noexcept {
    if (why_ != stop::none) return why_;
    if (outermost_) return stop::outermost;
    if (!has_return_address_) {
      const auto unchanged = callee_.get(column_, memory_);
      if (!unchanged) return stop::bad_rule;
      return_address_ = *unchanged;
    }
    const std::uint64_t pc = Arch::code_address(return_address_);
    if (pc == 0) return stop::outermost;
    if (pc == callee_.pc && cfa_ <= callee_.stack_pointer()) return stop::no_progress;
    out.value[Arch::stack_pointer] = cfa_;
    for (std::size_t i = 0; i < count_; ++i) make(changes_[i], out);
    if constexpr (Arch::return_address < Arch::register_count) out.value[Arch::return_address] = return_address_;
    out.pc = pc;
    out.pc_is_next = signal_frame;
    out.how = found_by::call_frame_information;
    return stop::none;
  }
  [[nodiscard]] constexpr stop why() const noexcept { return why_; }

 private:
  enum class fate : std::uint8_t { saved, known, lost };
  struct change {
    std::uint8_t reg;
    fate what;
    std::uint64_t value;  // Of the register, or where it is saved.
  };
  constexpr bool note(const change& one) noexcept {
    if (count_ == changes_.size()) return fail(stop::bad_rule);  // The text of a damaged table repeats registers.
    changes_[count_++] = one;
    return true;
  }
  static constexpr void make(const change& one, frame<Arch>& out) noexcept {
    const std::uint64_t bit = std::uint64_t{1} << (one.reg % 64);
    const std::uint8_t column = frame<Arch>::columns[one.reg];
    if (one.what == fate::saved) {
      out.where[column] = one.value;
      return;
    }
    if (column != frame<Arch>::no_column) out.where[column] = 0;
    if (one.what == fate::known) {
      out.value[one.reg] = one.value;
      out.undefined[one.reg / 64] &= ~bit;
    } else if (one.reg != Arch::stack_pointer) {  // Which is the CFA then.
      out.undefined[one.reg / 64] |= bit;
    }
  }
  static constexpr std::uint64_t wrap(std::uint64_t value) noexcept { return dwarf::wrap(value, Arch::address_size); }
  constexpr bool fail(stop why) noexcept {
    why_ = why;
    return false;
  }
  constexpr bool set_return_address(const register_rule& rule) noexcept {
    has_return_address_ = true;
    if (rule.kind == rule_kind::undefined) {
      outermost_ = true;
      return true;
    }
    const auto found = value_of(rule);
    if (!found) return why_ != stop::none ? false : fail(stop::unreadable);
    return_address_ = *found;
    return true;
  }
  constexpr std::optional<std::uint64_t> evaluate(const expression_ref& e,
                                                  std::optional<std::uint64_t> first) noexcept {
    const auto registers = [&](std::uint64_t reg) -> std::optional<std::uint64_t> {
      if (reg == column_ || reg == Arch::return_address) {
        // The pc of the frame itself where the return address column is the pc (x86: PLT entries ask for it).
        if constexpr (Arch::return_address_is_pc) return callee_.pc;
      }
      return callee_.get(reg, memory_);
    };
    const auto value = dwarf::evaluate<O>(expressions_.subspan(static_cast<std::size_t>(e.offset), e.size),
                                          {Arch::address_size, 1024}, first, registers, memory_);
    if (value) return *value;
    (void)fail(value.error().code == errc::not_found ? stop::unreadable : stop::bad_rule);
    return std::nullopt;
  }
  constexpr std::optional<std::uint64_t> value_of(const register_rule& rule) noexcept {
    const auto offset = static_cast<std::uint64_t>(rule.value);
    switch (rule.kind) {
      case rule_kind::undefined: return std::nullopt;
      case rule_kind::same_value: return callee_.get(rule.reg, memory_);
      case rule_kind::at_cfa_offset: return memory_(wrap(cfa_ + offset));
      case rule_kind::is_cfa_offset: return wrap(cfa_ + offset);
      case rule_kind::in_register: return callee_.get(offset, memory_);
      case rule_kind::at_expression: {
        const auto address = evaluate(rule.expression(), cfa_);
        return address ? std::optional<std::uint64_t>(memory_(*address)) : std::nullopt;
      }
      case rule_kind::is_expression: return evaluate(rule.expression(), cfa_);
    }
    return std::nullopt;
  }

  const frame<Arch>& callee_;
  byte_view expressions_;
  Memory& memory_;
  std::uint64_t cfa_ = 0;
  std::uint64_t column_ = 0;
  std::uint64_t return_address_ = 0;
  bool has_return_address_ = false;
  bool outermost_ = false;
  stop why_ = stop::none;
  std::size_t count_ = 0;
  std::array<change, Arch::register_count> changes_;
};

}  // namespace detail

/// Goes from a frame to its caller by a row of the interpreter; `section` holds the row's expressions. On any reason to
/// stop, the frame stays as it was.
template <class Arch, order O, memory_reader Memory>
constexpr stop apply(frame<Arch>& f, const row& r, std::uint64_t return_address_column, bool signal_frame,
                     byte_view section, Memory&& memory) noexcept {
  detail::caller_builder<Arch, O, std::remove_reference_t<Memory>> caller(f, section, memory);
  if (!caller.set_cfa(r.cfa, return_address_column)) return caller.why();
  for (const register_rule& rule : r.rules) {
    if (!caller.set_register(rule)) return caller.why();
  }
  return caller.finish(f, signal_frame);
}

/// Goes from a frame to its caller by a general rule of a table.
template <class Arch, memory_reader Memory>
constexpr stop apply_general(frame<Arch>& f, byte_view text, bool signal_frame, Memory&& memory) noexcept {
  detail::caller_builder<Arch, order::little, std::remove_reference_t<Memory>> caller(f, text, memory);
  const trace_error error = walk_general_rule(
      text, [&](const cfa_rule& rule, std::uint64_t column) { return caller.set_cfa(rule, column); },
      [&](const register_rule& rule) { return caller.set_register(rule); });
  if (error) return stop::bad_rule;
  if (caller.why() != stop::none) return caller.why();
  return caller.finish(f, signal_frame);
}

}  // namespace backsight::cfi
