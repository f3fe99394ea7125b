// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/time_table.hpp>

#include <map>
#include <utility>

#include <backsight/analysis/run.hpp>

#include <support/call_parts.hpp>
#include <support/catch.hpp>

using namespace backsight;
using analysis::time_table;
using test::enter;
using test::exit;
using test::of_thread;

namespace {

struct sums {
  std::uint64_t count, total, self;
  friend bool operator==(const sums&, const sums&) = default;
};
std::map<time_table::key, sums> rows_of(const test::call_parts& trace, time_table::rows by, unsigned jobs = 1) {
  auto table = analysis::run(trace, time_table(by), [](std::string_view, const fault&) {}, jobs);
  std::map<time_table::key, sums> rows;
  table.for_each([&](time_table::key key, time_table::row& row) {
    rows[key] = {row.durations.sum_up().count, row.total, row.self};
  });
  return rows;
}

/// Function 1 calls itself twice in a thread, and once in another one of the same part, in between.
test::call_parts sample() {
  return {.parts = {{enter(1, 0), of_thread(enter(1, 1), 9), enter(1, 2), of_thread(enter(2, 3), 9),
                     of_thread(exit(2, 5), 9), enter(1, 6), exit(1, 8), exit(1, 10), of_thread(exit(1, 11), 9),
                     exit(1, 20)},
                    {enter(2, 100), exit(2, 107)}},
          .damage = {}};
}

}  // namespace

TEST_CASE("the total of a function counts a recursive call once, by thread") {
  const auto rows = rows_of(sample(), time_table::rows::functions);
  CHECK(rows.at({0, 1}) == sums{4, 20 + 10, 20 + 8});
  CHECK(rows.at({0, 2}) == sums{2, 2 + 7, 2 + 7});
  CHECK(rows.size() == 2);
}

TEST_CASE("calls inside of one that does not end have a total") {
  const test::call_parts trace{.parts = {{enter(1, 0), enter(1, 1), enter(2, 2), enter(1, 3), exit(1, 5), exit(2, 6),
                                          exit(1, 8), enter(1, 10), exit(1, 13)},
                                         {enter(1, 20), enter(1, 21), exit(1, 22)}},
                               .damage = {}};
  const auto rows = rows_of(trace, time_table::rows::functions);
  CHECK(rows.at({0, 1}) == sums{4, 7 + 3 + 1, (7 - 4) + 2 + 3 + 1});
  CHECK(rows.at({0, 2}) == sums{1, 4, 2});
  CHECK(rows_of(trace, time_table::rows::functions, 2) == rows);
}

TEST_CASE("in a group time counts once where its functions call each other") {
  // 2 and 3 are of one group, 1 is of another.
  const test::call_parts trace{.parts = {{enter(1, 0), enter(2, 1), enter(3, 2), exit(3, 5), enter(1, 6), enter(3, 7),
                                          exit(3, 8), exit(1, 10), exit(2, 14), exit(1, 20)},
                                         {enter(3, 30), enter(2, 31), exit(2, 33)}},
                               .damage = {}};
  for (const unsigned jobs : {1U, 2U}) {
    auto table = analysis::run(
        trace, time_table([](std::uint64_t function) { return function == 1 ? 70 : 80; }),
        [](std::string_view, const fault&) {}, jobs);
    std::map<time_table::key, sums> rows;
    table.for_each([&](time_table::key key, time_table::row& row) {
      rows[key] = {row.durations.sum_up().count, row.total, row.self};
    });
    CHECK(rows.size() == 2);
    CHECK(rows.at({0, 70}) == sums{2, 20, 7 + 3});
    CHECK(rows.at({0, 80}) == sums{4, 13 + 2, 3 + 1 + 6 + 2});
    CHECK(table.by() == time_table::rows::groups);
  }
}

TEST_CASE("rows of threads and processes hold the calls of theirs") {
  const auto threads = rows_of(sample(), time_table::rows::threads);
  REQUIRE(threads.size() == 2);
  std::uint64_t self = 0, count = 0;
  for (const auto& [key, row] : threads) {
    CHECK(row.total == row.self);
    self += row.self;
    count += row.count;
  }
  CHECK(self == 20 + 10 + 7);
  CHECK(count == 6);
  const auto processes = rows_of(sample(), time_table::rows::processes);
  REQUIRE(processes.size() == 1);
  CHECK(processes.begin()->second == sums{6, 37, 37});
}

TEST_CASE("tables of parts give the same together") {
  for (const auto by : {time_table::rows::functions, time_table::rows::threads, time_table::rows::processes})
    CHECK(rows_of(sample(), by, 2) == rows_of(sample(), by, 1));
}

TEST_CASE("a time table counts calls, durations and self time, also of ids beyond the dense part") {
  constexpr std::uint64_t far = 0x0fffffff;
  time_table table;
  for (const auto& event : {enter(1, 0), enter(far, 2), exit(far, 5), enter(far, 6), exit(far, 8), exit(1, 10)})
    table.on(event);
  std::size_t rows = 0;
  table.for_each([&](time_table::key key, time_table::row& row) {
    ++rows;
    const auto all = row.durations.sum_up();
    CHECK(all.count == (key.second == 1 ? 1 : 2));
    CHECK(all.sum == (key.second == 1 ? 10 : 5));
    CHECK(row.self == 5);
  });
  CHECK(rows == 2);
}

TEST_CASE("merged time tables equal one of all events") {
  time_table first, second, both;
  for (const auto& event : {enter(1, 0), exit(1, 4)}) first.on(event), both.on(event);
  for (const auto& event : {enter(1, 5), enter(70000, 6), exit(70000, 7), exit(1, 9)}) second.on(event), both.on(event);
  first.merge(second);
  const auto rows = [](time_table& table) {
    std::map<time_table::key, sums> found;
    table.for_each([&](time_table::key key, time_table::row& row) {
      const auto all = row.durations.sum_up();
      found[key] = {all.count + 1000 * all.sum, row.total, row.self};
    });
    return found;
  };
  CHECK(rows(first) == rows(both));
}

TEST_CASE("rows of a table are put together by other numbers of functions") {
  const test::call_parts trace{
      .parts = {{enter(1, 0), exit(1, 4)}, {enter(2, 10), exit(2, 17), enter(3, 20), exit(3, 21)}}, .damage = {}};
  auto table = analysis::run(trace, time_table(), [](std::string_view, const fault&) {});
  auto renumbered = table.renumbered([](std::uint64_t function) { return function == 2 ? 1 : function; });
  std::map<std::uint64_t, sums> rows;
  renumbered.for_each([&](time_table::key key, time_table::row& row) {
    rows[key.second] = {row.durations.sum_up().count, row.total, row.self};
  });
  CHECK(rows.size() == 2);
  CHECK(rows.at(1) == sums{2, 11, 11});
  CHECK(rows.at(3) == sums{1, 1, 1});
}
