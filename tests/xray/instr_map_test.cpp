// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <vector>

#include <backsight/analysis/parallel.hpp>
#include <backsight/xray/index.hpp>
#include <backsight/xray/instr_map.hpp>
#include <backsight/xray/xray.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/files.hpp>

#include "../elf/elf_builder.hpp"

using namespace backsight;
using test::byte_builder;

namespace {

struct sled_bytes {
  std::uint64_t address, function;
  unsigned kind, version;
};

/// A 64-bit ELF file, little-endian, of which only the section xray_instr_map matters.
std::vector<std::byte> elf_with_map(const std::vector<sled_bytes>& sleds, std::uint64_t section_address,
                                    std::size_t cut = 0) {
  byte_builder map;
  for (const auto& sled : sleds) map.u64(sled.address).u64(sled.function).u8(sled.kind).u8(1).u8(sled.version).fill(13);
  const std::size_t map_size = map.size() - cut;
  constexpr std::size_t header = 64, names = 28;
  byte_builder file;
  file.u8(0x7f).text("ELF").u8(2).u8(1).u8(1).fill(9);
  file.u16(3)
      .u16(62)
      .u32(1)
      .u64(0)
      .u64(0)
      .u64(header + names + map_size)
      .u32(0)
      .u16(64)
      .u16(56)
      .u16(0)
      .u16(64)
      .u16(3)
      .u16(2);
  file.fill(1).text("xray_instr_map").u8(0).text(".shstrtab").fill(3);
  file.append(map.view().subspan(0, map_size));
  const auto section = [&](unsigned name, unsigned type, std::uint64_t address, std::uint64_t offset,
                           std::uint64_t size) {
    file.u32(name).u32(type).u64(2).u64(address).u64(offset).u64(size).u32(0).u32(0).u64(1).u64(0);
  };
  section(0, 0, 0, 0, 0);
  section(1, 1, section_address, header + names, map_size);
  section(16, 3, 0, header, names);
  return file.vector();
}

result<xray::instr_map> map_of(const std::vector<std::byte>& file) {
  const auto image = elf::open(file);
  REQUIRE(image);
  return xray::read_instr_map(*image);
}

}  // namespace

TEST_CASE("sleds of versions 0 and 1 hold absolute addresses and ids grow with the function") {
  const auto map = map_of(elf_with_map(
      {{0x1000, 0x1000, 0, 0}, {0x1010, 0x1000, 1, 0}, {0x1020, 0x1020, 3, 1}, {0x1030, 0x1020, 2, 1}}, 0x5000));
  REQUIRE(map);
  REQUIRE(map->sleds().size() == 4);
  CHECK(map->function_count() == 2);
  CHECK(map->address_of(1) == 0x1000U);
  CHECK(map->address_of(2) == 0x1020U);
  CHECK_FALSE(map->address_of(0));
  CHECK_FALSE(map->address_of(3));
  CHECK(map->sleds()[2].kind == xray::sled_kind::log_args_enter);
  CHECK(map->sleds()[3].function_id == 2);
  CHECK(map->sleds()[3].always_instrument);
}

TEST_CASE("sleds of version 2 hold addresses relative to their own place") {
  const std::uint64_t base = 0x5000;
  const auto map = map_of(elf_with_map(
      {{0x1000 - base, 0x1000 - (base + 8), 0, 2}, {0x1010 - (base + 32), 0x1000 - (base + 40), 5, 2}}, base));
  REQUIRE(map);
  CHECK(map->sleds()[0].address == 0x1000);
  CHECK(map->sleds()[1].address == 0x1010);
  CHECK(map->function_count() == 1);
  CHECK(map->address_of(1) == 0x1000U);
  CHECK(map->sleds()[1].kind == xray::sled_kind::typed_event);
}

TEST_CASE("a map with an unknown kind of sled keeps what comes before it") {
  const auto map = map_of(elf_with_map({{0x1000, 0x1000, 0, 0}, {0x1010, 0x1000, 6, 0}}, 0));
  CHECK(map.error() == trace_error{errc::bad_value, 64 + 28 + 32});
  CHECK(map.partial().sleds().size() == 1);
}

TEST_CASE("a map that is no whole number of entries, and a file without map, are errors") {
  CHECK(map_of(elf_with_map({{0x1000, 0x1000, 0, 0}}, 0, 5)).error() == trace_error{errc::bad_size, 64 + 28});
  auto renamed = elf_with_map({{0x1000, 0x1000, 0, 0}}, 0);
  renamed[64 + 1] = std::byte{'X'};
  CHECK(map_of(renamed).error().code == errc::missing_section);
}

TEST_CASE("the words of a relocatable file are taken from its relocations") {
  // llvm-xray gives the first two functions of this file one id, since it takes address 0 for "none yet".
  const auto map = map_of(test::read_file(test::data_path("xray/llvm/all-sleds.o")));
  REQUIRE(map);
  CHECK(map->sleds().size() == 7);
  CHECK(map->function_count() == 3);
  CHECK(map->address_of(1) == 0x0U);
  CHECK(map->address_of(2) == 0x20U);
  CHECK(map->address_of(3) == 0x50U);
  CHECK(map->sleds()[3].address == 0x38);
  CHECK(map->sleds()[5].kind == xray::sled_kind::custom_event);
}

TEST_CASE("the map of a real position-independent program leads to the names of its functions") {
  const auto bytes = test::read_file(test::data_path("xray/bin/workload-19"));
  const auto image = elf::open(bytes);
  REQUIRE(image);
  const auto map = xray::read_instr_map(*image);
  REQUIRE(map);
  const elf::symbol_index symbols(*image, elf::symbols(*image));
  std::size_t named = 0;
  for (std::uint32_t id = 1; id <= map->function_count(); ++id) {
    const auto found = symbols.find(*map->address_of(id));
    if (found && found->found.value == *map->address_of(id)) ++named;
  }
  CHECK(named == map->function_count());
  CHECK(map->function_count() == 139);
}

TEST_CASE("a parallel walk over blocks gives the totals of the serial one") {
  for (const char* name :
       {"xray/c19/fdr-smallbuf.xray", "xray/syn/syn-fdr-v5-be.xray", "xray/c19/cut-fdr-threads-61.xray"}) {
    CAPTURE(name);
    const auto bytes = test::read_file(test::data_path(name));
    const auto log = xray::open(bytes);
    REQUIRE(log);
    struct totals {
      std::uint64_t events = 0, faults = 0, time = 0;
      std::map<std::int32_t, std::uint64_t> by_thread;
    };
    const auto add = [](totals& to, const xray::event& event) {
      ++to.events;
      to.time += event.time;
      ++to.by_thread[event.thread];
    };
    totals serial;
    xray::for_each_event(
        *log, [&](const xray::event& event) { add(serial, event); }, [&](const fault&) { ++serial.faults; });
    const auto index = xray::index_blocks(*log);
    for (const unsigned threads : {1U, 2U, 5U}) {
      const auto states =
          analysis::for_each_part<totals>(index.partial().size(), threads, [&](totals& to, std::size_t i) {
            with_order(log->byte_order(), [&](auto byte_order) {
              xray::for_each_event<byte_order()>(
                  *log, index.partial()[i].where, [&](const xray::event& event) { add(to, event); },
                  [&](const fault&) { ++to.faults; });
            });
          });
      totals all;
      for (const auto& state : states) {
        all.events += state.events;
        all.faults += state.faults;
        all.time += state.time;
        for (const auto& [thread, count] : state.by_thread) all.by_thread[thread] += count;
      }
      CHECK(all.events == serial.events);
      CHECK(all.faults == serial.faults);
      CHECK(all.time == serial.time);
      CHECK(all.by_thread == serial.by_thread);
    }
  }
}

TEST_CASE("addresses of a 32-bit map wrap in 32 bits") {
  for (const order o : {order::little, order::big}) {
    test::elf_builder built(o, false);
    auto map = built.bytes();
    // Relative to the section at 0x5000: the first lies in front of it, the second at its own place.
    map.u32(0x1000U - 0x5000U).u32(0x0ff0U - 0x5004U).u8(0).u8(1).u8(2).fill(5);
    map.u32(0).u32(0xfffffffcU).u8(1).u8(0).u8(2).fill(5);
    built.sections.push_back({"xray_instr_map", 1, 2, 0x5000, map.vector(), 0, 0, 1, 0, 0});
    const auto read = map_of(built.file());
    REQUIRE(read);
    REQUIRE(read->sleds().size() == 2);
    CHECK(read->sleds()[0].address == 0x1000);
    CHECK(read->sleds()[0].function == 0x0ff0);
    CHECK(read->sleds()[1].address == 0x5010);
    CHECK(read->sleds()[1].function == 0x5010);
    CHECK(read->address_of(1) == 0x0ff0U);
    CHECK(read->address_of(2) == 0x5010U);
  }
}

TEST_CASE("the words of a position-independent file are taken from its relocations, against any symbol") {
  for (const std::uint16_t type : {std::uint16_t{1}, std::uint16_t{3}}) {
    CAPTURE(type);
    test::elf_builder built(order::little, true);
    built.type = type;
    const std::uint64_t base = 0x5000;
    auto map = built.bytes(), rela = built.bytes(), symbols = built.bytes();
    for (const unsigned version : {2U, 0U}) map.u64(0x77).u64(0x77).u8(0).u8(1).u8(version).fill(13);
    symbols.fill(24);
    for (const std::uint64_t value : {std::uint64_t{0x1000}, std::uint64_t{0x2000}})
      symbols.u32(0).u8(2).u8(0).u16(1).u64(value).u64(8);
    const std::uint64_t from = type == 1 ? 0 : base;
    const auto relocation = [&](std::uint64_t place, std::uint64_t symbol, unsigned kind, std::uint64_t addend) {
      rela.u64(from + place).u64(symbol << 32 | kind).u64(addend);
    };
    relocation(0, 1, 24, 0x10);  // R_X86_64_PC64 against the first symbol
    relocation(8, 2, 24, 0);     // and the last one
    relocation(32, 2, 1, 0x20);  // R_X86_64_64
    relocation(40, 0, 8, 0x30);  // R_X86_64_RELATIVE
    relocation(64, 2, 1, 0x40);  // Behind the map.
    built.sections.push_back({"xray_instr_map", 1, 2, base, map.vector(), 0, 0, 1, 0, 0});
    built.sections.push_back({".rela", elf::section_rela, 2, 0, rela.vector(), 3, type == 1 ? 1U : 0U, 1, 0, 0});
    built.sections.push_back({".dynsym", elf::section_dynamic_symbols, 2, 0, symbols.vector(), 0, 0, 1, 0, 0});
    const auto read = map_of(built.file());
    REQUIRE(read);
    REQUIRE(read->sleds().size() == 2);
    CHECK(read->sleds()[0].address == 0x1010);
    CHECK(read->sleds()[0].function == 0x2000);
    CHECK(read->sleds()[1].address == 0x2020);
    CHECK(read->sleds()[1].function == 0x30);
  }
}
