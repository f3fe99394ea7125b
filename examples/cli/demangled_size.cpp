// SPDX-License-Identifier: Apache-2.0
#include "demangled_size.hpp"

#include <algorithm>
#include <string>
#include <vector>

// Source: Itanium C++ ABI, "External Names (a.k.a. Mangling)". A name of 110 bytes can stand for gigabytes, because
// each substitution may hold two earlier ones; so the sizes are summed up first.
namespace cli {
namespace {

class size_parser {
 public:
  size_parser(std::string_view in, std::size_t limit) : in_(in), limit_(limit) {}

  /// True when all was read and is not too large.
  bool run() { return take("_Z") && encoding() && size_ <= limit_ && (at_ == in_.size() || is_one_of(".@")); }

  /// The name alone, see demangled_size.hpp.
  std::string name_alone() {
    if (!take("_Z")) return {};
    if (peek() == 'T' || (peek() == 'G' && is_one_of("VRAT", 1)))
      return special() ? std::string(in_.substr(0, at_)) : "";
    entity_ = at_;
    if (!name() || size_ > limit_) return {};
    std::string text(in_.substr(0, at_));
    if (entity_ < text.size() && text[entity_] == 'N') {
      const std::size_t from = entity_ + 1;
      std::size_t to = from;
      while (to < text.size() && std::string_view("rVKRO").find(text[to]) != std::string_view::npos) ++to;
      text.erase(from, to - from);
    }
    return text;
  }

 private:
  struct deeper {
    explicit deeper(int& d) : depth(d) { ++depth; }
    deeper(const deeper&) = delete;
    deeper& operator=(const deeper&) = delete;
    ~deeper() { --depth; }
    int& depth;
  };

  char peek(std::size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  bool is_one_of(std::string_view all, std::size_t ahead = 0) const {
    return at_ + ahead < in_.size() && all.find(in_[at_ + ahead]) != all.npos;
  }
  bool is_digit(std::size_t ahead = 0) const { return is_one_of("0123456789", ahead); }
  bool is_lower() const { return peek() >= 'a' && peek() <= 'z'; }
  bool take(std::string_view text) {
    if (!in_.substr(std::min(at_, in_.size())).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }
  bool add(std::size_t more) {
    size_ += more;
    return size_ <= limit_;
  }
  void remember(std::size_t begin) { parts_.push_back(size_ - begin); }

  bool number() {
    (void)take("n");
    if (!is_digit()) return false;
    while (is_digit()) ++at_;
    return true;
  }
  bool sequence(std::size_t& index) {  // `_` is 0, `0_` is 1, in base 36
    index = 0;
    if (take("_")) return true;
    for (; !take("_"); ++at_) {
      const char c = peek();
      if (!is_digit() && (c < 'A' || c > 'Z')) return false;
      index = std::min<std::size_t>(index * 36 + static_cast<std::size_t>(c <= '9' ? c - '0' : c - 'A' + 10), 1U << 30);
    }
    ++index;
    return true;
  }
  template <class Rule>
  bool until_end(Rule rule) {
    while (!take("E")) {
      if (at_ >= in_.size() || !rule() || !add(2)) return false;
    }
    return true;
  }

  bool encoding() {
    const deeper level(depth_);
    if (depth_ > 256) return false;
    if (peek() == 'T' || (peek() == 'G' && is_one_of("VRAT", 1))) return special();
    if (!name()) return false;
    return parameters();
  }
  bool parameters() {
    const deeper type(types_);
    while (at_ < in_.size() && !is_one_of("E.@")) {
      if (take("Q")) {
        if (!expression()) return false;
      } else if (!type_here() || !add(2)) {
        return false;
      }
    }
    return true;
  }
  bool special() {
    add(32);
    if (take("TC")) return type_here() && number() && take("_") && type_here();
    if (take("TH") || take("TW") || take("GV")) return name();
    if (take("GR")) {
      std::size_t unused = 0;
      has_discriminators_ = false;
      return name() && (at_ == in_.size() || sequence(unused));
    }
    if (take("GA") || take("GTt") || take("GTn")) return encoding();
    if (take("TA")) return argument();
    if (take("Tc")) return offset() && offset() && encoding();
    if (is_one_of("hv", 1)) return ++at_, offset() && encoding();
    at_ += 2;
    return type_here();
  }
  bool offset() {
    return take("h") ? number() && take("_") : take("v") && number() && take("_") && number() && take("_");
  }

  bool name() {
    const deeper level(depth_);
    if (depth_ > 256) return false;
    const std::size_t begin = size_;
    if (peek() == 'N') return nested();
    if (peek() == 'Z') return local();
    if (peek() == 'S' && peek(1) != 't') {
      if (!substitution()) return false;
    } else {
      if (take("St")) add(5);
      if (!unqualified()) return false;
      if (peek() == 'I') remember(begin);
    }
    return peek() != 'I' || arguments();
  }
  bool nested() {
    const std::size_t begin = size_;
    ++at_;
    (void)take("H");
    while (is_one_of("rVK")) ++at_, add(9);
    if (is_one_of("RO")) ++at_;
    bool remembered = false;
    while (!take("E")) {
      if (at_ >= in_.size()) return false;
      if (take("M")) continue;
      if (peek() == 'S') {
        if (take("St")) add(5);
        else if (!substitution()) return false;
        remembered = false;
        add(2);
        continue;
      }
      bool good = false;
      if (peek() == 'I') good = arguments();
      else if (peek() == 'T') good = parameter();
      else if (peek() == 'D' && is_one_of("tT", 1)) good = ++at_, ++at_, expression() && take("E");
      else good = unqualified();
      if (!good || !add(2)) return false;
      remember(begin);
      remembered = true;
    }
    if (remembered) parts_.pop_back();  // the whole is remembered where it is a type
    return true;
  }
  bool local() {
    ++at_;
    if (!encoding() || !take("E") || !add(16)) return false;
    if (depth_ == 1) entity_ = at_;
    if (take("s")) return discriminator();
    if (take("d")) {
      if (is_digit() && !number()) return false;
      if (!take("_")) return false;
    }
    return name() && discriminator();
  }
  bool discriminator() {
    if (!has_discriminators_ || !take("_")) return true;
    return take("_") ? number() && take("_") : is_digit() && (++at_, true);
  }
  bool unqualified() {
    if (take("L")) return unqualified();
    if (take("F")) return unqualified();
    bool good = false;
    if (is_digit()) {
      good = source();
    } else if (peek() == 'C' || (peek() == 'D' && is_digit(1))) {
      const bool inherits = peek(1) == 'I';
      at_ += inherits ? 3 : 2;
      good = add(last_ + 3) && (!inherits || silent_type());
    } else if (take("DC")) {
      good = until_end([this] { return source(); });
    } else if (take("Ul")) {
      while (peek() == 'T' && is_one_of("ynpt", 1)) {
        if (!declaration()) return false;
      }
      good = until_end([this] { return type_here(); }) && add(16) && (is_digit() ? number() && take("_") : take("_"));
    } else if (take("Ut")) {
      good = add(16) && (is_digit() ? number() && take("_") : take("_"));
    } else if (is_lower()) {
      good = operation();
    }
    while (good && take("B")) good = source() && add(8);
    return good;
  }
  bool source() {
    std::size_t length = 0;
    if (!is_digit()) return false;
    for (; is_digit(); ++at_) {
      length = length * 10 + static_cast<std::size_t>(peek() - '0');
      if (length > in_.size()) return false;
    }
    if (length > in_.size() - at_) return false;
    last_ = in_.substr(at_, length).starts_with("_GLOBAL_") ? 21 : length;  // (anonymous namespace)
    at_ += length;
    return add(last_);
  }
  bool operation() {
    add(20);
    if (take("cv")) return silent_type();
    if (take("li")) return source();
    if (peek() == 'v' && is_digit(1)) return at_ += 2, source();
    if (at_ + 2 > in_.size()) return false;
    at_ += 2;
    return true;
  }
  bool silent_type() {
    const deeper inside(types_);
    return type_here();
  }

  bool substitution() {
    ++at_;
    if (is_one_of("absiod")) {
      ++at_;
      last_ = 14;
      if (!add(64)) return false;  // std::basic_string<char, std::char_traits<char>, std::allocator<char> >
      while (take("B")) {
        if (!source()) return false;
      }
      return true;
    }
    std::size_t index = 0;
    return sequence(index) && index < parts_.size() && add(parts_[index]);
  }
  bool parameter() {
    ++at_;
    if (take("L") && (!number() || !take("_"))) return false;
    std::size_t index = 0;
    return sequence(index) && add(index < arguments_.size() ? arguments_[index] : 8);
  }
  /// `I..E`. Those of the function's own name are what `T_` stands for.
  bool arguments() {
    ++at_;
    add(3);
    const bool own = types_ == 0;
    if (own) arguments_.clear();
    const deeper inside(types_);
    return until_end([&] {
      const std::size_t begin = size_;
      if (take("Q")) return expression();
      if (!argument()) return false;
      if (own) arguments_.push_back(size_ - begin);
      return true;
    });
  }
  bool argument() {
    const deeper level(depth_);
    if (depth_ > 256) return false;
    if (take("X")) return expression() && take("E");
    if (peek() == 'L') return literal();
    if (peek() == 'J' || peek() == 'I') {
      ++at_;
      std::size_t count = 0;
      if (!until_end([&] { return ++count, argument(); })) return false;
      longest_pack_ = std::max(longest_pack_, count);
      return true;
    }
    if (peek() == 'T' && is_one_of("ynptk", 1)) return declaration() && argument();
    return type_here();
  }
  bool declaration() {
    const deeper level(depth_);
    if (depth_ > 256) return false;
    if (take("Ty")) return true;
    if (take("Tn")) return type_here();
    if (take("Tk")) return name();
    if (take("Tp")) return declaration();
    if (!take("Tt")) return false;
    return until_end([this] { return declaration(); });
  }
  bool literal() {
    ++at_;
    if (take("_Z")) return encoding() && take("E");
    if (!type_here()) return false;
    while (at_ < in_.size() && peek() != 'E') ++at_, add(2);
    return take("E");
  }

  /// The pattern of a pack is said once for each of its parts.
  template <class Rule>
  bool expanded(Rule rule) {
    const std::size_t begin = size_;
    return rule() && add((size_ - begin) * (longest_pack_ > 1 ? longest_pack_ - 1 : 0));
  }

  bool type_here() {
    const deeper level(depth_);
    const deeper inside(types_);
    if (depth_ > 256) return false;
    const std::size_t begin = size_;
    bool is_part = true;
    if (!type(is_part)) return false;
    if (is_part) remember(begin);
    return true;
  }
  bool type(bool& is_part) {
    const std::size_t begin = size_;
    if (is_one_of("rVK")) {
      while (is_one_of("rVK")) ++at_, add(9);
      return type_here();
    }
    if (is_one_of("PROCG")) return ++at_, add(10) && type_here();
    if (is_digit() || peek() == 'N' || peek() == 'Z') return name();
    switch (peek()) {
      case 'F': return function();
      case 'A':
        ++at_;
        if (is_digit() ? !number() : peek() != '_' && !expression()) return false;
        return take("_") && add(20) && type_here();
      case 'M': return ++at_, add(5) && type_here() && type_here();
      case 'T':
        if (is_one_of("sue", 1)) return at_ += 2, name();
        if (!parameter()) return false;
        if (peek() != 'I') return true;
        remember(begin);
        return arguments();
      case 'S':
        if (peek(1) == 't') return name();
        if (!substitution()) return false;
        is_part = peek() == 'I';
        return !is_part || arguments();
      case 'u': return ++at_, source() && (peek() != 'I' || arguments());
      case 'U':
        if (is_one_of("lt", 1)) return name();
        return ++at_, source() && (peek() != 'I' || arguments()) && type_here();
      case 'D': return special_type(is_part);
      default: break;
    }
    is_part = false;
    constexpr std::string_view codes = "vwbcahstijlmxynofdegz";
    constexpr unsigned char sizes[] = {4, 7, 4, 4, 11, 13, 5, 14, 3, 12, 4, 13, 9, 18, 8, 17, 5, 6, 11, 10, 3};
    const std::size_t code = at_ < in_.size() ? codes.find(in_[at_]) : codes.npos;
    return code != codes.npos && (++at_, add(sizes[code]));
  }
  bool function() {
    if (!take("F")) return false;
    (void)take("Y");
    return until_end([this] { return (is_one_of("RO") && peek(1) == 'E') ? (++at_, true) : type_here(); }) && add(10);
  }
  bool special_type(bool& is_part) {
    const char kind = peek(1);
    at_ += 2;
    switch (kind) {
      case 't':
      case 'T': return add(10) && expression() && take("E");
      case 'p': return expanded([this] { return type_here(); });
      case 'o': return add(10) && function();
      case 'x': return add(16) && type_here();
      case 'O': return add(12) && expression() && take("E") && function();
      case 'w': return add(12) && until_end([this] { return type_here(); }) && function();
      case 'v':
        if (is_digit() ? !number() : !take("_") || !expression()) return false;
        return take("_") && add(20) && (take("p") || type_here());
      case 'F':
      case 'B':
      case 'U':
        is_part = false;
        if (is_digit() ? !number() : !expression()) return false;
        return add(20) && is_one_of("_xb") && (++at_, true);
      case 'k':
      case 'K': is_part = false; return add(20) && name();
      default:
        is_part = false;
        return kind != '\0' && std::string_view("defhisacnuSN").find(kind) != std::string_view::npos && add(18);
    }
  }

  /// The names before a name. GCC writes a type and then the name, which `ends` it; Clang names up to an E, which are
  /// not remembered.
  bool scope(bool& ends) {
    const std::size_t before = parts_.size();
    std::size_t behind = 0;
    std::size_t name_size = 0;
    std::size_t whole_size = 0;
    bool is_template = false;
    for (int levels = 0; is_digit(); ++levels) {
      const std::size_t begin = size_;
      if (!source()) return false;
      if (levels == 0) name_size = size_ - begin;
      if (levels == 0) is_template = peek() == 'I';
      if ((peek() == 'I' && !arguments()) || !add(2)) return false;
      if (levels == 0) whole_size = size_ - begin;
      if (levels == 0) behind = parts_.size();
    }
    if (peek() == 'E' && is_one_of("0123456789od", 1)) return ++at_, true;
    ends = !is_one_of("od") || peek(1) != 'n';
    parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(behind), whole_size);
    if (is_template) parts_.insert(parts_.begin() + static_cast<std::ptrdiff_t>(before), name_size);
    return true;
  }
  bool unresolved() {
    (void)take("gs");
    if (take("sr")) {
      if (!is_digit()) {
        if (!type_here() || !add(2)) return false;
      } else if (bool ends = false; !scope(ends) || ends) {
        return ends;
      }
    }
    bool good = false;
    if (take("on")) good = operation();
    else if (take("dn")) good = is_digit() ? source() : type_here();
    else good = unqualified();
    return good && (peek() != 'I' || arguments());
  }
  bool expressions() {
    while (!is_one_of("E_")) {
      if (at_ >= in_.size() || !expression() || !add(2)) return false;
    }
    ++at_;
    return true;
  }
  bool expression() {
    const deeper level(depth_);
    const deeper inside(types_);
    if (depth_ > 256 || !add(4)) return false;
    if (peek() == 'L') return literal();
    if (peek() == 'T') return parameter();
    if (take("fpT")) return add(4);
    if (take("fp") || (peek() == 'f' && peek(1) == 'L' && is_digit(2) && (at_ += 2, true))) {
      while (is_digit() || is_one_of("prVKRO")) ++at_;
      return take("_") && add(16);
    }
    if (is_one_of("f") && is_one_of("lrLR", 1)) {
      const bool both = is_one_of("LR", 1);
      at_ += 4;
      return add(16) && expression() && (!both || expression());
    }
    (void)take("gs");
    if (take("cl") || take("cp") || take("il")) return expressions();
    if (take("cv")) return type_here() && (take("_") ? expressions() : expression());
    if (take("tl")) return type_here() && expressions();
    if (take("nw") || take("na")) {
      if (!expressions() || !type_here()) return false;
      return take("E") || ((take("pi") || take("il")) && expressions());
    }
    if (take("dc") || take("sc") || take("cc") || take("rc")) return add(20) && type_here() && expression();
    if (take("ti") || take("st") || take("at")) return add(20) && type_here();
    if (take("dt") || take("pt")) return expression() && unresolved();
    if (take("sp")) return expanded([this] { return expression(); });
    if (take("sZ")) return add(20) && expression();
    if (take("sP")) return until_end([this] { return argument(); });
    if (take("tr")) return add(8);
    if (take("pp_") || take("mm_")) return expression();
    for (const std::string_view unary :
         {"ps", "ng", "ad", "de", "co", "nt", "pp", "mm", "dl", "da", "te", "sz", "az", "nx", "tw"}) {
      if (take(unary)) return add(16) && expression();
    }
    if (take("qu")) return expression() && expression() && expression();
    for (const std::string_view binary :
         {"pl", "mi", "ml", "dv", "rm", "an", "or", "eo", "aS", "pL", "mI", "mL", "dV", "rM", "aN", "oR", "eO",
          "ls", "rs", "lS", "rS", "eq", "ne", "lt", "gt", "le", "ge", "ss", "aa", "oo", "cm", "pm", "ix", "ds"}) {
      if (take(binary)) return expression() && expression();
    }
    return unresolved();
  }

  std::string_view in_;
  std::size_t limit_;
  std::size_t at_ = 0;
  std::size_t size_ = 0;
  std::size_t last_ = 0;  ///< of the last component: a constructor says it again
  std::size_t longest_pack_ = 0;
  std::vector<std::size_t> parts_;      ///< what `S_`, `S0_`.. stand for
  std::vector<std::size_t> arguments_;  ///< what `T_`, `T0_`.. stand for
  std::size_t entity_ = 0;  ///< where the name of the function itself begins, behind those that it is local to
  int depth_ = 0;
  int types_ = 0;
  bool has_discriminators_ = true;
};

}  // namespace

std::string mangled_name_alone(std::string_view mangled, std::size_t limit) {
  return size_parser(mangled, limit).name_alone();
}

bool demangles_within(std::string_view mangled, std::size_t limit) { return size_parser(mangled, limit).run(); }

}  // namespace cli
