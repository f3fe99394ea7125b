// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <backsight/core/condition.hpp>
#include <backsight/core/part.hpp>
#include <backsight/core/print.hpp>
#include <backsight/core/tagged_format.hpp>

// What the exports of declarations share: counts and conditions as texts, names, and how kinds are told.
namespace backsight::emit {

/// The words of an expression.
enum class language : std::uint8_t { kaitai, imhex };

/// An expression over the members of a record, as text. A count or condition that is a function of a record is called
/// with a record whose members are terms, and gives the text of what it computes.
template <language L>
class term {
 public:
  term(std::string text, bool is_truth = false) : text_(std::move(text)), is_truth_(is_truth) {}
  template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
  term(T value) : text_(std::to_string(static_cast<std::int64_t>(value))), is_truth_(false) {}

  /// As a number: 1 for what is true.
  [[nodiscard]] std::string number() const { return is_truth_ ? "(" + text_ + " ? 1 : 0)" : text_; }
  [[nodiscard]] std::string truth() const { return is_truth_ ? text_ : "(" + text_ + " != 0)"; }

  friend term operator+(const term& a, const term& b) { return joined(a, "+", b); }
  friend term operator-(const term& a, const term& b) { return joined(a, "-", b); }
  friend term operator*(const term& a, const term& b) { return joined(a, "*", b); }
  friend term operator/(const term& a, const term& b) { return joined(a, "/", b); }
  friend term operator%(const term& a, const term& b) { return joined(a, "%", b); }
  friend term operator&(const term& a, const term& b) { return joined(a, "&", b); }
  friend term operator|(const term& a, const term& b) { return joined(a, "|", b); }
  friend term operator^(const term& a, const term& b) { return joined(a, "^", b); }
  friend term operator<<(const term& a, const term& b) { return joined(a, "<<", b); }
  friend term operator>>(const term& a, const term& b) { return joined(a, ">>", b); }
  friend term operator==(const term& a, const term& b) { return joined(a, "==", b, true); }
  friend term operator!=(const term& a, const term& b) { return joined(a, "!=", b, true); }
  friend term operator<(const term& a, const term& b) { return joined(a, "<", b, true); }
  friend term operator>(const term& a, const term& b) { return joined(a, ">", b, true); }
  friend term operator<=(const term& a, const term& b) { return joined(a, "<=", b, true); }
  friend term operator>=(const term& a, const term& b) { return joined(a, ">=", b, true); }
  friend term operator&&(const term& a, const term& b) { return both(a, L == language::kaitai ? "and" : "&&", b); }
  friend term operator||(const term& a, const term& b) { return both(a, L == language::kaitai ? "or" : "||", b); }
  friend term operator!(const term& a) { return {(L == language::kaitai ? "(not " : "(!") + a.truth() + ")", true}; }
  friend term operator-(const term& a) { return term(0) - a; }

 private:
  static term joined(const term& a, const char* sign, const term& b, bool is_truth = false) {
    return {"(" + a.number() + " " + sign + " " + b.number() + ")", is_truth};
  }
  static term both(const term& a, const char* sign, const term& b) {
    return {"(" + a.truth() + " " + sign + " " + b.truth() + ")", true};
  }

  std::string text_;
  bool is_truth_;
};

namespace detail {

using backsight::detail::layout_of;
using backsight::detail::type_list;

/// A record whose members are what `Name` calls them: `name(member, index)` gives a term.
template <schema S, class Name>
struct described_record {
  Name name;
  template <class F>
  [[nodiscard]] auto operator[](F member) const {
    static_assert(field_of<F, S>, "backsight: this member does not belong to the record's schema");
    return name(member, layout_of<S>::members::template index_of<F>);
  }
};
template <schema S, class Name>
[[nodiscard]] described_record<S, Name> describe(Name name) {
  return {name};
}

/// What a count, a size or a condition is, over a described_record. A function that cannot be called with one says so
/// itself.
template <auto What, class Record>
[[nodiscard]] auto term_of(const Record& record) {
  using what = std::remove_cvref_t<decltype(What)>;
  if constexpr (std::is_base_of_v<backsight::detail::field_base, what>) return record[What];
  else return What(record);
}
template <class Term, class F, class Record>
[[nodiscard]] Term term_of_condition(const member_condition<F>& condition, const Record& record) {
  constexpr std::uint64_t all = F::bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << F::bits) - 1;
  const Term value = record[F{}];
  return condition.mask == all ? value == Term(condition.value)
                               : (value & Term(condition.mask)) == Term(condition.value);
}
template <auto Condition, class Term, class Record>
[[nodiscard]] Term term_of_when(const Record& record) {
  if constexpr (requires { Condition.mask; }) return term_of_condition<Term>(Condition, record);
  else return Term(Condition(record));
}

/// A name that both languages take: small letters, digits and underscores.
[[nodiscard]] inline std::string identifier(const char* name) {
  std::string text;
  for (; *name != '\0'; ++name) {
    const char c = *name;
    if (c >= 'A' && c <= 'Z') text += static_cast<char>(c - 'A' + 'a');
    else text += (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
  }
  if (text.empty() || text[0] < 'a' || text[0] > 'z') text = "m_" + text;
  return text;
}

/// Names of types, each once.
class type_names {
 public:
  /// The name that T has already, or empty; the same format in several records is one type.
  template <class T>
  [[nodiscard]] std::string of() const {
    for (const auto& [type, name] : known_) {
      if (type == &key<T>) return name;
    }
    return {};
  }
  template <class T>
  [[nodiscard]] std::string next_of(const std::string& wish) {
    known_.emplace_back(&key<T>, next(wish));
    return known_.back().second;
  }
  [[nodiscard]] std::string next(const std::string& wish) {
    std::string name = wish;
    for (unsigned number = 2; taken(name); ++number) name = wish + "_" + std::to_string(number);
    taken_.push_back(name);
    return name;
  }

 private:
  [[nodiscard]] bool taken(const std::string& name) const {
    for (const std::string& one : taken_) {
      if (one == name) return true;
    }
    return false;
  }
  template <class T>
  static constexpr char key = 0;
  std::vector<std::string> taken_;
  std::vector<std::pair<const char*, std::string>> known_;
};

/// Calls `f(unit, first_index)` for each unit of S: a word, a member, one that depends on a condition.
template <schema S, class F>
void for_each_unit(F&& f) {
  std::size_t index = 0;
  [&]<class... Units>(type_list<Units...>) {
    ((f(type_list<Units>{}, index), index += Units::members::size), ...);
  }(typename layout_of<S>::units{});
}

/// The enumerators of a type that have names, among the first 256 values of `bits` bits.
template <class E>
[[nodiscard]] std::vector<std::pair<unsigned, std::string>> enumerators_of([[maybe_unused]] std::size_t bits) {
  std::vector<std::pair<unsigned, std::string>> found;
  if constexpr (std::is_enum_v<E>) {
    if constexpr (requires(E value) { enumerator_name(value); }) {
      type_names names;
      for (unsigned value = 0; value < (bits >= 8 ? 256U : 1U << bits); ++value) {
        const char* const name = enumerator_name(static_cast<E>(value));
        if (name != nullptr) found.emplace_back(value, names.next(identifier(name)));
      }
    }
  }
  return found;
}

/// F tells its kinds by the first bytes as tagged_format does, and by nothing else.
template <class F, class... Schemas>
consteval bool is_tagged(type_list<Schemas...>) {
  using tagged = tagged_format<F::byte_order, Schemas...>;
  if constexpr (!std::is_base_of_v<tagged, F>) return false;
  else return requires { requires& F::template kind_of<no_context> == &tagged::template kind_of<no_context>; };
}

/// What F declares can be said in other languages: no hook has to run.
template <class F>
struct exportable {
  static_assert(std::is_empty_v<typename F::context>,
                "backsight: a format with a context cannot be exported: its hooks would have to run");
  static_assert(
      is_tagged<F>(typename F::records{}) || F::records::size == 1 || F::head_bytes <= 1,
      "backsight: a format whose hook kind_of looks at several bytes cannot be exported: tell kinds by told_by");
  static constexpr bool good = true;
};
template <class S>
struct exportable_record {
  static_assert(!has_payload<S> || backsight::detail::states_extent<S>,
                "backsight: a record whose size a hook tells cannot be exported: state an extent, or count its bytes");
  static constexpr bool good = true;
};

/// The values of a byte for which `holds(value)`, as a mask over it or as ranges.
template <language L, class Holds>
[[nodiscard]] std::string byte_ranges(const std::string& byte, Holds&& holds) {
  unsigned all = 0xff, any = 0, count = 0;
  for (unsigned value = 0; value < 256; ++value) {
    if (holds(static_cast<std::byte>(value))) all &= value, any |= value, ++count;
  }
  // All that agree in these bits are as many as they are.
  const unsigned mask = ~(all ^ any) & 0xffU;
  if (count != 0 && count != 256 && count == 1U << (8 - std::popcount(mask))) {
    return ((term<L>(byte) & term<L>(mask)) == term<L>(all)).truth();
  }
  std::string text;
  for (unsigned first = 0; first < 256; ++first) {
    if (!holds(static_cast<std::byte>(first))) continue;
    unsigned last = first;
    while (last < 255 && holds(static_cast<std::byte>(last + 1))) ++last;
    const term<L> range = term<L>(byte) >= term<L>(first) && term<L>(byte) <= term<L>(last);
    if (first == 0 && last == 255) return "true";
    if (!text.empty()) text += L == language::kaitai ? " or " : " || ";
    text += range.truth();
    first = last;
  }
  return text.empty() ? "false" : "(" + text + ")";
}

/// Whether a record of S, of that kind, begins: by its first byte, which `first()` reads, or by a member, for which
/// `by_member(condition)` gives the text.
template <language L, record_format F, schema S, class First, class ByMember>
[[nodiscard]] std::string told_text([[maybe_unused]] std::size_t kind, [[maybe_unused]] First&& first,
                                    [[maybe_unused]] ByMember&& by_member) {
  if constexpr (F::records::size == 1) {
    return "true";
  } else if constexpr (!is_tagged<F>(typename F::records{})) {
    return byte_ranges<L>(first(), [&](std::byte value) {
      const kind_result found = F::kind_of(&value, {});
      return found.code == errc::ok && found.kind == kind;
    });
  } else if constexpr (!backsight::detail::states_tag<S>) {
    return "true";
  } else if constexpr (requires(const std::byte* at) { S::told_by(at); }) {
    return byte_ranges<L>(first(), [](std::byte value) { return S::told_by(&value); });
  } else {
    return by_member(S::told_by);
  }
}

/// The size of a record of S that states its extent.
template <schema S, class Term, class Record>
[[nodiscard]] Term term_of_extent(const Record& record) {
  Term size = term_of<S::extent::size>(record);
  if constexpr (S::extent::unit != 1) size = size * Term(S::extent::unit);
  if constexpr (S::extent::before != 0) size = size + Term(S::extent::before);
  return size;
}

/// How many members behind a unit of the tail follow, in bytes: what a member leaves that takes the rest.
template <schema S>
[[nodiscard]] std::size_t bytes_behind(std::size_t first_index) {
  std::size_t bytes = 0;
  for_each_unit<S>([&]<class Unit>(type_list<Unit>, std::size_t index) {
    if (index > first_index) bytes += Unit::bits / 8;
  });
  return bytes;
}

}  // namespace detail

}  // namespace backsight::emit
