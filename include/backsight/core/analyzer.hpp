// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>

namespace backsight {

/// What takes the items of a trace one by one: events of calls, references of a memtrace.
///
/// This is the one protocol of all analyzers. Beside `on(item)` one may have `begin_part(part)` and `end_part(part)`,
/// which are called around the items of each part (a thread's blocks, a task, a window), and `merge(other)`, which adds
/// what another one found in the parts that come later; then parts can be worked on at the same time: see
/// analysis/run.hpp.
template <class A, class Item>
concept analyzer_of = requires(A& a, const Item& item) { a.on(item); };

/// Can be copied before it begins, for parts of its own, and be put together again.
template <class A>
concept mergeable_analyzer = std::copy_constructible<A> && requires(A& a, A& later) { a.merge(later); };

namespace detail {

template <class A, class Part>
constexpr void begin_part(A& a, const Part& part) {
  if constexpr (requires { a.begin_part(part); }) a.begin_part(part);
}
template <class A, class Part>
constexpr void end_part(A& a, const Part& part) {
  if constexpr (requires { a.end_part(part); }) a.end_part(part);
}

}  // namespace detail

}  // namespace backsight
