// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <backsight/uftrace/detail/rust_component.hpp>
#include <backsight/uftrace/detail/short_name_parser.hpp>

// Names of functions, operators and special symbols. Source: Itanium C++ ABI, "External Names (a.k.a. Mangling)"; uftrace's
// utils/demangle.c for what is left out.
namespace backsight::uftrace::detail {

inline bool short_name_parser::encoding() {
  const deeper level(depth_);
  if (level.too_deep()) return false;
  if (peek() == 'T' || (peek() == 'G' && (peek(1) == 'V' || peek(1) == 'R' || peek(1) == 'A' || peek(1) == 'T'))) {
    return special_name();
  }
  if (!name()) return false;
  const silent types(quiet_);
  while (at_ < in_.size() && peek() != 'E' && peek() != '.' && peek() != '@') {
    if (!type()) return false;
  }
  return true;
}

inline bool short_name_parser::call_offset() {
  if (take('h')) return number() && take('_');
  if (take('v')) return number() && take('_') && number() && take('_');
  return false;
}

inline bool short_name_parser::special_name() {
  const auto of_type = [this](std::string_view what) {
    prefix(what);
    of_type_ = true;
    return type();
  };
  const auto of_name = [this](std::string_view what, bool joined) {
    prefix(what);
    if (joined) fresh_ = false;
    return name();
  };
  // uftrace has the names of TI and TS the wrong way round; its output is the measure here.
  if (take("TV")) return of_type("__vtable__");
  if (take("TT")) return of_type("__VTT__");
  if (take("TI")) return of_type("__typeinfo_name__");
  if (take("TS")) return of_type("__typeinfo__");
  if (take("TF")) return of_type("__typeinfo_fn__");
  if (take("TJ")) return of_type("__java_class__");
  if (take("TC")) {
    // Of the two types only the first, the complete one, is written.
    if (!of_type("__construction_vtable__") || !number()) return false;
    if (at_ == in_.size()) return true;
    of_type_ = false;
    const silent base(quiet_);
    return take('_') && type();
  }
  if (take("TH")) return of_name("TLS_init", true);
  if (take("TW")) return of_name("TLS_wrap", true);
  if (take("GV")) return of_name("__guard_variable__", false);
  if (take("GR")) {
    ignores_discriminator_ = true;
    return of_name("__ref_temp__", false) && sequence_id();
  }
  if (take("GA")) return encoding();
  if (take("GTt") || take("GTn")) return encoding();
  if (take("Tc")) return call_offset() && call_offset() && encoding();
  if (peek() == 'T' && (peek(1) == 'h' || peek(1) == 'v')) {
    ++at_;
    return call_offset() && encoding();
  }
  return false;
}

inline bool short_name_parser::name() {
  const deeper level(depth_);
  if (level.too_deep()) return false;
  if (peek() == 'N') return nested_name();
  if (peek() == 'Z') return local_name();
  if (peek() == 'S' && peek(1) != 't') {
    // An unscoped template name that is a substitution.
    if (!substitution()) return false;
    return peek() != 'I' || template_arguments();
  }
  if (take("St")) standard("std");
  if (!unqualified()) return false;
  return peek() != 'I' || template_arguments();
}

inline bool short_name_parser::nested_name() {
  if (!take('N')) return false;
  if (take('H')) {
  }  // explicit object member function
  while (peek() == 'r' || peek() == 'V' || peek() == 'K') ++at_;
  (void)(take('R') || take('O'));
  while (!take('E')) {
    if (at_ >= in_.size()) return false;
    const char c = peek();
    if (c == 'I') {
      if (!template_arguments()) return false;
    } else if (c == 'S' && peek(1) == 't') {
      at_ += 2;
      standard("std");
    } else if (c == 'S') {
      if (!substitution()) return false;
    } else if (c == 'T') {
      const silent parameter(quiet_);
      if (!type()) return false;
    } else if (c == 'D' && (peek(1) == 't' || peek(1) == 'T')) {
      const silent decl(quiet_);
      if (!type()) return false;
    } else if (take('M')) {
      // The initializer of a member: the lambda behind it belongs to that member.
    } else if (!unqualified()) {
      return false;
    }
  }
  return true;
}

inline bool short_name_parser::local_name() {
  if (!take('Z')) return false;
  if (!encoding() || !take('E')) return false;
  if (take('s')) return discriminator();
  if (take('d')) {
    if (digit(peek()) && !number()) return false;
    if (!take('_')) return false;
  }
  return name() && discriminator();
}

inline bool short_name_parser::discriminator() {
  if (ignores_discriminator_ || !take('_')) return true;
  if (take('_')) return number() && take('_');
  if (!digit(peek())) return false;
  ++at_;
  return true;
}

inline bool short_name_parser::abi_tags() {
  while (take('B')) {
    const silent tag(quiet_);
    if (!source_name()) return false;
  }
  return true;
}

inline bool short_name_parser::unqualified() {
  const deeper level(depth_);
  if (level.too_deep()) return false;
  const char c = peek();
  if (c == 'L') {  // internal linkage
    ++at_;
    return unqualified();
  }
  if (digit(c)) return source_name() && abi_tags();
  if (c == 'C' && (digit(peek(1)) || peek(1) == 'I')) {
    const bool inherited = peek(1) == 'I';
    at_ += inherited ? 3 : 2;
    const std::string last(last_component());
    component(last);
    if (inherited) {
      const silent base(quiet_);
      if (!type()) return false;
    }
    return abi_tags();
  }
  if (c == 'D' && digit(peek(1))) {
    at_ += 2;
    const std::string last(last_component());
    component("~" + last);
    return abi_tags();
  }
  if (c == 'D' && peek(1) == 'C') {  // structured binding
    at_ += 2;
    while (!take('E')) {
      if (!source_name()) return false;
    }
    return abi_tags();
  }
  if (c == 'U' && peek(1) == 'l') {
    at_ += 2;
    {
      const silent signature(quiet_);
      if (!types_until('E')) return false;
    }
    std::size_t number_of = 0;
    if (digit(peek())) {
      for (; digit(peek()) && number_of < 1'000'000; ++at_)
        number_of = number_of * 10 + static_cast<std::size_t>(peek() - '0');
      ++number_of;
    }
    if (!take('_')) return false;
    component("$_" + std::to_string(number_of));
    return abi_tags();
  }
  if (c == 'U' && peek(1) == 't') {
    at_ += 2;
    while (digit(peek())) ++at_;
    return take('_');
  }
  if (lower(c)) return operator_name() && abi_tags();
  return false;
}

inline bool short_name_parser::source_name() {
  std::size_t length = 0;
  if (!digit(peek())) return false;
  for (; digit(peek()); ++at_) {
    length = length * 10 + static_cast<std::size_t>(peek() - '0');
    if (length > in_.size()) return false;
  }
  if (length == 0 || length > in_.size() - at_) return false;
  const std::string_view text = in_.substr(at_, length);
  at_ += length;
  if (quiet_ == 0 && !is_rust_hash(text)) {
    separate();
    add_rust_component(out_, text);
  }
  return true;
}

struct operator_text {
  char code[3];
  const char* text;
};
inline constexpr operator_text operators[] = {
    {"nw", " new"}, {"na", " new[]"}, {"dl", " delete"}, {"da", " delete[]"}, {"aw", " co_await"}, {"ps", "+"},
    {"ng", "-"},    {"ad", "&"},      {"de", "*"},       {"co", "~"},         {"pl", "+"},         {"mi", "-"},
    {"ml", "*"},    {"dv", "/"},      {"rm", "%"},       {"an", "&"},         {"or", "|"},         {"eo", "^"},
    {"aS", "="},    {"pL", "+="},     {"mI", "-="},      {"mL", "*="},        {"dV", "/="},        {"rM", "%="},
    {"aN", "&="},   {"oR", "|="},     {"eO", "^="},      {"ls", "<<"},        {"rs", ">>"},        {"lS", "<<="},
    {"rS", ">>="},  {"eq", "=="},     {"ne", "!="},      {"lt", "<"},         {"gt", ">"},         {"le", "<="},
    {"ge", ">="},   {"ss", "<=>"},    {"nt", "!"},       {"aa", "&&"},        {"oo", "||"},        {"pp", "++"},
    {"mm", "--"},   {"cm", ","},      {"pm", "->*"},     {"pt", "->"},        {"cl", "()"},        {"ix", "[]"},
    {"qu", "?"}};

inline bool short_name_parser::is_operator() const {
  const std::string_view code = in_.substr(at_, 2);
  if (code == "cv" || code == "li") return true;
  for (const operator_text& op : operators) {
    if (code == op.code) return true;
  }
  return false;
}

inline bool short_name_parser::operator_name() {
  if (take("cv")) {
    const silent target(quiet_);
    if (!type()) return false;
    quiet_ -= 1;
    component("operator(cast)");
    quiet_ += 1;
    return true;
  }
  if (take("li")) {
    const silent suffix(quiet_);
    if (!source_name()) return false;
    quiet_ -= 1;
    component("operator\"\"");
    quiet_ += 1;
    return true;
  }
  for (const operator_text& op : operators) {
    if (!take(std::string_view(op.code, 2))) continue;
    component("operator");
    append(op.text);
    return true;
  }
  return false;
}

inline bool short_name_parser::substitution() {
  if (!take('S')) return false;
  const char letter = peek();
  switch (letter) {
    case 't': standard("std"); break;
    case 'a': standard("std::allocator"); break;
    case 'b': standard("std::basic_string"); break;
    case 's': standard("std::basic_string<>"); break;
    case 'i': standard("std::basic_istream"); break;
    case 'o': standard("std::basic_ostream"); break;
    case 'd': standard("std::basic_iostream"); break;
    default: return sequence_id();
  }
  ++at_;
  return letter == 't' || abi_tags();
}

}  // namespace backsight::uftrace::detail
