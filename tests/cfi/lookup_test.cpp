// SPDX-License-Identifier: Apache-2.0
// Stands for cfi/cie_reader.hpp
#include <backsight/cfi/lookup.hpp>

#include <backsight/cfi/arch/x86_64.hpp>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>

#include "fixtures.hpp"
#include "frame_builder.hpp"

using namespace backsight;
using test::bytes;

namespace {

result<cfi::header_table<order::little>> header_of(const test::loaded_section& s) {
  const auto header = cfi::find_frame_header(s.image);
  if (!header) return header.error();
  return cfi::header_table<order::little>::open(header->bytes, header->info.address, 8);
}

}  // namespace

TEST_CASE("the header's table and a rebuilt list find the same FDEs") {
  const test::loaded_section s(test::data_path("cfi/elf/gxx-O2"), ".eh_frame");
  const cfi::section<order::little> section(s.section.bytes, s.section.info);
  const auto header = header_of(s);
  REQUIRE(header);
  CHECK_FALSE(header->check(section));
  const cfi::fde_index<order::little> by_header(section, *header);
  const auto by_list = cfi::fde_index<order::little>::build(section);
  REQUIRE(header->size() > 10);
  for (std::size_t i = 0; i < header->size(); ++i) {
    for (const std::uint64_t address : {header->location(i), header->location(i) + 1, header->location(i) - 1}) {
      CHECK(by_header.find(address) == by_list.find(address));
    }
  }
  CHECK_FALSE(by_list.find(0));
}

TEST_CASE("FDEs at address 0 are discarded functions, but in images with code there") {
  auto built = test::frame_builder{}.fde_at(0, bytes<0x0e, 16>, 0x100).fde(bytes<0x0e, 24>);
  cfi::section_info info;
  const auto found = [&](std::uint64_t address) {
    const cfi::section<order::little> section(built.view(), info);
    const auto by_list = cfi::fde_index<order::little>::build(section).find(address);
    const auto one_by_one = cfi::fde_index<order::little>(section, {}).find(address);
    CHECK(by_list == one_by_one);
    return by_list;
  };
  CHECK_FALSE(found(0x10));
  CHECK_FALSE(found(0));
  CHECK(found(0x1010));
  info.code_at_zero = true;
  CHECK(found(0x10));
  CHECK(found(0));
  CHECK(found(0x1010) != found(0x10));
}

TEST_CASE("of several FDEs with one start the first in the header's table counts") {
  // Pairs at 0x1000, three times 0x1100, 0x1200; the FDEs of the equal ones in the order of the section.
  test::frame_builder built;
  for (const std::uint64_t begin : {0x1000U, 0x1100U, 0x1100U, 0x1100U, 0x1200U})
    built.fde_at(begin, bytes<0x0e, 16>, 0x100);
  cfi::section_info info;
  info.address = 0x100;
  const cfi::section<order::little> section(built.view(), info);
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}}) {
    test::byte_builder header;
    std::vector<std::uint64_t> fdes;
    header.u8(1).u8(0x03).u8(0x03).u8(0x3b).u32(0x100).u32(5 - first);
    for (const cfi::entry& e : section.entries()) {
      if (e.is_cie) continue;
      const auto f = section.parse_fde(e, *section.cie_at(e.cie_offset));
      fdes.push_back(e.offset);
      if (fdes.size() > first) header.u32(f->begin).u32(info.address + e.offset);
    }
    const auto table = cfi::header_table<order::little>::open(header.view(), 0, 8);
    REQUIRE(table);
    REQUIRE_FALSE(table->check(section));
    const cfi::fde_index<order::little> index(section, *table);
    CHECK(index.find(0x1000) == (first == 0 ? std::optional(fdes[0]) : std::nullopt));
    CHECK(index.find(0x1100) == fdes[1]);
    CHECK(index.find(0x11ff) == fdes[1]);
    CHECK(index.find(0x1200) == fdes[4]);
    CHECK(cfi::fde_index<order::little>::build(section).find(0x1100) == fdes[1]);
    CHECK(cfi::fde_index<order::little>(section, {}).find(0x1100) == fdes[1]);
  }
}

TEST_CASE("without a search table the same FDEs are found one after the other, and nothing is allocated") {
  for (const auto* name : {"cfi/elf/gxx-O2", "cfi/elf/gcc-O2", "cfi/synth/unsorted", "cfi/synth/overlap-nested"}) {
    const test::loaded_section s(test::data_path(name), ".eh_frame");
    REQUIRE(s.found);
    const cfi::section<order::little> section(s.section.bytes, s.section.info);
    const auto by_list = cfi::fde_index<order::little>::build(section);
    const cfi::fde_index<order::little> one_by_one(section, {});
    std::vector<std::uint64_t> addresses{0, ~std::uint64_t{0}};
    for (const cfi::entry& e : section.entries()) {
      if (e.is_cie) continue;
      const auto f = section.parse_fde(e, *section.cie_at(e.cie_offset));
      for (const std::uint64_t address : {f->begin - 1, f->begin, f->end - 1, f->end}) addresses.push_back(address);
    }
    CHECK(test::allocations_in([&] {
            for (const std::uint64_t address : addresses) (void)one_by_one.find(address);
          }) == 0);
    for (const std::uint64_t address : addresses) CHECK(one_by_one.find(address) == by_list.find(address));
  }
}

TEST_CASE("a header that lies is noticed") {
  for (const auto* name : {"bad-hdr-count", "bad-hdr-offsets", "bad-hdr-unsorted"}) {
    INFO(name);
    const test::loaded_section s(test::data_path(std::string("cfi/synth/") + name), ".eh_frame");
    REQUIRE(s.found);
    const cfi::section<order::little> section(s.section.bytes, s.section.info);
    const auto header = header_of(s);
    CHECK((!header || header->check(section)));
    CHECK(cfi::fde_index<order::little>::build(section).find(~std::uint64_t{0}));
  }
}

TEST_CASE("a frame is unwound straight from the section") {
  const auto built = test::frame_builder{}.fde(bytes<0x41, 0x0e, 16, 0x86, 2>);
  const auto index = cfi::fde_index<order::little>::build(built.section());
  cfi::context<> memory;
  cfi::section_unwinder<cfi::arch::x86_64, order::little> unwinder(index, memory);
  std::array<std::uint64_t, 17> registers{};
  registers[7] = 0x8000;
  auto frame = cfi::first_frame<cfi::arch::x86_64>(0x1010, registers);
  const auto stack = [](std::uint64_t address) -> std::optional<std::uint64_t> { return address + 1; };
  REQUIRE(unwinder.step(frame, 0, stack) == cfi::stop::none);
  // cfa = rsp + 16; rip = *(cfa - 8); rbp = *(cfa - 16)
  CHECK(frame.pc == 0x8009);
  CHECK(frame.stack_pointer() == 0x8010);
  CHECK(frame.get(6, stack) == std::optional<std::uint64_t>(0x8001));
  CHECK_FALSE(frame.pc_is_next);
  CHECK(unwinder.step(frame, 0, stack) == cfi::stop::no_information);
}
