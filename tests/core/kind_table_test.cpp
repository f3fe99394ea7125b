// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/kind_table.hpp>

#include <support/catch.hpp>

#include "tick_format.hpp"

using namespace ticks;

namespace {

constexpr bool gives_kinds_by_number() {
  using records = format::records;
  kind_table<records, 3> kinds(records::kind<closing>);
  kinds.set(1, records::kind<tick>);
  kinds.set(2, records::kind<note>);
  return kinds.size() == 3 && kinds[0] == records::kind<closing> && kinds[1] == records::kind<tick> &&
         kinds[2] == records::kind<note> && kinds[2].code == errc::ok;
}

}  // namespace

TEST_CASE("a table of kinds gives the kind of each number, and one to those that were not set") {
  STATIC_REQUIRE(gives_kinds_by_number());
  CHECK(gives_kinds_by_number());
}
