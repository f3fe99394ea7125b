// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The values of expressions in print formats, and what the operators of C make of them.
namespace backsight::ftrace::detail {

/// A number or a text.
struct expression_value {
  std::uint64_t number = 0;
  bool is_signed = true, is_text = false;
  std::string text;
};
[[nodiscard]] inline expression_value number(std::uint64_t n, bool is_signed = true) {
  return {n, is_signed, false, {}};
}

/// Operators by how tightly they bind.
struct operation {
  std::string_view token;
  unsigned level;
};
inline constexpr std::array<operation, 18> operations{{{"||", 0},
                                                       {"&&", 1},
                                                       {"==", 5},
                                                       {"!=", 5},
                                                       {"<<", 7},
                                                       {">>", 7},
                                                       {"<=", 6},
                                                       {">=", 6},
                                                       {"|", 2},
                                                       {"^", 3},
                                                       {"&", 4},
                                                       {"<", 6},
                                                       {">", 6},
                                                       {"+", 8},
                                                       {"-", 8},
                                                       {"*", 9},
                                                       {"/", 9},
                                                       {"%", 9}}};

/// Nothing for a division by zero.
[[nodiscard]] inline std::optional<expression_value> apply_operator(std::string_view token,
                                                                    const expression_value& left,
                                                                    const expression_value& right) {
  const std::uint64_t a = left.number, b = right.number;
  const bool is_signed = left.is_signed && right.is_signed;
  const auto less = [&](std::uint64_t x, std::uint64_t y) {
    return is_signed ? static_cast<std::int64_t>(x) < static_cast<std::int64_t>(y) : x < y;
  };
  const auto truth = [](bool is) { return number(is ? 1 : 0); };
  if (token == "||") return truth(a != 0 || b != 0);
  if (token == "&&") return truth(a != 0 && b != 0);
  if (token == "==") return truth(a == b);
  if (token == "!=") return truth(a != b);
  if (token == "<") return truth(less(a, b));
  if (token == ">") return truth(less(b, a));
  if (token == "<=") return truth(!less(b, a));
  if (token == ">=") return truth(!less(a, b));
  if (token == "|") return number(a | b, is_signed);
  if (token == "^") return number(a ^ b, is_signed);
  if (token == "&") return number(a & b, is_signed);
  if (token == "+") return number(a + b, is_signed);
  if (token == "-") return number(a - b, is_signed);
  if (token == "*") return number(a * b, is_signed);
  if (token == "<<") return number(b < 64 ? a << b : 0, left.is_signed);
  if (token == ">>") {
    if (!left.is_signed) return number(b < 64 ? a >> b : 0, false);
    return number(static_cast<std::uint64_t>(static_cast<std::int64_t>(a) >> std::min<std::uint64_t>(b, 63)));
  }
  if (b == 0) return std::nullopt;
  // The least number has no positive one: it is divided as it is.
  if (!is_signed || b == ~std::uint64_t{0}) {
    if (is_signed) return token == "/" ? number(0 - a) : number(0);
    return number(token == "/" ? a / b : a % b, false);
  }
  const auto x = static_cast<std::int64_t>(a), y = static_cast<std::int64_t>(b);
  return number(static_cast<std::uint64_t>(token == "/" ? x / y : x % y));
}

/// The lower bits of a number, with their sign or without.
[[nodiscard]] inline std::uint64_t narrow(std::uint64_t n, unsigned bits, bool is_signed) {
  const unsigned unused = 64 - bits;
  return is_signed ? static_cast<std::uint64_t>(static_cast<std::int64_t>(n << unused) >> unused)
                   : n << unused >> unused;
}

/// A cast to a type by its name.
[[nodiscard]] inline expression_value cast_to(std::string_view type, expression_value of) {
  const auto has = [&](std::string_view part) { return type.find(part) != type.npos; };
  if (of.is_text || has("*")) return of;
  const bool is_signed = !(has("unsigned") || type.starts_with("u") || type.starts_with("__u"));
  unsigned bits = 32;
  if (has("64") || has("long") || has("size_t") || has("ptr")) bits = 64;
  else if (has("16") || has("short")) bits = 16;
  else if (has("8") || has("char") || has("bool")) bits = 8;
  return number(narrow(of.number, bits, is_signed), is_signed);
}

}  // namespace backsight::ftrace::detail
