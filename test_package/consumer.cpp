// SPDX-License-Identifier: Apache-2.0
#if __has_include(<catch2/catch_test_macros.hpp>)
#include <catch2/catch_test_macros.hpp>
#else
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#endif

#include <array>

#include <backsight/backsight.hpp>

TEST_CASE("the packaged headers open an empty XRay log") {
  constexpr std::array<std::byte, 32> empty_log{std::byte{5}, std::byte{0}, std::byte{1}};
  const auto log = backsight::xray::open(empty_log);
  REQUIRE(log);
  CHECK(log->version() == 5);
  CHECK(backsight::xray::open(backsight::byte_view(empty_log).first(31)).error().code == backsight::errc::truncated);
}
