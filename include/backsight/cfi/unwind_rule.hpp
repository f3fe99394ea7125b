// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

/// A rule in a table for whatever machine, or none: a pointer to its bytes, which must outlive it.
class any_rule {
 public:
  constexpr any_rule() = default;
  constexpr explicit any_rule(const std::byte* bytes) noexcept : bytes_(bytes) {}

  [[nodiscard]] constexpr explicit operator bool() const noexcept { return bytes_ != nullptr; }
  /// They are the same rule of the same table.
  [[nodiscard]] friend constexpr bool operator==(any_rule, any_rule) = default;
  [[nodiscard]] constexpr const std::byte* bytes() const noexcept { return bytes_; }
  template <class Field>
  [[nodiscard]] constexpr typename Field::value_type operator[](Field member) const noexcept {
    return record<unwind_rule, order::little>(bytes_)[member];
  }

 private:
  const std::byte* bytes_ = nullptr;
};

/// Where a rule for Arch says that registers are saved: a signed byte for each of Arch::saved.
template <class Arch>
using lanes_view = std::span<const std::byte, rule_lanes<Arch>>;

/// A rule for Arch, in a table or as the copy that a cache has of it; or none.
template <class Arch>
class rule_view : public any_rule {
 public:
  constexpr rule_view() = default;
  /// Precondition: rule_size<Arch> bytes are readable at `bytes`, if it is not null.
  constexpr explicit rule_view(const std::byte* bytes) noexcept : any_rule(bytes) {}
  /// Precondition: the rule is of a table whose machine is Arch.
  constexpr explicit rule_view(any_rule rule) noexcept : any_rule(rule) {}

  [[nodiscard]] constexpr lanes_view<Arch> lanes() const noexcept {
    return lanes_view<Arch>(bytes() + unwind_rule::size, rule_lanes<Arch>);
  }
  /// Where the register Arch::saved[lane] is saved, in words; 0 for unchanged.
  [[nodiscard]] constexpr std::int8_t saved_word(std::size_t lane) const noexcept {
    return load<std::int8_t, order::little>(bytes() + unwind_rule::size + lane);
  }
};

}  // namespace backsight::cfi
