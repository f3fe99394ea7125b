// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/duration.hpp>

#include <iterator>
#include <string>

#include <support/catch.hpp>

using namespace backsight;

namespace {

std::string shown(std::uint64_t nanoseconds) {
  std::string out;
  text::print_duration(std::back_inserter(out), nanoseconds);
  return out;
}

}  // namespace

TEST_CASE("times are read with their unit") {
  CHECK(text::read_time_with_unit("5us") == 5000);
  CHECK(text::read_time_with_unit("8.873us") == 8873);
  CHECK(text::read_time_with_unit("0.5ms") == 500'000);
  CHECK(text::read_time_with_unit("1.5S") == 1'500'000'000);
  CHECK(text::read_time_with_unit("2min") == 120'000'000'000);
  CHECK(text::read_time_with_unit("1.5h") == 5'400'000'000'000);
  CHECK(text::read_time_with_unit("0.0000000019s") == 1);
  CHECK(text::read_time_with_unit("7nsec") == 7);
}

TEST_CASE("what is no time with a unit is refused") {
  for (const char* const given : {"", "5", "us", "5xx", "5us ", "-5us", "5u", "1.us5", ".5us", "5 us",
                                  "18446744073709551616ns", "18446744074s", "307445735m", "18446744073.9s"}) {
    CAPTURE(given);
    CHECK_FALSE(text::read_time_with_unit(given));
  }
  CHECK(text::read_time_with_unit("18446744073709551615ns") == ~std::uint64_t{0});
}

TEST_CASE("a number alone counts nanoseconds") {
  CHECK(text::read_duration("17") == 17);
  CHECK(text::read_duration("17us") == 17000);
  CHECK_FALSE(text::read_duration("17.5"));
  CHECK_FALSE(text::read_duration("five"));
  CHECK_FALSE(text::read_duration(""));
}

TEST_CASE("durations are shown in the largest unit of which there is one") {
  CHECK(shown(0) == "0 ns");
  CHECK(shown(999) == "999 ns");
  CHECK(shown(1000) == "1.000 us");
  CHECK(shown(8873) == "8.873 us");
  CHECK(shown(999'999) == "999.999 us");
  CHECK(shown(1'000'000) == "1.000 ms");
  CHECK(shown(1'234'567'890) == "1.234 s");
  CHECK(shown(~std::uint64_t{0}) == "18446744073.709 s");
}
