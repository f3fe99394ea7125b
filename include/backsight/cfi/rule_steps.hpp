// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/saved_places.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/record.hpp>
#include <backsight/dwarf/pointer_encoding.hpp>

namespace backsight::cfi::detail {

/// The CFA and the place of the return address, once the rule is known and before memory is read.
template <class Arch>
struct located {
  rule_view<Arch> rule;
  std::uint64_t cfa = 0;
  std::uint64_t places = 0;  // What lanes count from.
  std::uint64_t return_address_at = 0;
  bool in_register = false;  // The return address is where it was.
};

template <class Arch>
[[nodiscard]] constexpr std::uint64_t add_words(std::uint64_t to, std::int64_t words) noexcept {
  return dwarf::wrap(to + static_cast<std::uint64_t>(words * word_bytes<Arch>), Arch::address_size);
}

/// By a rule of shape `aligned` or `signal`, whose register has the value `base`. False where the CFA cannot be read.
template <class Arch, class Memory>
[[nodiscard]] inline bool locate_placed(rule_view<Arch> r, std::uint64_t base, Memory& memory,
                                        located<Arch>& out) noexcept {
  const std::uint64_t at = add_words<Arch>(base, r[unwind_rule::cfa_word]);
  out.rule = r;
  out.cfa = at;
  if (r[unwind_rule::cfa_saved]) {
    const std::optional<std::uint64_t> read = memory(at);
    if (!read) [[unlikely]]
      return false;
    out.cfa = *read;
  }
  out.places = base + Arch::address_size;
  const std::uint64_t from = r[unwind_rule::shape] == rule_shape::aligned ? out.cfa : base;
  out.return_address_at = add_words<Arch>(from, r[unwind_rule::return_address_word]);
  return true;
}

/// By a rule of shape `common`, `aligned` or `signal`.
template <class Arch, class Memory>
[[nodiscard]] inline stop locate(const frame<Arch>& f, rule_view<Arch> r, Memory& memory, located<Arch>& out) noexcept {
  const std::uint8_t reg = r[unwind_rule::cfa_register];
  std::uint64_t base = f.value[Arch::stack_pointer];
  if (reg != Arch::stack_pointer) {
    if (reg >= Arch::register_count) [[unlikely]]
      return stop::bad_rule;
    const std::optional<std::uint64_t> value = f.get(reg, memory);
    if (!value) [[unlikely]]
      return stop::unreadable;
    base = *value;
  }
  if (r[unwind_rule::shape] != rule_shape::common) [[unlikely]]
    return locate_placed(r, base, memory, out) ? stop::none : stop::unreadable;
  out.rule = r;
  out.cfa =
      dwarf::wrap(base + static_cast<std::uint64_t>(std::int64_t{r[unwind_rule::cfa_offset]}), Arch::address_size);
  out.places = out.cfa;
  const std::int64_t word = r[unwind_rule::return_address_word];
  out.return_address_at = out.cfa + static_cast<std::uint64_t>(word * word_bytes<Arch>);
  out.in_register = word == 0;
  return stop::none;
}

/// Reads the return address and turns the frame into its caller. `recover(base)` recovers what lanes have no room for,
/// before anything changes.
template <class Arch, class Memory, class Recover>
[[nodiscard]] inline stop finish(frame<Arch>& f, const located<Arch>& at, Memory& memory, Recover&& recover) noexcept {
  std::uint64_t return_address = 0;
  if (!at.in_register) [[likely]] {
    const std::optional<std::uint64_t> read = memory(at.return_address_at);
    if (!read) [[unlikely]]
      return stop::unreadable;
    return_address = *read;
  } else {
    return_address = f.value[Arch::return_address];
  }
  const std::uint64_t pc = Arch::code_address(return_address);
  if (pc == 0) [[unlikely]]
    return stop::outermost;
  if (pc == f.pc && at.cfa <= f.value[Arch::stack_pointer]) [[unlikely]]
    return stop::no_progress;
  recover();
  update_places(f, at.rule.lanes(), at.places);
  f.value[Arch::stack_pointer] = at.cfa;
  f.value[Arch::return_address] = return_address;
  f.pc = pc;
  f.pc_is_next = at.rule[unwind_rule::signal_frame];
  f.how = found_by::call_frame_information;
  return stop::none;
}

[[nodiscard]] inline bool is_placed(rule_shape shape) noexcept {
  return shape == rule_shape::aligned || shape == rule_shape::signal;
}

/// By a rule of shape `aligned` or `signal`, with the registers that it recovers besides those of lanes.
template <class Arch, class Memory>
[[nodiscard]] stop step_placed(frame<Arch>& f, const table_view& table, rule_view<Arch> rule, Memory& memory) noexcept {
  located<Arch> at;
  if (const stop why = locate(f, rule, memory, at); why != stop::none) return why;
  const auto others = table.others_of(rule);
  return finish(f, at, memory, [&] {
    for (std::size_t i = 0; i < others.count; ++i) {
      const auto reg = std::to_integer<std::size_t>(others.pairs[2 * i]);
      if (reg >= Arch::register_count || frame<Arch>::columns[reg] != frame<Arch>::no_column) continue;
      const auto value = memory(add_words<Arch>(at.places, load<std::int8_t, order::little>(others.pairs + 2 * i + 1)));
      const std::uint64_t bit = std::uint64_t{1} << (reg % 64);
      if (value) f.value[reg] = *value;
      f.undefined[reg / 64] = value ? f.undefined[reg / 64] & ~bit : f.undefined[reg / 64] | bit;
    }
  });
}

/// The rare shapes.
template <class Arch, class Memory>
[[nodiscard]] stop step_uncommon(frame<Arch>& f, const address_space<Arch>& space, rule_view<Arch> r,
                                 Memory& memory) noexcept {
  const rule_shape shape = r[unwind_rule::shape];
  if (shape == rule_shape::outermost) return stop::outermost;
  if (!has_text(shape)) return stop::no_information;
  const mapped_object* m = space.find(f.lookup_address());
  if (m == nullptr) return stop::no_object;
  // The rule may be a copy in a cache, but what it refers to is in the table.
  if (is_placed(shape)) return step_placed(f, m->table, r, memory);
  return apply_general(f, m->table.text_of(r), r[unwind_rule::signal_frame], memory);
}

/// The first four bytes of the rules that most frames have: common, not of a signal frame, the CFA counted from that
/// register. One comparison of what would be four fields.
template <class Arch, unsigned Register>
[[nodiscard]] inline bool is_usual(std::uint32_t head) noexcept {
  constexpr std::uint32_t mask = Arch::pushes_return_addresses  ? 0xffffffffU
                                 : Arch::signs_return_addresses ? 0xffcfU
                                                                : 0xffffU;
  constexpr std::uint32_t usual = static_cast<std::uint32_t>(rule_shape::common) | Register << 8U | 0xff0000U;
  return (head & mask) == (usual & mask);
}

}  // namespace backsight::cfi::detail
