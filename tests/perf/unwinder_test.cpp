// SPDX-License-Identifier: Apache-2.0
#include <backsight/perf/unwinder.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <backsight/cfi/table_builder.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

namespace perf = backsight::perf;
namespace cfi = backsight::cfi;
using backsight::byte_view;
using backsight::order;
using backsight::test::byte_builder;

namespace {

using arch = cfi::arch::x86_64;
using unwinder = perf::sample_unwinder<arch, order::little>;

/// An .eh_frame section at `address` with one function at [begin, begin + size): cfa = rsp + 8, and the return address
/// below it.
cfi::table table_of(std::uint64_t begin, std::uint64_t size, bool is_signal = false) {
  byte_builder out(order::little);
  // CIE: version 1, augmentation "zR" or "zRS", code 1, data -8, register 16, pointers of 8 bytes.
  byte_builder cie(order::little);
  cie.u32(0).u8(1).u8('z').u8('R');
  if (is_signal) cie.u8('S');
  cie.u8(0).u8(1).u8(0x78).u8(16).u8(1).u8(0);
  cie.u8(0x0c).u8(7).u8(8);  // DW_CFA_def_cfa rsp, 8
  cie.u8(0x80 | 16).u8(1);   // DW_CFA_offset 16, cfa - 8
  while (cie.size() % 8 != 4) cie.u8(0);
  out.u32(cie.size()).append(cie.view());
  const std::size_t fde_at = out.size();
  byte_builder fde(order::little);
  fde.u32(fde_at + 4).u64(begin).u64(size).u8(0);
  while (fde.size() % 8 != 4) fde.u8(0);
  out.u32(fde.size()).append(fde.view()).u32(0);
  cfi::section_info info;
  info.kind = cfi::section_kind::eh_frame;
  info.address = 0x100000;
  info.address_size = 8;
  auto built = cfi::build_table<arch>(cfi::section<order::little>(out.view(), info));
  REQUIRE(built);
  return std::move(built.value());
}

/// A process whose mappings the test makes, and a sample of it.
struct scene {
  perf::process owner;
  unwinder stacks;
  std::unique_ptr<unwinder::cache> rules = std::make_unique<unwinder::cache>();
  byte_builder stack{order::little};
  std::vector<std::uint64_t> pcs = std::vector<std::uint64_t>(16);
  unwinder::item one;

  void map(std::uint64_t begin, std::uint64_t end, std::uint32_t file) {
    perf::mapping added;
    added.begin = begin;
    added.end = end;
    added.file = file;
    added.protection = 5;
    owner.maps->add(added);
  }
  template <class Find>
  void walk(std::uint64_t pc, std::uint64_t sp, Find&& find) {
    auto& space = stacks.space_of(owner);
    one = {};
    one.start.pc = pc;
    one.start.value[arch::stack_pointer] = sp;
    one.space = &space.objects;
    one.memory = {stack.view().data(), sp, stack.size(), owner.maps.get(), nullptr};
    one.pcs = pcs;
    unwinder::walk({&one, 1}, *rules);
    unwinder::complete(one, space, *rules,
                       [&](const perf::mapping& at, std::uint64_t address, cfi::mapped_object& out) {
                         return find(at, address, out);
                       });
  }
};

}  // namespace

TEST_CASE("objects are asked for when a walk comes to them, and once each") {
  scene s;
  s.map(0x1000, 0x2000, 0);
  s.map(0x5000, 0x6000, 1);
  s.map(0x9000, 0xa000, 2);
  s.stack.u64(0x5010).u64(0x1020).u64(0x9001);
  const cfi::table code = table_of(0x1, 0xfff);
  unsigned given = 0;
  const auto find_code = [&](const perf::mapping& at, std::uint64_t, cfi::mapped_object& out) {
    if (at.file == 2) return false;
    ++given;
    out.table = code.view();
    out.bias = at.begin;
    return true;
  };
  s.walk(0x1100, 0x7000, find_code);
  CHECK(s.one.result.count == 4);
  CHECK(s.one.result.why == cfi::stop::no_object);
  CHECK(s.pcs[0] == 0x1100);
  CHECK(s.pcs[1] == 0x5010);
  CHECK(s.pcs[2] == 0x1020);
  CHECK(s.pcs[3] == 0x9001);
  CHECK(given == 2);
  s.walk(0x1100, 0x7000, find_code);
  CHECK(s.one.result.count == 4);
  CHECK(given == 2);
  // A mapping that has changed is asked for again.
  s.stacks.forget(s.owner.number, 0x5000, 0x5001);
  s.walk(0x1100, 0x7000, find_code);
  CHECK(s.one.result.count == 4);
  CHECK(given == 3);
}

TEST_CASE("a caller's address is that of its call, but behind a signal frame it is exact") {
  scene s;
  s.map(0x1000, 0x2000, 0);
  s.map(0x3000, 0x4000, 1);
  s.stack.u64(0x3010).u64(0x1200).u64(0x1300).u64(0x8888);
  const cfi::table plain = table_of(0x1, 0xfff), signal = table_of(0x1, 0xfff, true);
  s.walk(0x1100, 0x7000, [&](const perf::mapping& at, std::uint64_t, cfi::mapped_object& out) {
    out.table = at.file == 0 ? plain.view() : signal.view();
    out.bias = at.begin;
    return true;
  });
  REQUIRE(s.one.result.count >= 4);
  unwinder::call_places places;
  CHECK_FALSE(places.make_addresses(s.one));
  CHECK(s.pcs[0] == 0x1100);
  CHECK(s.pcs[1] == 0x300f);
  CHECK(s.pcs[2] == 0x1200);  // Interrupted, not called.
  CHECK(s.pcs[3] == 0x12ff);
}

TEST_CASE("words beside the recorded stack come from mapped files") {
  std::vector<std::byte> file(0x40);
  file[0x18] = std::byte{0x2a};
  const perf::file_memory<order::little> files(
      [](void* bytes, std::uint32_t number) -> std::optional<byte_view> {
        if (number != 3) return std::nullopt;
        return *static_cast<std::vector<std::byte>*>(bytes);
      },
      &file);
  perf::mapping_set maps;
  perf::mapping one;
  one.begin = 0x1000, one.end = 0x1040, one.file_offset = 0, one.file = 3;
  maps.add(one);
  one.begin = 0x2000, one.end = 0x2040, one.file = 4;
  maps.add(one);
  CHECK(files.word(maps, 0x1018) == 0x2aU);
  CHECK(files.word(maps, 0x1038) == 0U);
  CHECK_FALSE(files.word(maps, 0x1039).has_value());
  CHECK_FALSE(files.word(maps, 0x2018).has_value());
  CHECK_FALSE(files.word(maps, 0x3018).has_value());

  byte_builder stack(order::little);
  stack.u64(7).u64(8);
  const perf::sample_memory<order::little> memory{stack.view().data(), 0x7000, stack.size(), &maps, &files};
  CHECK(memory(0x7008) == 8U);
  CHECK(memory(0x1018) == 0x2aU);
  CHECK_FALSE(memory(0x7009).has_value());
  CHECK_FALSE(memory(0x6fff).has_value());
}
