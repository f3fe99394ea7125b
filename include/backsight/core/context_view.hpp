// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <backsight/core/record_range.hpp>

namespace backsight {

/// Which context stands beside a record: the one that it was read with, or the one that the next is read with.
enum class context_is : std::uint8_t { before_record, after_record };

/// A record and a context of its format.
template <record_format F>
struct record_in_context {
  any_record<F> item;
  [[no_unique_address]] typename F::context context{};
};

/// The records of a range, each with the context before or after it: `for (auto [item, context] :
/// with_context(range))`. A view, as cheap as the range; trivially copyable, as contexts are.
template <record_format F, grammar_check Check, context_is State>
class context_view {
 public:
  using value_type = record_in_context<F>;

  class iterator {
   public:
    using value_type = record_in_context<F>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;

    constexpr iterator() = default;
    constexpr explicit iterator(typename record_range<F, Check>::iterator at) noexcept : at_(at) {}

    [[nodiscard]] constexpr value_type operator*() const noexcept {
      value_type found{*at_, at_.context()};
      if constexpr (State == context_is::after_record && detail::has_advance<F>) {
        visit(found.item, [&](const auto& typed) {
          if constexpr (requires { F::advance(found.context, typed); }) F::advance(found.context, typed);
        });
      }
      return found;
    }
    constexpr iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      const iterator before = *this;
      ++*this;
      return before;
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.at_ == b.at_;
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& it, std::default_sentinel_t) noexcept {
      return it.at_ == std::default_sentinel;
    }
    /// Why iteration ended, and where; see record_range.
    [[nodiscard]] constexpr trace_error error() const noexcept { return at_.error(); }

   private:
    typename record_range<F, Check>::iterator at_{};
  };

  constexpr context_view() = default;
  constexpr explicit context_view(const record_range<F, Check>& range) noexcept : range_(range) {}
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(range_.begin()); }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  record_range<F, Check> range_{};
};

/// The records of a range, each with its context: `with_context<context_is::after_record>(range)`.
template <context_is State = context_is::before_record, record_format F, grammar_check Check>
[[nodiscard]] constexpr context_view<F, Check, State> with_context(const record_range<F, Check>& range) noexcept {
  return context_view<F, Check, State>(range);
}

}  // namespace backsight

template <backsight::record_format F, backsight::grammar_check Check, backsight::context_is State>
inline constexpr bool std::ranges::enable_view<backsight::context_view<F, Check, State>> = true;
template <backsight::record_format F, backsight::grammar_check Check, backsight::context_is State>
inline constexpr bool std::ranges::enable_borrowed_range<backsight::context_view<F, Check, State>> = true;
