// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include <backsight/uftrace/detail/short_name_parser.hpp>

// Types, template arguments and expressions, which are read and not written. Source: Itanium C++ ABI, "External Names".
namespace backsight::uftrace::detail {

inline bool short_name_parser::types_until(char end) {
  while (!take(end)) {
    if (at_ >= in_.size() || !type()) return false;
  }
  return true;
}

inline bool short_name_parser::function_type() {
  if (!take('F')) return false;
  (void)take('Y');
  while (at_ < in_.size() && peek() != 'E') {
    if ((peek() == 'R' || peek() == 'O') && peek(1) == 'E') {
      ++at_;
      break;
    }
    if (!type()) return false;
  }
  return take('E');
}

inline bool short_name_parser::type() {
  const deeper level(depth_);
  if (level.too_deep()) return false;
  const char c = peek();
  switch (c) {
    case 'r':
    case 'V':
    case 'K':
    case 'P':
    case 'R':
    case 'O':
    case 'C':
    case 'G': {
      ++at_;
      return type();
    }
    case 'U': {  // vendor qualifier, or a lambda or unnamed type
      if (peek(1) == 'l' || peek(1) == 't') return unqualified();
      ++at_;
      const silent qualifier(quiet_);
      if (!source_name()) return false;
      if (peek() == 'I' && !template_arguments()) return false;
      return type();
    }
    case 'u': {
      ++at_;
      const silent vendor(quiet_);
      if (!source_name()) return false;
      return peek() != 'I' || template_arguments();
    }
    case 'F': {
      const silent signature(quiet_);
      return function_type();
    }
    case 'A': {
      ++at_;
      const silent array(quiet_);
      if (digit(peek())) {
        if (!number()) return false;
      } else if (peek() != '_' && !expression()) {
        return false;
      }
      return take('_') && type();
    }
    case 'M': {
      ++at_;
      const silent member(quiet_);
      return type() && type();
    }
    case 'T': {
      if (peek(1) == 's' || peek(1) == 'u' || peek(1) == 'e') {
        at_ += 2;
        return name();
      }
      ++at_;
      if (take('L')) {
        if (!number() || !take('_')) return false;
      }
      while (digit(peek()) || (peek() >= 'A' && peek() <= 'Z')) ++at_;
      if (!take('_')) return false;
      return peek() != 'I' || template_arguments();
    }
    case 'S': {
      if (peek(1) == 't') return name();
      if (!substitution()) return false;
      return peek() != 'I' || template_arguments();
    }
    case 'D': {
      const char d = peek(1);
      if (d == 't' || d == 'T') {
        at_ += 2;
        return expression() && take('E');
      }
      if (d == 'p') {
        at_ += 2;
        return type();
      }
      if (d == 'o') {
        at_ += 2;
        return function_type();
      }
      if (d == 'O') {
        at_ += 2;
        return expression() && take('E') && function_type();
      }
      if (d == 'w') {
        at_ += 2;
        return types_until('E') && function_type();
      }
      if (d == 'x') {
        at_ += 2;
        return type();
      }
      if (d == 'v') {
        at_ += 2;
        if (digit(peek())) {
          if (!number()) return false;
        } else if (!take('_') || !expression()) {
          return false;
        }
        return take('_') && (take('p') || type());
      }
      if (d == 'F' || d == 'B' || d == 'U') {
        at_ += 2;
        if (digit(peek())) {
          if (!number()) return false;
        } else if (!expression()) {
          return false;
        }
        return take('_') || take('x') || take('b');
      }
      at_ += 2;
      constexpr std::string_view simple = "dfehisuancS";
      return d != '\0' && (simple.find(d) != std::string_view::npos || d == 'k' || d == 'K');
    }
    case 'N':
    case 'Z': return name();
    default: break;
  }
  if (digit(c)) return name();
  constexpr std::string_view builtin = "vwbcahstijlmxynofdegz";
  if (c != '\0' && builtin.find(c) != std::string_view::npos) {
    ++at_;
    return true;
  }
  return false;
}

inline bool short_name_parser::template_arguments() {
  const deeper level(depth_);
  if (level.too_deep()) return false;
  const silent inside(quiet_);
  if (!take('I')) return false;
  while (!take('E')) {
    if (at_ >= in_.size() || !template_argument()) return false;
  }
  return true;
}

inline bool short_name_parser::template_argument() {
  const deeper level(depth_);
  if (level.too_deep()) return false;
  if (take('J')) {
    while (!take('E')) {
      if (at_ >= in_.size() || !template_argument()) return false;
    }
    return true;
  }
  if (take('X')) return expression() && take('E');
  if (peek() == 'L') return literal();
  if (peek() == 'I') return template_arguments();
  return type();
}

inline bool short_name_parser::literal() {
  if (!take('L')) return false;
  if (take("_Z")) return encoding() && take('E');
  if (peek() == 'Z') ++at_;
  if (!type()) return false;
  while (at_ < in_.size() && peek() != 'E') ++at_;
  return take('E');
}

inline bool short_name_parser::unresolved_name() {
  (void)take("gs");
  if (take("sr")) {
    if (take('N')) {
      if (!type()) return false;
      while (!take('E')) {
        if (at_ >= in_.size() || !source_name()) return false;
        if (peek() == 'I' && !template_arguments()) return false;
      }
    } else if (digit(peek())) {
      while (!take('E')) {
        if (at_ >= in_.size() || !source_name()) return false;
        if (peek() == 'I' && !template_arguments()) return false;
      }
    } else if (!type()) {
      return false;
    }
  }
  if (take("on")) {
    if (!operator_name()) return false;
  } else if (take("dn")) {
    if (!type()) return false;
  } else if (!source_name()) {
    return false;
  }
  return peek() != 'I' || template_arguments();
}

inline bool short_name_parser::expression() {
  const deeper level(depth_);
  if (level.too_deep()) return false;
  const silent inside(quiet_);
  const auto many = [this] {
    while (!take('E')) {
      if (at_ >= in_.size() || !expression()) return false;
    }
    return true;
  };
  if (peek() == 'L') return literal();
  if (peek() == 'T') return type();
  if (take("fp") || take("fL")) {
    while (digit(peek()) || lower(peek()) || peek() == 'K' || peek() == 'V') ++at_;
    return take('_');
  }
  if (take("cl") || take("cp")) return many();
  if (take("tl") || take("il")) return (in_[at_ - 2] == 'i' || type()) && many();
  if (take("cv")) return type() && (take('_') ? many() : expression());
  if (take("st") || take("at") || take("ti")) return type();
  if (take("sz") || take("az") || take("te") || take("nx") || take("sp") || take("tw")) return expression();
  if (take("sZ")) return peek() == 'T' ? type() : expression();
  if (take("sP")) {
    while (!take('E')) {
      if (at_ >= in_.size() || !template_argument()) return false;
    }
    return true;
  }
  if (take("dc") || take("sc") || take("cc") || take("rc")) return type() && expression();
  if (take("dt") || take("pt")) return expression() && unresolved_name();
  if (take("ds")) return expression() && expression();
  if (take("tr")) return true;
  if (take("fl") || take("fr")) {
    at_ += 2;
    return at_ <= in_.size() && expression();
  }
  if (take("fL") || take("fR")) {
    at_ += 2;
    return at_ <= in_.size() && expression() && expression();
  }
  if (take("qu")) return expression() && expression() && expression();
  if (peek() == 'g' || (peek() == 's' && peek(1) == 'r') || (peek() == 'o' && peek(1) == 'n') ||
      (peek() == 'd' && peek(1) == 'n') || digit(peek())) {
    return unresolved_name();
  }
  if (take("pp_") || take("mm_")) return expression();
  if (is_operator()) {
    const std::string_view code = in_.substr(at_, 2);
    at_ += 2;
    const bool unary = code == "ps" || code == "ng" || code == "ad" || code == "de" || code == "co" || code == "nt" ||
                       code == "pp" || code == "mm";
    return expression() && (unary || expression());
  }
  return false;
}

}  // namespace backsight::uftrace::detail
