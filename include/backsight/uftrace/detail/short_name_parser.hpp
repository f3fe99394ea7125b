// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

// The short form of C++ and Rust names that uftrace shows. Sources: Itanium C++ ABI, "External Names (a.k.a. Mangling)";
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
};

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
    prefix("__construction_vtable__");
    {
      const silent derived(quiet_);
      if (!type() || !number() || !take('_')) return false;
    }
    return type();
  }
  if (take("TH")) return of_name("TLS_init", true);
  if (take("TW")) return of_name("TLS_wrap", true);
  if (take("GV")) return of_name("__guard_variable__", false);
  if (take("GR")) {
    if (!of_name("__ref_temp__", false)) return false;
    while (digit(peek()) || (peek() >= 'A' && peek() <= 'Z')) ++at_;
    (void)take('_');
    return true;
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
  if (take("St")) component("std");
  if (!unqualified()) return false;
  return peek() != 'I' || template_arguments();
}

inline bool short_name_parser::nested_name() {
  if (!take('N')) return false;
  if (take('H')) {}  // explicit object member function
  while (peek() == 'r' || peek() == 'V' || peek() == 'K') ++at_;
  (void)(take('R') || take('O'));
  while (!take('E')) {
    if (at_ >= in_.size()) return false;
    const char c = peek();
    if (c == 'I') {
      if (!template_arguments()) return false;
    } else if (c == 'S' && peek(1) == 't') {
      at_ += 2;
      component("std");
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
  if (!take('_')) return true;
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
      for (; digit(peek()) && number_of < 1'000'000; ++at_) number_of = number_of * 10 + static_cast<std::size_t>(peek() - '0');
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
  component(in_.substr(at_, length));
  at_ += length;
  return true;
}

struct operator_text {
  char code[3];
  const char* text;
};
inline constexpr operator_text operators[] = {
    {"nw", " new"}, {"na", " new[]"}, {"dl", " delete"}, {"da", " delete[]"}, {"aw", " co_await"}, {"ps", "+"}, {"ng", "-"},
    {"ad", "&"}, {"de", "*"}, {"co", "~"}, {"pl", "+"}, {"mi", "-"}, {"ml", "*"}, {"dv", "/"}, {"rm", "%"}, {"an", "&"},
    {"or", "|"}, {"eo", "^"}, {"aS", "="}, {"pL", "+="}, {"mI", "-="}, {"mL", "*="}, {"dV", "/="}, {"rM", "%="}, {"aN", "&="},
    {"oR", "|="}, {"eO", "^="}, {"ls", "<<"}, {"rs", ">>"}, {"lS", "<<="}, {"rS", ">>="}, {"eq", "=="}, {"ne", "!="},
    {"lt", "<"}, {"gt", ">"}, {"le", "<="}, {"ge", ">="}, {"ss", "<=>"}, {"nt", "!"}, {"aa", "&&"}, {"oo", "||"}, {"pp", "++"},
    {"mm", "--"}, {"cm", ","}, {"pm", "->*"}, {"pt", "->"}, {"cl", "()"}, {"ix", "[]"}, {"qu", "?"}};

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
  switch (peek()) {
    case 't': ++at_; component("std"); return true;
    case 'a': ++at_; component("std::allocator"); break;
    case 'b': ++at_; component("std::basic_string"); break;
    case 's': ++at_; component("std::basic_string<>"); break;
    case 'i': ++at_; component("std::basic_istream"); break;
    case 'o': ++at_; component("std::basic_ostream"); break;
    case 'd': ++at_; component("std::basic_iostream"); break;
    default: return sequence_id();
  }
  return abi_tags();
}

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
    case 'r': case 'V': case 'K': case 'P': case 'R': case 'O': case 'C': case 'G': {
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
    case 'N': case 'Z': return name();
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

}  // namespace detail

}  // namespace backsight::uftrace
