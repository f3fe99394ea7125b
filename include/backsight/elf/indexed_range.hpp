// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace backsight::elf {

/// Elements that are decoded when they are read: `source[i]` for i below `source.size()`. A view; random access by
/// index, forward iteration. Source is cheap to copy.
template <class Source>
class indexed_range {
 public:
  using value_type = decltype(Source{}[std::size_t{}]);

  class iterator {
   public:
    using value_type = indexed_range::value_type;
    using difference_type = std::ptrdiff_t;
    constexpr iterator() = default;
    constexpr iterator(Source source, std::size_t index) noexcept : source_(source), index_(index) {}
    [[nodiscard]] constexpr value_type operator*() const noexcept { return source_[index_]; }
    constexpr iterator& operator++() noexcept { return ++index_, *this; }
    constexpr iterator operator++(int) noexcept {
      iterator before = *this;
      ++index_;
      return before;
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.index_ == b.index_;
    }

   private:
    Source source_{};
    std::size_t index_ = 0;
  };

  constexpr indexed_range() = default;
  constexpr explicit indexed_range(Source source) noexcept : source_(source) {}
  [[nodiscard]] constexpr std::size_t size() const noexcept { return source_.size(); }
  [[nodiscard]] constexpr bool empty() const noexcept { return size() == 0; }
  /// Precondition: index < size().
  [[nodiscard]] constexpr value_type operator[](std::size_t index) const noexcept { return source_[index]; }
  [[nodiscard]] constexpr iterator begin() const noexcept { return {source_, 0}; }
  [[nodiscard]] constexpr iterator end() const noexcept { return {source_, size()}; }
  /// What the elements are decoded from.
  [[nodiscard]] constexpr const Source& source() const noexcept { return source_; }

 private:
  Source source_{};
};

}  // namespace backsight::elf
