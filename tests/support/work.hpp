// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace backsight::test {

/// How many basic blocks ran so far of the sources that are compiled with -fsanitize-coverage=trace-pc: a measure of
/// work that is the same on every machine, however busy. Code of libraries does not count, but what headers bring does.
[[nodiscard]] std::uint64_t work_done() noexcept;

/// The work of `f()`.
template <class F>
[[nodiscard]] std::uint64_t work_of(F&& f) {
  const std::uint64_t before = work_done();
  f();
  return work_done() - before;
}

/// Whether the work of `f(n)` grows no faster than n log n, told from n, 2n and 4n: a doubling costs less than 2.4
/// times as much. What grows with the square would cost four times as much.
template <class F>
[[nodiscard]] bool grows_like_its_input(std::uint64_t n, F&& f) {
  const std::uint64_t one = work_of([&] { f(n); }), two = work_of([&] { f(2 * n); }), four = work_of([&] { f(4 * n); });
  return one != 0 && two * 10 < one * 24 && four * 10 < two * 24;
}

}  // namespace backsight::test
