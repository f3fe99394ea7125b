// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/container.hpp>

#include <string_view>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using io::container;
using io::container_of;
using io::expansion_limit;
using test::bytes;

namespace {

constexpr bool tells_packings_by_their_first_bytes() {
  return container_of(bytes<0x1f, 0x8b>) == container::gzip &&
         container_of(bytes<0x1f, 0x8b, 8, 0, 0>) == container::gzip &&
         container_of(bytes<0x04, 0x22, 0x4d, 0x18>) == container::lz4 &&
         container_of(bytes<'P', 'K', 3, 4>) == container::zip &&
         container_of(bytes<'P', 'K', 5, 6>) == container::zip &&
         container_of(bytes<0xff, 6, 0, 0>) == container::snappy;
}

constexpr bool tells_too_few_and_other_bytes_from_packings() {
  return container_of({}) == container::plain && container_of(bytes<0x1f>) == container::plain &&
         container_of(bytes<0x78>) == container::plain && container_of(bytes<0x04, 0x22, 0x4d>) == container::plain &&
         container_of(bytes<'P', 'K', 3>) == container::plain && container_of(bytes<0xff, 6, 0>) == container::plain &&
         container_of(bytes<0x1e, 0x8b, 0, 0>) == container::plain &&
         container_of(bytes<0x1f, 0x8a, 0, 0>) == container::plain &&
         container_of(bytes<0x04, 0x22, 0x4d, 0x19>) == container::plain &&
         container_of(bytes<'P', 'K', 1, 2>) == container::plain &&
         container_of(bytes<0xff, 6, 0, 1>) == container::plain &&
         container_of(bytes<0xff, 7, 0, 0>) == container::plain;
}

// RFC 1950: what zlib's own levels write, and what is no multiple of 31, has another window or another method.
constexpr bool tells_zlib_by_its_check() {
  return container_of(bytes<0x78, 0x01>) == container::zlib && container_of(bytes<0x78, 0x5e>) == container::zlib &&
         container_of(bytes<0x78, 0x9c>) == container::zlib &&
         container_of(bytes<0x78, 0xda, 0, 0>) == container::zlib &&
         container_of(bytes<0x78, 0x00>) == container::plain && container_of(bytes<0x78, 0x02>) == container::plain &&
         container_of(bytes<0x78, 0x9b>) == container::plain && container_of(bytes<0x78, 0x9d>) == container::plain &&
         container_of(bytes<0x68, 0x81>) == container::plain && container_of(bytes<0x79, 0x00>) == container::plain &&
         container_of(bytes<0x77, 0x05>) == container::plain;
}

constexpr bool limits_hold_at_the_border() {
  constexpr expansion_limit limit{.ratio = 10, .free_bytes = 100, .bytes = 1000};
  // The free bytes.
  const bool free = limit.allows(0, 0) && limit.allows(0, 99) && limit.allows(0, 100) && !limit.allows(0, 101);
  // Ten for each packed byte: 109 are 10.9 times 10, which counts as ten.
  const bool ratio = limit.allows(10, 101) && !limit.allows(9, 101) && limit.allows(10, 109) &&
                     !limit.allows(10, 110) && limit.allows(11, 110) && limit.allows(11, 119) && !limit.allows(11, 120);
  // All bytes.
  const bool all = limit.allows(1000, 999) && limit.allows(1000, 1000) && !limit.allows(1000, 1001) &&
                   !limit.allows(~std::uint64_t{0}, 1001);
  return free && ratio && all;
}

constexpr bool the_limit_of_all_bytes_comes_before_the_free_ones() {
  constexpr expansion_limit limit{.ratio = 10, .free_bytes = 100, .bytes = 50};
  return limit.allows(0, 50) && !limit.allows(0, 51) && !limit.allows(100, 51);
}

constexpr bool the_defaults_let_pass_256_mib_and_then_500_times() {
  constexpr expansion_limit limit;
  constexpr std::uint64_t free = 268435456;
  return limit.allows(0, free) && !limit.allows(0, free + 1) && limit.allows(free, 500 * free) &&
         limit.allows(free, 500 * free + 499) && !limit.allows(free, 500 * free + 500) &&
         limit.allows(~std::uint64_t{0}, ~std::uint64_t{0});
}

}  // namespace

TEST_CASE("a packing is told from its first two or four bytes") {
  STATIC_REQUIRE(tells_packings_by_their_first_bytes());
  CHECK(tells_packings_by_their_first_bytes());
}

TEST_CASE("what is too short for a packing's first bytes, or differs in one, is plain") {
  STATIC_REQUIRE(tells_too_few_and_other_bytes_from_packings());
  CHECK(tells_too_few_and_other_bytes_from_packings());
}

TEST_CASE("zlib's header is told by its method, window and check") {
  STATIC_REQUIRE(tells_zlib_by_its_check());
  CHECK(tells_zlib_by_its_check());
}

TEST_CASE("a limit of expansion allows just what it says") {
  STATIC_REQUIRE(limits_hold_at_the_border());
  CHECK(limits_hold_at_the_border());
  STATIC_REQUIRE(the_limit_of_all_bytes_comes_before_the_free_ones());
  CHECK(the_limit_of_all_bytes_comes_before_the_free_ones());
  STATIC_REQUIRE(the_defaults_let_pass_256_mib_and_then_500_times());
  CHECK(the_defaults_let_pass_256_mib_and_then_500_times());
}

TEST_CASE("packings have names") {
  const std::string_view names[]{"plain", "gzip", "zlib", "lz4", "snappy", "zip"};
  for (unsigned i = 0; i < 6; ++i) CHECK(enumerator_name(static_cast<container>(i)) == names[i]);
}
