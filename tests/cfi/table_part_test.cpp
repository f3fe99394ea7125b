// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/unwind_rule.hpp
#include <backsight/cfi/table_part.hpp>

#include <cstring>
#include <map>

#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/unwind_rule.hpp>

#include <support/catch.hpp>

#include "fixtures.hpp"

namespace cfi = backsight::cfi;
using backsight::errc;
using backsight::order;

namespace {

using arch = cfi::arch::x86_64;

/// Both tables say the same of an address: the same rule, or none.
bool same_rule(const cfi::table_view& a, const cfi::table_view& b, std::uint64_t address) {
  const cfi::any_rule first = a.find(address), second = b.find(address);
  if (!first || !second) return first == second;
  const auto shape = first[cfi::unwind_rule::shape];
  if (shape != second[cfi::unwind_rule::shape]) return false;
  // What lies behind a text's rule counts from the table.
  return cfi::has_text(shape) || std::memcmp(first.bytes(), second.bytes(), cfi::rule_size<arch>) == 0;
}

}  // namespace

TEST_CASE("parts of a table say what the table of all says, and do not overlap") {
  const backsight::test::loaded_section own("/proc/self/exe", ".eh_frame");
  if (!own.found || static_cast<std::uint16_t>(own.image.machine()) != arch::elf_machine) {
    WARN("skipped: not on x86-64 Linux");
    return;
  }
  const auto header = cfi::find_frame_header(own.image);
  REQUIRE(header);
  const auto listed = cfi::header_table<order::little>::open(header->bytes, header->info.address, 8);
  REQUIRE(listed);
  const cfi::section<order::little> section(own.section.bytes, own.section.info);
  const auto whole = cfi::build_table<arch>(section);
  REQUIRE(whole);
  REQUIRE(listed->size() > 1000);

  std::map<std::uint64_t, cfi::table_part> parts;
  std::size_t rules = 0;
  for (std::size_t i = 0; i < listed->size(); i += 29) {
    const std::uint64_t begin = listed->location(i);
    for (const std::uint64_t address : {begin, begin + 1, begin + 5, begin + 20, begin - 1}) {
      const auto after = parts.upper_bound(address);
      const bool known = after != parts.begin() && address < std::prev(after)->second.end;
      if (!known) {
        auto made = cfi::build_table_part<arch>(section, *listed, address, 50);
        REQUIRE(made);
        REQUIRE(made->begin <= address);
        REQUIRE(address < made->end);
        if (after != parts.end()) REQUIRE(made->end <= after->second.begin);
        if (after != parts.begin()) REQUIRE(std::prev(after)->second.end <= made->begin);
        const std::uint64_t at = made->begin;
        parts.emplace(at, std::move(*made));
      }
      const cfi::table_part& part = std::prev(parts.upper_bound(address))->second;
      rules += part.rules.view().find(address) ? 1U : 0U;
      REQUIRE(same_rule(part.rules.view(), whole->view(), address));
    }
  }
  CHECK(rules > 100);
  CHECK(parts.size() > 10);
}

TEST_CASE("a list of functions that is not of the section makes no part") {
  const backsight::test::loaded_section own("/proc/self/exe", ".eh_frame");
  if (!own.found || static_cast<std::uint16_t>(own.image.machine()) != arch::elf_machine) {
    WARN("skipped: not on x86-64 Linux");
    return;
  }
  const auto header = cfi::find_frame_header(own.image);
  REQUIRE(header);
  std::vector<std::byte> bytes(header->bytes.begin(), header->bytes.end());
  const cfi::section<order::little> section(own.section.bytes, own.section.info);
  const auto make = [&](std::uint64_t address) {
    const auto listed = cfi::header_table<order::little>::open(bytes, header->info.address, 8);
    REQUIRE(listed);
    return cfi::build_table_part<arch>(section, *listed, address, 50).error().code;
  };
  const auto good = cfi::header_table<order::little>::open(header->bytes, header->info.address, 8);
  REQUIRE(good->size() > 200);
  const std::uint64_t somewhere = good->location(120);
  REQUIRE(make(somewhere) == errc::ok);
  // The pairs stand behind 12 bytes: location, FDE.
  const std::size_t pair = 12 + 120 * 8;
  const auto swap_with_next = [&](std::size_t at, std::size_t distance) {
    for (std::size_t i = 0; i < 4; ++i) std::swap(bytes[at + i], bytes[at + distance + i]);
  };
  swap_with_next(pair + 4, 8);  // Two FDEs changed places.
  CHECK(make(somewhere) == errc::out_of_range);
  swap_with_next(pair + 4, 8);
  bytes[pair + 4 + 3] = std::byte{0x7f};  // Far behind the section.
  CHECK(make(somewhere) == errc::out_of_range);
  bytes.assign(header->bytes.begin(), header->bytes.end());
  bytes[4] ^= std::byte{8};  // Another section.
  CHECK(make(somewhere) == errc::not_found);
}
