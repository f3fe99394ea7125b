// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/relocated_section.hpp>
#include <backsight/cfi/row_text.hpp>

#include <filesystem>
#include <string>
#include <string_view>

#include <backsight/cfi/arch/generic.hpp>
#include <backsight/cfi/table_builder.hpp>

#include <support/catch.hpp>

#include "fixtures.hpp"

using namespace backsight;

namespace {

std::string rows_of(const elf::image& image, const cfi::frame_section& s) {
  std::string text;
  with_order(image.byte_order(), [&](auto o) {
    const cfi::section<o()> section(s.bytes, s.info);
    cfi::with_arch(image.machine(), [&](auto arch) {
      cfi::print_rows<decltype(arch)>(
          section, false, [&](std::string_view t) { text += t; }, [&](const trace_error&) { text += "error\n"; });
    });
  });
  return text;
}

/// An object file: `.text` and `.init.text` with a function each, at offset 0 both.
struct two_sections {
  std::vector<std::byte> file;
  elf::image image;
  result<cfi::frame_section> found;
  result<cfi::relocated_section> made;

  two_sections() : file(test::read_file(test::data_path("cfi/objects/two-sections.o"))), image(*elf::open(file)) {
    found = cfi::find_frame_section(image, cfi::section_kind::eh_frame);
    made = cfi::relocated_section::make(image, cfi::section_kind::eh_frame, found.partial().bytes);
    REQUIRE(made);
  }
};

}  // namespace

TEST_CASE("the rows of object files equal those of llvm-dwarfdump, for every machine, class, byte order and section") {
  std::size_t compared = 0;
  for (const auto& at : std::filesystem::directory_iterator(test::data_path("cfi/objects"))) {
    std::filesystem::path expected = at.path();
    if (at.path().extension() != ".o" || !exists(expected.replace_extension(".rows"))) continue;
    INFO(at.path().filename());
    const auto kind =
        at.path().stem().extension() == ".eh_frame" ? cfi::section_kind::eh_frame : cfi::section_kind::debug_frame;
    const auto file = test::read_file(at.path());
    const auto image = elf::open(file);
    REQUIRE(image);
    const auto found = cfi::find_frame_section(*image, kind);
    REQUIRE(found.error().code == errc::unrelocated);
    const auto made = cfi::relocated_section::make(*image, kind, found.partial().bytes);
    REQUIRE(made);
    const auto rows = test::read_file(expected);
    CHECK(rows_of(*image, made->section()) == std::string(reinterpret_cast<const char*>(rows.data()), rows.size()));
    ++compared;
  }
  CHECK(compared == 16);
}

TEST_CASE("the section of an object file is reported as not relocated, with its bytes and place") {
  const two_sections s;
  const auto header = s.image.find_section(".eh_frame");
  REQUIRE(header);
  CHECK(s.found.error() == trace_error{errc::unrelocated, header->offset});
  CHECK(s.found.partial().bytes.size() == header->size);
  CHECK(s.found.partial().info.code_at_zero);
  // A section that needs none is given as it is.
  const auto linked = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  CHECK(cfi::find_frame_section(*elf::open(linked), cfi::section_kind::eh_frame));
}

TEST_CASE("of an object file the functions of one section of code are chosen") {
  two_sections s;
  const auto codes = s.made->code_sections();
  REQUIRE(codes.size() == 2);
  std::vector<std::string> names;
  for (const std::uint32_t index : codes) names.emplace_back(s.image.sections()[index].name);
  CHECK(names == std::vector<std::string>{".text", ".init.text"});
  CHECK(rows_of(s.image, s.made->section()) ==
        "fde 0 a\n0 cfa=r7+8 r16=c-8\n1 cfa=r7+24 r16=c-8\nfde 0 14\n0 cfa=r7+8 r16=c-8\n2 cfa=r7+40 r16=c-8\n");

  auto text = *s.made, init = *s.made;
  CHECK(text.keep_code_of(codes[0]) == 1);
  CHECK(rows_of(s.image, text.section()) == "fde 0 a\n0 cfa=r7+8 r16=c-8\n1 cfa=r7+24 r16=c-8\n");
  CHECK(init.keep_code_of(codes[1]) == 1);
  CHECK(rows_of(s.image, init.section()) == "fde 0 14\n0 cfa=r7+8 r16=c-8\n2 cfa=r7+40 r16=c-8\n");
  CHECK(init.code_sections() == std::vector<std::uint32_t>{codes[1]});
  CHECK(init.keep_code_of(codes[1]) == 0);
  // The table has the rules of the chosen section, and none of the other.
  const auto table =
      cfi::build_table<cfi::arch::x86_64>(cfi::section<order::little>(text.section().bytes, text.section().info));
  REQUIRE(table);
  REQUIRE(table->view().find(9));
  CHECK(table->view().find(9)[cfi::unwind_rule::cfa_offset] == 24);
  CHECK_FALSE(table->view().find(10));
}

TEST_CASE("a relocation of another kind is refused") {
  two_sections s;
  const auto rela = s.image.find_section(".rela.eh_frame");
  REQUIRE(rela);
  auto damaged = s.file;
  damaged[static_cast<std::size_t>(rela->offset) + 24 + 8] = std::byte{42};
  const auto made =
      cfi::relocated_section::make(*elf::open(damaged), cfi::section_kind::eh_frame, s.found.partial().bytes);
  CHECK(made.error() == trace_error{errc::unknown_relocation, rela->offset + 24});
}
