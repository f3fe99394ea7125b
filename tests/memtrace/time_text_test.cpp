// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <ctime>
#include <initializer_list>
#include <iterator>
#include <string>

#include <backsight/memtrace/time_text.hpp>

#include <support/catch.hpp>

using namespace backsight::memtrace;

namespace {

std::string utc(std::uint64_t microseconds) {
  std::string text;
  (void)print_utc(std::back_inserter(text), microseconds);
  return text;
}

}  // namespace

TEST_CASE("times since 1601 are dates of UTC") {
  CHECK(utc(0) == "1601-01-01 00:00:00.000000");
  CHECK(utc(11'644'473'600'000'000) == "1970-01-01 00:00:00.000000");
  CHECK(utc(13'439'699'341'710'502) == "2026-11-21 01:49:01.710502");
}

TEST_CASE("days are those of the C library, over the turns of years and centuries") {
  for (const std::int64_t around :
       std::initializer_list<std::int64_t>{-11'644'473'600, -8'488'000'000, -2'208'988'800, 951'782'400, 4'102'444'800,
                                           7'258'118'400, 13'569'465'600}) {
    for (std::int64_t day = -800; day <= 800; ++day) {
      const std::int64_t seconds = around + day * 86'400;
      if (seconds < -11'644'473'600) continue;
      const std::time_t time = seconds;
      std::tm parts{};
      REQUIRE(::gmtime_r(&time, &parts) != nullptr);
      char expected[64];
      std::strftime(expected, sizeof expected, "%Y-%m-%d %H:%M:%S.000000", &parts);
      CHECK(utc(static_cast<std::uint64_t>(seconds + 11'644'473'600) * 1'000'000) == expected);
    }
  }
}

TEST_CASE("the latest time that there is has a date") { CHECK(utc(~std::uint64_t{0}).size() == 28); }
