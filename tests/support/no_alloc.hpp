// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace backsight::test {

/// Calls of operator new so far, in the whole program.
[[nodiscard]] std::size_t allocations() noexcept;
/// The bytes that they asked for.
[[nodiscard]] std::size_t allocated_bytes() noexcept;
/// How many of them are in use: calls of operator new less those of operator delete.
[[nodiscard]] std::size_t blocks_in_use() noexcept;

/// The number of calls of operator new while `f` runs: `CHECK(allocations_in([&] { ... }) == 0)`.
template <class F>
[[nodiscard]] std::size_t allocations_in(F&& f) {
  const std::size_t before = allocations();
  f();
  return allocations() - before;
}

}  // namespace backsight::test
