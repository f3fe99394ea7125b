// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace backsight::cfi::detail {

/// Gives the same number to the same words, from 0 on in the order in which they are met.
template <std::size_t Words>
class numbering {
 public:
  using words = std::array<std::uint64_t, Words>;

  [[nodiscard]] std::uint32_t number(const words& value) {
    for (std::size_t at = place(value);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at] == 0) return append(value, at);
      if (same(values_[slots_[at] - 1], value)) return slots_[at] - 1;
    }
  }

 private:
  // The array's own comparison calls memcmp.
  [[nodiscard]] static bool same(const words& a, const words& b) noexcept {
    std::uint64_t differ = 0;
    for (std::size_t i = 0; i < Words; ++i) differ |= a[i] ^ b[i];
    return differ == 0;
  }
  [[nodiscard]] std::size_t place(const words& value) const noexcept {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : value) hash = (hash ^ word ^ hash >> 32) * 0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(hash >> (64 - bits_));
  }
  // Out of line, and rare: within number() it is 6 % more instructions of building a table (GCC 12).
  [[gnu::noinline]] std::uint32_t append(const words& value, std::size_t at) {
    values_.push_back(value);
    slots_[at] = static_cast<std::uint32_t>(values_.size());
    if (values_.size() * 2 > slots_.size()) grow();
    return static_cast<std::uint32_t>(values_.size() - 1);
  }
  void grow() {
    ++bits_;
    slots_.assign(std::size_t{1} << bits_, 0);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      std::size_t at = place(values_[i]);
      while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = static_cast<std::uint32_t>(i + 1);
    }
  }

  unsigned bits_ = 10;
  std::vector<words> values_;
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(std::size_t{1} << bits_);
};

}  // namespace backsight::cfi::detail
