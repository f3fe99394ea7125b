// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <backsight/core/field.hpp>

namespace backsight {

namespace detail {

template <std::size_t Index, class T>
struct indexed {};
template <class Indices, class... Ts>
struct indexed_list;
template <std::size_t... Is, class... Ts>
struct indexed_list<std::index_sequence<Is...>, Ts...> : indexed<Is, Ts>... {};
template <std::size_t Index, class T>
T type_at(indexed<Index, T>);

/// A list of types without values: its size, its I-th type, and the place of a type in it.
template <class... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);

  template <std::size_t Index>
  using at = decltype(type_at<Index>(indexed_list<std::index_sequence_for<Ts...>, Ts...>{}));

  template <class T>
  static constexpr std::size_t count = (std::size_t{0} + ... + std::size_t{std::is_same_v<T, Ts>});

  /// The index of T.
  template <class T>
  static constexpr std::size_t index_of = [] {
    static_assert(count<T> != 0, "backsight: this record or member is not in the list");
    const std::array<bool, size + 1> same{std::is_same_v<T, Ts>..., true};
    std::size_t index = 0;
    while (!same[index]) ++index;
    return index;
  }();
};

template <class... As, class... Bs>
type_list<As..., Bs...> operator+(type_list<As...>, type_list<Bs...>);

/// Where a member lies: `first_bit` counts from the start of the record in the order in which members are declared.
/// On little-endian machines bit 0 of a byte is its least significant, on big-endian ones its most significant.
struct placement {
  std::size_t first_bit = 0;
  std::size_t bits = 0;
};

/// A group of members at the next free byte of a record; `stated_offset` is checked against it.
struct group_base {};
inline constexpr std::size_t anywhere = static_cast<std::size_t>(-1);

template <std::size_t StatedOffset, std::size_t Bits, class... Members>
struct group : group_base {
  using members = type_list<Members...>;
  static constexpr std::size_t bits = Bits;
  static constexpr std::size_t stated_offset = StatedOffset;
};

template <class Member>
struct group_of {
  static_assert(member<Member>, "backsight: a layout lists fields, padding, words of them and at<> of those");
  static_assert(Member::bits % 8 == 0, "backsight: a member that is not whole bytes belongs into a word<Bits>(...)");
  using type = group<anywhere, Member::bits, Member>;
};
template <class Group>
  requires std::is_base_of_v<group_base, Group>
struct group_of<Group> {
  using type = Group;
};

template <std::size_t Count>
struct placements_and_size {
  std::array<placement, Count == 0 ? 1 : Count> places{};
  std::size_t bytes = 0;
};

}  // namespace detail

/// Members that share one storage word of `Bits` bits (a multiple of 8, at most 64), in the order of a C bit-field
/// declaration: from the least significant bit on little-endian machines, from the most significant on big-endian ones.
template <std::size_t Bits, member... Members>
[[nodiscard]] consteval auto word(Members...) {
  static_assert(Bits % 8 == 0 && Bits <= 64 && Bits != 0, "backsight: a storage word has 8 to 64 bits, whole bytes");
  constexpr std::size_t used = (std::size_t{0} + ... + Members::bits);
  static_assert(used <= Bits, "backsight: the members overrun their storage word");
  static_assert(used >= Bits, "backsight: the members do not fill their storage word");
  return detail::group<detail::anywhere, Bits, Members...>{};
}

/// States the byte offset of a member or word, as the format's documentation has it; a layout that derives another
/// offset does not compile.
template <std::size_t Offset, class MemberOrWord>
[[nodiscard]] consteval auto at(MemberOrWord) {
  using group = typename detail::group_of<MemberOrWord>::type;
  return []<class... Members>(detail::type_list<Members...>) {
    return detail::group<Offset, group::bits, Members...>{};
  }(typename group::members{});
}

/// The members of a record in wire order. Offsets follow from the order and the widths, for both byte orders.
template <class... Groups>
class layout {
  template <class G>
  using group = typename detail::group_of<G>::type;

 public:
  using members = decltype((detail::type_list<>{} + ... + typename group<Groups>::members{}));
  static constexpr std::size_t member_count = members::size;

  consteval layout() = default;
  consteval explicit layout(Groups...)
    requires(sizeof...(Groups) != 0)
  {}

 private:
  static constexpr bool ordered([[maybe_unused]] bool overlap) {
    [[maybe_unused]] std::size_t end = 0;
    bool good = true;
    ((good = good && (group<Groups>::stated_offset == detail::anywhere ||
                      (overlap ? group<Groups>::stated_offset >= end : group<Groups>::stated_offset <= end)),
      end += group<Groups>::bits / 8),
     ...);
    return good;
  }
  static_assert(ordered(true), "backsight: a member overlaps the one before it");
  static_assert(ordered(false), "backsight: bytes before a member belong to no member; list them as padding");

  static constexpr auto derived = [] {
    detail::placements_and_size<member_count> result;
    std::size_t index = 0;
    [[maybe_unused]] const auto place = [&]<std::size_t Bits, class... Members>(detail::type_list<Members...>,
                                                               std::integral_constant<std::size_t, Bits>) {
      std::size_t bit = result.bytes * 8;
      ((result.places[index++] = {bit, Members::bits}, bit += Members::bits), ...);
      result.bytes += Bits / 8;
    };
    (place(typename group<Groups>::members{}, std::integral_constant<std::size_t, group<Groups>::bits>{}), ...);
    return result;
  }();

 public:
  /// The size of the record in bytes, without any payload.
  static constexpr std::size_t size = derived.bytes;

  /// Where the member of that index lies.
  template <std::size_t Index>
  static constexpr detail::placement place_of = derived.places[Index];
};

template <class... Groups>
layout(Groups...) -> layout<Groups...>;

namespace detail {

template <class T>
inline constexpr bool is_layout = false;
template <class... Groups>
inline constexpr bool is_layout<layout<Groups...>> = true;

template <class S>
using layout_of = std::remove_cvref_t<decltype(S::fields)>;

[[nodiscard]] constexpr bool same_text(const char* a, const char* b) noexcept {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

template <class... Members>
consteval bool differ(type_list<Members...>) {
  // Not null pointers for padding: under -fsanitize=undefined GCC 12 does not compare them in a constant expression.
  const std::array<const char*, sizeof...(Members) + 1> names{Members::name()..., ""};
  const std::array<bool, sizeof...(Members) + 1> unnamed{Members::is_padding..., true};
  for (std::size_t i = 0; i < sizeof...(Members); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!unnamed[i] && !unnamed[j] && same_text(names[i], names[j])) return false;
    }
  }
  return true;
}

template <class Members>
consteval bool names_differ(Members list) {
  static_assert(differ(Members{}), "backsight: two members of a record have the same name");
  return differ(list);
}

// A member may itself be called size or has_payload; only a number states the size of the record, only a bool a payload.
// Concepts of their own: Clang 16 crashes on such a requirement inside the lambda of a variable template.
template <class S>
concept states_size = requires {
  { S::size } -> std::convertible_to<std::size_t>;
};
template <class S>
concept states_payload = requires {
  { S::has_payload } -> std::convertible_to<bool>;
};

template <class S>
consteval bool size_as_stated() {
  if constexpr (states_size<S>) {
    static_assert(layout_of<S>::size <= S::size, "backsight: the members overrun the stated size of the record");
    static_assert(layout_of<S>::size >= S::size, "backsight: bytes at the end of the record belong to no member");
    return layout_of<S>::size == S::size;
  } else {
    return true;
  }
}

}  // namespace detail

/// A declared record: a type with a static constexpr layout `fields`, and optionally
///   `static constexpr std::size_t size`: the size in bytes that the documentation states, checked;
///   `static constexpr const char* name`: how print calls the record;
///   `static constexpr bool has_payload = true`: bytes of a length that the format tells follow the members.
template <class S>
concept schema = requires { S::fields; } && detail::is_layout<detail::layout_of<S>> &&
                 detail::names_differ(typename detail::layout_of<S>::members{}) && detail::size_as_stated<S>();

/// F is one of the members of the schema S.
template <class F, class S>
concept field_of = member<F> && schema<S> && detail::layout_of<S>::members::template count<F> == 1;

/// The size of a record of schema S in bytes, without payload.
template <schema S>
inline constexpr std::size_t size_of = detail::layout_of<S>::size;

/// Bytes of varying length follow the members of S.
template <schema S>
inline constexpr bool has_payload = [] {
  if constexpr (detail::states_payload<S>) return S::has_payload;
  else return false;
}();

/// Calls `f(member, index)` for each member of S in wire order; the index is a std::integral_constant.
template <schema S, class F>
constexpr void for_each_member(F&& f) {
  using members = typename detail::layout_of<S>::members;
  [&]<std::size_t... Is>(std::index_sequence<Is...>) {
    (f(typename members::template at<Is>{}, std::integral_constant<std::size_t, Is>{}), ...);
  }(std::make_index_sequence<members::size>{});
}

}  // namespace backsight
