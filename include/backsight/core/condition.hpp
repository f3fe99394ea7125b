// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>

#include <backsight/core/field.hpp>

namespace backsight {

/// That a member has a value: `is(S::magic, 5)`; or one of several, which must be all that have some of their bits in
/// common. As a function of a record it is the condition of `when<is(flags, 1)>(...)`.
template <class F>
struct member_condition {
  std::uint64_t mask = 0;  ///< bits of the member that count
  std::uint64_t value = 0;

  template <class Record>
    requires requires(const Record& record) { record[F{}]; }
  [[nodiscard]] constexpr bool operator()(const Record& record) const noexcept {
    return (static_cast<std::uint64_t>(record[F{}]) & mask) == value;
  }
};

namespace detail {

// Not constexpr: to call it ends the compilation.
inline void these_values_are_not_all_that_have_some_bits_in_common() {}

}  // namespace detail

template <class F, std::same_as<typename F::value_type>... Others>
[[nodiscard]] consteval member_condition<F> is(F, typename F::value_type first, Others... others) {
  const auto bits = static_cast<std::uint64_t>(first);
  const std::uint64_t differ = (std::uint64_t{0} | ... | (static_cast<std::uint64_t>(others) ^ bits));
  if ((std::uint64_t{1} << std::popcount(differ)) != 1 + sizeof...(others))
    detail::these_values_are_not_all_that_have_some_bits_in_common();
  const std::uint64_t width = F::bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << F::bits) - 1;
  return {width & ~differ, bits & ~differ};
}

}  // namespace backsight
