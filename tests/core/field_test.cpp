// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <backsight/core/field.hpp>
#include <backsight/core/record.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;

namespace {

enum class colour : std::uint8_t { red, green };

constexpr field<"flag", bool> flag{};
constexpr field<"count", std::uint16_t> count{};
constexpr field<"small", std::uint32_t, 5> small{};
constexpr field<"hue", colour> hue{};
constexpr field<"ratio", double> ratio{};
constexpr field<"id", std::array<std::byte, 16>> id{};

static_assert(flag.bits == 1);
static_assert(count.bits == 16);
static_assert(small.bits == 5);
static_assert(hue.bits == 8);
static_assert(ratio.bits == 64);
static_assert(id.bits == 128);
static_assert(padding<3>::bits == 3 && padding<3>::is_padding && !decltype(flag)::is_padding);
static_assert(std::is_same_v<padding<64>::value_type, std::uint64_t>);
static_assert(std::is_same_v<padding<72>::value_type, std::array<std::byte, 9>>);
static_assert(member<std::remove_const_t<decltype(flag)>> && member<padding<1>> && !member<int>);
static_assert(std::is_empty_v<field<"flag", bool>>);

struct pair_record {
  static constexpr field<"first", std::uint8_t> first{};
  static constexpr field<"second", std::uint8_t> second{};
  static constexpr layout fields{first, second};
};

constexpr bool is_a_projection() {
  constexpr auto data = bytes<3, 4>;
  const record<pair_record, order::little> item(data.data());
  return pair_record::first(item) == 3 && pair_record::second(item) == item[pair_record::second];
}

}  // namespace

TEST_CASE("a field carries its name as its documentation spells it") {
  STATIC_REQUIRE(std::string_view(flag.name()) == "flag");
  CHECK(std::string_view(ratio.name()) == "ratio");
  STATIC_REQUIRE(fixed_string("abc").size() == 3);
  CHECK(std::string_view(fixed_string("abc").c_str()) == "abc");
}

TEST_CASE("a field is a function from records to its value") {
  STATIC_REQUIRE(is_a_projection());
  CHECK(is_a_projection());
  // Not of things that have no such member.
  STATIC_REQUIRE_FALSE(std::invocable<field<"flag", bool>, int>);
}
