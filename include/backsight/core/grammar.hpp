// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/format_hooks.hpp>

namespace backsight {

/// Which kinds of record may begin a sequence, follow one another and end it, as a table made at compile time:
///   `grammar<records>{}.start<A>().follow<A, B, C>().follow<B, B, C>().finish<C>()`
/// reads: A begins; after A come B or C; after B come B or C; C may be the last. An empty sequence is always allowed.
/// Checking one step costs a shift and a bit test. At most 63 kinds, so that these and the start fit a word.
template <class Records>
class grammar {
  static_assert(Records::size <= 63, "backsight: a grammar holds at most 63 kinds of record");

 public:
  /// The number that stands for "before the first record".
  static constexpr std::uint32_t start_state = Records::size;

  /// The kinds that may come first.
  template <class... To>
  [[nodiscard]] consteval grammar start() const {
    grammar copy = *this;
    copy.followers_[start_state] |= (std::uint64_t{0} | ... | bit<To>);
    return copy;
  }
  /// The kinds that may come after From.
  template <class From, class... To>
  [[nodiscard]] consteval grammar follow() const {
    static_assert(Records::template count<From> == 1, "backsight: the grammar names a record that the list lacks");
    grammar copy = *this;
    copy.followers_[Records::template index_of<From>] |= (std::uint64_t{0} | ... | bit<To>);
    return copy;
  }
  /// The kinds that may come last.
  template <class... Last>
  [[nodiscard]] consteval grammar finish() const {
    grammar copy = *this;
    copy.last_ |= (std::uint64_t{0} | ... | bit<Last>);
    return copy;
  }
  /// Everything may follow everything.
  [[nodiscard]] static consteval grammar any() {
    grammar all;
    for (auto& mask : all.followers_) mask = ~std::uint64_t{0};
    all.last_ = ~std::uint64_t{0};
    return all;
  }

  [[nodiscard]] constexpr bool may_follow(std::uint32_t from, std::uint32_t to) const noexcept {
    return (followers_[from] >> to & 1U) != 0;
  }
  [[nodiscard]] constexpr bool may_finish(std::uint32_t kind) const noexcept {
    return kind == start_state || (last_ >> kind & 1U) != 0;
  }
  /// The kinds, and as bit `start_state` the start, after which `to` may come.
  [[nodiscard]] consteval std::uint64_t predecessors(std::uint32_t to) const {
    std::uint64_t mask = 0;
    for (std::uint32_t from = 0; from < Records::size; ++from) {
      if (may_follow(from, to)) mask |= std::uint64_t{1} << from;
    }
    if (may_follow(start_state, to)) mask |= std::uint64_t{1} << start_state;
    return mask;
  }

 private:
  template <class S>
  static constexpr std::uint64_t bit = [] {
    static_assert(Records::template count<S> == 1, "backsight: the grammar names a record that the list lacks");
    return std::uint64_t{1} << Records::template index_of<S>;
  }();

  std::array<std::uint64_t, Records::size + 1> followers_{};
  std::uint64_t last_ = 0;
};

}  // namespace backsight
