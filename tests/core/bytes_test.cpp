// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include <backsight/core/bytes.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;

namespace {

enum class colour : std::uint16_t { red = 0x0102 };

constexpr bool loads_in_both_orders() {
  constexpr auto eight = bytes<1, 2, 3, 4, 5, 6, 7, 0x88>;
  const std::byte* const at = eight.data();
  return load<std::uint8_t, order::little>(at) == 1 && load<std::uint16_t, order::little>(at) == 0x0201 &&
         load<std::uint16_t, order::big>(at) == 0x0102 && load<std::uint32_t, order::little>(at) == 0x04030201 &&
         load<std::uint32_t, order::big>(at) == 0x01020304 &&
         load<std::uint64_t, order::little>(at) == 0x8807060504030201 &&
         load<std::uint64_t, order::big>(at) == 0x0102030405060788 && load<std::int8_t, order::big>(at + 7) == -120 &&
         load<std::int64_t, order::little>(at) < 0 && load<colour, order::big>(at) == colour::red &&
         load<bool, order::little>(at) && load<std::uint32_t, order::big>(at + 1) == 0x02030405;
}

constexpr bool loads_floating_point() {
  constexpr auto one = bytes<0x3f, 0x80, 0, 0>;
  constexpr auto minus_two = bytes<0, 0, 0, 0, 0, 0, 0, 0xc0>;
  return load<float, order::big>(one.data()) == 1.0F && load<double, order::little>(minus_two.data()) == -2.0;
}

template <order O, class T>
constexpr bool survives(T value) {
  std::array<std::byte, sizeof(T) + 2> room{};
  store<O>(room.data() + 1, value);
  return load<T, O>(room.data() + 1) == value && room.front() == std::byte{0} && room.back() == std::byte{0};
}

template <class T>
constexpr bool stores_what_it_loads() {
  const std::array<T, 4> values{T{0}, T{1}, std::numeric_limits<T>::max(), std::numeric_limits<T>::lowest()};
  for (const T value : values) {
    if (!survives<order::little>(value) || !survives<order::big>(value)) return false;
  }
  return true;
}

constexpr bool stores_in_both_orders() {
  std::array<std::byte, 4> room{};
  store<order::big>(room.data(), std::uint32_t{0x01020304});
  const bool big = room == bytes<1, 2, 3, 4>;
  store<order::little>(room.data(), colour::red);
  return big && room == bytes<2, 1, 3, 4>;
}

constexpr unsigned code_of(order o) {
  return with_order(o, [](auto constant) { return constant() == order::little ? 1U : 2U; });
}

}  // namespace

TEST_CASE("numbers of every size are read in both byte orders at any alignment") {
  STATIC_REQUIRE(loads_in_both_orders());
  CHECK(loads_in_both_orders());
}

TEST_CASE("floating-point numbers are read from their bits") {
  STATIC_REQUIRE(loads_floating_point());
  CHECK(loads_floating_point());
}

TEMPLATE_TEST_CASE("what is stored is loaded again, and bytes beside it stay", "", std::uint8_t, std::int16_t,
                   std::uint32_t, std::int64_t, float, double) {
  STATIC_REQUIRE(stores_what_it_loads<TestType>());
  CHECK(stores_what_it_loads<TestType>());
}

TEST_CASE("numbers are stored in both byte orders") {
  STATIC_REQUIRE(stores_in_both_orders());
  CHECK(stores_in_both_orders());
}

TEST_CASE("with_order makes a constant of a byte order known at run time") {
  STATIC_REQUIRE(code_of(order::little) == 1);
  CHECK(code_of(order::big) == 2);
}
