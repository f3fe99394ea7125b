// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/common_when.hpp>

#include <cstdint>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;

namespace {

enum class kind : std::uint8_t { a, b, c, d };

struct sample {
  static constexpr field<"before", std::uint32_t> before{};
  static constexpr field<"type", kind, 2> type{};
  static constexpr field<"more", bool, 1> more{};
  static constexpr field<"magic", std::uint8_t, 5> magic{};
  static constexpr field<"rest", std::uint32_t, 24> rest{};
  static constexpr layout fields{before, word<32>(type, more, magic, rest)};
};
static_assert(schema<sample>);

template <order O, class... Cs>
consteval auto when(Cs... conditions) {
  return common_when<sample, O, std::uint32_t>(conditions...);
}

}  // namespace

TEST_CASE("conditions on members are a mask over their word, in both byte orders") {
  constexpr auto little = when<order::little>(is(sample::magic, 9), is(sample::more, true));
  STATIC_REQUIRE((little.mask == 0xfc && little.value == (9U << 3 | 4) && little.offset == 4));
  constexpr auto big = when<order::big>(is(sample::magic, 9), is(sample::more, true));
  STATIC_REQUIRE((big.mask == 0x3f000000 && big.value == (1U << 29 | 9U << 24) && big.offset == 4));
}

TEST_CASE("several values count by the bits that they have in common") {
  constexpr auto two = when<order::little>(is(sample::type, kind::a, kind::b));
  STATIC_REQUIRE((two.mask == 2 && two.value == 0));
  constexpr auto odd = when<order::little>(is(sample::type, kind::d, kind::b));
  STATIC_REQUIRE((odd.mask == 1 && odd.value == 1));
  constexpr auto none =
      when<order::little>(is(sample::type, kind::a, kind::b, kind::c, kind::d), is(sample::more, false));
  STATIC_REQUIRE((none.mask == 4 && none.value == 0));
}

TEST_CASE("a record holds where its members do") {
  constexpr auto common = when<order::big>(is(sample::before, 7U));
  STATIC_REQUIRE((common.mask == 0xffffffff && common.offset == 0));
  STATIC_REQUIRE(holds<order::big>(common, test::bytes<0, 0, 0, 7, 1, 2, 3, 4>.data()));
  STATIC_REQUIRE_FALSE(holds<order::big>(common, test::bytes<7, 0, 0, 0, 1, 2, 3, 4>.data()));
}
