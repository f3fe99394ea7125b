// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <backsight/core/record_range.hpp>

// A range in parts for several threads: each part is a range of its own, and together they are the whole.
namespace backsight {

/// A stretch of a record_range: the records that begin at or behind its first one and in front of end_offset(). Its
/// iterators see all bytes of the range, so that a record never ends early, and have the context and the record before
/// them as the whole range has. A view; trivially copyable.
template <record_format F, grammar_check Check = grammar_check::enforced>
class record_part {
 public:
  using format_type = F;
  using iterator = typename record_range<F, Check>::iterator;
  /// Where the next part begins.
  struct sentinel {
    std::uint64_t end_offset = 0;
    [[nodiscard]] friend constexpr bool operator==(const iterator& it, const sentinel& end) noexcept {
      return it == std::default_sentinel || it.offset() >= end.end_offset;
    }
  };

  constexpr record_part() = default;
  constexpr record_part(iterator first, std::uint64_t end_offset) noexcept : first_(first), end_{end_offset} {}

  [[nodiscard]] constexpr iterator begin() const noexcept { return first_; }
  [[nodiscard]] constexpr sentinel end() const noexcept { return end_; }
  [[nodiscard]] constexpr std::uint64_t offset() const noexcept { return first_.offset(); }
  [[nodiscard]] constexpr std::uint64_t end_offset() const noexcept { return end_.end_offset; }

 private:
  iterator first_{};
  sentinel end_{};
};

/// for_each of a part. The error that ends the range is that of the part in which it lies.
template <record_format F, grammar_check Check, class Function>
constexpr trace_error for_each(const record_part<F, Check>& part, Function&& f) {
  auto it = part.begin();
  for (; it != part.end(); ++it) {
    if constexpr (std::invocable<Function&, any_record<F>>) f(*it);
    else f(*it, it.context());
  }
  return it.offset() < part.end_offset() ? it.error() : trace_error{};
}

namespace detail {

/// Where part `index` of `parts` of `size` bytes begins at the earliest.
[[nodiscard]] constexpr std::size_t part_begin(std::size_t size, std::size_t index, std::size_t parts) noexcept {
  return size / parts * index + size % parts * index / parts;
}

}  // namespace detail

/// A format whose borders of records can be found from the middle: all records have the same size, and nothing about
/// one hangs on those before it.
template <class F>
concept evenly_sized_format = record_format<F> && detail::size_of_every_record<F> != 0 && !detail::has_advance<F> &&
                              !detail::has_transitions<F> && !requires { typename F::terminator; };

/// Writes up to `parts` record_parts of about the same size to `out`, in order and none empty, without a look at the
/// bytes between. What the parts say of errors is what each finds: behind an unreadable record the range ends, the
/// parts behind it go on. For other formats there is split_by_walk.
template <class Out, evenly_sized_format F, grammar_check Check>
constexpr Out split(const record_range<F, Check>& range, std::size_t parts, Out out) {
  constexpr std::size_t step = detail::size_of_every_record<F>;
  const std::size_t size = range.bytes().size(), whole = size / step;
  for (std::size_t i = 0, begin = 0; i < parts && begin < size; ++i) {
    const bool last = i + 1 == parts;
    const std::size_t end = last ? size : detail::part_begin(whole, i + 1, parts) * step;
    if (end == begin) continue;
    *out++ = record_part<F, Check>(range.at(begin, range.context()), last ? ~std::uint64_t{0} : range.base() + end);
    begin = end;
  }
  return out;
}

/// The same for every format: walks the range once, which costs what validate does and no more memory, and notes where
/// parts begin, with the context there. The last part has the error that ends the range.
template <class Out, record_format F, grammar_check Check>
constexpr Out split_by_walk(const record_range<F, Check>& range, std::size_t parts, Out out) {
  if (parts == 0 || range.bytes().empty()) return out;
  auto it = range.begin();
  auto first = it;
  std::size_t index = 1;
  const auto border = [&] { return range.base() + detail::part_begin(range.bytes().size(), index, parts); };
  for (; index < parts && it != std::default_sentinel; ++it) {
    if (it.offset() < border()) continue;
    if (it.offset() != first.offset()) {
      *out++ = record_part<F, Check>(first, it.offset());
      first = it;
    }
    while (index < parts && it.offset() >= border()) ++index;
  }
  *out++ = record_part<F, Check>(first, ~std::uint64_t{0});
  return out;
}

}  // namespace backsight

template <backsight::record_format F, backsight::grammar_check Check>
inline constexpr bool std::ranges::enable_view<backsight::record_part<F, Check>> = true;
template <backsight::record_format F, backsight::grammar_check Check>
inline constexpr bool std::ranges::enable_borrowed_range<backsight::record_part<F, Check>> = true;
