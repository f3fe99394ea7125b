// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <random>
#include <vector>

#include <backsight/core/error.hpp>

#include <support/drain.hpp>

namespace backsight::test {

/// Bytes that pack to about their own size.
[[nodiscard]] inline std::vector<std::byte> noise(std::size_t size, unsigned seed = 5) {
  std::mt19937 random(seed);
  std::vector<std::byte> made(size);
  for (std::byte& byte : made) byte = static_cast<std::byte>(random() & 0xffU);
  return made;
}

[[nodiscard]] inline std::vector<std::byte> joined(std::vector<std::byte> first, const std::vector<std::byte>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

[[nodiscard]] inline std::vector<std::byte> first_bytes(const std::vector<std::byte>& of, std::size_t size) {
  return {of.begin(), of.begin() + static_cast<std::ptrdiff_t>(size)};
}

/// `part` is how `whole` begins.
[[nodiscard]] inline bool begins(const std::vector<std::byte>& whole, const std::vector<std::byte>& part) {
  return part.size() <= whole.size() && first_bytes(whole, part.size()) == part;
}

}  // namespace backsight::test
