// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iterator>
#include <span>

#include <backsight/core/record_span.hpp>

namespace backsight {

namespace detail {

/// What an iterator over records in writable bytes gives: assigning to it writes the whole record.
template <schema S, order O>
class record_reference {
 public:
  constexpr explicit record_reference(std::byte* data) noexcept : data_(data) {}
  constexpr record_reference(const record_reference&) = default;

  // The bytes change, not the reference: both forms, because algorithms assign to `*it`.
  constexpr const record_reference& operator=(const owned_record<S, O>& value) const noexcept {
    for (std::size_t i = 0; i < size_of<S>; ++i) data_[i] = value.bytes()[i];
    return *this;
  }
  constexpr const record_reference& operator=(const record_reference& other) const noexcept {
    return *this = owned_record<S, O>(other);
  }
  constexpr record_reference& operator=(const record_reference& other) noexcept {
    return static_cast<const record_reference&>(*this) = other, *this;
  }

  [[nodiscard]] constexpr operator owned_record<S, O>() const noexcept { return owned_record<S, O>(view()); }
  [[nodiscard]] constexpr record<S, O> view() const noexcept { return record<S, O>(data_); }
  template <class F>
  [[nodiscard]] constexpr typename F::value_type operator[](F member) const noexcept {
    return view()[member];
  }
  template <class F>
  constexpr const record_reference& set(F member, const typename F::value_type& value) const noexcept {
    mutable_record<S, O>(data_).set(member, value);
    return *this;
  }
  friend constexpr void swap(record_reference a, record_reference b) noexcept {
    for (std::size_t i = 0; i < size_of<S>; ++i) {
      const std::byte kept = a.data_[i];
      a.data_[i] = b.data_[i];
      b.data_[i] = kept;
    }
  }

 private:
  std::byte* data_;
};

}  // namespace detail

/// Records of one schema and fixed size, side by side in bytes that can be written: algorithms that reorder work in
/// place, `std::ranges::sort(span, {}, S::time)`, and those of C++17 too. A view; the bytes must outlive it.
template <schema S, order O>
  requires(!has_payload<S> && !detail::varying<S>)
class mutable_record_span {
 public:
  using value_type = owned_record<S, O>;
  class iterator;

  constexpr mutable_record_span() = default;
  /// The whole records in `bytes`; bytes behind the last whole one are left out.
  constexpr explicit mutable_record_span(std::span<std::byte> bytes) noexcept
      : data_(bytes.data()), count_(bytes.size() / size_of<S>) {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr auto operator[](std::size_t index) const noexcept {
    BACKSIGHT_ASSERT(index < count_);
    return detail::record_reference<S, O>(data_ + index * size_of<S>);
  }
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(data_); }
  [[nodiscard]] constexpr iterator end() const noexcept { return iterator(data_ + count_ * size_of<S>); }

 private:
  std::byte* data_ = nullptr;
  std::size_t count_ = 0;
};

template <schema S, order O>
  requires(!has_payload<S> && !detail::varying<S>)
class mutable_record_span<S, O>::iterator : public detail::strided<iterator, std::byte, size_of<S>> {
 public:
  using value_type = owned_record<S, O>;
  using difference_type = std::ptrdiff_t;
  using reference = detail::record_reference<S, O>;
  using pointer = void;
  // Algorithms of C++17 ask for this one; as with std::vector<bool>, what it gives is a proxy.
  using iterator_category = std::random_access_iterator_tag;
  using iterator_concept = std::random_access_iterator_tag;

  constexpr iterator() = default;
  constexpr explicit iterator(std::byte* at) noexcept : iterator::strided(at) {}

  [[nodiscard]] constexpr reference operator*() const noexcept { return reference(this->at_); }
  [[nodiscard]] constexpr reference operator[](difference_type n) const noexcept { return *(*this + n); }
  /// The record by value, for algorithms that take one out while they reorder.
  [[nodiscard]] friend constexpr value_type iter_move(const iterator& it) noexcept { return *it; }
  friend constexpr void iter_swap(const iterator& a, const iterator& b) noexcept { swap(*a, *b); }
};

}  // namespace backsight

template <backsight::schema S, backsight::order O>
inline constexpr bool std::ranges::enable_view<backsight::mutable_record_span<S, O>> = true;
template <backsight::schema S, backsight::order O>
inline constexpr bool std::ranges::enable_borrowed_range<backsight::mutable_record_span<S, O>> = true;
