// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace backsight::test {

/// Characters kept inside the object, for tests that write text in a constant expression. Precondition: at most
/// Capacity.
template <std::size_t Capacity = 1024>
struct sink {
  std::array<char, Capacity> characters{};
  std::size_t size = 0;

  /// Writes with `write(out)`, where `out` is an output iterator, and gives this object.
  template <class F>
  static constexpr sink of(F&& write) {
    sink filled;
    const char* const end = write(filled.characters.data());
    filled.size = static_cast<std::size_t>(end - filled.characters.data());
    return filled;
  }
  [[nodiscard]] constexpr std::string_view view() const { return {characters.data(), size}; }
};

/// The characters that `write(out)` writes, compared with `expected`.
template <class F>
[[nodiscard]] constexpr bool writes(F&& write, std::string_view expected) {
  return sink<>::of(write).view() == expected;
}

}  // namespace backsight::test
