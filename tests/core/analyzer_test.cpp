// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/analyzer.hpp>

#include <support/catch.hpp>

using namespace backsight;

namespace {

struct counts {
  int items = 0, parts = 0;
  void on(int item) { items += item; }
  void begin_part(const char&) { parts += 1; }
  void end_part(const char&) { parts += 10; }
  void merge(const counts& later) { items += later.items; }
};
struct only_items {
  int items = 0;
  void on(int item) { items += item; }
};

}  // namespace

TEST_CASE("an analyzer takes items; the rest of the protocol is its choice") {
  STATIC_REQUIRE(analyzer_of<counts, int> && mergeable_analyzer<counts>);
  STATIC_REQUIRE(analyzer_of<only_items, int>);
  STATIC_REQUIRE_FALSE(mergeable_analyzer<only_items>);
  STATIC_REQUIRE_FALSE(analyzer_of<counts, const char*>);
  counts told;
  only_items untold;
  for (const char part : {'a', 'b'}) {
    backsight::detail::begin_part(told, part);
    backsight::detail::end_part(told, part);
    backsight::detail::begin_part(untold, part);
    backsight::detail::end_part(untold, part);
  }
  CHECK(told.parts == 22);
  CHECK(untold.items == 0);
}
