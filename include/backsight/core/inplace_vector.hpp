// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include <backsight/core/error.hpp>

namespace backsight {

/// A sequence of at most `Capacity` elements stored inside the object; never allocates.
/// push_back tells whether there was room. T is default-constructible and trivially copyable.
template <class T, std::size_t Capacity>
  requires std::is_trivially_copyable_v<T>
class inplace_vector {
 public:
  using value_type = T;
  using const_iterator = const T*;

  [[nodiscard]] static constexpr std::size_t capacity() noexcept { return Capacity; }
  [[nodiscard]] constexpr std::size_t size() const noexcept { return size_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] constexpr bool full() const noexcept { return size_ == Capacity; }

  /// Appends `value`; false, and nothing changed, when full.
  constexpr bool push_back(const T& value) noexcept {
    if (full()) return false;
    items_[size_++] = value;
    return true;
  }
  constexpr void pop_back() noexcept {
    BACKSIGHT_ASSERT(!empty());
    --size_;
  }
  constexpr void clear() noexcept { size_ = 0; }

  [[nodiscard]] constexpr T& operator[](std::size_t index) noexcept {
    BACKSIGHT_ASSERT(index < size_);
    return items_[index];
  }
  [[nodiscard]] constexpr const T& operator[](std::size_t index) const noexcept {
    BACKSIGHT_ASSERT(index < size_);
    return items_[index];
  }
  [[nodiscard]] constexpr T& back() noexcept { return (*this)[size_ - 1]; }
  [[nodiscard]] constexpr const T& back() const noexcept { return (*this)[size_ - 1]; }
  [[nodiscard]] constexpr T* data() noexcept { return items_.data(); }
  [[nodiscard]] constexpr const T* data() const noexcept { return items_.data(); }
  [[nodiscard]] constexpr T* begin() noexcept { return items_.data(); }
  [[nodiscard]] constexpr T* end() noexcept { return items_.data() + size_; }
  [[nodiscard]] constexpr const T* begin() const noexcept { return items_.data(); }
  [[nodiscard]] constexpr const T* end() const noexcept { return items_.data() + size_; }

  [[nodiscard]] friend constexpr bool operator==(const inplace_vector& a, const inplace_vector& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (!(a.items_[i] == b.items_[i])) return false;
    }
    return true;
  }

 private:
  std::array<T, Capacity> items_{};
  std::size_t size_ = 0;
};

}  // namespace backsight
