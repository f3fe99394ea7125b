// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/program.hpp>

#include <support/catch.hpp>

#include "frame_builder.hpp"

using namespace backsight;
using test::bytes;

TEST_CASE("instructions are decoded with their operands as written") {
  const auto built = test::frame_builder{}.fde(bytes<0x43, 0x86, 2, 0xc6, 0x11, 20, 0x7d, 0x0f, 2, 0x77, 8, 0x2e, 16>);
  const auto section = built.section();
  std::vector<cfi::instruction> found;
  for (const cfi::entry& e : section.entries()) {
    if (e.is_cie) continue;
    const auto c = section.cie_at(e.cie_offset);
    const auto f = section.parse_fde(e, *c);
    for (const cfi::instruction& i : cfi::program<order::little>(section, *c, f->instructions, f->instructions_end)) {
      found.push_back(i);
    }
  }
  REQUIRE(found.size() == 6);
  using enum dwarf::call_frame;
  CHECK((found[0].code == advance_loc && found[0].operands[0] == 3));
  CHECK((found[1].code == offset && found[1].operands[0] == 6 && found[1].operands[1] == 2));
  CHECK((found[2].code == restore && found[2].operands[0] == 6));
  CHECK((found[3].code == offset_extended_sf && found[3].operands[1] == ~std::uint64_t{2}));
  CHECK((found[4].code == def_cfa_expression && found[4].block.size() == 2));
  CHECK((found[5].code == gnu_args_size && found[5].operands[0] == 16));
}

TEST_CASE("a program ends at an instruction that nobody defines") {
  const auto built = test::frame_builder{}.fde(bytes<0x43, 0x3f, 0x43>);
  const auto section = built.section();
  auto e = section.entries().begin();
  ++e;
  const auto c = section.cie_at(e->cie_offset);
  const auto f = section.parse_fde(*e, *c);
  const cfi::program<order::little> program(section, *c, f->instructions, f->instructions_end);
  auto at = program.begin();
  ++at;
  CHECK(at == std::default_sentinel);
  CHECK(at.error().code == errc::unknown_record);
}
