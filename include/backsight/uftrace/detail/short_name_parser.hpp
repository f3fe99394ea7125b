// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// The parser of mangled C++ names: its state and small rules. Names are in short_name_names.hpp, types and expressions in
// short_name_types.hpp. Sources: Itanium C++ ABI, "External Names (a.k.a. Mangling)";
// uftrace's utils/demangle.c for what is left out.
namespace backsight::uftrace {

namespace detail {

/// Parses one mangled name and keeps the components of the function's own name. Every rule gives false when the text does
/// not follow the grammar; positions never go beyond the end; nesting is limited.
class short_name_parser {
 public:
  explicit short_name_parser(std::string_view mangled) : in_(mangled) {}

  /// The encoding behind `_Z`; true when all of it was read, but for a suffix.
  [[nodiscard]] bool run() {
    if (!encoding()) return false;
    return at_ == in_.size() || in_[at_] == '.' || in_[at_] == '@';
  }
  [[nodiscard]] std::string& out() noexcept { return out_; }

 private:
  /// Guards recursion: damage must not exhaust the stack.
  struct deeper {
    explicit deeper(int& d) : depth(d) { ++depth; }
    deeper(const deeper&) = delete;
    deeper& operator=(const deeper&) = delete;
    ~deeper() { --depth; }
    [[nodiscard]] bool too_deep() const { return depth > 256; }
    int& depth;
  };
  /// Reads without writing: types and template arguments.
  struct silent {
    explicit silent(int& s) : count(s) { ++count; }
    silent(const silent&) = delete;
    silent& operator=(const silent&) = delete;
    ~silent() { --count; }
    int& count;
  };

  [[nodiscard]] char peek(std::size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  [[nodiscard]] bool take(char c) {
    if (peek() != c || at_ >= in_.size()) return false;
    ++at_;
    return true;
  }
  [[nodiscard]] bool take(std::string_view text) {
    if (!in_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  static bool lower(char c) { return c >= 'a' && c <= 'z'; }

  void separate() {
    if (quiet_ == 0 && !out_.empty() && !fresh_) out_ += "::";
    if (quiet_ == 0) fresh_ = false;
  }
  /// A component of the name, joined to those before it.
  void component(std::string_view text) {
    if (quiet_ != 0) return;
    separate();
    out_ += text;
  }
  void append(std::string_view text) {
    if (quiet_ == 0) out_ += text;
  }
  /// A component that stands for a part of the standard library: uftrace writes those also among the template arguments of
  /// a type.
  void standard(std::string_view text) {
    const int quiet = quiet_;
    if (of_type_) quiet_ = 0;
    component(text);
    quiet_ = quiet;
  }
  /// What is written next follows without `::`.
  void prefix(std::string_view text) {
    if (quiet_ != 0) return;
    out_ += text;
    fresh_ = true;
  }
  [[nodiscard]] std::string_view last_component() const {
    const std::size_t colon = out_.rfind(':');
    return colon == std::string::npos ? std::string_view(out_) : std::string_view(out_).substr(colon + 1);
  }

  [[nodiscard]] bool number() {
    (void)take('n');
    if (!digit(peek())) return false;
    while (digit(peek())) ++at_;
    return true;
  }
  [[nodiscard]] bool sequence_id() {  // S_, S0_: base 36 digits and an underscore
    while (digit(peek()) || (peek() >= 'A' && peek() <= 'Z')) ++at_;
    return take('_');
  }

  bool encoding();
  bool special_name();
  bool name();
  bool nested_name();
  bool local_name();
  bool unqualified();
  bool source_name();
  bool operator_name();
  bool abi_tags();
  bool substitution();
  bool type();
  bool types_until(char end);
  bool template_arguments();
  bool template_argument();
  bool expression();
  bool literal();
  bool discriminator();
  bool call_offset();
  bool function_type();
  bool is_operator() const;
  bool unresolved_name();

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  int quiet_ = 0;
  int depth_ = 0;
  bool fresh_ = true;
  bool of_type_ = false;  ///< the name is that of a type: `__vtable__X`
  bool ignores_discriminator_ = false;
};

}  // namespace detail

}  // namespace backsight::uftrace
