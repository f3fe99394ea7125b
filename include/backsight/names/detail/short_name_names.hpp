// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <backsight/names/detail/rust_component.hpp>
#include <backsight/names/detail/short_name_parser.hpp>

// Names of functions, operators and special symbols. Source: Itanium C++ ABI, "External Names (a.k.a. Mangling)";
// uftrace's utils/demangle.c for what is left out.
namespace backsight::names::detail {

inline bool short_name_parser::encoding() {
  const name_budget::step step(budget_);
  if (!step) return false;
  ++open_;
  if (is_one_of("TG")) {
    const bool good = special_name();
    --open_;
    return good;
  }
  if (!name()) return false;
  while (at_ < in_.size() && !is_one_of("E.@")) {
    if (!type()) break;
  }
  // A suffix of the compiler (`.part.0`) or a version (`@GLIBC_2.1`) is not a part of the name.
  if (is_one_of(".@")) in_ = in_.substr(0, at_);
  --open_;
  return true;
}

inline bool short_name_parser::call_offset() {
  if (take('h')) return number() && take('_');
  if (take('v')) return number() && take('_') && number() && take('_');
  return false;
}

inline bool short_name_parser::special_name() {
  const auto of_type = [this](std::string_view what) {
    out_.add(what);
    of_type_ = true;
    return type();
  };
  const auto of_name = [this](std::string_view what) {
    out_.add(what);
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
    return take('_') && type();
  }
  if (take("TH")) {
    component("TLS_init");
    return name();
  }
  if (take("TW")) {
    component("TLS_wrap");
    return name();
  }
  if (take("GV")) return of_name("__guard_variable__");
  if (take("GR")) {
    ignores_discriminator_ = true;
    return of_name("__ref_temp__") && sequence_id();
  }
  if (take("GA") || take("GTt") || take("GTn")) return encoding();
  if (take("Tc")) return call_offset() && call_offset() && encoding();
  if (peek() == 'T' && is_one_of("hv", 1)) {
    ++at_;
    return call_offset() && encoding();
  }
  return false;
}

inline bool short_name_parser::name() {
  const name_budget::step step(budget_);
  if (!step) return false;
  if (peek() == 'N') return nested_name();
  if (peek() == 'Z') return local_name();
  if (peek() == 'S') {
    if (!substitution()) return false;
    if (peek() == 'I') return template_arguments();
  }
  if (!unqualified()) return false;
  return peek() != 'I' || template_arguments();
}

inline bool short_name_parser::nested_name() {
  if (!take('N')) return false;
  ++open_;
  while (at_ < in_.size() && peek() != 'E') {
    const char c = peek();
    bool good = true;
    if (c == 'D' && is_one_of("Tt", 1)) good = decltype_type();
    else if (c == 'C' || c == 'D') good = constructor();
    else if (c == 'U' || lower(c) || digit(c)) good = unqualified();
    else if (c == 'T') good = template_parameter();
    else if (c == 'I') good = template_arguments();
    else if (c == 'S') good = substitution();
    else if (is_one_of("MLVKRO")) ++at_;  // a member's initializer, internal linkage, qualifiers
    else break;
    if (!good) return false;
  }
  return close();
}

inline bool short_name_parser::local_name() {
  if (!take('Z')) return false;
  ++open_;
  if (!encoding() || !close()) return false;
  if (take('d')) {  // a lambda in a default argument
    if (peek() != '_' && !number()) return false;
    return take('_') && name();
  }
  if (!take('s')) (void)name();  // s: a string literal
  discriminator();
  return true;
}

/// `_1` or `__12_`: which of several entities of the same name.
inline void short_name_parser::discriminator() {
  if (ignores_discriminator_ || !take('_')) return;
  if (take('_')) {
    if (number()) (void)take('_');
  } else if (digit(peek())) {
    (void)number();
  }
}

inline bool short_name_parser::abi_tag() { return take('B') && source_name(); }

inline bool short_name_parser::unqualified() {
  const char c = peek();
  bool good = false;
  if (c == 'C' || c == 'D') {
    good = constructor();
  } else if (c == 'U' && peek(1) == 't') {
    const within unnamed(types_);
    at_ += 2;
    (void)number();
    good = take('_');
  } else if (c == 'U' && peek(1) == 'l') {
    good = lambda();
    if (good && types_ != 0) return true;
  } else if (lower(c)) {
    good = operator_name();
  } else if (c != 'U') {
    (void)take('L');  // internal linkage
    good = source_name();
  }
  return good && (peek() != 'B' || abi_tag());
}

/// `C1`, `D0`, `CI2<base>`: the last component once more.
inline bool short_name_parser::constructor() {
  const bool destroys = peek() == 'D';
  ++at_;
  const bool inherits = take('I');
  if (!digit(peek())) return false;
  ++at_;
  if (inherits && !type()) return false;
  if (types_ != 0) return true;
  if (out_.text().empty() || out_.too_long()) return false;
  const std::string last = out_.text().substr(out_.text().rfind(':') + 1);
  out_.add(destroys ? "::~" : "::");
  out_.add(last);
  return true;
}

inline bool short_name_parser::lambda() {
  at_ += 2;
  template_head();
  ++open_;
  while (peek() != 'E') {
    if (!type()) break;
  }
  if (!close()) return false;
  std::size_t index = 0;
  if (peek() != '_') {
    constexpr std::size_t largest = 0x7ffffffe;
    if (!number(index) || index > largest) return false;
    ++index;
  }
  if (!take('_')) return false;
  if (types_ == 0) component("$_" + std::to_string(index));
  return true;
}

/// The template parameters of a generic lambda: `Ty`, `Tn<type>`, `Tt..E`, `Tp..`.
inline void short_name_parser::template_head() {
  while (peek() == 'T' && template_head_parameter()) {
  }
}

inline bool short_name_parser::template_head_parameter() {
  const name_budget::step step(budget_);
  if (!step) return false;
  if (take("Ty")) return true;
  if (take("Tn")) {
    (void)type();
    return false;  // uftrace takes it for the last one
  }
  if (take("Tt")) {
    if (peek() != 'T') return false;
    template_head();
    return take('E');
  }
  return take("Tp") && template_head_parameter();
}

inline bool short_name_parser::source_name() {
  std::size_t length = 0;
  if (!number(length)) return false;
  if (at_ >= in_.size() || length > in_.size() - at_) return false;
  const std::string_view text = in_.substr(at_, length);
  at_ += length;
  if (shows_names() && !is_rust_hash(text)) {
    component({});
    add_rust_component(out_, text);
  }
  return true;
}

struct operator_text {
  char code[3];
  std::string_view text;
};
inline constexpr operator_text operators[] = {
    {"nw", "operator new"},   {"na", "operator new[]"}, {"dl", "operator delete"}, {"da", "operator delete[]"},
    {"ps", "operator+"},      {"ng", "operator-"},      {"ad", "operator&"},       {"de", "operator*"},
    {"co", "operator~"},      {"pl", "operator+"},      {"mi", "operator-"},       {"ml", "operator*"},
    {"dv", "operator/"},      {"rm", "operator%"},      {"an", "operator&"},       {"or", "operator|"},
    {"eo", "operator^"},      {"aS", "operator="},      {"pL", "operator+="},      {"mI", "operator-="},
    {"mL", "operator*="},     {"dV", "operator/="},     {"rM", "operator%="},      {"aN", "operator&="},
    {"oR", "operator|="},     {"eO", "operator^="},     {"ls", "operator<<"},      {"rs", "operator>>"},
    {"lS", "operator<<="},    {"rS", "operator>>="},    {"eq", "operator=="},      {"ne", "operator!="},
    {"lt", "operator<"},      {"gt", "operator>"},      {"le", "operator<="},      {"ge", "operator>="},
    {"ss", "operator<=>"},    {"nt", "operator!"},      {"aa", "operator&&"},      {"oo", "operator||"},
    {"pp", "operator++"},     {"mm", "operator--"},     {"cm", "operator,"},       {"pm", "operator->*"},
    {"pt", "operator->"},     {"cl", "operator()"},     {"ix", "operator[]"},      {"qu", "operator?"},
    {"cv", "operator(cast)"}, {"li", "operator\"\""}};

inline bool short_name_parser::operator_name() {
  if (in_.size() - at_ <= 2) return false;
  const std::string_view code = in_.substr(at_, 2);
  if (types_ == 0) {
    const operator_text* known = nullptr;
    for (const operator_text& op : operators) {
      if (code == op.code) known = &op;
    }
    if (known == nullptr) return false;
    component(known->text);
  }
  at_ += 2;
  const within operand(types_);
  if (code == "cv") (void)type();
  if (code == "li") (void)source_name();
  return true;
}

inline bool short_name_parser::substitution() {
  if (!take('S')) return false;
  switch (peek()) {
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
  if (peek() == 'B') (void)abi_tag();
  return true;
}

}  // namespace backsight::names::detail
