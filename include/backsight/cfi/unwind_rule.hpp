// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/record.hpp>
#include <backsight/core/schema.hpp>

namespace backsight::cfi {

/// The shapes of a rule in a table. In the equations, w is the size of the machine's word, b the value of the rule's
/// register, and n a byte of the rule. Below `common` and `outermost`, `cfa_offset` is where the rule's text lies among
/// the general rules; the text says the same as the equations, and `signal` besides what a lane has no room for.
enum class rule_shape : std::uint8_t {
  common = 1,  // cfa = b + offset; ra = *(cfa + w*n), or unchanged when n = 0; each saved s: *(cfa + w*n), or unchanged
  outermost,   // the return address is undefined: there is no caller
  general,     // everything else
  aligned,     // cfa = *(b + w*n), or b + w*n; ra = *(cfa + w*n); each saved s: *(b + w + w*n), or unchanged when n = 0
  signal,      // the same, and ra = *(b + w*n); a list of other registers, *(b + w + w*n) too, lies before the text
};

/// A rule of this shape has a text among the general rules.
[[nodiscard]] constexpr bool has_text(rule_shape shape) noexcept {
  return shape == rule_shape::general || shape == rule_shape::aligned || shape == rule_shape::signal;
}

/// A rule of a table: eight bytes, and one signed byte for each register that a callee preserves: where it is saved,
/// counted in words; 0 for unchanged. Part of the table format, version 2.
struct unwind_rule {
  static constexpr const char* name = "unwind_rule";
  static constexpr std::size_t size = 8;
  static constexpr bool has_payload = true;
  static constexpr field<"shape", rule_shape, 3> shape{};
  static constexpr field<"signal_frame", bool, 1> signal_frame{};
  static constexpr field<"return_address_signed", std::uint8_t, 2> return_address_signed{};
  static constexpr field<"cfa_saved", bool, 1> cfa_saved{};  // The CFA of `aligned` and `signal` is read from there.
  static constexpr padding<1> reserved0{};
  static constexpr field<"cfa_register", std::uint8_t> cfa_register{};
  static constexpr field<"return_address_word", std::int8_t> return_address_word{};
  static constexpr field<"cfa_word", std::int8_t> cfa_word{};  // Of `aligned` and `signal`.
  static constexpr field<"cfa_offset", std::int32_t> cfa_offset{};
  static constexpr layout fields{word<8>(shape, signal_frame, return_address_signed, cfa_saved, reserved0),
                                 cfa_register, return_address_word, cfa_word, cfa_offset};
};
static_assert(schema<unwind_rule>);

/// The bytes of saved registers in a rule for Arch: a multiple of eight.
template <class Arch>
inline constexpr std::size_t rule_lanes = (Arch::saved.size() + 7) / 8 * 8;

/// The bytes of a rule for Arch.
template <class Arch>
inline constexpr std::size_t rule_size = unwind_rule::size + rule_lanes<Arch>;

/// A view of a rule in a table.
using rule_view = record<unwind_rule, order::little>;

}  // namespace backsight::cfi
