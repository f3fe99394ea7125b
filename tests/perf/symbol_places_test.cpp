// SPDX-License-Identifier: Apache-2.0
#include <backsight/perf/symbol_places.hpp>

#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <support/catch.hpp>

#include "../elf/elf_builder.hpp"

using namespace backsight;

namespace {

struct made_symbol {
  std::string name;
  std::uint64_t value = 0, size = 0;
  unsigned type = 2, binding = 1, visibility = 0, section = 1;
};

/// Sections: .text 1 at 0x1000, .debug 2 that is not loaded, .rodata 3, .bss 4, then the table and its names. One
/// segment has .text, whose addresses are 0x400000 above their places, another the rest.
std::vector<std::byte> file_of(order o, bool wide, const std::vector<made_symbol>& symbols,
                               std::uint16_t machine = 62) {
  test::elf_builder b(o, wide);
  b.machine = machine;
  b.segments.push_back({1, 5, 0x1000, 0x401000, 0x100000, 0x100000, 1});
  b.segments.push_back({1, 6, 0x101000, 0x602000, 0x1000, 0x3000, 1});
  b.sections.push_back({".text", 1, 6, 0x401000, {}, 0, 0, 1, 0, 0});
  b.sections.push_back({".debug", 1, 0, 0, {}, 0, 0, 1, 0, 0});
  b.sections.push_back({".rodata.cst", 1, 2, 0x602000, {}, 0, 0, 1, 0, 0});
  b.sections.push_back({".plain", 1, 2, 0x602800, {}, 0, 0, 1, 0, 0});
  auto table = b.bytes(), names = b.bytes();
  table.fill(wide ? 24 : 16);
  names.u8(0);
  for (const made_symbol& s : symbols) {
    const std::size_t name = s.name.empty() ? 0 : names.size();
    if (!s.name.empty()) names.text(s.name).u8(0);
    const unsigned info = s.binding << 4 | s.type;
    table.u32(name);
    if (wide) table.u8(info).u8(s.visibility).u16(s.section).u64(s.value).u64(s.size);
    else table.u32(s.value).u32(s.size).u8(info).u8(s.visibility).u16(s.section);
  }
  b.sections.push_back({".symtab", 2, 0, 0, table.vector(), 6, 1, 1, wide ? 24U : 16U, 0});
  b.sections.push_back({".strtab", 3, 0, 0, names.vector(), 0, 0, 1, 0, 0});
  return b.file();
}

/// The names at each place, in the order of the table: what symbol_places must find, by one look at each symbol.
std::map<std::uint64_t, std::vector<std::string>> expected_places(const std::vector<made_symbol>& symbols) {
  std::map<std::uint64_t, std::vector<std::string>> all;
  for (const made_symbol& s : symbols) {
    const bool loaded = s.section == 1 || s.section == 3 || s.section == 4, labels = s.section == 1 || s.section == 3;
    const bool typed = s.type == 1 || s.type == 2 || s.type == 10;
    if (s.name.empty() || !loaded || !(typed || (s.type == 0 && labels && s.visibility != 1 && s.visibility != 2)))
      continue;
    std::uint64_t at = s.value;
    if (at >= 0x401000 && at < 0x501000) at -= 0x400000;
    else if (at >= 0x602000 && at < 0x605000) at -= 0x501000;
    all[at].push_back(s.name);
  }
  return all;
}

void compare(const std::vector<made_symbol>& symbols, order o, bool wide) {
  const auto bytes = file_of(o, wide, symbols);
  const auto file = elf::open(bytes);
  REQUIRE(file);
  const perf::symbol_places places(*file, *file, elf::section_symbols);
  CHECK(perf::symbol_places(*file, *file, elf::section_dynamic_symbols).empty());
  const auto expected = expected_places(symbols);
  std::set<std::uint64_t> asked{0, 0xfff, 0x1000, 0x100fff, 0x101000, 0x104000, 0xffffffff, ~std::uint64_t{0}};
  for (const auto& [at, names] : expected) asked.insert({at - 1, at, at + 1});
  std::size_t different = 0;
  for (const std::uint64_t offset : asked) {
    const auto after = expected.upper_bound(offset);
    const auto before = places.at_or_before(offset), behind = places.behind(offset);
    different += before.has_value() != (after != expected.begin()) || (before && *before != std::prev(after)->first);
    different += behind.has_value() != (after != expected.end()) || (behind && *behind != after->first);
    perf::symbol_table here;
    places.add_those_at(offset, here);
    std::vector<std::string> names;
    for (const perf::named_range& one : here) names.emplace_back(one.name);
    const auto found = expected.find(offset);
    different += names != (found == expected.end() ? std::vector<std::string>() : found->second);
  }
  CHECK(different == 0);
}

}  // namespace

TEST_CASE("symbols are found around a place as by a look at each of them") {
  std::mt19937 random(7);
  test::for_each_kind_of_file([&](order o, bool wide) {
    for (const std::size_t count : {0U, 1U, 3U, 40U, 900U}) {
      std::vector<made_symbol> symbols;
      for (std::size_t i = 0; i < count; ++i) {
        made_symbol s;
        if (random() % 20 != 0) s.name = "symbol_" + std::to_string(i);
        s.section = static_cast<unsigned>(random() % 6);
        s.value = random() % 8 == 0 ? random() % 0x700000 : 0x401000 + random() % 0x100000 / 16 * 16;
        s.size = random() % 3 * 8;
        constexpr unsigned types[]{2, 2, 2, 1, 0, 10, 3, 4};
        s.type = types[random() % 8];
        s.binding = static_cast<unsigned>(random() % 3);
        s.visibility = static_cast<unsigned>(random() % 4);
        symbols.push_back(s);
      }
      compare(symbols, o, wide);
    }
  });
}

TEST_CASE("many symbols in one bucket are found, and many at one place") {
  std::mt19937 random(9);
  std::vector<made_symbol> close, same;
  for (unsigned i = 0; i < 500; ++i) {
    close.push_back({"close_" + std::to_string(i), 0x401000 + random() % 700, random() % 3});
    same.push_back({"same_" + std::to_string(i), 0x401800, 4});
    if (i % 50 == 0) same.push_back({"other_" + std::to_string(i), 0x401800 - 300 + i, 4});
  }
  // Outside of all segments: in the last bucket.
  for (unsigned i = 0; i < 100; ++i)
    close.push_back({"far_" + std::to_string(i), 0xf0000000 + random() % 0x1000000, 1});
  for (const bool wide : {false, true}) {
    compare(close, order::little, wide);
    compare(same, order::big, wide);
  }
}

TEST_CASE("marks of code and data inside of functions are no names on ARM, and are elsewhere") {
  const std::vector<made_symbol> symbols{{"$x", 0x401000, 0, 0}, {"$d.1", 0x401010, 0, 0}, {"function", 0x401008, 8}};
  for (const auto& [machine, places] : {std::pair{std::uint16_t{183}, 1}, std::pair{std::uint16_t{62}, 3}}) {
    const auto bytes = file_of(order::little, true, symbols, machine);
    const auto file = elf::open(bytes);
    const perf::symbol_places found(*file, *file, elf::section_symbols);
    int count = 0;
    for (std::optional<std::uint64_t> at = found.behind(0); at; at = found.behind(*at)) ++count;
    CHECK(count == places);
  }
}

TEST_CASE("a table whose names or records are cut gives what is left") {
  const auto whole = file_of(order::little, true, {{"a", 0x401000, 8}, {"b", 0x401010, 8}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const byte_view part = byte_view(whole).first(size);
    const auto file = elf::open(part);
    if (!file) continue;
    const perf::symbol_places places(*file, *file, elf::section_symbols);
    perf::symbol_table near;
    if (const auto at = places.at_or_before(0x1018)) places.add_those_at(*at, near);
    CHECK(near.size() <= 1);
  }
}

TEST_CASE("entries of a procedure linkage table lie behind its head, in the order of their relocations") {
  test::elf_builder b(order::little, true);
  b.sections.push_back({".plt", 1, 6, 0x401000, std::vector<std::byte>(64), 0, 0, 16, 16, 0});
  b.sections.push_back(
      {".dynsym", 11, 2, 0, test::byte_builder().fill(24).u32(1).fill(20).u32(5).fill(20).vector(), 3, 1, 8, 24, 0});
  b.sections.push_back(
      {".dynstr", 3, 2, 0, test::byte_builder().u8(0).text("one").u8(0).text("two").u8(0).vector(), 0, 0, 1, 0, 0});
  const auto relocation = [](std::uint64_t symbol) {
    return test::byte_builder().u64(0).u64(symbol << 32 | 7).u64(0).vector();
  };
  std::vector<std::byte> list;
  for (const std::uint64_t symbol : {2U, 9U, 1U}) {
    const auto one = relocation(symbol);
    list.insert(list.end(), one.begin(), one.end());
  }
  b.sections.push_back({".rela.plt", 4, 2, 0, list, 2, 1, 8, 24, 0});
  const auto bytes = b.file();
  const auto file = elf::open(bytes);
  REQUIRE(file);
  const std::uint64_t plt = file->find_section(".plt")->offset;
  const perf::plt_places places(*file);
  CHECK_FALSE(places.at_or_before(plt + 15));
  CHECK(places.at_or_before(plt + 16)->symbol == "two");
  CHECK(places.at_or_before(plt + 31)->begin == plt + 16);
  CHECK(places.at_or_before(plt + 32)->symbol.empty());
  CHECK(places.at_or_before(plt + 48)->symbol == "one");
  CHECK(places.at_or_before(plt + 48)->end == plt + 64);
  CHECK(places.at_or_before(plt + 1000)->symbol == "one");
  CHECK(places.behind(0) == plt + 16);
  CHECK(places.behind(plt + 15) == plt + 16);
  CHECK(places.behind(plt + 16) == plt + 32);
  CHECK(places.behind(plt + 47) == plt + 48);
  CHECK_FALSE(places.behind(plt + 48));
  CHECK_FALSE(perf::plt_places().at_or_before(1000));
  CHECK_FALSE(perf::plt_places().behind(1000));
}
