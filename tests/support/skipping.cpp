// SPDX-License-Identifier: Apache-2.0
// Test cases that pass, skip and fail, for skipping_test.py; no entry of ctest runs them as tests.
#include <support/catch.hpp>
#include <support/skip.hpp>

using namespace backsight;

TEST_CASE("one that passes", "[.passes]") { CHECK(true); }
TEST_CASE("one that cannot run", "[.skips]") { return test::skip("a reason"); }
TEST_CASE("one that fails", "[.fails]") { CHECK(test::skipped() > 1000); }
TEST_CASE("one that fails in 77 places", "[.fails77]") {
  for (int i = 0; i < 77; ++i) CHECK(test::skipped() > 1000);
}
