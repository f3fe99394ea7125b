// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <backsight/cfi/sframe/frame_rows.hpp>
#include <backsight/cfi/sframe/interval.hpp>
#include <backsight/cfi/sframe/row.hpp>
#include <backsight/cfi/sframe/rows.hpp>
#include <backsight/cfi/sframe/section.hpp>

namespace backsight::cfi::sframe {

/// In what an SFrame section and call frame information differ about a function.
enum class difference_kind : std::uint8_t {
  differ,        ///< Other rows.
  only_frame,    ///< Only the call frame information has it.
  only_sframe,   ///< Only SFrame has it.
  signal_lost,   ///< The same rows, but SFrame does not say that it is a signal frame.
  signal_added,  ///< The same rows, but only SFrame says that it is a signal frame.
  no_rows,       ///< SFrame has it without rows.
};
/// The name of a kind, such as `only-eh`; static, never null.
[[nodiscard]] constexpr const char* name_of(difference_kind kind) noexcept {
  constexpr std::array<const char*, 6> names{"differ",      "only-eh",      "only-sframe",
                                             "signal-lost", "signal-added", "no-rows"};
  return names[static_cast<std::size_t>(kind)];
}

/// A difference: of a function of the SFrame section, or of an FDE that it does not have.
struct difference {
  difference_kind kind = difference_kind::differ;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::vector<interval> sframe;
  std::vector<interval> frame;
};

namespace detail {

/// The rows of call frame information by address: of FDEs that overlap the one with the nearest start counts, and of
/// those with the same start the first.
class frame_map {
 public:
  explicit frame_map(std::span<const frame_function> from) : functions_(from), touched_(from.size()) {
    for (std::size_t i = 0; i < from.size(); ++i) order_.push_back(i);
    std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      return from[a].begin != from[b].begin ? from[a].begin < from[b].begin : a < b;
    });
    order_.erase(std::unique(order_.begin(), order_.end(),
                             [&](std::size_t a, std::size_t b) { return from[a].begin == from[b].begin; }),
                 order_.end());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const frame_function& f = from[order_[i]];
      const std::uint64_t end = i + 1 < order_.size() ? std::min(f.end, from[order_[i + 1]].begin) : f.end;
      for (interval one : f.rows) {
        one.end = std::min(one.end, end);
        if (one.begin < one.end) pieces_.push_back({one, order_[i]});
      }
    }
  }
  /// The rows in [begin, end), and whether one of them is a signal frame's.
  [[nodiscard]] std::vector<interval> rows_in(std::uint64_t begin, std::uint64_t end, bool& signal) {
    std::vector<interval> found;
    signal = false;
    auto at = std::upper_bound(pieces_.begin(), pieces_.end(), begin,
                               [](std::uint64_t address, const piece& p) { return address < p.what.end; });
    for (; at != pieces_.end() && at->what.begin < end; ++at) {
      interval one = at->what;
      one.begin = std::max(one.begin, begin);
      one.end = std::min(one.end, end);
      append_interval(found, one);
      signal = signal || functions_[at->function].signal_frame;
      touched_[at->function] = true;
    }
    return found;
  }
  /// Calls `f(frame_function)` for those that were in no range so far, in their order.
  template <class F>
  void for_each_untouched(F&& f) const {
    std::vector<bool> counts(functions_.size());
    for (const std::size_t i : order_) counts[i] = true;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      if (counts[i] && !touched_[i]) f(functions_[i]);
    }
  }

 private:
  struct piece {
    interval what;
    std::size_t function;
  };
  std::span<const frame_function> functions_;
  std::vector<bool> touched_;
  std::vector<std::size_t> order_;
  std::vector<piece> pieces_;
};

[[nodiscard]] inline bool same_intervals(const std::vector<interval>& a, const std::vector<interval>& b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const interval& x, const interval& y) {
    return x.begin == y.begin && x.end == y.end && x.row.same_rules(y.row);
  });
}

}  // namespace detail

/// Compares what an SFrame section says with call frame information, by address: CFA, return address, frame pointer,
/// signed return addresses and signal frames. Calls `on_difference(difference)` for each function of the section about
/// which they differ, in its order, then for each of `frames` that the section does not have. Where functions of the
/// section overlap, the first counts. `report(problem)` is called for functions that are broken, which count as not
/// there.
template <class OnDifference, class Report>
void compare(const section& of, std::span<const frame_function> frames, OnDifference&& on_difference, Report&& report) {
  struct one_function {
    function what;
    std::uint64_t begin = 0;  // Behind what functions before have said.
    std::vector<interval> rows;
  };
  std::vector<one_function> functions(of.function_count());
  for_each_function(
      of,
      [&](const function& f, std::uint32_t index, const std::vector<interval>& rows) {
        functions[index] = {f, f.begin, rows};
      },
      report);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    if (functions[i].what.size != 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return functions[a].what.begin < functions[b].what.begin; });
  std::uint64_t covered = 0;
  for (const std::size_t i : order) {
    one_function& f = functions[i];
    f.begin = std::max(f.begin, covered);
    covered = std::max(covered, f.what.begin + f.what.size);
  }
  detail::frame_map map(frames);
  for (one_function& f : functions) {
    const std::uint64_t end = f.what.begin + f.what.size;
    if (f.begin >= end) continue;
    bool signal = false;
    difference found{difference_kind::differ, f.what.begin, f.what.size, {}, map.rows_in(f.begin, end, signal)};
    for (interval one : f.rows) {
      one.begin = std::max(one.begin, f.begin);
      append_interval(found.sframe, one);
    }
    if (found.sframe.empty() && found.frame.empty()) continue;
    if (found.sframe.empty()) found.kind = difference_kind::no_rows;
    else if (found.frame.empty()) found.kind = difference_kind::only_sframe;
    else if (!detail::same_intervals(found.sframe, found.frame)) found.kind = difference_kind::differ;
    else if (signal == f.what.signal_frame) continue;
    else found.kind = signal ? difference_kind::signal_lost : difference_kind::signal_added;
    found.sframe = std::move(f.rows);
    on_difference(static_cast<const difference&>(found));
  }
  map.for_each_untouched([&](const frame_function& f) {
    if (f.rows.empty()) return;
    on_difference(difference{difference_kind::only_frame, f.begin, f.end - f.begin, {}, f.rows});
  });
}

}  // namespace backsight::cfi::sframe
