// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <backsight/cfi/rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cfi {

// A row as text of a table: [return address column ULEB] [CFA: kind u8, then register ULEB and offset SLEB, or size
// ULEB and the expression's bytes] [number of rules ULEB] and for each rule: [register ULEB] [kind u8] [SLEB, or size
// ULEB and bytes]. Part of the table format.

namespace detail {

template <class Push>
constexpr void put_uleb(Push&& push, std::uint64_t value) {
  do {
    const auto digits = static_cast<std::uint8_t>(value & 0x7fU);
    value >>= 7;
    push(static_cast<std::byte>(digits | (value != 0 ? 0x80U : 0U)));
  } while (value != 0);
}
template <class Push>
constexpr void put_sleb(Push&& push, std::int64_t value) {
  for (bool more = true; more;) {
    const auto digits = static_cast<std::uint8_t>(value & 0x7f);
    value >>= 7;
    more = !((value == 0 && (digits & 0x40U) == 0) || (value == -1 && (digits & 0x40U) != 0));
    push(static_cast<std::byte>(digits | (more ? 0x80U : 0U)));
  }
}

}  // namespace detail

namespace detail {

/// An order of such texts for maps over them: by size, then by bytes.
struct rule_text_order {
  [[nodiscard]] bool operator()(byte_view a, byte_view b) const noexcept {
    if (a.size() != b.size()) return a.size() < b.size();
    return !a.empty() && std::memcmp(a.data(), b.data(), a.size()) < 0;
  }
};

}  // namespace detail

/// Writes a row byte by byte with `push(std::byte)`, but for expressions, which `put_expression(expression_ref)`
/// writes. Rules for which `keep(register)` is false are left out.
template <class Push, class PutExpression, class Keep>
constexpr void write_rule_with(const row& r, std::uint64_t return_address_column, PutExpression&& put_expression,
                               Keep&& keep, Push&& push) {
  detail::put_uleb(push, return_address_column);
  push(static_cast<std::byte>(r.cfa.kind));
  if (r.cfa.kind == cfa_kind::register_offset) {
    detail::put_uleb(push, r.cfa.reg);
    detail::put_sleb(push, r.cfa.offset);
  } else if (r.cfa.kind == cfa_kind::expression) {
    put_expression(r.cfa.expression);
  }
  std::size_t kept = 0;
  for (const register_rule& rule : r.rules) kept += keep(rule.reg) ? std::size_t{1} : std::size_t{0};
  detail::put_uleb(push, kept);
  for (const register_rule& rule : r.rules) {
    if (!keep(rule.reg)) continue;
    detail::put_uleb(push, rule.reg);
    push(static_cast<std::byte>(rule.kind));
    if (rule.has_expression()) put_expression(rule.expression());
    else detail::put_sleb(push, rule.value);
  }
}

/// The same with the bytes of expressions, which come from `section`.
template <class Push, class Keep>
constexpr void write_general_rule(const row& r, std::uint64_t return_address_column, byte_view section, Keep&& keep,
                                  Push&& push) {
  const auto put_expression = [&](const expression_ref& e) {
    detail::put_uleb(push, e.size);
    for (const std::byte b : section.subspan(static_cast<std::size_t>(e.offset), e.size)) push(b);
  };
  write_rule_with(r, return_address_column, put_expression, keep, push);
}

/// Reads what write_general_rule wrote, part by part: `on_cfa(cfa_rule, column)` once, then `on_rule(register_rule)`
/// for each rule, until one of them is false. Expressions count from the start of `bytes`. Errors at their offset in
/// `bytes`: those of the cursor, errc::bad_value.
template <class OnCfa, class OnRule>
constexpr trace_error walk_general_rule(byte_view bytes, OnCfa&& on_cfa, OnRule&& on_rule) {
  cursor<order::little> from(bytes);
  const auto expression = [&]() -> expression_ref {
    const std::uint64_t size = from.uleb128();
    const std::uint64_t offset = from.position();
    from.skip(size);
    return {offset, static_cast<std::uint32_t>(size)};
  };
  const std::uint64_t column = from.uleb128();
  const auto kind = from.read<std::uint8_t>();
  if (kind > static_cast<std::uint8_t>(cfa_kind::expression)) return {errc::bad_value, from.position()};
  cfa_rule cfa;
  cfa.kind = static_cast<cfa_kind>(kind);
  if (cfa.kind == cfa_kind::register_offset) {
    cfa.reg = static_cast<std::uint32_t>(from.uleb128());
    cfa.offset = from.sleb128();
  } else if (cfa.kind == cfa_kind::expression) {
    cfa.expression = expression();
  }
  const std::uint64_t count = from.uleb128();
  if (from.failed()) return from.error();
  if (!on_cfa(cfa, column)) return {};
  for (std::uint64_t i = 0; i < count; ++i) {
    register_rule rule;
    rule.reg = static_cast<std::uint32_t>(from.uleb128());
    const auto rule_byte = from.read<std::uint8_t>();
    if (rule_byte > static_cast<std::uint8_t>(rule_kind::is_expression)) return {errc::bad_value, from.position()};
    rule.kind = static_cast<rule_kind>(rule_byte);
    if (rule.has_expression()) {
      const expression_ref e = expression();
      rule.value = static_cast<std::int64_t>(e.offset);
      rule.expression_size = e.size;
    } else {
      rule.value = from.sleb128();
    }
    if (from.failed()) return from.error();
    if (!on_rule(rule)) return {};
  }
  return {};
}

}  // namespace backsight::cfi
