// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include <backsight/names/detail/short_name_names.hpp>
#include <backsight/names/detail/short_name_parser.hpp>

// Types, template arguments and expressions, which are read and mostly not written. Source: Itanium C++ ABI, "External
// Names"; uftrace's utils/demangle.c for what is not read.
namespace backsight::names::detail {

inline bool short_name_parser::function_type() {
  if (!take('F')) return false;
  (void)take('Y');
  ++open_;
  while (peek() != 'E') {
    const std::size_t before = at_;
    if (type()) continue;
    at_ = before;
    break;
  }
  if (is_one_of("RO")) ++at_;
  return close();
}

inline bool short_name_parser::decltype_type() {
  at_ += 2;
  const within inside(types_);
  ++open_;
  (void)expression();
  return close();
}

inline bool short_name_parser::vector_size() {
  if (take('_')) (void)expression();
  else if (!number()) return false;
  return take('_');
}

/// Types that begin with D; `goes_on` when another type must follow.
inline bool short_name_parser::special_type(bool& goes_on) {
  if (is_one_of("Tt", 1)) return decltype_type();
  const char kind = peek(1);
  at_ = at_ + 2 < in_.size() ? at_ + 2 : in_.size();
  switch (kind) {
    case 'd':
    case 'e':
    case 'f':
    case 'h':
    case 'i':
    case 's':
    case 'a':
    case 'c':
    case 'n':
    case 'u': return true;
    case 'F':
    case 'B':
    case 'U': {  // numbers of so many bits
      while (digit(peek())) ++at_;
      if (!is_one_of("_xb")) return false;
      ++at_;
      return true;
    }
    case 'p':                               // a pack
    case 'x':                               // transaction_safe
    case 'o': goes_on = true; return true;  // noexcept
    case 'v': {
      (void)vector_size();
      goes_on = true;
      return true;
    }
    case 'O': {
      ++open_;
      if (!expression()) return false;
      goes_on = true;
      return close();
    }
    case 'w': {
      ++open_;
      while (type()) {
      }
      goes_on = true;
      return close();
    }
    default: return false;
  }
}

inline bool short_name_parser::type() {
  const name_budget::step step(budget_);
  if (!step) return false;
  const within inside(types_);
  bool qualified = false;
  while (at_ < in_.size()) {
    const char c = peek();
    switch (c) {
      case 'r':
      case 'V':
      case 'K':
      case 'P':
      case 'R':
      case 'O':
      case 'C':
      case 'G': ++at_; continue;
      case 'F': return function_type();
      case 'T': {
        if (is_one_of("sue", 1)) {
          at_ += 2;
          return name();
        }
        if (peek(1) != '_' && !digit(peek(1))) return false;
        const bool good = template_parameter();
        return peek() == 'I' ? template_arguments() : good;
      }
      case 'A': {
        ++at_;
        if (digit(peek())) (void)number();
        else if (peek() != '_') (void)expression();
        return take('_') && type();
      }
      case 'M': ++at_; return type() && type();
      case 'D': {
        bool goes_on = false;
        if (!special_type(goes_on)) return false;
        if (!goes_on) return true;
        continue;
      }
      case 'S': {
        const bool is_std = peek(1) == 't';
        bool good = substitution();
        if (good && is_std && digit(peek())) good = unqualified();
        return peek() == 'I' ? template_arguments() : good;
      }
      case 'u': ++at_; return source_name();
      case 'U': {  // a qualifier of the vendor
        ++at_;
        if (!source_name() || (peek() == 'I' && !template_arguments())) return false;
        qualified = true;
        continue;
      }
      case 'I': return template_arguments();
      case 'N':
      case 'Z': return name();
      default: break;
    }
    if (digit(c)) return name();
    if (!is_one_of("vwbcahstijlmxynofdegz")) return false;
    ++at_;
    return true;
  }
  return qualified;
}

inline bool short_name_parser::template_parameter() {
  if (!take('T')) return false;
  (void)number();
  return take('_');
}

inline bool short_name_parser::template_arguments() {
  if (!take('I')) return false;
  const within list(templates_);
  ++open_;
  while (peek() != 'E') {
    if (!template_argument()) return false;
  }
  return close();
}

inline bool short_name_parser::template_argument() {
  const name_budget::step step(budget_);
  if (!step) return false;
  if (take('X')) {
    ++open_;
    (void)expression();
    return close();
  }
  if (peek() == 'L') return literal();
  if (take('J')) {
    ++open_;
    while (peek() != 'E') {
      if (!template_argument()) return false;
    }
    return close();
  }
  return type();
}

inline bool short_name_parser::literal() {
  if (!take('L')) return false;
  const within inside(types_);
  ++open_;
  if (take("_Z")) return encoding() && close();
  (void)type();
  (void)number();
  if (take('_')) (void)number();
  return close();
}

inline bool short_name_parser::simple_id() {
  if (at_ >= in_.size()) return false;
  if (!digit(peek())) {
    // uftrace goes back one character here: names of which the last `E` was taken too early end well
    // (`Xsr1AIT_E5valueE`).
    --at_;
    return false;
  }
  return source_name() && (peek() != 'I' || template_arguments());
}

inline bool short_name_parser::destructor_name() {
  if (digit(peek())) return source_name();
  if (peek() == 'T') return template_parameter();
  if (peek() == 'D' && is_one_of("Tt", 1)) return decltype_type();
  if (peek() != 'S' || !substitution()) return false;
  if (peek() == 'I') return template_arguments();
  return !digit(peek()) || unqualified();
}

inline bool short_name_parser::base_unresolved_name() {
  if (take("on")) return operator_name() && (peek() != 'I' || template_arguments());
  if (take("dn")) return destructor_name();
  return simple_id();
}

inline bool short_name_parser::unresolved_name() {
  (void)take("gs");
  if (take("sr")) {
    if (is_one_of("TDS")) {
      if (!type() || !base_unresolved_name()) return false;
      if (peek() == 'I') (void)template_arguments();
      return true;
    }
    if (take('N') && !type()) return false;
    while (!take('E')) {
      if (!simple_id()) return true;
    }
  }
  return base_unresolved_name();
}

/// Expressions up to an `E` or `_`.
inline bool short_name_parser::expressions() {
  ++open_;
  while (!is_one_of("E_")) {
    if (!expression()) return false;
  }
  ++at_;
  --open_;
  return true;
}

/// `fp_`, `fpK0_`, `fL0p_`.
inline bool short_name_parser::function_parameter() {
  const bool outer = peek(1) == 'L';
  at_ += 2;
  if (digit(peek())) {
    (void)number();
    if (outer && !take('p')) return false;
  }
  if (is_one_of("rVKRO")) ++at_;
  if (digit(peek())) (void)number();
  return take('_');
}

/// An operator of two operands for uftrace, which leaves out those that begin with c, the division, and takes `nw` for
/// one.
inline bool short_name_parser::is_binary_operator() const {
  const std::string_view code = in_.substr(at_, 2);
  if (code.starts_with('c') || code.ends_with('v')) return false;
  for (const operator_text& op : operators) {
    if (code == op.code) return true;
  }
  return false;
}

inline bool short_name_parser::expression() {
  const name_budget::step step(budget_);
  if (!step || at_ >= in_.size()) return false;
  for (const std::string_view unary :
       {"ps", "ng", "ad", "de", "pp_", "mm_", "pp", "mm", "dl", "da", "te", "sz", "az", "nx", "sp", "tw", "nt"}) {
    if (take(unary)) return expression();
  }
  (void)take("gs");
  if (peek() == 'L') return literal();
  if (take("qu")) return expression() && expression() && expression();
  if (is_binary_operator()) {
    at_ += 2;
    return expression() && expression();
  }
  if (take("cl") || take("il")) return expressions();
  if (take("cv")) return type() && (take('_') ? expressions() : expression());
  if (take("tl")) return type() && expressions();
  if (take("dc") || take("sc") || take("cc") || take("rc")) return type() && expression();
  if (take("ti") || take("st") || take("at")) return type();
  if (peek() == 'T' && (peek(1) == '_' || digit(peek(1)))) return template_parameter();
  if (peek() == 'f' && is_one_of("pL", 1)) return function_parameter();
  if (take("dt")) return expression() && unresolved_name();
  if (take("ds")) return expression() && expression();
  if (take("sZ")) {
    if (peek() == 'T') return template_parameter();
    return peek() == 'f' && is_one_of("pL", 1) && function_parameter();
  }
  if (take("sP")) {
    ++open_;
    while (peek() != 'E') {
      if (!template_argument()) return false;
    }
    return close();
  }
  if (take("tr")) return true;
  return unresolved_name();
}

}  // namespace backsight::names::detail
