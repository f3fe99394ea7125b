// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/record.hpp>
#include <backsight/core/schema.hpp>

namespace backsight::cfi {

/// The shapes of a rule in a table.
enum class rule_shape : std::uint8_t {
  none,       // no call frame information
  common,     // cfa = r + offset; ra = *(cfa + w*m), or unchanged when m = 0; each saved s: *(cfa + w*n), or unchanged
  outermost,  // the return address is undefined: there is no caller
  general,    // everything else: `cfa_offset` is where the rule's text lies among the general rules
};

/// A rule of a table: eight bytes, and one signed byte for each register that a callee preserves: where it is saved,
/// counted in words from the CFA; 0 for unchanged. Part of the table format, version 1.
struct unwind_rule {
  static constexpr const char* name = "unwind_rule";
  static constexpr std::size_t size = 8;
  static constexpr bool has_payload = true;
  static constexpr field<"shape", rule_shape, 3> shape{};
  static constexpr field<"signal_frame", bool, 1> signal_frame{};
  static constexpr field<"return_address_signed", std::uint8_t, 2> return_address_signed{};
  static constexpr padding<2> reserved0{};
  static constexpr field<"cfa_register", std::uint8_t> cfa_register{};
  static constexpr field<"return_address_word", std::int8_t> return_address_word{};
  static constexpr padding<8> reserved1{};
  static constexpr field<"cfa_offset", std::int32_t> cfa_offset{};
  static constexpr layout fields{word<8>(shape, signal_frame, return_address_signed, reserved0), cfa_register,
                                 return_address_word, reserved1, cfa_offset};
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
