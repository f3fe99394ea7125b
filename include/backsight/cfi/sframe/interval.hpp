// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <backsight/cfi/sframe/row.hpp>

namespace backsight::cfi::sframe {

/// What is said of the addresses from `begin` to `end`; `row.start` does not count.
struct interval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  sframe_row row;
};

/// Adds an interval, or lets the last one go on where that says the same.
inline void append_interval(std::vector<interval>& to, const interval& one) {
  if (one.begin >= one.end) return;
  if (!to.empty() && to.back().end == one.begin && to.back().row.same_rules(one.row)) to.back().end = one.end;
  else to.push_back(one);
}

}  // namespace backsight::cfi::sframe
