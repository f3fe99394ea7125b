// SPDX-License-Identifier: Apache-2.0
// Stands for core/layout.hpp
#include <string_view>
#include <vector>

#include <backsight/core/schema.hpp>

#include <support/catch.hpp>

using namespace backsight;

namespace {

struct mixed {
  static constexpr std::size_t size = 16;
  static constexpr field<"flag", bool> flag{};
  static constexpr field<"kind", std::uint8_t, 7> kind{};
  static constexpr field<"length", std::uint16_t> length{};
  static constexpr field<"low", std::uint32_t, 20> low{};
  static constexpr field<"high", std::int32_t, 12> high{};
  static constexpr field<"tag", std::array<std::byte, 3>> tag{};
  static constexpr field<"ratio", float> ratio{};
  static constexpr layout fields{word<8>(flag, kind), at<1>(length), at<3>(word<32>(low, high)), tag,
                                 at<10>(ratio),       padding<16>{}};
};
static_assert(schema<mixed>);
static_assert(size_of<mixed> == 16);
static_assert(!has_payload<mixed>);

struct with_payload {
  static constexpr bool has_payload = true;
  static constexpr field<"length", std::uint8_t> length{};
  static constexpr layout fields{length};
};
static_assert(schema<with_payload> && has_payload<with_payload>);

struct without_fields {};
static_assert(!schema<without_fields> && !schema<int>);

static_assert(field_of<std::remove_const_t<decltype(mixed::flag)>, mixed>);
static_assert(!field_of<std::remove_const_t<decltype(with_payload::length)>, mixed>);

struct placed {
  std::string_view name;
  std::size_t first_bit, bits;
};

constexpr bool places_follow_from_order_and_width() {
  constexpr std::array<placed, 8> expected{{{"flag", 0, 1},
                                            {"kind", 1, 7},
                                            {"length", 8, 16},
                                            {"low", 24, 20},
                                            {"high", 44, 12},
                                            {"tag", 56, 24},
                                            {"ratio", 80, 32},
                                            {"(padding)", 112, 16}}};
  bool good = true;
  std::size_t count = 0;
  for_each_member<mixed>([&]<class M>(M, auto index) {
    constexpr detail::placement place = detail::layout_of<mixed>::place_of<index>;
    const placed& want = expected[index];
    good = good && want.name == M::name() && want.first_bit == place.first_bit && want.bits == place.bits;
    ++count;
  });
  return good && count == expected.size();
}

}  // namespace

TEST_CASE("where a member lies follows from the order and the widths of the members") {
  STATIC_REQUIRE(places_follow_from_order_and_width());
  CHECK(places_follow_from_order_and_width());
}

TEST_CASE("a list of types tells how often and where it holds a type") {
  using list = detail::type_list<int, char, long>;
  STATIC_REQUIRE(list::size == 3);
  STATIC_REQUIRE(list::index_of<char> == 1);
  STATIC_REQUIRE(list::count<long> == 1);
  STATIC_REQUIRE(list::count<float> == 0);
  STATIC_REQUIRE(std::is_same_v<list::at<2>, long>);
}
