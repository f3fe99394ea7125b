// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/table_builder.hpp>

#include <backsight/cfi/arch/generic.hpp>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>

#include "fixtures.hpp"
#include "frame_builder.hpp"
#include "table_against_rows.hpp"

using namespace backsight;
using test::bytes;
using arch = cfi::arch::x86_64;

namespace {

cfi::table build(const test::frame_builder& built) {
  auto made = cfi::build_table<arch>(built.section());
  REQUIRE(made);
  return std::move(made.value());
}

}  // namespace

TEST_CASE("a table agrees with the interpreter on every row of every sample, in both profiles") {
  std::size_t files = 0, compared = 0;
  for (const test::expectation& e : test::expectations()) {
    if (e.kind != "ok") continue;
    INFO(e.file << ' ' << e.section);
    const test::loaded_section s(test::data_path("cfi/" + e.file), e.section);
    REQUIRE(s.found);
    if (s.image.byte_order() != order::little) continue;
    const cfi::section<order::little> section(s.section.bytes, s.section.info);
    for (const auto profile : {cfi::table_profile::callee_saved, cfi::table_profile::all}) {
      cfi::with_arch(s.image.machine(), [&](auto a) {
        using machine = decltype(a);
        if constexpr (requires { machine::saved; }) {
          const auto table = cfi::build_table<machine>(section, {profile, {}});
          REQUIRE(table);
          CHECK(test::difference<machine>(section, table->view(), compared) == "");
          ++files;
        }
      });
    }
  }
  CHECK(files > 90);
  CHECK(compared > 5000);
}

TEST_CASE("a table is found by address, gaps and ends included") {
  const cfi::table t = build(test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>).fde(bytes<0x41, 0x0e, 24>, 0x80));
  const auto offset = [&](std::uint64_t address) {
    const std::byte* rule = t.view().find(address);
    return rule == nullptr ? -1 : cfi::rule_view(rule)[cfi::unwind_rule::cfa_offset];
  };
  CHECK(offset(0xfff) == -1);
  CHECK(offset(0x1000) == 8);
  CHECK(offset(0x1001) == 16);
  CHECK(offset(0x10ff) == 16);
  CHECK(offset(0x1100) == 8);
  CHECK(offset(0x117f) == 24);
  CHECK(offset(0x1180) == -1);
  CHECK(offset(~std::uint64_t{0}) == -1);
  CHECK(offset(0) == -1);
}

TEST_CASE("a long function and code far apart need no room in between") {
  test::frame_builder built;
  built.fde(bytes<0x41, 0x0e, 16>, std::uint64_t{1} << 40);
  test::byte_builder far;
  far.u64(std::uint64_t{1} << 50).u64(16).u8(0).append(bytes<0x42, 0x0e, 32>);
  built.entry(built.view().size() + 4, far.view());
  const cfi::table t = build(built);
  CHECK(t.bytes().size() < 1000);
  CHECK(cfi::rule_view(t.view().find(0x12345678))[cfi::unwind_rule::cfa_offset] == 16);
  CHECK(cfi::rule_view(t.view().find((std::uint64_t{1} << 50) + 2))[cfi::unwind_rule::cfa_offset] == 32);
  CHECK(t.view().find((std::uint64_t{1} << 50) + 16) == nullptr);
  CHECK(t.view().find((std::uint64_t{1} << 40) + 0x1000) == nullptr);
}

TEST_CASE("more rules than one byte numbers are reached through the exceptions") {
  test::frame_builder built;
  for (unsigned i = 0; i < 400; ++i) {
    test::byte_builder code;
    code.u8(0x0e).u8(0x80 | (i & 0x7fU)).u8(i >> 7);
    built.fde(code.view());
  }
  const cfi::table t = build(built);
  CHECK(t.view().header()[cfi::table_header::exception_count] > 100);
  for (unsigned i = 0; i < 400; ++i) {
    const std::byte* rule = t.view().find(0x1000 + i * 0x100 + 7);
    REQUIRE(rule != nullptr);
    CHECK(cfi::rule_view(rule)[cfi::unwind_rule::cfa_offset] == static_cast<std::int32_t>(i));
  }
}

TEST_CASE("an FDE in error is left out and reported, the others stay") {
  const auto built = test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>).fde(bytes<0x41, 0x3f>).fde(bytes<0x41, 0x0e, 16>);
  const auto section = built.section();
  std::vector<trace_error> errors;
  const auto t = cfi::build_table<arch>(std::span<const cfi::section<order::little>>(&section, 1), {},
                                        [&](const trace_error& e, std::uint32_t) { errors.push_back(e); });
  REQUIRE(t);
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].code == errc::unknown_record);
  CHECK(t->view().find(0x1050) != nullptr);
  CHECK(t->view().find(0x1150) == nullptr);
  CHECK(t->view().find(0x1250) != nullptr);
}

TEST_CASE("where two sections have an answer the first one counts") {
  const auto first = test::frame_builder{}.fde(bytes<0x0e, 16>);
  const auto second = test::frame_builder{}.fde(bytes<0x0e, 32>).fde(bytes<0x0e, 48>);
  const std::array<cfi::section<order::little>, 2> sections{first.section(), second.section()};
  const auto t = cfi::build_table<arch>(std::span<const cfi::section<order::little>>(sections), {},
                                        [](const trace_error&, std::uint32_t) {});
  REQUIRE(t);
  CHECK(cfi::rule_view(t->view().find(0x1010))[cfi::unwind_rule::cfa_offset] == 16);
  CHECK(cfi::rule_view(t->view().find(0x1110))[cfi::unwind_rule::cfa_offset] == 48);
}

TEST_CASE("a saved table opens anywhere and keeps its build-id") {
  const auto built = test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>);
  const auto& id = bytes<1, 2, 3, 4>;
  const auto made = cfi::build_table<arch>(built.section(), {cfi::table_profile::all, id});
  REQUIRE(made);
  std::vector<std::byte> moved(1);
  moved.insert(moved.end(), made->bytes().begin(), made->bytes().end());
  const auto opened = cfi::table_view::open(byte_view(moved).subspan(1));
  REQUIRE(opened);
  CHECK(opened->find(0x1010) != nullptr);
  CHECK(std::equal(id.begin(), id.end(), opened->build_id().begin(), opened->build_id().end()));
  CHECK(opened->profile() == cfi::table_profile::all);
  CHECK(opened->machine() == 62);
  CHECK(test::allocations_in([&] { (void)opened->find(0x1010); }) == 0);
}

TEST_CASE("a saved table that is cut or damaged is refused") {
  const cfi::table t =
      build(test::frame_builder{}.fde(bytes<0x41, 0x0e, 16, 0x0f, 2, 0x77, 8>).fde(bytes<0x41, 0x0e, 16>));
  for (std::size_t size = 0; size < t.bytes().size(); ++size) {
    CHECK_FALSE(cfi::table_view::open(t.bytes().first(size)));
  }
  for (std::size_t i = 0; i < t.bytes().size(); ++i) {
    std::vector<std::byte> damaged(t.bytes().begin(), t.bytes().end());
    damaged[i] ^= std::byte{0x10};
    CHECK_FALSE(cfi::table_view::open(damaged));
  }
}

TEST_CASE("a damaged table with a matching checksum is refused or reads nothing outside") {
  const cfi::table t =
      build(test::frame_builder{}.fde(bytes<0x41, 0x0e, 16, 0x0f, 2, 0x77, 8>).fde(bytes<0x41, 0x0e, 16>));
  for (std::size_t i = 16; i < t.bytes().size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xffU}) {
      std::vector<std::byte> damaged(t.bytes().begin(), t.bytes().end());
      damaged[i] ^= static_cast<std::byte>(flip);
      store<order::little>(damaged.data() + 8, cfi::detail::checksum(byte_view(damaged).subspan(16)));
      const auto opened = cfi::table_view::open(damaged);
      if (!opened) continue;
      for (std::uint64_t address = 0xf00; address < 0x1300; address += 7) {
        if (const std::byte* rule = opened->find(address)) (void)cfi::rule_view(rule)[cfi::unwind_rule::cfa_offset];
      }
    }
  }
}
