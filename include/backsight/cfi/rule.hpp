// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>

namespace backsight::cfi {

/// How a register of the caller is found. `value` is the rule's number: an offset, a register or a packed expression.
/// The seed of this language is four cases: undefined; at address x; of value x; of an expression.
enum class rule_kind : std::uint8_t {
  undefined,      // the register cannot be recovered
  same_value,     // caller.r = r
  at_cfa_offset,  // caller.r = *(cfa + value)
  is_cfa_offset,  // caller.r = cfa + value
  in_register,    // caller.r = register[value] of this frame
  at_expression,  // caller.r = *(expression), the CFA is on its stack at first
  is_expression,  // caller.r = expression, the CFA is on its stack at first
};

/// A DWARF expression inside a section: where its bytes are.
struct expression_ref {
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
};

/// The rule of one register.
struct register_rule {
  std::uint32_t reg = 0;
  rule_kind kind = rule_kind::undefined;
  std::uint32_t expression_size = 0;
  std::int64_t value = 0;  ///< Offset, register, or the expression's offset in the section.

  [[nodiscard]] constexpr bool has_expression() const noexcept {
    return kind == rule_kind::at_expression || kind == rule_kind::is_expression;
  }
  [[nodiscard]] constexpr expression_ref expression() const noexcept {
    return {static_cast<std::uint64_t>(value), expression_size};
  }
};

/// How the canonical frame address is found.
enum class cfa_kind : std::uint8_t {
  none,             // never set
  register_offset,  // cfa = register + offset
  expression,       // cfa = expression, with an empty stack at first
};

/// The rule of the CFA. The offset of a former register_offset outlives an expression: def_cfa_register takes it.
struct cfa_rule {
  cfa_kind kind = cfa_kind::none;
  std::uint32_t reg = 0;
  std::int64_t offset = 0;
  expression_ref expression;
};

/// The registers with a rule, ascending by number. A register without one is unspecified: unwinders take it for
/// unchanged, and the stack pointer for the CFA. Fixed capacity; never allocates.
class rule_list {
 public:
  static constexpr std::size_t capacity = 192;

  constexpr rule_list() = default;
  constexpr rule_list(const rule_list& other) noexcept { *this = other; }
  // Copies the rules in use only; the array is 3 KB.
  constexpr rule_list& operator=(const rule_list& other) noexcept {
    size_ = other.size_;
    for (std::size_t i = 0; i < size_; ++i) rules_[i] = other.rules_[i];
    return *this;
  }

  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr const register_rule* begin() const noexcept { return rules_.data(); }
  [[nodiscard]] constexpr const register_rule* end() const noexcept { return rules_.data() + size_; }
  [[nodiscard]] constexpr const register_rule& operator[](std::size_t index) const noexcept { return rules_[index]; }

  /// The rule of a register; null when it has none.
  [[nodiscard]] constexpr const register_rule* find(std::uint64_t reg) const noexcept {
    for (const register_rule& rule : *this) {
      if (rule.reg == reg) return &rule;
    }
    return nullptr;
  }
  /// Sets the rule of rule.reg; false when there is no room for a further register.
  constexpr bool set(const register_rule& rule) noexcept {
    std::size_t at = size_;
    while (at > 0 && rules_[at - 1].reg >= rule.reg) --at;
    if (at == size_ || rules_[at].reg != rule.reg) {
      if (size_ == capacity) return false;
      for (std::size_t i = size_; i > at; --i) rules_[i] = rules_[i - 1];
      ++size_;
    }
    rules_[at] = rule;
    return true;
  }
  constexpr void erase(std::uint64_t reg) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      if (rules_[i].reg != reg) rules_[kept++] = rules_[i];
    }
    size_ = kept;
  }
  constexpr void clear() noexcept { size_ = 0; }
  /// Takes over `count` rules that are in order. Precondition: count <= capacity.
  constexpr void assign(const register_rule* first, std::size_t count) noexcept {
    size_ = count;
    for (std::size_t i = 0; i < count; ++i) rules_[i] = first[i];
  }

 private:
  std::array<register_rule, capacity> rules_{};
  std::size_t size_ = 0;
};

/// How to go from a frame to its caller, for the addresses from begin to end.
struct row {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< Where the next row begins; of the last row, where the FDE ends.
  cfa_rule cfa;
  rule_list rules;
  std::uint8_t return_address_signed = 0;  ///< AArch64: bit 0, signed with sp; bit 1, the pc is a second modifier.
};

namespace detail {

[[nodiscard]] constexpr bool same_bytes(byte_view section, const expression_ref& a, const expression_ref& b) noexcept {
  if (a.size != b.size) return false;
  if (a.offset == b.offset) return true;
  for (std::size_t i = 0; i < a.size; ++i) {
    if (section[static_cast<std::size_t>(a.offset) + i] != section[static_cast<std::size_t>(b.offset) + i])
      return false;
  }
  return true;
}

}  // namespace detail

/// The two rows say the same, wherever they begin; expressions are compared by their bytes in `section`.
[[nodiscard]] constexpr bool same_rules(byte_view section, const row& a, const row& b) noexcept {
  if (a.cfa.kind != b.cfa.kind || a.rules.size() != b.rules.size()) return false;
  if (a.cfa.kind == cfa_kind::register_offset && (a.cfa.reg != b.cfa.reg || a.cfa.offset != b.cfa.offset)) return false;
  if (a.cfa.kind == cfa_kind::expression && !detail::same_bytes(section, a.cfa.expression, b.cfa.expression))
    return false;
  for (std::size_t i = 0; i < a.rules.size(); ++i) {
    const register_rule& x = a.rules[i];
    const register_rule& y = b.rules[i];
    if (x.reg != y.reg || x.kind != y.kind) return false;
    if (x.has_expression() ? !detail::same_bytes(section, x.expression(), y.expression()) : x.value != y.value)
      return false;
  }
  return true;
}

}  // namespace backsight::cfi
