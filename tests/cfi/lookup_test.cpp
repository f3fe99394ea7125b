// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/lookup.hpp>

#include <backsight/cfi/arch/x86_64.hpp>

#include <support/catch.hpp>

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
  CHECK_FALSE(frame.exact);
  CHECK(unwinder.step(frame, 0, stack) == cfi::stop::no_information);
}
