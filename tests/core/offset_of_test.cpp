// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/offset_of.hpp>

#include <cstdint>

#include <support/catch.hpp>

using namespace backsight;

namespace {

struct sample {
  static constexpr field<"first", std::uint16_t> first{};
  static constexpr padding<16> unused{};
  static constexpr field<"second", std::uint8_t> second{};
  static constexpr field<"low", std::uint8_t, 4> low{};
  static constexpr field<"high", std::uint8_t, 4> high{};
  static constexpr field<"third", std::uint64_t> third{};
  static constexpr layout fields{first, unused, second, word<8>(low, high), third};
};
static_assert(schema<sample>);

}  // namespace

TEST_CASE("members tell at which byte they lie and how many they fill") {
  STATIC_REQUIRE(offset_of<sample>(sample::first) == 0);
  STATIC_REQUIRE(offset_of<sample>(sample::second) == 4);
  STATIC_REQUIRE(offset_of<sample>(sample::third) == 6);
  STATIC_REQUIRE(bytes_of(sample::first) == 2);
  STATIC_REQUIRE(bytes_of(sample::third) == 8);
}
