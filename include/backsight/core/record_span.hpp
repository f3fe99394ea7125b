// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <iterator>

#include <backsight/core/record_range.hpp>

namespace backsight {

namespace detail {

/// The steps of a random-access iterator over records of `Size` bytes side by side; Iterator adds what it gives.
template <class Iterator, class Byte, std::size_t Size>
class strided {
 public:
  constexpr strided() = default;
  constexpr explicit strided(Byte* at) noexcept : at_(at) {}

  constexpr Iterator& operator+=(std::ptrdiff_t n) noexcept {
    at_ += n * step;
    return self();
  }
  constexpr Iterator& operator-=(std::ptrdiff_t n) noexcept { return *this += -n; }
  constexpr Iterator& operator++() noexcept { return *this += 1; }
  constexpr Iterator& operator--() noexcept { return *this -= 1; }
  constexpr Iterator operator++(int) noexcept {
    const Iterator before = self();
    ++*this;
    return before;
  }
  constexpr Iterator operator--(int) noexcept {
    const Iterator before = self();
    --*this;
    return before;
  }
  [[nodiscard]] friend constexpr Iterator operator+(Iterator it, std::ptrdiff_t n) noexcept { return it += n; }
  [[nodiscard]] friend constexpr Iterator operator+(std::ptrdiff_t n, Iterator it) noexcept { return it += n; }
  [[nodiscard]] friend constexpr Iterator operator-(Iterator it, std::ptrdiff_t n) noexcept { return it -= n; }
  [[nodiscard]] friend constexpr std::ptrdiff_t operator-(const Iterator& a, const Iterator& b) noexcept {
    return (a.at_ - b.at_) / step;
  }
  [[nodiscard]] friend constexpr bool operator==(const Iterator& a, const Iterator& b) noexcept {
    return a.at_ == b.at_;
  }
  [[nodiscard]] friend constexpr std::strong_ordering operator<=>(const Iterator& a, const Iterator& b) noexcept {
    return a.at_ <=> b.at_;
  }

 protected:
  Byte* at_ = nullptr;

 private:
  static constexpr std::ptrdiff_t step = static_cast<std::ptrdiff_t>(Size);
  [[nodiscard]] constexpr Iterator& self() noexcept { return static_cast<Iterator&>(*this); }
};

}  // namespace detail

/// Records of one schema and fixed size, side by side: a random-access range of record<S, O>. A view.
/// A loop over it has no checks left, so that compilers vectorise it.
template <schema S, order O>
  requires(!has_payload<S> && !detail::varying<S>)
class record_span {
 public:
  using value_type = record<S, O>;
  class iterator;

  constexpr record_span() = default;
  /// The whole records in `bytes`; bytes behind the last whole one are left out.
  constexpr explicit record_span(byte_view bytes) noexcept : data_(bytes.data()), count_(bytes.size() / size_of<S>) {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr record<S, O> operator[](std::size_t index) const noexcept {
    BACKSIGHT_ASSERT(index < count_);
    return record<S, O>(data_ + index * size_of<S>);
  }
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(data_); }
  [[nodiscard]] constexpr iterator end() const noexcept { return iterator(data_ + count_ * size_of<S>); }
  [[nodiscard]] constexpr byte_view bytes() const noexcept { return {data_, count_ * size_of<S>}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t count_ = 0;
};

template <schema S, order O>
  requires(!has_payload<S> && !detail::varying<S>)
class record_span<S, O>::iterator : public detail::strided<iterator, const std::byte, size_of<S>> {
 public:
  using value_type = record<S, O>;
  using difference_type = std::ptrdiff_t;
  using iterator_concept = std::random_access_iterator_tag;

  constexpr iterator() = default;
  constexpr explicit iterator(const std::byte* at) noexcept : iterator::strided(at) {}

  [[nodiscard]] constexpr record<S, O> operator*() const noexcept { return record<S, O>(this->at_); }
  [[nodiscard]] constexpr record<S, O> operator[](difference_type n) const noexcept { return *(*this + n); }
};

/// Calls `on_run(record_span)` for each run of common records (records of the format's most frequent kind that follow
/// one another) and `on_other(any_record)` for every other record, in order; gives the error that ended the walk, or
/// none. The end of a run is found eight records at a time.
template <record_format F, grammar_check Check, class OnRun, class OnOther>
  requires detail::has_common<F>
constexpr trace_error for_each_run(const record_range<F, Check>& range, OnRun&& on_run, OnOther&& on_other) {
  using span = record_span<typename detail::common_of<F>::schema_type, F::byte_order>;
  auto it = range.begin();
  while (it != std::default_sentinel) {
    if (const byte_view run = it.take_run(); !run.empty()) {
      on_run(span(run));
    } else {
      on_other(*it);
      ++it;
    }
  }
  return it.error();
}

}  // namespace backsight

template <backsight::schema S, backsight::order O>
inline constexpr bool std::ranges::enable_view<backsight::record_span<S, O>> = true;
template <backsight::schema S, backsight::order O>
inline constexpr bool std::ranges::enable_borrowed_range<backsight::record_span<S, O>> = true;
