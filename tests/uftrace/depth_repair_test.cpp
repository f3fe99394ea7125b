// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/depth_repair.hpp>

#include <cstdint>

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

constexpr std::uint64_t function_address = 0x5500000;

/// Gives the repair what a recorder writes for that level.
constexpr depth_repair::result take(depth_repair& repair, record_type type, std::uint64_t level) {
  const std::uint64_t word = (function_address << 16) + (level << 6);
  return repair(type, static_cast<std::uint16_t>(word >> 6 & 0x3ff), word >> 16);
}

/// Whether a record of that level comes back behind one of another level.
constexpr bool comes_back(std::uint64_t height, record_type type, std::uint64_t level) {
  depth_repair repair(height);
  const auto got = take(repair, type, level);
  return got.depth == level && got.address == function_address &&
         repair.height() == level + (type == record_type::entry ? 1 : 0);
}

}  // namespace

TEST_CASE("depth and address beyond 1023 levels come back") {
  depth_repair repair;
  for (std::uint64_t depth = 0; depth < 3000; ++depth) {
    const auto item = take(repair, record_type::entry, depth);
    REQUIRE(item.depth == depth);
    REQUIRE(item.address == function_address);
    REQUIRE(repair.height() == depth + 1);
    REQUIRE(repair.height_before(record_type::entry) == depth);
  }
  for (std::uint64_t depth = 3000; depth-- != 0;) {
    const auto item = take(repair, record_type::exit, depth);
    REQUIRE(item.depth == depth);
    REQUIRE(item.address == function_address);
    REQUIRE(repair.height() == depth);
    REQUIRE(repair.height_before(record_type::exit) == depth + 1);
  }
}

TEST_CASE("a longjmp or an exception leaves many levels, also from beyond 1023 to below") {
  for (const record_type type : {record_type::entry, record_type::exit}) {
    CHECK(comes_back(1024, type, 1000));
    CHECK(comes_back(1030, type, 900));
    CHECK(comes_back(2047, type, 1600));
    CHECK(comes_back(2050, type, 1900));
    CHECK(comes_back(3100, type, 3000));
    CHECK(comes_back(1025, type, 1020));
  }
  STATIC_REQUIRE(comes_back(1030, record_type::exit, 900));
}

TEST_CASE("half of the range may be left at once") {
  // The next exit lies one below the height, the next entry at it: 512 levels are left in each case.
  for (const std::uint64_t height :
       {513U, 600U, 1024U, 1100U, 1535U, 1536U, 1601U, 2047U, 2048U, 2049U, 2600U, 3071U}) {
    CAPTURE(height);
    CHECK(comes_back(height, record_type::exit, height - 1 - 512));
    CHECK(comes_back(height, record_type::entry, height - 512));
    CHECK(comes_back(height, record_type::exit, height - 1 - 511));
    CHECK(comes_back(height, record_type::entry, height - 511));
  }
}

TEST_CASE("a start tells its depth, and so does what follows a loss") {
  depth_repair repair;
  CHECK_FALSE(repair.is_known());
  CHECK(take(repair, record_type::exit, 700).depth == 700);
  CHECK(repair.is_known());
  repair.forget();
  CHECK_FALSE(repair.is_known());
  CHECK(take(repair, record_type::entry, 3).depth == 3);
  CHECK(repair.height() == 4);
  depth_repair nothing_open(0);
  CHECK(nothing_open.is_known());
  CHECK(take(nothing_open, record_type::exit, 0).depth == 0);  // an exit without its entry
  CHECK(nothing_open.height() == 0);
}
