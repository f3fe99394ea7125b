// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <vector>

#include <backsight/xray/calls.hpp>

#include <support/catch.hpp>
#include <support/xray_builder.hpp>

using namespace backsight;
using test::xray_builder;

TEST_CASE("the threads of an FDR log are the parts of its calls") {
  auto file = xray_builder(order::big).header(4096, 1, 500000000);
  file.block(xray_builder(order::big).preamble(8, 1, 2, 0).cpu(3, 500).function(0, 1, 1).function(1, 1, 4));
  file.block(xray_builder(order::big).preamble(9, 1, 1, 0).cpu(0, 400).function(0, 2, 1));
  file.block(xray_builder(order::big).preamble(8, 1, 3, 0).cpu(2, 900).function(0, 3, 1));
  file.fill(3);
  const xray::calls calls(xray::open(file.view()).value());
  STATIC_REQUIRE(has_cpu<xray::event> && has_arguments<xray::event> && has_text<xray::event>);
  REQUIRE(calls.part_count() == 2);
  std::vector<std::uint32_t> functions;
  std::vector<std::uint64_t> times;
  calls.part(0).for_each_event(
      [&](const xray::event& event) {
        functions.push_back(event.function);
        times.push_back(event.time);
        CHECK((event.thread == 8 && event.process == 1));
      },
      [](std::string_view, const fault&) { CHECK(false); });
  CHECK(functions == std::vector<std::uint32_t>{1, 1, 3});
  CHECK(times == std::vector<std::uint64_t>{501, 505, 901});
  CHECK(calls.start() == 400);
  CHECK(calls.to_ns(505) == 1010);
  CHECK(calls.unit() == clock_unit::nanoseconds);
  CHECK(calls.function_name(3) == "#3");
  CHECK(calls.thread_name(1, 8).empty());
  CHECK(calls.process_name(1).empty());
  std::vector<fault> faults;
  calls.for_each_fault([&](std::string_view where, const fault& found) {
    CHECK(where.empty());
    faults.push_back(found);
  });
  CHECK(faults == std::vector<fault>{{errc::trailing_bytes, file.size() - 3, 3}});
}

TEST_CASE("a basic-mode log is one part, and a log whose clock is not known counts ticks") {
  auto file = xray_builder(order::little, 3)
                  .header(0, 0, 0)
                  .basic_function(0, 0, 4, 50, 7, 1)
                  .basic_function(0, 0, 4, 60, 8, 1);
  const xray::calls calls(xray::open(file.view()).value());
  REQUIRE(calls.part_count() == 1);
  std::vector<std::int32_t> threads;
  calls.part(0).for_each_event([&](const xray::event& event) { threads.push_back(event.thread); },
                               [](std::string_view, const fault&) { CHECK(false); });
  CHECK(threads == std::vector<std::int32_t>{7, 8});
  CHECK(calls.start() == 50);
  CHECK(calls.unit() == clock_unit::ticks);
  CHECK(calls.to_ns(50) == 50);
}

TEST_CASE("a log of nothing but its header has no parts") {
  const auto file = xray_builder(order::little).header();
  const xray::calls calls(xray::open(file.view()).value());
  CHECK(calls.part_count() == 0);
  CHECK(calls.start() == 0);
}

TEST_CASE("logged arguments are text where they are asked for, and no function is known without a program") {
  auto file = xray_builder(order::little, 3)
                  .header(0, 0, 0)
                  .basic_function(3, 0, 4, 50, 7, 1)
                  .basic_argument(4, 7, 1, 12)
                  .basic_function(1, 0, 4, 60, 7, 1);
  const auto log = xray::open(file.view()).value();
  for (const bool asked : {true, false}) {
    const xray::calls calls(log, {}, {.program = "app", .values = asked});
    std::vector<std::string_view> values;
    calls.part(0).for_each_event([&](const xray::event& event) { values.push_back(calls.values_of(event)); },
                                 [](std::string_view, const fault&) { CHECK(false); });
    REQUIRE(values.size() == 2);
    CHECK(values[0] == (asked ? "12" : ""));
    CHECK(values[1].empty());
    CHECK(calls.function_module(4).empty());
  }
}
