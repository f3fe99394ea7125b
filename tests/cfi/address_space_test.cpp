// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/address_space.hpp>

#include <cstdint>
#include <vector>

#include <backsight/cfi/arch/aarch64.hpp>

#include <support/catch.hpp>

#include "scene.hpp"

using namespace backsight;
using test::bytes;
using space_of_x86 = cfi::address_space<cfi::arch::x86_64>;

TEST_CASE("every address has the mapped object that covers it") {
  space_of_x86 space;
  CHECK(space.find(0) == nullptr);
  // Added out of order; with holes between some, none between others.
  for (const std::uint64_t n : {5U, 1U, 4U, 0U, 3U, 9U, 7U}) {
    REQUIRE_FALSE(
        space.add({n * 0x1000, n * 0x1000 + (n == 5 ? 0x800U : 0x1000U), 0, {}, static_cast<std::uint32_t>(n)}));
  }
  for (std::uint64_t address = 0; address < 0xb000; address += 0x80) {
    const std::uint64_t n = address / 0x1000;
    const bool covered = n != 2 && n != 6 && n != 8 && n < 10 && !(n == 5 && address % 0x1000 >= 0x800);
    const cfi::mapped_object* found = space.find(address);
    REQUIRE((found != nullptr) == covered);
    if (covered) CHECK(found->id == n);
  }
  CHECK(space.find(~std::uint64_t{0}) == nullptr);
}

TEST_CASE("a mapped object that overlaps another, or is empty, is refused and changes nothing") {
  space_of_x86 space;
  REQUIRE_FALSE(space.add({0x2000, 0x3000, 0, {}, 1}));
  const std::uint64_t stamp = space.stamp();
  for (const auto& [begin, end] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0x2000, 0x3000}, {0x1fff, 0x2001}, {0x2fff, 0x4000}, {0x1000, 0x4000}, {0x2100, 0x2200}, {5, 5}, {6, 5}}) {
    CHECK(space.add({begin, end, 0, {}, 2}).code == errc::bad_value);
  }
  CHECK(space.objects().size() == 1);
  CHECK(space.stamp() == stamp);
  CHECK_FALSE(space.add({0x1000, 0x2000, 0, {}, 2}));
  CHECK_FALSE(space.add({0x3000, ~std::uint64_t{0}, 0, {}, 3}));
  CHECK(space.stamp() != stamp);
}

TEST_CASE("a table of another machine is refused") {
  const auto made = cfi::build_table<cfi::arch::x86_64>(test::frame_builder{}.fde(bytes<0x0e, 16>).section());
  REQUIRE(made);
  cfi::address_space<cfi::arch::aarch64> space;
  CHECK(space.add({0x1000, 0x2000, 0, made->view(), 1}).code == errc::unsupported_type);
}

TEST_CASE("a rule is found by load address") {
  const test::scene s(test::frame_builder{}.fde(bytes<0x0e, 24>));
  const auto found = s.space.find_rule(0x401010);
  REQUIRE(found.rule);
  CHECK(found.rule[cfi::unwind_rule::cfa_offset] == 24);
  CHECK(found.object->id == 1);
  CHECK_FALSE(s.space.find_rule(0x401800).rule);
  CHECK(s.space.find_rule(0x401800).object != nullptr);
  CHECK(s.space.find_rule(0x1010).object == nullptr);
}

TEST_CASE("two spaces never have the same stamp") {
  space_of_x86 one, other;
  REQUIRE_FALSE(one.add({1, 2, 0, {}, 0}));
  REQUIRE_FALSE(other.add({1, 2, 0, {}, 0}));
  CHECK(one.stamp() != other.stamp());
}
