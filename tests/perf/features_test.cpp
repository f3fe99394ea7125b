// SPDX-License-Identifier: Apache-2.0
#include <string>

#include <support/catch.hpp>

#include "perf_builder.hpp"

using namespace backsight;
using namespace backsight::perf;
using test::byte_builder;

namespace {

feature_section section(const byte_builder& bytes) { return {0, 500, bytes.view()}; }

byte_builder& padded(byte_builder& out, std::string_view text) { return out.u32(8).text(text).fill(8 - text.size()); }

}  // namespace

TEST_CASE("texts end at their first zero and lists have as many as they say") {
  for (const order o : {order::little, order::big}) {
    byte_builder b(o);
    b.u32(2);
    padded(b, "perf");
    padded(b, "record");
    std::string all;
    CHECK_FALSE(for_each_text(section(b), o, [&](std::string_view text) { all += std::string(text) + ";"; }));
    CHECK(all == "perf;record;");
    for (std::size_t size = 0; size < b.size(); ++size) {
      const feature_section part{0, 500, b.view().first(size)};
      const trace_error error = for_each_text(part, o, [](std::string_view) {});
      CHECK((error ? error.offset <= 500 + size : size == 4 || size == 16));
    }
  }
}

TEST_CASE("numbers, the clock and the compression are read in both byte orders") {
  for (const order o : {order::little, order::big}) {
    byte_builder clock(o);
    clock.u32(1).u32(1).u64(1000).u64(10);
    const auto pair = read_clock_data(section(clock), o);
    REQUIRE(pair);
    CHECK(pair->clockid == 1);
    CHECK(pair->wall_clock_ns == 1000);
    CHECK(pair->clock_ns == 10);
    byte_builder other(o);
    other.u32(2).u32(1).u64(1).u64(1);
    CHECK(read_clock_data(section(other), o).error() == trace_error{errc::unsupported_version, 500});
    byte_builder zstd(o);
    zstd.u32(0).u32(1).u32(3).u32(52).u32(528384);
    const auto packed = read_compression(section(zstd), o);
    REQUIRE(packed);
    CHECK(packed->level == 3);
    CHECK(packed->mmap_len == 528384);
    byte_builder cpus(o);
    cpus.u32(4).u32(2);
    CHECK((*read_numbers<std::uint32_t, 2>(section(cpus), o)) == std::array<std::uint32_t, 2>{4, 2});
    CHECK(read_numbers<std::uint64_t, 2>(section(cpus), o).error() == trace_error{errc::truncated, 508});
  }
}

TEST_CASE("groups, sources of events and pairs are read") {
  byte_builder groups;
  groups.u32(1);
  padded(groups, "g").u32(2).u32(3);
  std::string all;
  CHECK_FALSE(for_each_group(section(groups), order::little,
                             [&](std::string_view name, std::uint32_t leader, std::uint32_t members) {
                               all += std::string(name) + std::to_string(leader) + std::to_string(members);
                             }));
  CHECK(all == "g23");
  byte_builder pmus;
  pmus.u32(1).u32(7);
  padded(pmus, "msr");
  CHECK_FALSE(for_each_pmu(section(pmus), order::little, [&](std::uint32_t type, std::string_view name) {
    all = std::string(name) + std::to_string(type);
  }));
  CHECK(all == "msr7");
  byte_builder pairs;
  pairs.u32(1);
  padded(pairs, "a");
  padded(pairs, "b");
  CHECK_FALSE(for_each_pair(section(pairs), order::little,
                            [&](std::string_view a, std::string_view b) { all = std::string(a) + std::string(b); }));
  CHECK(all == "ab");
}

TEST_CASE("the topology has core before socket, and dies behind where newer recorders write them") {
  for (const order o : {order::little, order::big}) {
    for (const bool dies : {false, true}) {
      byte_builder b(o);
      b.u32(1);
      padded(b, "0-1");
      b.u32(1);
      padded(b, "0");
      b.u32(5).u32(6).u32(7).u32(8);
      if (dies) padded(b.u32(1), "d").u32(9).u32(10);
      std::vector<std::uint32_t> places;
      std::string siblings;
      CHECK_FALSE(read_cpu_topology(
          section(b), o, 2,
          [&](int kind, std::string_view text) { siblings += std::to_string(kind) + std::string(text) + ";"; },
          [&](const cpu_place& one) { places.insert(places.end(), {one.core, one.socket, one.die}); }));
      CHECK(siblings == (dies ? "00-1;10;2d;" : "00-1;10;"));
      CHECK(places ==
            (dies ? std::vector<std::uint32_t>{5, 6, 9, 7, 8, 10} : std::vector<std::uint32_t>{5, 6, 0, 7, 8, 0}));
      CHECK(read_cpu_topology(section(b), o, 100, [](int, std::string_view) {}, [](const cpu_place&) {}));
    }
  }
}

TEST_CASE("build ids have the size that misc says is valid, else 20 bytes") {
  byte_builder b;
  b.u32(0).u16(0x8002).u16(44).u32(0xffffffff).fill(20, 0xab).u8(16).fill(3).text("file").fill(4);
  b.u32(0).u16(1).u16(44).u32(0xffffffff).fill(20, 0xcd).u8(16).fill(3).text("kern").fill(4);
  std::vector<std::size_t> sizes;
  std::string names;
  CHECK_FALSE(for_each_build_id(section(b), order::little, [&](const build_id_entry& entry) {
    sizes.push_back(entry.id.size());
    names += std::string(entry.name) + ";";
    CHECK(entry.pid == -1);
  }));
  CHECK(sizes == std::vector<std::size_t>{16, 20});
  CHECK(names == "file;kern;");
  const auto none = [](const build_id_entry&) {};
  CHECK(for_each_build_id({0, 500, b.view().first(50)}, order::little, none) == trace_error{errc::truncated, 544});
  b.vector()[6] = std::byte{35};
  CHECK(for_each_build_id(section(b), order::little, none) == trace_error{errc::bad_size, 500});
  b.vector()[6] = std::byte{44};
  b.vector()[32] = std::byte{21};
  CHECK(for_each_build_id(section(b), order::little, none) == trace_error{errc::bad_size, 500});
}
