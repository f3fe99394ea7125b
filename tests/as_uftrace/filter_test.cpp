// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>

#include <backsight/io/uftrace_directory.hpp>
#include <backsight/uftrace/events.hpp>

#include "as/uftrace/report.hpp"
#include "as/uftrace/shown_calls.hpp"

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/patterns.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;
using kind = filter_action::kind;

namespace {

filter_action calls(kind what) { return {what, false, {}}; }

/// Calls by name of single-pg as a filter leaves them.
std::map<std::string, std::uint64_t> calls_with(const function_filter& filter, std::int32_t depth = 1024) {
  const auto directory = io::uftrace_directory::open(test::data_path("uftrace/single-pg/uftrace.data"));
  REQUIRE(directory);
  resolver names(directory->recording());
  merged_records records(names, {.scheduler = false});
  function_report report(records, {.depth = depth, .functions = &filter});
  report.run();
  std::map<std::string, std::uint64_t> found;
  for (const report_row& row : report.rows()) found[names.name(row.name)] = row.calls;
  // What analyzers of all formats see is the same.
  std::map<std::string, std::uint64_t> events;
  (void)for_each_call(names, {}, shown_calls(directory->recording(), {.depth = depth, .functions = &filter}),
                      [&](const uftrace::call_event& event) {
                        if (event.kind == event_kind::enter)
                          ++events[names.name(static_cast<std::uint32_t>(event.function))];
                      });
  CHECK(events == found);
  return found;
}

}  // namespace

TEST_CASE("later rules override earlier ones, by all kinds of patterns") {
  function_filter filter(test::patterns());
  CHECK(filter.empty());
  REQUIRE(filter.add("ping", names::pattern_kind::regular_expression, calls(kind::include)) == errc::ok);
  REQUIRE(filter.add("^p.*g$", names::pattern_kind::regular_expression, {kind::none, true, {}}) == errc::ok);
  REQUIRE(filter.add("pi*", names::pattern_kind::glob, {kind::none, false, 3}) == errc::ok);
  REQUIRE(filter.add("pin", names::pattern_kind::exact, calls(kind::exclude)) == errc::ok);
  CHECK(filter.add("(", names::pattern_kind::regular_expression, {}) == errc::bad_text);
  CHECK(filter.includes());
  CHECK(filter.at("ping") == filter_action{kind::include, true, 3});
  CHECK(filter.at("shopping") == filter_action{});  // without special characters the whole name
  CHECK(filter.at("pong") == filter_action{kind::none, true, {}});
  CHECK(filter.at("pin") == filter_action{kind::exclude, false, 3});
  REQUIRE(filter.add("ping", names::pattern_kind::exact, calls(kind::exclude)) == errc::ok);
  CHECK(filter.at("ping").calls == kind::exclude);
}

TEST_CASE("without an engine a regular expression is refused and a plain name is not") {
  function_filter filter({});
  CHECK(filter.add("^a", names::pattern_kind::regular_expression, {}) == errc::unsupported_type);
  CHECK(filter.add("a", names::pattern_kind::regular_expression, {}) == errc::ok);
}

TEST_CASE("filters leave the functions that they should") {
  const function_filter none(test::patterns());
  const auto all = calls_with(none);
  REQUIRE(all.at("main") == 1);
  REQUIRE(all.at("fib") > 1);
  REQUIRE(all.contains("ping"));

  function_filter only(test::patterns());
  REQUIRE(only.add("fib", names::pattern_kind::exact, calls(kind::include)) == errc::ok);
  CHECK(calls_with(only) == std::map<std::string, std::uint64_t>{{"fib", all.at("fib")}});
  CHECK(calls_with(only, 1) ==
        std::map<std::string, std::uint64_t>{{"fib", all.at("fib")}});  // each is included itself

  function_filter without(test::patterns());
  REQUIRE(without.add("main", names::pattern_kind::exact, calls(kind::exclude)) == errc::ok);
  const auto outside = calls_with(without);
  CHECK_FALSE(outside.contains("main"));
  CHECK_FALSE(outside.contains("fib"));
  CHECK_FALSE(outside.empty());

  function_filter hidden(test::patterns());
  REQUIRE(hidden.add("main", names::pattern_kind::exact, {kind::none, true, {}}) == errc::ok);
  auto expected = all;
  expected.erase("main");
  CHECK(calls_with(hidden) == expected);

  function_filter shallow(test::patterns());
  REQUIRE(shallow.add("fib", names::pattern_kind::exact, {kind::none, false, 0}) == errc::ok);
  expected = all;
  expected.erase("fib");
  CHECK(calls_with(shallow) == expected);

  CHECK(only.fits_any(io::uftrace_directory::open(test::data_path("uftrace/single-pg/uftrace.data"))->recording()));
  function_filter nothing(test::patterns());
  REQUIRE(nothing.add("no_such_function", names::pattern_kind::exact, calls(kind::include)) == errc::ok);
  CHECK_FALSE(
      nothing.fits_any(io::uftrace_directory::open(test::data_path("uftrace/single-pg/uftrace.data"))->recording()));
}

TEST_CASE("as uftrace does, what is no regular expression can be taken for a name") {
  function_filter filter(test::patterns());
  REQUIRE(filter.add("f(", names::pattern_kind::regular_expression, calls(kind::include), {}, true) == errc::ok);
  CHECK(filter.at("f(").calls == kind::include);
  CHECK(filter.at("f").calls == kind::none);
}

TEST_CASE("a rule for one object is about the functions of the first that is called so") {
  const auto directory = io::uftrace_directory::open(test::data_path("uftrace/single-pg/uftrace.data"));
  REQUIRE(directory);
  const recording& from = directory->recording();
  const auto fits = [&](const char* name, const char* object) {
    function_filter filter({});
    REQUIRE(filter.add(name, names::pattern_kind::exact, calls(kind::include), object) == errc::ok);
    return filter.fits_any(from);
  };
  CHECK(fits("main", "single"));
  CHECK(fits("main", "single-pg"));
  CHECK_FALSE(fits("main", "single-pgx"));
  CHECK_FALSE(fits("main", "libc"));
  CHECK_FALSE(fits("main", "plt"));
  CHECK(fits("qsort", "PLT"));
  CHECK_FALSE(fits("main", "kernel"));
  function_filter only({});
  REQUIRE(only.add("main", names::pattern_kind::exact, calls(kind::exclude), "libc") == errc::ok);
  CHECK(calls_with(only) == calls_with(function_filter({})));
  function_filter own({});
  REQUIRE(own.add("main", names::pattern_kind::exact, calls(kind::exclude), "single-pg") == errc::ok);
  CHECK_FALSE(calls_with(own).contains("main"));
}
