// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace backsight::cfi::detail {

/// The last of `count` ascending items, one at least, for which `is_at_most(index)` holds; the first where none does.
/// Halves without branches on what it compares where `is_at_most` has none.
template <class IsAtMost>
[[nodiscard]] constexpr std::size_t last_at_most(std::size_t count, IsAtMost&& is_at_most) noexcept {
  std::size_t low = 0;
  while (count > 1) {
    const std::size_t half = count / 2;
    low = is_at_most(low + half) ? low + half : low;
    count -= half;
  }
  return low;
}

}  // namespace backsight::cfi::detail
