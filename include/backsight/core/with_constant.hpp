// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace backsight {

/// Calls `f` with `value` as a std::integral_constant where it is one of Common, else as the number that it is: loops
/// inside of `f` are compiled for the values that are common, and there once more for all others.
template <auto... Common, class T, class F>
[[gnu::always_inline]] constexpr void with_constant(T value, F&& f) {
  const bool found = ((value == Common && (f(std::integral_constant<T, Common>{}), true)) || ...);
  if (!found) f(value);
}

}  // namespace backsight
