// SPDX-License-Identifier: Apache-2.0
#include <backsight/elf/symbols.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;

TEST_CASE("functions are found by address") {
  const auto bytes = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  const auto file = elf::open(bytes);
  REQUIRE(file);
  const elf::symbol_range symbols = elf::symbols(*file);
  REQUIRE(symbols.size() > 20);
  const elf::symbol_index index(*file, symbols);
  std::size_t functions = 0;
  for (const elf::symbol s : symbols) {
    if (!s.is_function() || s.section == elf::section_undefined || s.size == 0) continue;
    ++functions;
    for (const std::uint64_t address : {s.value, s.value + s.size - 1}) {
      const auto found = index.find(address);
      REQUIRE(found);
      CHECK(found->found.value == s.value);
    }
  }
  CHECK(functions > 5);
  CHECK_FALSE(index.find(0));
  CHECK(index.find(file->entry())->found.name == "_start");
}

TEST_CASE("relocations with addends are read") {
  const auto bytes = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  const auto file = elf::open(bytes);
  const auto section = file->find_section(".rela.dyn");
  REQUIRE(section);
  const auto relocations = elf::relocations_of(*file, *section);
  REQUIRE(relocations);
  REQUIRE(relocations->size() == 8);
  const elf::relocation first = (*relocations)[0];
  CHECK(first.has_addend);
  CHECK(first.type == 8);  // R_X86_64_RELATIVE
  CHECK(first.addend == 4592);
  CHECK(elf::relocations_of(*file, *file->find_section(".text")).error().code == errc::unsupported_type);
  CHECK(elf::symbols_of(*file, *file->find_section(".text")).error().code == errc::unsupported_type);
}

TEST_CASE("a symbol table that is cut or lies gives no names outside of the file") {
  const auto bytes = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  for (std::size_t cut = 0; cut < bytes.size(); cut += 97) {
    auto damaged = bytes;
    for (std::size_t i = cut; i < damaged.size() && i < cut + 8; ++i) damaged[i] = std::byte{0xff};
    const auto file = elf::open(damaged);
    if (!file) continue;
    const elf::symbol_index index(*file, elf::symbols(*file));
    (void)index.find(file->entry());
    for (const elf::section s : file->sections()) {
      if (const auto r = elf::relocations_of(*file, s)) {
        for (const elf::relocation one : *r) (void)one.offset;
      }
    }
  }
}
