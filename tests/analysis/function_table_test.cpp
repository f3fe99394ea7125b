// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <backsight/analysis/function_table.hpp>

#include <support/call_events.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::enter;
using test::exit;

namespace {

struct sums {
  std::uint64_t count, total, self;
  friend bool operator==(const sums&, const sums&) = default;
};

std::map<std::uint64_t, sums> rows_of(analysis::function_table& table) {
  std::map<std::uint64_t, sums> rows;
  table.for_each([&](std::uint64_t function, analysis::function_table::row& row) {
    const auto all = row.durations.sum_up();
    rows[function] = {all.count, all.sum, row.self};
  });
  return rows;
}

}  // namespace

TEST_CASE("a function table counts calls, total and self time, also of ids beyond the dense part") {
  constexpr std::uint64_t far = 0x0fffffff;
  analysis::function_table table;
  for (const auto& event : {enter(1, 0), enter(far, 2), exit(far, 5), enter(far, 6), exit(far, 8), exit(1, 10)}) table.on(event);
  CHECK(rows_of(table) == std::map<std::uint64_t, sums>{{1, {1, 10, 5}}, {far, {2, 5, 5}}});
}

TEST_CASE("merged function tables equal one of all events") {
  analysis::function_table first, second, both;
  for (const auto& event : {enter(1, 0), exit(1, 4)}) first.on(event), both.on(event);
  for (const auto& event : {enter(1, 5), enter(70000, 6), exit(70000, 7), exit(1, 9)}) second.on(event), both.on(event);
  first.merge(second);
  CHECK(rows_of(first) == rows_of(both));
}
