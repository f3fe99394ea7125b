// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <backsight/analysis/call_tree.hpp>
#include <backsight/analysis/run.hpp>

#include <support/call_parts.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::enter;
using test::exit;

namespace {

/// Parts with functions, paths and faults of their own and in common.
test::call_parts many_parts(std::size_t count) {
  test::call_parts trace;
  for (std::uint64_t i = 0; i < count; ++i) {
    trace.parts.push_back({enter(1, 0), enter(2 + i % 5, 1), exit(2 + i % 5, 3 + i), enter(100 - i % 7, 4 + i),
                           exit(100 - i % 7, 9 + i), exit(1, 20 + i), enter(9, 30)});
    trace.damage.push_back(i % 3 == 0 ? fault{errc::bad_size, i, 1} : fault{});
  }
  return trace;
}

using node_row = std::tuple<std::uint64_t, std::uint32_t, std::uint64_t, std::uint64_t, std::uint64_t>;
std::vector<node_row> rows_of(const analysis::call_tree& tree) {
  std::vector<node_row> rows;
  for (const auto& node : tree.nodes())
    rows.emplace_back(node.function, node.parent, node.count, node.total, node.self);
  return rows;
}

}  // namespace

TEST_CASE("the result of a run and the order of its faults are the same for any number of jobs") {
  for (const std::size_t parts : {0U, 1U, 2U, 7U, 100U}) {
    const auto trace = many_parts(parts);
    std::vector<std::uint64_t> faults;
    const auto note = [&](std::string_view, const fault& found) { faults.push_back(found.offset); };
    const auto alone = analysis::run(trace, analysis::call_tree(), note);
    const auto told = std::exchange(faults, {});
    CHECK(told.size() == (parts + 2) / 3);
    CHECK(alone.faults().unfinished == parts);
    for (const unsigned jobs : {0U, 2U, 3U, 16U}) {
      CAPTURE(parts, jobs);
      const auto together = analysis::run(trace, analysis::call_tree(), note, jobs);
      CHECK(rows_of(together) == rows_of(alone));
      CHECK(together.faults().unfinished == parts);
      CHECK(std::exchange(faults, {}) == told);
    }
  }
}

TEST_CASE("each part can have an analyzer of its own, in the order of the parts") {
  const auto trace = many_parts(20);
  for (const unsigned jobs : {1U, 3U}) {
    std::vector<std::uint64_t> faults;
    const auto trees = analysis::run_each(
        trace, [] { return analysis::call_tree(); },
        [&](std::string_view, const fault& found) { faults.push_back(found.offset); }, jobs);
    REQUIRE(trees.size() == 20);
    for (std::uint64_t i = 0; i < 20; ++i) CHECK(trees[i].nodes()[1].total == 20 + i);
    CHECK(faults == std::vector<std::uint64_t>{0, 3, 6, 9, 12, 15, 18});
  }
}
