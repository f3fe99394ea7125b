// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <backsight/names/detail/name_limits.hpp>

// Rust names of the newer form. Sources: the rustc book, "v0 Symbol Format"; uftrace's utils/demangle-rust.c for what
// is left out: disambiguators, traits, the path of an impl, the crate that instantiates, suffixes of compilers.
namespace backsight::names::detail {

/// Parses one name and keeps the parts that uftrace shows. Every rule gives false when the text does not follow the
/// grammar; nesting, the steps through references and the length of the text are limited.
class rust_v0_parser {
 public:
  /// `name` begins with `_R`.
  explicit rust_v0_parser(std::string_view name) : in_(name), at_(2), budget_(name.size()) {}

  /// True when all was read, but for a suffix, within the limits, and there is something to show.
  [[nodiscard]] bool run() {
    if (is_digit(peek())) ++at_;  // a version of the mangling
    if (!path()) return false;
    // The crate that instantiates, whole or by reference.
    shows_ = false;
    if (peek() == 'C') (void)path();
    if (peek() == 'B') (void)reference();
    if (at_ < in_.size() && peek() != '.' && peek() != '$') return false;
    return !budget_.exhausted() && !out_.too_long() && !out_.text().empty();
  }
  [[nodiscard]] const std::string& out() const noexcept { return out_.text(); }
  /// Rules that were tried.
  [[nodiscard]] std::size_t steps() const noexcept { return budget_.steps(); }

 private:
  [[nodiscard]] static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
  [[nodiscard]] static bool is_lower(char c) noexcept { return c >= 'a' && c <= 'z'; }
  [[nodiscard]] char peek() const noexcept { return at_ < in_.size() ? in_[at_] : '\0'; }
  [[nodiscard]] bool take(char c) noexcept {
    if (at_ >= in_.size() || in_[at_] != c) return false;
    ++at_;
    return true;
  }
  /// Names inside a type are written only where the type itself is a part of the name.
  [[nodiscard]] bool writes() const noexcept { return (types_ == 0 || of_type_) && shows_; }
  void separate() {
    if (!fresh_) out_.add("::");
    fresh_ = false;
  }
  /// Calls a rule without writing.
  template <class Rule>
  [[nodiscard]] bool silently(Rule rule) {
    const bool before = std::exchange(shows_, false);
    const bool good = (this->*rule)();
    shows_ = before;
    return good;
  }

  /// Digits of base 62 and an underscore: `_` is 0, `0_` is 1.
  [[nodiscard]] bool number(std::size_t& value) {
    value = 0;
    const std::size_t begin = at_;
    for (; peek() != '_'; ++at_) {
      const char c = peek();
      std::size_t digit = 0;
      if (is_digit(c)) digit = static_cast<std::size_t>(c - '0');
      else if (is_lower(c)) digit = static_cast<std::size_t>(c - 'a') + 10;
      else if (c >= 'A' && c <= 'Z') digit = static_cast<std::size_t>(c - 'A') + 36;
      else return false;
      if (value > in_.size() * 62) value = in_.size() * 62;  // too large for a position anyway
      value = value * 62 + digit;
    }
    if (at_ != begin) ++value;
    return take('_');
  }
  [[nodiscard]] bool skip_number() {
    std::size_t unused = 0;
    return number(unused);
  }

  [[nodiscard]] bool plain_identifier() {
    (void)take('u');  // Unicode, which is not decoded
    std::size_t size = 0;
    for (; is_digit(peek()); ++at_) {
      size = size * 10 + static_cast<std::size_t>(peek() - '0');
      if (size > in_.size()) return false;
    }
    (void)take('_');
    if (size > in_.size() - at_) return false;
    if (size != 0 && writes()) {
      separate();
      out_.add(in_.substr(at_, size));
    }
    at_ += size;
    return true;
  }
  [[nodiscard]] bool identifier() { return (!take('s') || skip_number()) && plain_identifier(); }
  [[nodiscard]] bool lifetime() { return take('L') && skip_number(); }

  [[nodiscard]] bool path() {
    const name_budget::step step(budget_);
    return step && path_here();
  }
  [[nodiscard]] bool path_here() {
    switch (peek()) {
      case 'C': ++at_; return identifier();
      case 'N': return nested();
      case 'M': return of_impl(true);
      case 'X': return of_impl(false);
      case 'Y': return of_trait();
      case 'I': return generic();
      case 'B': return reference();
      default: return false;
    }
  }

  [[nodiscard]] bool nested() {
    ++at_;
    const bool closure = peek() == 'C';
    ++at_;
    if (!path() || !identifier()) return false;
    if (closure && writes()) {
      separate();
      out_.add("{closure}");
    }
    return true;
  }
  [[nodiscard]] bool impl_path() { return (!take('s') || skip_number()) && path(); }

  /// A type that is a part of the name: all of it is written.
  [[nodiscard]] bool shown_type() {
    const bool before = std::exchange(of_type_, true);
    const bool good = type();
    of_type_ = before;
    return good;
  }

  /// `<Type>`: an impl of its own (`inherent`) or of a trait, which is left out.
  [[nodiscard]] bool of_impl(bool inherent) {
    ++at_;
    if (inherent) separate();
    if (!silently(&rust_v0_parser::impl_path)) return false;
    if (shows_) out_.add("<");
    fresh_ = true;
    if (!shown_type() || (!inherent && !silently(&rust_v0_parser::path))) return false;
    if (shows_) out_.add(">");
    return true;
  }
  [[nodiscard]] bool of_trait() {
    ++at_;
    out_.add("<");
    fresh_ = true;
    if (!shown_type() || !silently(&rust_v0_parser::path)) return false;
    out_.add(">");
    return true;
  }

  [[nodiscard]] bool generic() {
    ++at_;
    const bool before = std::exchange(of_type_, true);
    if (!type()) return false;
    if (shows_) out_.add("<");
    while (at_ < in_.size() && peek() != 'E') {
      fresh_ = true;
      if (!generic_argument()) return false;
      if (shows_) out_.add(",");
    }
    if (shows_) {
      out_.drop_last();
      out_.add(">");
    }
    of_type_ = before;
    fresh_ = false;
    return take('E');
  }
  [[nodiscard]] bool generic_argument() {
    if (peek() == 'L') return lifetime();
    return take('K') ? constant() : type();
  }

  /// The path at an earlier place.
  [[nodiscard]] bool reference() {
    std::size_t place = 0;
    if (!take('B') || !number(place)) return false;
    const std::size_t behind = std::exchange(at_, place + 2);
    const bool good = at_ < in_.size() && path();
    at_ = behind;
    return good;
  }

  [[nodiscard]] bool type() {
    const name_budget::step step(budget_);
    if (!step) return false;
    const bool shown = writes();
    ++types_;
    const bool good = type_here(shown);
    --types_;
    return good;
  }
  [[nodiscard]] bool type_here(bool shown) {
    const auto write = [&](const char* text) {
      if (shown) out_.add(text);
    };
    const char c = peek();
    if (is_lower(c)) {
      const char* const name = basic_type(c);
      if (name == nullptr) return false;
      write(name);
      ++at_;
      return true;
    }
    switch (c) {
      case 'A':
        ++at_;
        if (writes()) out_.add("[");
        if (!type()) return false;
        if (writes()) out_.add(";");
        if (!constant()) return false;
        if (writes()) out_.add("]");
        return true;
      case 'S':
        ++at_;
        if (writes()) out_.add("[");
        if (!type()) return false;
        if (writes()) out_.add("]");
        return true;
      case 'T': ++at_; return list("(", false);
      case 'F': return function();
      case 'P': return pointer("*const_", false);
      case 'O': return pointer("*mut_", false);
      case 'R': return pointer("&", true);
      case 'Q': return pointer("&mut_", true);
      case 'D': return dynamic();
      case 'W': ++at_; return pattern();
      default: return path();
    }
  }
  [[nodiscard]] static const char* basic_type(char c) noexcept {
    switch (c) {
      case 'a': return "i8";
      case 'b': return "bool";
      case 'c': return "char";
      case 'd': return "f64";
      case 'e': return "str";
      case 'f': return "f32";
      case 'h': return "u8";
      case 'i': return "isize";
      case 'j': return "usize";
      case 'l': return "i32";
      case 'm': return "u32";
      case 'n': return "i128";
      case 'o': return "u128";
      case 's': return "i16";
      case 't': return "u16";
      case 'u': return "()";
      case 'v': return "...";
      case 'x': return "i64";
      case 'y': return "u64";
      case 'z': return "!";
      case 'p': return "_";
      default: return nullptr;
    }
  }
  [[nodiscard]] bool pointer(const char* text, bool may_have_lifetime) {
    ++at_;
    if (writes()) out_.add(text);
    if (may_have_lifetime && peek() == 'L') (void)lifetime();
    return type();
  }
  /// Types up to an `E`, with commas between them.
  [[nodiscard]] bool list(const char* opening, bool may_be_empty) {
    if (writes()) out_.add(opening);
    bool any = false;
    for (; at_ < in_.size() && peek() != 'E'; any = true) {
      if (!type()) return false;
      if (writes()) out_.add(",");
    }
    if (writes() && (any || !may_be_empty)) out_.drop_last();
    if (!take('E')) return false;
    if (writes()) out_.add(")");
    return true;
  }
  [[nodiscard]] bool function() {
    ++at_;
    (void)take('U');  // unsafe
    if (take('K') && !take('C') && !plain_identifier()) return false;
    return list("fn(", true) && silently(&rust_v0_parser::type);
  }
  [[nodiscard]] bool dynamic() {
    ++at_;
    while (at_ < in_.size() && peek() != 'E') {
      if (!path()) return false;
      while (take('p')) {
        if (!plain_identifier() || !type()) return false;
      }
    }
    return take('E') && lifetime();
  }
  [[nodiscard]] bool pattern() {
    if (at_ >= in_.size()) return false;
    if (peek() == 'R') return constant() && constant();
    if (peek() != 'O') return true;
    return false;  // uftrace does not get through alternatives either
  }

  /// A constant: its type is read, its value written in decimal.
  [[nodiscard]] bool constant() {
    if (take('p')) {
      if (writes()) out_.add("_");
      return true;
    }
    if (peek() == 'B') return reference();
    if (!silently(&rust_v0_parser::type)) return false;
    (void)take('n');
    // uftrace reads it with strtol(), which stops at the largest number.
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    std::uint64_t value = 0;
    for (;; ++at_) {
      const char c = peek();
      std::uint64_t digit = 0;
      if (is_digit(c)) digit = static_cast<std::uint64_t>(c - '0');
      else if (c >= 'a' && c <= 'f') digit = static_cast<std::uint64_t>(c - 'a') + 10;
      else break;
      value = value > largest >> 4 ? largest : value << 4 | digit;
    }
    if (writes()) out_.add(std::to_string(static_cast<std::int32_t>(value)));
    return take('_');
  }

  std::string_view in_;
  std::size_t at_;
  name_text out_;
  name_budget budget_;
  int types_ = 0;         ///< types that are being read
  bool of_type_ = false;  ///< they are part of the name
  bool shows_ = true;
  bool fresh_ = true;  ///< what is written next follows without `::`
};

}  // namespace backsight::names::detail
