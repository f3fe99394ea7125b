// SPDX-License-Identifier: Apache-2.0
#include <utility>
#include <vector>

#include <backsight/xray/threads.hpp>

#include <support/catch.hpp>
#include <support/xray_builder.hpp>

using namespace backsight;
using test::xray_builder;

namespace {

/// Blocks of (process, thread), in this order in time and in the file, each with one event of function 1, 2, ...
xray_builder log_of(const std::vector<std::pair<std::int32_t, std::int32_t>>& owners) {
  auto file = xray_builder(order::little).header();
  std::uint32_t number = 0;
  for (const auto& [process, thread] : owners) {
    ++number;
    file.block(
        xray_builder(order::little).preamble(thread, process, number, 0).cpu(0, 100 * number).function(0, number, 1));
  }
  return file;
}

std::vector<std::uint32_t> functions_of(const xray::log& log, const xray::traced_thread& thread) {
  std::vector<std::uint32_t> functions;
  xray::for_each_event(
      log, thread, [&](const xray::event& event) { functions.push_back(event.function); },
      [](const fault&) { CHECK(false); });
  return functions;
}

}  // namespace

TEST_CASE("blocks go to the threads that filled them, in the order of time") {
  const auto file = log_of({{1, 7}, {1, 5}, {1, 7}, {2, 5}});
  const auto log = xray::open(file.view()).value();
  const auto threads = xray::threads_of(log);
  REQUIRE(threads);
  REQUIRE(threads->size() == 3);
  CHECK(((*threads)[0].process == 1 && (*threads)[0].id == 5 && (*threads)[0].first_tsc == 200));
  CHECK(((*threads)[1].process == 1 && (*threads)[1].id == 7 && (*threads)[1].first_tsc == 100));
  CHECK(((*threads)[2].process == 2 && (*threads)[2].id == 5));
  CHECK(functions_of(log, (*threads)[1]) == std::vector<std::uint32_t>{1, 3});
}

TEST_CASE("threads of one id in several processes are one when that is asked for") {
  const auto file = log_of({{1, 7}, {2, 5}, {1, 5}});
  const auto log = xray::open(file.view()).value();
  const auto threads = xray::threads_of(log, true);
  REQUIRE(threads);
  REQUIRE(threads->size() == 2);
  CHECK((*threads)[0].id == 5);
  CHECK(functions_of(log, (*threads)[0]) == std::vector<std::uint32_t>{3, 2});
}

TEST_CASE("the threads in front of what begins no block are kept with the error") {
  auto file = log_of({{1, 7}});
  const std::size_t end = file.size();
  file.fill(5);
  const auto threads = xray::threads_of(xray::open(file.view()).value());
  CHECK(threads.error() == trace_error{errc::trailing_bytes, end});
  CHECK(threads.partial().size() == 1);
}

TEST_CASE("a basic-mode log is one nameless thread") {
  auto file =
      xray_builder(order::little, 3).header(0, 0).basic_function(0, 0, 4, 50, 7, 1).basic_function(0, 1, 4, 60, 8, 1);
  const auto log = xray::open(file.view()).value();
  const auto threads = xray::threads_of(log);
  REQUIRE(threads->size() == 1);
  CHECK(functions_of(log, threads->front()) == std::vector<std::uint32_t>{4, 4});
}
