// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace backsight::analysis {

/// A hash of two numbers, of which the second may be small or an address.
[[nodiscard]] constexpr std::size_t hash_of_pair(std::uint64_t first, std::uint64_t second) noexcept {
  const std::uint64_t mixed = (first + second * 0x9e3779b97f4a7c15U) * 0xff51afd7ed558ccdU;
  return static_cast<std::size_t>(mixed ^ mixed >> 32);
}

/// A value for each function, found by function id in one load for ids below 65536 and by hashing beyond.
template <class Value>
class by_function {
 public:
  [[nodiscard]] Value& operator[](std::uint64_t function) {
    if (function < dense_.size()) [[likely]]
      return dense_[static_cast<std::size_t>(function)];
    if (function < dense_limit) {
      dense_.resize(static_cast<std::size_t>(function) + 1);
      return dense_.back();
    }
    return sparse_[function];
  }
  /// Calls `f(function, value)` for each function that has been asked for, and maybe for others below 65536.
  template <class F>
  void for_each(F&& f) {
    for (std::size_t i = 0; i < dense_.size(); ++i) f(std::uint64_t{i}, dense_[i]);
    for (auto& [function, value] : sparse_) f(function, value);
  }

 private:
  static constexpr std::uint64_t dense_limit = 65536;
  std::vector<Value> dense_;
  std::unordered_map<std::uint64_t, Value> sparse_;
};

}  // namespace backsight::analysis
