// SPDX-License-Identifier: Apache-2.0
#include <backsight/elf/symbols.hpp>

#include <iterator>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/files.hpp>

#include "elf_builder.hpp"

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
  const auto inside = [](const std::vector<std::byte>& file, std::string_view name) {
    const auto* const from = reinterpret_cast<const char*>(file.data());
    return name.empty() || (name.data() >= from && name.data() + name.size() < from + file.size());
  };
  std::size_t opened = 0, names = 0, unnamed = 0, outside = 0, relocations = 0, found = 0;
  for (std::size_t cut = 0; cut < bytes.size(); cut += 97) {
    auto damaged = bytes;
    for (std::size_t i = cut; i < damaged.size() && i < cut + 8; ++i) damaged[i] = std::byte{0xff};
    const auto file = elf::open(damaged);
    if (!file) continue;
    ++opened;
    const auto table = elf::symbols(*file);
    for (const elf::symbol s : table) {
      ++(s.name.empty() ? unnamed : names);
      outside += !inside(damaged, s.name);
    }
    const elf::symbol_index index(*file, table);
    if (const auto at = index.find(file->entry())) {
      ++found;
      outside += !inside(damaged, at->found.name) || !inside(damaged, at->file);
    }
    for (const elf::section s : file->sections()) {
      outside += !inside(damaged, s.name);
      if (const auto r = elf::relocations_of(*file, s)) {
        const std::size_t size = s.type == elf::section_rela ? 24 : 16;
        CHECK(r->size() == s.size / size);
        relocations += static_cast<std::size_t>(std::distance(r->begin(), r->end()));
      }
    }
  }
  CHECK(outside == 0);
  // Nearly all of it stays readable: the damage is eight bytes.
  CHECK(opened > 150);
  CHECK(names > 20 * opened);
  CHECK(unnamed > 0);
  CHECK(found > opened / 2);
  CHECK(relocations > 8 * opened / 2);
}

namespace {

struct wanted_symbol {
  std::string name;
  std::uint64_t value = 0, size = 0;
  unsigned type = elf::symbol_function, binding = 1;
  std::uint16_t section = 1;
  unsigned other = 0;
};

/// A file with code at 0x1000, data, a table of these symbols behind the empty one, and relocations.
struct symbol_file {
  std::vector<std::byte> bytes;
  elf::image image;
  symbol_file(order o, bool wide, const std::vector<wanted_symbol>& wanted, std::size_t rest = 0,
              std::uint32_t table_type = elf::section_symbols) {
    test::elf_builder built(o, wide);
    auto table = built.bytes();
    std::string names(1, '\0');
    table.fill(wide ? 24 : 16);
    for (const wanted_symbol& s : wanted) {
      table.u32(s.name.empty() ? 0 : names.size());
      if (!wide) table.u32(s.value).u32(s.size);
      table.u8(s.binding << 4 | s.type).u8(s.other).u16(s.section);
      if (wide) table.u64(s.value).u64(s.size);
      if (!s.name.empty()) names += s.name + '\0';
    }
    table.fill(rest);
    test::byte_builder text;
    text.text(names);
    built.sections.push_back({".text", 1, 6, 0x1000, std::vector<std::byte>(64), 0, 0, 1, 0, 0});
    built.sections.push_back({".data", 1, 3, 0x2000, std::vector<std::byte>(64), 0, 0, 1, 0, 0});
    built.sections.push_back({".symtab", table_type, 0, 0, table.vector(), 4, 0, 1, 0, 0});
    built.sections.push_back({".strtab", 3, 0, 0, text.vector(), 0, 0, 1, 0, 0});
    bytes = built.file();
    image = *elf::open(bytes);
  }
};

}  // namespace

TEST_CASE("a symbol keeps every member of its record, and half a record is none") {
  test::for_each_kind_of_file([](order o, bool wide) {
    for (const std::size_t rest : {std::size_t{0}, std::size_t{1}, std::size_t{15}}) {
      for (const std::uint32_t type : {elf::section_symbols, elf::section_dynamic_symbols}) {
        const symbol_file file(o, wide, {{"first", 0x1008, 0x10, 10, 2, 7, 0xfe}, {"", 5, 6, 3, 0, 0xfff1, 1}}, rest,
                               type);
        const auto table = elf::symbols(file.image);
        REQUIRE(table.size() == 3);
        const elf::symbol s = table[1], t = table[2];
        CHECK(s.index == 1);
        CHECK(s.name == "first");
        CHECK(s.value == 0x1008);
        CHECK(s.size == 0x10);
        CHECK(s.type == 10);
        CHECK(s.binding == 2);
        CHECK(s.section == 7);
        CHECK(s.visibility == 2);
        CHECK(s.is_function());
        CHECK(t.index == 2);
        CHECK(t.name.empty());
        CHECK(t.type == 3);
        CHECK(t.binding == 0);
        CHECK(t.visibility == 1);
        CHECK(t.section == 0xfff1);
        CHECK_FALSE(t.is_function());
        CHECK(table[0].name.empty());
      }
    }
  });
}

TEST_CASE("a function is found from its first byte to its last, and one without a size up to the next") {
  const symbol_file file(
      order::little, true,
      {{"c", 0x1030, 0}, {"a", 0x1000, 0x10}, {"b", 0x1018, 4}, {"undefined", 0x1014, 4, elf::symbol_function, 1, 0}});
  const elf::symbol_index index(file.image, elf::symbols(file.image));
  CHECK(index.size() == 3);
  const auto name_at = [&](std::uint64_t address) {
    const auto found = index.find(address);
    return found ? std::string(found->found.name) : "";
  };
  CHECK(name_at(0xfff).empty());
  CHECK(name_at(0x1000) == "a");
  CHECK(name_at(0x100f) == "a");
  CHECK(name_at(0x1010).empty());
  CHECK(name_at(0x1014).empty());
  CHECK(name_at(0x1017).empty());
  CHECK(name_at(0x1018) == "b");
  CHECK(name_at(0x101b) == "b");
  CHECK(name_at(0x101c).empty());
  CHECK(name_at(0x102f).empty());
  CHECK(name_at(0x1030) == "c");
  CHECK(name_at(0x9000) == "c");
  CHECK_FALSE(elf::symbol_index().find(0x1000));
}

TEST_CASE("of several symbols at an address a function counts, then the largest, then the last") {
  const auto chosen = [](std::vector<wanted_symbol> symbols) {
    const symbol_file file(order::big, false, symbols);
    const elf::symbol_index index(file.image, elf::symbols(file.image));
    const auto found = index.find(0x1000);
    return found ? std::string(found->found.name) : "";
  };
  CHECK(chosen({{"large", 0x1000, 8}, {"small", 0x1000, 4}}) == "large");
  CHECK(chosen({{"small", 0x1000, 4}, {"large", 0x1000, 8}}) == "large");
  CHECK(chosen({{"first", 0x1000, 4}, {"last", 0x1000, 4}}) == "last");
  CHECK(chosen({{"function", 0x1000, 4}, {"label", 0x1000, 8, 0}}) == "function");
  CHECK(chosen({{"label", 0x1000, 8, 0}, {"function", 0x1000, 4}}) == "function");
  CHECK(chosen({{"indirect", 0x1000, 4, 10}}) == "indirect");
  // Untyped symbols count in code alone, and not those that mark code and data.
  CHECK(chosen({{"label", 0x1000, 0, 0}}) == "label");
  CHECK(chosen({{"$x", 0x1000, 0, 0}}).empty());
  CHECK(chosen({{"data", 0x1000, 0, 0, 1, 2}}).empty());
  CHECK(chosen({{"object", 0x1000, 8, 1}}).empty());
  CHECK(chosen({{"", 0x1000, 8}}).empty());
  CHECK(chosen({{"nowhere", 0x1000, 0, 0, 1, 6}}).empty());  // There are sections 0 to 5.
  CHECK(chosen({{"absolute", 0x1000, 0, 0, 1, 0xfff1}}).empty());
}

TEST_CASE("a local function has the source file that stands before it, a global one none") {
  constexpr unsigned file_type = elf::symbol_file;
  const symbol_file file(order::little, true,
                         {{"early", 0x1000, 4, elf::symbol_function, 0},
                          {"a.c", 0, 0, file_type, 0, 0xfff1},
                          {"in_a", 0x1004, 4, elf::symbol_function, 0},
                          {"b.c", 0, 0, file_type, 0, 0xfff1},
                          {"in_b", 0x1008, 4, elf::symbol_function, 0},
                          {"also_b", 0x100c, 4, elf::symbol_function, 0},
                          {"global", 0x1010, 4}});
  const elf::symbol_index index(file.image, elf::symbols(file.image));
  const auto file_at = [&](std::uint64_t address) { return index.find(address)->file; };
  CHECK(file_at(0x1000).empty());
  CHECK(file_at(0x1004) == "a.c");
  CHECK(file_at(0x1008) == "b.c");
  CHECK(file_at(0x100c) == "b.c");
  CHECK(file_at(0x1010).empty());
}

TEST_CASE("relocations of either kind, class and byte order keep every member") {
  test::for_each_kind_of_file([](order o, bool wide) {
    for (const bool rela : {false, true}) {
      for (const std::size_t rest : {std::size_t{0}, std::size_t{1}, std::size_t{7}}) {
        CAPTURE(wide, rela, rest);
        test::elf_builder built(o, wide);
        auto records = built.bytes();
        // 32-bit files have 24 bits of symbol and 8 of type.
        const std::uint64_t info = wide ? std::uint64_t{0x12345678} << 32 | 0x9abcdef0 : 0x12345678;
        for (const int n : {1, 2}) {
          built.word(built.word(records, static_cast<std::uint64_t>(0x100 * n)), info);
          if (rela) built.word(records, static_cast<std::uint64_t>(-n));
        }
        records.fill(rest);
        built.sections.push_back(
            {".rel", rela ? elf::section_rela : elf::section_rel, 0, 0, records.vector(), 0, 0, 1, 0, 0});
        const auto bytes = built.file();
        const auto file = elf::open(bytes);
        REQUIRE(file);
        const auto found = elf::relocations_of(*file, *file->find_section(".rel"));
        REQUIRE(found);
        REQUIRE(found->size() == 2);
        for (const int n : {1, 2}) {
          const elf::relocation r = (*found)[static_cast<std::size_t>(n - 1)];
          CHECK(r.offset == static_cast<std::uint64_t>(0x100 * n));
          CHECK(r.symbol == (wide ? 0x12345678U : 0x123456U));
          CHECK(r.type == (wide ? 0x9abcdef0U : 0x78U));
          CHECK(r.addend == (rela ? -n : 0));
          CHECK(r.has_addend == rela);
        }
      }
    }
  });
}

TEST_CASE("what lies behind the section headers is no section of a symbol") {
  // Section 6 of 6 would be a header with code, were there one more.
  symbol_file file(order::little, true, {{"nowhere", 0x1000, 0, 0, 1, 6}});
  const auto sections = file.image.sections();
  REQUIRE(sections.size() == 6);
  std::vector<std::byte> code(64);
  code[8] = std::byte{4};  // SHF_EXECINSTR
  file.bytes.insert(file.bytes.end(), code.begin(), code.end());
  const auto longer = elf::open(file.bytes);
  REQUIRE(longer);
  REQUIRE(longer->sections().size() == 6);
  CHECK(elf::symbol_index(*longer, elf::symbols(*longer)).size() == 0);
}
