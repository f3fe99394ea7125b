// SPDX-License-Identifier: Apache-2.0
#include "as/uftrace/function_filter.hpp"

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;
using kind = filter_action::kind;

TEST_CASE("of the rules that fit a name the last one that says something holds, and hiding adds up") {
  function_filter filter({});
  REQUIRE(filter.add("a*", names::pattern_kind::glob, {kind::include, true, 5}) == errc::ok);
  REQUIRE(filter.add("ab", names::pattern_kind::exact, {kind::none, false, {}}) == errc::ok);
  CHECK(filter.at("ab") == filter_action{kind::include, true, 5});
  REQUIRE(filter.add("ab", names::pattern_kind::exact, {kind::exclude, false, 0}) == errc::ok);
  CHECK(filter.at("ab") == filter_action{kind::exclude, true, 0});
  CHECK(filter.at("ac") == filter_action{kind::include, true, 5});
  CHECK(filter.at("b") == filter_action{});
  CHECK(filter.at("") == filter_action{});
}

TEST_CASE("a filter includes when some rule does") {
  function_filter filter({});
  CHECK((filter.empty() && !filter.includes()));
  REQUIRE(filter.add("a", names::pattern_kind::exact, {kind::exclude, false, {}}) == errc::ok);
  CHECK((!filter.empty() && !filter.includes()));
  REQUIRE(filter.add("b", names::pattern_kind::exact, {kind::include, false, {}}) == errc::ok);
  REQUIRE(filter.add("c", names::pattern_kind::exact, {kind::none, true, {}}) == errc::ok);
  CHECK(filter.includes());
}

TEST_CASE("a filter tells whether it is about any function of a recording") {
  test::uftrace_builder directory;
  directory.symbols += "0000000000003000 00000010 T _ZN1a1bEv\n";
  directory.data(7, test::uftrace_records());
  const recording from = directory.open();
  const auto fits = [&](const char* pattern, names::pattern_kind how) {
    function_filter filter({});
    REQUIRE(filter.add(pattern, how, {kind::exclude, false, {}}) == errc::ok);
    return filter.fits_any(from);
  };
  CHECK(fits("main", names::pattern_kind::exact));
  CHECK(fits("longjmp", names::pattern_kind::exact));
  CHECK(fits("a::b", names::pattern_kind::exact));  // the short form of the name
  CHECK_FALSE(fits("_ZN1a1bEv", names::pattern_kind::exact));
  CHECK_FALSE(fits("mai", names::pattern_kind::exact));
  CHECK(fits("mai?", names::pattern_kind::glob));
  CHECK_FALSE(function_filter({}).fits_any(from));
}

TEST_CASE("answers are found once for each name, also for names that come later") {
  test::uftrace_builder directory;
  directory.data(7, test::uftrace_records());
  const recording from = directory.open();
  resolver names(from);
  function_filter filter({});
  CHECK_FALSE(filter_lookup(&filter).active());
  CHECK_FALSE(filter_lookup(nullptr).active());
  CHECK_FALSE(filter_lookup(nullptr).includes());
  REQUIRE(filter.add("later", names::pattern_kind::exact, {kind::include, false, 3}) == errc::ok);
  filter_lookup lookup(&filter);
  CHECK((lookup.active() && lookup.includes()));
  function first, later;
  first.name = names.intern("first");
  CHECK(lookup.at(names, first) == filter_action{});
  later.name = names.intern("later");
  CHECK(lookup.at(names, later) == filter_action{kind::include, false, 3});
  CHECK(lookup.at(names, first) == filter_action{});
}
