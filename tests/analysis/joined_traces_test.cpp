// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/joined_traces.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <backsight/analysis/run.hpp>
#include <backsight/analysis/time_table.hpp>

#include <support/call_parts.hpp>
#include <support/catch.hpp>

using namespace backsight;
using analysis::joined_traces;
using test::enter;
using test::exit;

namespace {

/// The events of test::call_parts, with names that live on; times are in units of its own.
struct named_parts : test::call_parts {
  std::map<std::uint64_t, std::string> names;
  std::uint64_t scale = 1, first = 0;

  std::string_view function_name(std::uint64_t function) const { return names.at(function); }
  std::string_view function_module(std::uint64_t function) const { return function == 1 ? "app" : ""; }
  std::string_view thread_name(std::int64_t, std::uint64_t) const { return "t"; }
  std::string_view process_name(std::int64_t process) const { return process == 1 ? "it" : ""; }
  std::uint64_t to_ns(std::uint64_t time) const { return time * scale; }
  std::uint64_t start() const { return first; }
  std::uint64_t lost_records() const { return 2; }
};

test::call_event of_process(test::call_event event, std::int64_t process) {
  event.process = process;
  return event;
}

}  // namespace

TEST_CASE("several traces are one, with the functions, times and processes of each") {
  named_parts a{{.parts = {{enter(1, 5), exit(1, 9)}, {enter(2, 20)}}, .damage = {{}, {errc::truncated, 3, 4}}},
                {{1, "f"}, {2, "g"}}};
  named_parts b{{.parts = {{enter(1, 100), exit(1, 101), of_process(enter(7, 102), 5)}}, .damage = {}},
                {{1, "g"}, {7, "f"}}};
  a.first = 5;
  b.first = 1;
  b.scale = 3;
  const joined_traces joined({{a, "A"}, {b, "B"}});
  REQUIRE(joined.part_count() == 3);
  CHECK(joined.start() == 3);
  CHECK(joined.lost_records() == 4);
  CHECK(joined.unit() == clock_unit::nanoseconds);
  std::vector<std::string> shown, faults;
  const auto tell = [&](std::string_view file, const fault& found) {
    faults.push_back(std::string(file) + ":" + std::to_string(found.offset));
  };
  for (std::size_t i = 0; i < joined.part_count(); ++i) {
    joined.part(i).for_each_event(
        [&](const any_call_event& event) {
          const auto place = joined.place_of(event.process);
          shown.push_back(std::string(event.kind == event_kind::enter ? "+" : "-") +
                          std::string(joined.function_name(event.function)) + "@" +
                          std::to_string(joined.to_ns(event.time)) + " " + std::to_string(place.trace) + "/" +
                          std::to_string(place.process) + " " + std::string(joined.process_name(event.process)) + " " +
                          std::string(joined.function_module(event.function)));
          CHECK(joined.thread_name(event.process, event.thread) == "t");
          CHECK((place.trace == 0) == (event.process < 1000));
        },
        tell);
  }
  CHECK(shown == std::vector<std::string>{"+f@5 0/1 it (A) app", "-f@9 0/1 it (A) app", "+g@20 0/1 it (A) ",
                                          "+g@300 1/1 it (B) app", "-g@303 1/1 it (B) app", "+f@306 1/5 B "});
  joined.for_each_fault(tell);
  CHECK(faults == std::vector<std::string>{"A:3", "A/it:1", "B/it:1"});
}

TEST_CASE("threads of two traces are two, and jobs change nothing") {
  const named_parts a{{.parts = {{enter(1, 0), exit(1, 5)}, {enter(1, 10), exit(1, 12)}}, .damage = {}}, {{1, "f"}}};
  const joined_traces joined({{a, "A"}, {a, "B"}});
  using analysis::time_table;
  for (const unsigned jobs : {1U, 3U}) {
    auto table =
        analysis::run(joined, time_table(time_table::rows::threads), [](std::string_view, const fault&) {}, jobs);
    std::vector<std::pair<std::size_t, std::uint64_t>> rows;
    table.for_each([&](time_table::key key, time_table::row& row) {
      rows.emplace_back(joined.place_of(key.first).trace, row.total);
    });
    CHECK(rows == std::vector<std::pair<std::size_t, std::uint64_t>>{{0, 7}, {1, 7}});
    auto functions = analysis::run(joined, time_table(), [](std::string_view, const fault&) {}, jobs);
    std::uint64_t total = 0, number_of_rows = 0;
    functions.renumbered([](std::uint64_t) { return 0; }).for_each([&](time_table::key, time_table::row& row) {
      total += row.total;
      ++number_of_rows;
    });
    CHECK((total == 14 && number_of_rows == 1));
  }
}

TEST_CASE("processes whose numbers would be taken for those of another trace get others") {
  named_parts a{{.parts = {{of_process(enter(1, 0), 10'000'001)}}, .damage = {}}, {{1, "f"}}};
  named_parts b{{.parts = {{of_process(enter(1, 0), 1), of_process(enter(1, 1), -1)}}, .damage = {}}, {{1, "f"}}};
  const joined_traces joined({{a, "A"}, {b, "B"}});
  std::vector<std::pair<std::size_t, std::int64_t>> places;
  for (std::size_t i = 0; i < 2; ++i) {
    joined.part(i).for_each_event(
        [&](const any_call_event& event) {
          const auto place = joined.place_of(event.process);
          places.emplace_back(place.trace, place.process);
        },
        [](std::string_view, const fault&) {});
  }
  CHECK(places == std::vector<std::pair<std::size_t, std::int64_t>>{{0, 10'000'001}, {1, 1}, {1, -1}});
}
