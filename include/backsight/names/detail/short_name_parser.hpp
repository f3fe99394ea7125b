// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <backsight/names/detail/name_limits.hpp>

// The parser of mangled C++ names: its state and small rules. Names are in short_name_names.hpp, types and expressions
// in short_name_types.hpp. Sources: Itanium C++ ABI, "External Names (a.k.a. Mangling)"; uftrace's utils/demangle.c for
// what is written and for what it does not read: such a name is shown mangled, as there.
namespace backsight::names::detail {

/// Parses one mangled name and keeps the components of the function's own name. A rule gives false when the text does
/// not follow the grammar; where uftrace does not look at the result, neither does the rule above (`(void)`).
class short_name_parser {
 public:
  /// `mangled` is what stands behind `_Z`.
  explicit short_name_parser(std::string_view mangled) : in_(mangled), budget_(mangled.size()) {}

  /// True when all was read, but for a suffix, within the limits, and there is something to show.
  [[nodiscard]] bool run() {
    return encoding() && open_ == 0 && at_ == in_.size() && !budget_.exhausted() && !out_.too_long() &&
           !out_.text().empty();
  }
  [[nodiscard]] const std::string& out() const noexcept { return out_.text(); }
  /// Rules that were tried.
  [[nodiscard]] std::size_t steps() const noexcept { return budget_.steps(); }

 private:
  /// Counts where the parser is: within types or template arguments.
  struct within {
    explicit within(int& c) : count(c) { ++count; }
    within(const within&) = delete;
    within& operator=(const within&) = delete;
    ~within() { --count; }
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
  [[nodiscard]] bool is_one_of(std::string_view characters, std::size_t ahead = 0) const {
    return at_ + ahead < in_.size() && characters.find(in_[at_ + ahead]) != std::string_view::npos;
  }
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  static bool lower(char c) { return c >= 'a' && c <= 'z'; }

  /// The end of what was opened: a name whose brackets do not all end is shown mangled, whatever else was overlooked.
  [[nodiscard]] bool close() {
    if (!take('E')) return false;
    --open_;
    return true;
  }

  [[nodiscard]] bool shows_names() const { return templates_ == 0 && shows_standard(); }
  [[nodiscard]] bool shows_standard() const { return types_ == 0 || of_type_; }

  /// A component of the name, joined to those before it.
  void component(std::string_view text) {
    if (!fresh_) out_.add("::");
    fresh_ = false;
    out_.add(text);
  }
  /// A component that stands for a part of the standard library: uftrace writes those also among the template arguments
  /// of a type.
  void standard(std::string_view text) {
    if (shows_standard()) component(text);
  }

  /// A number as strtoul() of base 0 reads it: behind a leading 0 it is octal, behind 0x hexadecimal. Those of 2^31 and
  /// more are all one.
  [[nodiscard]] bool number(std::size_t& value) {
    constexpr std::size_t large = std::size_t{1} << 31;
    (void)take('n');
    if (!digit(peek())) return false;
    std::size_t base = 10;
    if (peek() == '0') base = 8;
    if (base == 8 && is_one_of("xX", 1) && digit_value(peek(2)) < 16) {
      base = 16;
      at_ += 2;
    }
    value = 0;
    for (std::size_t next = digit_value(peek()); next < base; next = digit_value(peek())) {
      value = std::min(value * base + next, large);
      ++at_;
    }
    return true;
  }
  [[nodiscard]] static std::size_t digit_value(char c) {
    if (digit(c)) return static_cast<std::size_t>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<std::size_t>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<std::size_t>(c - 'A') + 10;
    return 16;
  }
  bool number() {
    std::size_t unused = 0;
    return number(unused);
  }
  [[nodiscard]] bool sequence_id() {  // S_, S0_: base 36 digits and an underscore
    while (digit(peek()) || (peek() >= 'A' && peek() <= 'Z')) ++at_;
    return take('_');
  }

  bool encoding();
  bool special_name();
  bool call_offset();
  bool name();
  bool nested_name();
  bool local_name();
  void discriminator();
  bool unqualified();
  bool source_name();
  bool constructor();
  bool lambda();
  void template_head();
  bool template_head_parameter();
  bool operator_name();
  bool abi_tag();
  bool substitution();
  bool template_parameter();
  bool template_arguments();
  bool template_argument();
  bool type();
  bool special_type(bool& goes_on);
  bool function_type();
  bool decltype_type();
  bool vector_size();
  bool literal();
  bool expression();
  bool expressions();
  bool function_parameter();
  bool unresolved_name();
  bool base_unresolved_name();
  bool destructor_name();
  bool simple_id();
  bool is_binary_operator() const;

  std::string_view in_;
  std::size_t at_ = 0;
  name_text out_;
  name_budget budget_;
  int open_ = 0;          ///< brackets that were opened and not closed
  int types_ = 0;         ///< types that are being read
  int templates_ = 0;     ///< lists of template arguments that are being read
  bool fresh_ = true;     ///< nothing was written that `::` would join to
  bool of_type_ = false;  ///< the name is that of a type: `__vtable__X`
  bool ignores_discriminator_ = false;
};

}  // namespace backsight::names::detail
