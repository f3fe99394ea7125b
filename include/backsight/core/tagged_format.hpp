// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include <backsight/core/condition.hpp>
#include <backsight/core/format.hpp>

namespace backsight {

namespace detail {

template <class S>
concept states_tag = requires { S::told_by; };

/// The bytes at the start of a record of S that tell its kind.
template <class S>
inline constexpr std::size_t tag_end = [] {
  if constexpr (!states_tag<S>) {
    return std::size_t{0};
  } else if constexpr (requires(const std::byte* at) { S::told_by(at); }) {
    return std::size_t{1};
  } else {
    return []<class F>(const member_condition<F>&) {
      static_assert(layout_of<S>::members::template index_of<F> < layout_of<S>::fixed_members,
                    "backsight: the member that tells the kind of a record has a fixed place");
      constexpr std::size_t index = layout_of<S>::members::template index_of<F>;
      constexpr placement little = layout_of<S>::template place_of<index, order::little>;
      constexpr placement big = layout_of<S>::template place_of<index, order::big>;
      return ((little.first_bit > big.first_bit ? little.first_bit : big.first_bit) + F::bits + 7) / 8;
    }(S::told_by);
  }
}();

template <class S, order O>
[[nodiscard]] constexpr bool is_told(const std::byte* at) noexcept {
  if constexpr (!states_tag<S>) {
    return true;
  } else if constexpr (requires { S::told_by(at); }) {
    return S::told_by(at);
  } else {
    return [&]<class F>(const member_condition<F>& condition) {
      constexpr placement place = layout_of<S>::template place_of<layout_of<S>::members::template index_of<F>, O>;
      const auto value = read_member<typename F::value_type, place, tag_end<S>, order_of_member<F, O>>(at);
      return (static_cast<std::uint64_t>(value) & condition.mask) == condition.value;
    }(S::told_by);
  }
}

}  // namespace detail

/// A format whose records say themselves what they are: each schema states `static constexpr auto told_by = is(type,
/// 6);`, on a member of its fixed part, or a function of a pointer to the first byte. The first one in the list that is
/// told begins; a schema that states nothing takes what is left. Formats with a context, checks or a grammar derive
/// from it.
template <order O, schema... Schemas>
struct tagged_format {
  using records = record_list<Schemas...>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = [] {
    std::size_t bytes = 0;
    ((bytes = detail::tag_end<Schemas> > bytes ? detail::tag_end<Schemas> : bytes), ...);
    return bytes;
  }();

  template <class Context>
  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const Context&) noexcept {
    kind_result found = errc::unknown_record;
    (void)((detail::is_told<Schemas, O>(at) && (found = records::template kind<Schemas>, true)) || ...);
    return found;
  }
};

}  // namespace backsight
