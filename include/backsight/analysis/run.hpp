// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/analysis/parallel.hpp>
#include <backsight/core/analyzer.hpp>
#include <backsight/core/call_trace.hpp>

namespace backsight::analysis {

/// A fault and the file of the trace that has it.
struct file_fault {
  std::string_view file;
  backsight::fault fault;
};

/// Gives the items of one part to an analyzer, with begin_part and end_part around them.
template <trace_part Part, class A, class OnFault>
void run_part(const Part& part, A& analyzer, OnFault&& on_fault) {
  backsight::detail::begin_part(analyzer, part);
  part.for_each_event([&](const auto& item) { analyzer.on(item); }, on_fault);
  backsight::detail::end_part(analyzer, part);
}

/// Gives all items of a trace to an analyzer and returns it; `on_fault(file, fault)` is called for what cannot be read.
/// With more than one job parts are worked on at the same time by copies of `analyzer`, which are merged in the order
/// of the parts, so that the result is the same for any number of jobs; faults are then told at the end, in the same
/// order, by the caller's thread. Precondition: `analyzer` holds nothing yet but its settings.
template <parted_trace T, class A, class OnFault>
  requires mergeable_analyzer<A>
[[nodiscard]] A run(const T& trace, A analyzer, OnFault&& on_fault, unsigned jobs = 1) {
  const std::size_t parts = trace.part_count();
  if (jobs <= 1 || parts <= 1) {
    for (std::size_t i = 0; i < parts; ++i) run_part(trace.part(i), analyzer, on_fault);
    return analyzer;
  }
  // Runs of parts that lie side by side: few enough that merging costs little, enough that no job waits long for
  // another.
  struct piece {
    std::optional<A> analyzer;
    std::vector<file_fault> faults;
  };
  const std::size_t count = std::min<std::size_t>(parts, std::size_t{jobs} * 8);
  std::vector<piece> pieces(count);
  struct nothing {};
  (void)for_each_part<nothing>(count, jobs, [&](nothing&, std::size_t index) {
    piece& mine = pieces[index];
    mine.analyzer.emplace(analyzer);
    for (std::size_t i = parts * index / count; i < parts * (index + 1) / count; ++i) {
      run_part(trace.part(i), *mine.analyzer,
               [&](std::string_view file, const fault& found) { mine.faults.push_back({file, found}); });
    }
  });
  for (piece& each : pieces) {
    analyzer.merge(*each.analyzer);
    each.analyzer.reset();
    for (const file_fault& one : each.faults) on_fault(one.file, one.fault);
  }
  return analyzer;
}

/// Gives each part to an analyzer of its own, which `make()` makes, and returns them in the order of the parts; the
/// result is the same for any number of jobs. `make` is called from several threads at once. Faults as for run().
template <parted_trace T, class Make, class OnFault>
[[nodiscard]] auto run_each(const T& trace, Make&& make, OnFault&& on_fault, unsigned jobs = 1) {
  using analyzer = decltype(make());
  struct piece {
    std::optional<analyzer> made;
    std::vector<file_fault> faults;
  };
  std::vector<piece> pieces(trace.part_count());
  struct nothing {};
  (void)for_each_part<nothing>(pieces.size(), jobs, [&](nothing&, std::size_t i) {
    pieces[i].made.emplace(make());
    run_part(trace.part(i), *pieces[i].made,
             [&](std::string_view file, const fault& found) { pieces[i].faults.push_back({file, found}); });
  });
  std::vector<analyzer> results;
  results.reserve(pieces.size());
  for (piece& each : pieces) {
    results.push_back(std::move(*each.made));
    for (const file_fault& one : each.faults) on_fault(one.file, one.fault);
  }
  return results;
}

}  // namespace backsight::analysis
