// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <backsight/core/field.hpp>
#include <backsight/core/layout.hpp>

namespace backsight {

namespace detail {

template <class T>
inline constexpr bool is_layout = std::is_base_of_v<layout_base, T>;

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

// A member may itself be called size or has_payload; only a number states the size of the record, only a bool a
// payload. Concepts of their own: Clang 16 crashes on such a requirement inside the lambda of a variable template.
template <class S>
concept states_size = requires {
  { S::size } -> std::convertible_to<std::size_t>;
};
template <class S>
concept states_payload = requires {
  { S::has_payload } -> std::convertible_to<bool>;
};

template <class S>
concept states_extent = requires {
  { S::extent::before } -> std::convertible_to<std::size_t>;
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
///   `static constexpr bool has_payload = true`: bytes of a length that the format tells follow the members;
///   `using extent = sized_by<member>`: that member tells the size of the record; what the members leave of it is the
///       payload.
template <class S>
concept schema = requires { S::fields; } && detail::is_layout<detail::layout_of<S>> &&
                 detail::names_differ(typename detail::layout_of<S>::members{}) && detail::size_as_stated<S>();

/// F is one of the members of the schema S.
template <class F, class S>
concept field_of = member<F> && schema<S> && detail::layout_of<S>::members::template count<F> == 1;

/// The size of a record of schema S in bytes, without payload and members of varying size.
template <schema S>
inline constexpr std::size_t size_of = detail::layout_of<S>::size;

namespace detail {

/// Some members of S have places that only the bytes tell.
template <class S>
concept varying = (layout_of<S>::tail_units != 0);

}  // namespace detail

/// Bytes of varying length follow the members of S.
template <schema S>
inline constexpr bool has_payload = [] {
  if constexpr (detail::states_payload<S>) return S::has_payload;
  else return detail::states_extent<S> && !detail::layout_of<S>::has_rest;
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
