// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>

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
/// The first 128 registers have a place each, so that their rules are set and dropped without looking for them.
class rule_list {
  static constexpr std::size_t direct = 128;
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  static constexpr std::size_t words = 3;  // Of a bit for each place; the last is of the registers from 128 on.

 public:
  /// Room for the rules of the registers below 128, and for 64 of those above.
  static constexpr std::size_t capacity = words * 64;

  constexpr rule_list() = default;
  constexpr rule_list(const rule_list& other) noexcept { *this = other; }
  // Copies the rules in use only; the array is 4.5 KB.
  constexpr rule_list& operator=(const rule_list& other) noexcept {
    ++changes_;
    last_set_ = none;
    used_ = other.used_;
    for (iterator at = other.begin(); at != other.end(); ++at) rules_[at.place()] = *at;
    return *this;
  }

  class iterator {
   public:
    using value_type = register_rule;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    constexpr iterator() = default;
    constexpr explicit iterator(const rule_list& list) noexcept : list_(&list), bits_(list.used_[0]) { settle(); }
    [[nodiscard]] constexpr const register_rule& operator*() const noexcept { return list_->rules_[place()]; }
    [[nodiscard]] constexpr const register_rule* operator->() const noexcept { return &**this; }
    constexpr iterator& operator++() noexcept {
      bits_ &= bits_ - 1;
      settle();
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      iterator before = *this;
      ++*this;
      return before;
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.word_ == b.word_ && a.bits_ == b.bits_;
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, std::default_sentinel_t) noexcept {
      return a.bits_ == 0;
    }

   private:
    friend class rule_list;
    [[nodiscard]] constexpr std::size_t place() const noexcept {
      return word_ * 64 + static_cast<std::size_t>(std::countr_zero(bits_));
    }
    constexpr void settle() noexcept {
      while (bits_ == 0 && word_ + 1 < words) bits_ = list_->used_[++word_];
    }
    const rule_list* list_ = nullptr;
    std::uint64_t bits_ = 0;
    std::size_t word_ = 0;
  };

  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(*this); }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    std::size_t count = 0;
    for (const std::uint64_t word : used_) count += static_cast<std::size_t>(std::popcount(word));
    return count;
  }
  [[nodiscard]] constexpr bool empty() const noexcept { return begin() == end(); }

  /// The rule of a register; null when it has none.
  [[nodiscard]] constexpr const register_rule* find(std::uint64_t reg) const noexcept {
    if (reg < direct) [[likely]]
      return (used_[static_cast<std::size_t>(reg / 64)] >> (reg % 64) & 1U) != 0
                 ? &rules_[static_cast<std::size_t>(reg)]
                 : nullptr;
    const std::size_t at = place_above(reg);
    return at < end_above() && rules_[at].reg == reg ? &rules_[at] : nullptr;
  }
  /// Sets the rule of rule.reg; false when there is no room for a further register.
  // Inline always: a call is 2 % more instructions of building a table (GCC 12).
  [[gnu::always_inline]] constexpr bool set(const register_rule& rule) noexcept {
    ++changes_;
    last_set_ = rule.reg;
    if (rule.reg < direct) [[likely]] {
      used_[rule.reg / 64] |= std::uint64_t{1} << (rule.reg % 64);
      rules_[rule.reg] = rule;
      return true;
    }
    return set_above(rule);
  }
  constexpr void erase(std::uint64_t reg) noexcept {
    ++changes_;
    last_set_ = none;
    if (reg < direct) [[likely]] {
      used_[static_cast<std::size_t>(reg / 64)] &= ~(std::uint64_t{1} << (reg % 64));
    } else if (find(reg) != nullptr) {
      for (std::size_t at = place_above(reg); at + 1 < end_above(); ++at) rules_[at] = rules_[at + 1];
      used_.back() >>= 1U;
    }
  }
  constexpr void clear() noexcept {
    ++changes_;
    last_set_ = none;
    used_ = {};
  }
  /// Another number than before whenever rules may have changed, so that what was worked out from them can be kept.
  [[nodiscard]] constexpr std::uint64_t changes() const noexcept { return changes_; }
  /// The rule that was set last; null when the last change was another one.
  [[nodiscard]] constexpr const register_rule* last_set() const noexcept { return find(last_set_); }

 private:
  // The registers from 128 on fill the places behind, ascending and without gaps.
  [[nodiscard]] constexpr std::size_t end_above() const noexcept {
    return direct + static_cast<std::size_t>(std::popcount(used_.back()));
  }
  [[nodiscard]] constexpr std::size_t place_above(std::uint64_t reg) const noexcept {
    std::size_t at = direct;
    while (at < end_above() && rules_[at].reg < reg) ++at;
    return at;
  }
  constexpr bool set_above(const register_rule& rule) noexcept {
    const std::size_t at = place_above(rule.reg);
    if (at == end_above() || rules_[at].reg != rule.reg) {
      if (end_above() == capacity) return false;
      for (std::size_t i = end_above(); i > at; --i) rules_[i] = rules_[i - 1];
      used_.back() = used_.back() << 1U | 1U;
    }
    rules_[at] = rule;
    return true;
  }

  std::array<std::uint64_t, words> used_{};
  std::uint64_t changes_ = 0;
  std::uint64_t last_set_ = none;
  std::array<register_rule, capacity> rules_{};
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
  auto other = b.rules.begin();
  for (const register_rule& x : a.rules) {
    const register_rule& y = *other++;
    if (x.reg != y.reg || x.kind != y.kind) return false;
    if (x.has_expression() ? !detail::same_bytes(section, x.expression(), y.expression()) : x.value != y.value)
      return false;
  }
  return true;
}

}  // namespace backsight::cfi
