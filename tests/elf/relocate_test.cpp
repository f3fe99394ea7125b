// SPDX-License-Identifier: Apache-2.0
// Stands for elf/relocation_kinds.hpp
#include <backsight/elf/relocate.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "elf_builder.hpp"

using namespace backsight;

namespace {

/// A relocation to be written.
struct wanted {
  std::uint32_t type = 0;
  std::uint64_t offset = 0;
  std::int64_t addend = 0;
  std::uint32_t symbol = 1;
};

/// An object file with a section `.target` (number 2) of sixteen bytes, relocations for it, and one symbol at 0x1234 of
/// section 1.
struct object {
  order byte_order = order::little;
  bool wide = true;
  std::uint16_t machine = 62;
  bool with_addend = true;
  std::vector<std::byte> contents = std::vector<std::byte>(16);
  std::uint64_t relocations_at = 0;
  std::uint64_t symbol_value = 0x1234;
  std::uint16_t symbol_section = 1;

  std::vector<std::byte> file(const std::vector<wanted>& relocations) {
    test::elf_builder b(byte_order, wide);
    b.type = 1;
    b.machine = machine;
    test::byte_builder records(byte_order), symbols(byte_order);
    for (const wanted& r : relocations) {
      b.word(records, r.offset);
      b.word(records, wide ? std::uint64_t{r.symbol} << 32 | r.type : r.symbol << 8 | r.type);
      if (with_addend) b.word(records, static_cast<std::uint64_t>(r.addend));
    }
    symbols.fill(wide ? 24 : 16);
    if (wide) symbols.u32(0).u8(0).u8(0).u16(symbol_section).u64(symbol_value).u64(0);
    else symbols.u32(0).u32(symbol_value).u32(0).u8(0).u8(0).u16(symbol_section);
    b.sections.push_back({.name = ".text", .bytes = std::vector<std::byte>(4)});
    b.sections.push_back({.name = ".target", .bytes = contents});
    b.sections.push_back(
        {.name = ".rel", .type = with_addend ? 4U : 9U, .bytes = records.vector(), .link = 4, .info = 2});
    b.sections.push_back({.name = ".symtab", .type = 2, .bytes = symbols.vector()});
    auto made = b.file();
    relocations_at = b.sections[3].offset;
    return made;
  }
};

struct outcome {
  std::vector<std::byte> bytes;
  std::vector<elf::relocated_place> places;
  trace_error error;
};
outcome relocated(object& o, const std::vector<wanted>& relocations) {
  const auto file = o.file(relocations);
  const auto image = elf::open(file);
  REQUIRE(image);
  const auto target = image->find_section(".target");
  REQUIRE(target);
  REQUIRE(elf::needs_relocation(*image, *target) != relocations.empty());
  outcome out;
  out.bytes = o.contents;
  auto done = elf::relocate(*image, *target, out.bytes);
  out.error = done.error();
  out.places = done.partial();
  return out;
}

std::uint64_t number_at(const outcome& o, std::size_t at, std::size_t size, order byte_order) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t byte = byte_order == order::little ? size - 1 - i : i;
    value = value << 8 | std::to_integer<std::uint64_t>(o.bytes[at + byte]);
  }
  return value;
}

struct machine_type {
  std::uint16_t machine;
  bool wide;
  std::uint32_t type;
};
using machine_types = std::vector<machine_type>;

struct kind {
  std::uint16_t machine;
  bool wide;
  std::uint32_t type;
  std::size_t size;
  std::uint64_t expected;  // Of symbol 0x1234, addend 0x10, at offset 4 whose bytes are 0 (a bare number) before.
};
// S + A = 0x1244, S + A - P = 0x1240, and what is taken away wraps.
const kind kinds[] = {
    {62, true, 1, 8, 0x1244},       {62, true, 2, 4, 0x1240},
    {62, true, 10, 4, 0x1244},      {62, true, 11, 4, 0x1244},
    {62, true, 24, 8, 0x1240},      {3, false, 1, 4, 0x1244},
    {3, false, 2, 4, 0x1240},       {183, true, 257, 8, 0x1244},
    {183, true, 258, 4, 0x1244},    {183, true, 260, 8, 0x1240},
    {183, true, 261, 4, 0x1240},    {40, false, 2, 4, 0x1244},
    {40, false, 3, 4, 0x1240},      {243, true, 1, 4, 0x1244},
    {243, true, 2, 8, 0x1244},      {243, true, 57, 4, 0x1240},
    {243, false, 1, 4, 0x1244},     {243, false, 57, 4, 0x1240},
    {243, true, 33, 1, 0x44},       {243, true, 34, 2, 0x1244},
    {243, true, 35, 4, 0x1244},     {243, true, 36, 8, 0x1244},
    {243, true, 37, 1, 0xbc},       {243, true, 38, 2, 0xedbc},
    {243, true, 39, 4, 0xffffedbc}, {243, true, 40, 8, 0xffffffffffffedbc},
    {243, true, 54, 1, 0x44},       {243, true, 55, 2, 0x1244},
    {243, true, 56, 4, 0x1244},     {243, true, 53, 1, 0x04},
    {243, true, 52, 1, 0x3c},
};

}  // namespace

TEST_CASE("each kind of relocation is applied, in either byte order, with the addend beside it or in its place") {
  for (const kind& k : kinds) {
    for (const order byte_order : {order::little, order::big}) {
      for (const bool with_addend : {true, false}) {
        // RISC-V has no relocations without addend.
        if (!with_addend && k.machine == 243) continue;
        INFO(k.machine << ' ' << k.type << ' ' << with_addend << ' ' << (byte_order == order::big));
        object o{byte_order, k.wide, k.machine, with_addend};
        if (!with_addend) o.contents[byte_order == order::little ? 4 : 3 + k.size] = std::byte{0x10};
        const outcome out = relocated(o, {{k.type, 4, 0x10}});
        REQUIRE_FALSE(out.error);
        CHECK(number_at(out, 4, k.size, byte_order) == k.expected);
        // Nothing beside the place has changed.
        for (std::size_t i = 0; i < 16; ++i) {
          if (i < 4 || i >= 4 + k.size) CHECK(out.bytes[i] == std::byte{0});
        }
      }
    }
  }
}

TEST_CASE("an addend below zero is taken as such, beside the relocation and in its place") {
  for (const bool with_addend : {true, false}) {
    object o{order::little, false, 3, with_addend};
    if (!with_addend) {
      for (std::size_t i = 0; i < 4; ++i) o.contents[4 + i] = std::byte{0xff};
    }
    const outcome out = relocated(o, {{1, 4, -1}});
    REQUIRE_FALSE(out.error);
    CHECK(number_at(out, 4, 4, order::little) == 0x1233);
  }
}

TEST_CASE("the halves of a difference add up, and six bits leave the other two alone") {
  // The place is an advance of so many bytes, 0x40 and the bytes: from 0x1234 - 4 to 0x1234 + 9.
  object o{order::little, true, 243};
  o.contents[4] = std::byte{0x40};
  o.contents[8] = std::byte{5};
  const outcome out = relocated(o, {{53, 4, 9}, {52, 4, -4}, {35, 8, 0x20}, {39, 8, 0x10}});
  REQUIRE_FALSE(out.error);
  CHECK(number_at(out, 4, 1, order::little) == (0x40 | 13));
  CHECK(number_at(out, 8, 4, order::little) == 0x15);
}

TEST_CASE("an unsigned LEB128 number keeps its length, and its two relocations come together") {
  object o{order::little, true, 243};
  o.contents[4] = std::byte{0x80};
  o.contents[5] = std::byte{0x00};
  const outcome out = relocated(o, {{60, 4, 0x100}, {61, 4, 0}});
  REQUIRE_FALSE(out.error);
  CHECK(number_at(out, 4, 2, order::little) == 0x0280);  // 0x100 in two bytes.

  // 0x3fff is the largest number of two bytes.
  CHECK_FALSE(relocated(o, {{60, 4, 0x3fff}, {61, 4, 0}}).error);
  CHECK(relocated(o, {{60, 4, 0x4000}, {61, 4, 0}}).error ==
        trace_error{errc::number_too_large, o.relocations_at + 24});
  CHECK(relocated(o, {{60, 4, 1}}).error == trace_error{errc::unpaired_record, o.relocations_at + 24});
  CHECK(relocated(o, {{61, 4, 1}}).error == trace_error{errc::unpaired_record, o.relocations_at});
  CHECK(relocated(o, {{60, 4, 1}, {61, 5, 0}}).error == trace_error{errc::unpaired_record, o.relocations_at + 24});
  CHECK(relocated(o, {{60, 4, 1}, {60, 4, 1}}).error == trace_error{errc::unpaired_record, o.relocations_at + 24});
  o.contents.assign(16, std::byte{0x80});
  CHECK(relocated(o, {{60, 12, 1}, {61, 12, 0}}).error == trace_error{errc::bad_value, o.relocations_at + 24});
}

TEST_CASE("kinds that are not applied are refused with their record's offset") {
  for (const auto& [machine, wide, type] : machine_types{{62, true, 9},
                                                         {62, true, 43},
                                                         {3, false, 10},
                                                         {183, true, 262},
                                                         {40, false, 42},
                                                         {243, true, 17},
                                                         {243, true, 50},
                                                         {22, true, 21},
                                                         {8, false, 2}}) {
    INFO(machine << ' ' << type);
    object o{order::little, wide, machine};
    const std::uint64_t size = wide ? 24 : 12;
    const auto file = o.file({{type, 0, 0}});
    CHECK(relocated(o, {{type, 0, 0}}).error == trace_error{errc::unknown_relocation, o.relocations_at});
    CHECK(elf::relocation_type_at(*elf::open(file), o.relocations_at) == type);
    if (machine == 62) {
      CHECK(relocated(o, {{2, 0, 0}, {type, 4, 0}}).error ==
            trace_error{errc::unknown_relocation, o.relocations_at + size});
    }
  }
}

TEST_CASE("relocations that change nothing are passed over") {
  for (const auto& [machine, wide, type] : machine_types{{62, true, 0},
                                                         {3, false, 0},
                                                         {183, true, 0},
                                                         {183, true, 256},
                                                         {40, false, 0},
                                                         {243, true, 0},
                                                         {243, true, 51}}) {
    object o{order::little, wide, machine};
    const outcome out = relocated(o, {{type, 4, 7}});
    CHECK_FALSE(out.error);
    CHECK(out.bytes == o.contents);
    CHECK(out.places.empty());
  }
}

TEST_CASE("places and symbols outside are refused, the last ones inside are not") {
  object o;
  CHECK_FALSE(relocated(o, {{1, 8, 0}}).error);
  CHECK(relocated(o, {{1, 9, 0}}).error == trace_error{errc::out_of_range, o.relocations_at});
  CHECK(relocated(o, {{2, 12, 0}, {2, 13, 0}}).error == trace_error{errc::out_of_range, o.relocations_at + 24});
  CHECK(relocated(o, {{1, ~std::uint64_t{0}, 0}}).error.code == errc::out_of_range);
  CHECK(relocated(o, {{1, 0, 0, 2}}).error == trace_error{errc::out_of_range, o.relocations_at});
  CHECK_FALSE(relocated(o, {{1, 0, 0, 0}}).error);
}

TEST_CASE("a value that does not fit its place is refused, as signed and as unsigned") {
  const auto fits = [](std::uint64_t value) {
    object o;
    o.symbol_value = value;
    return !relocated(o, {{10, 4, 0}}).error;
  };
  CHECK(fits(0x7fffffff));
  CHECK(fits(0xffffffff));
  CHECK_FALSE(fits(0x100000000));
  CHECK(fits(0xffffffff80000000));
  CHECK_FALSE(fits(0xffffffff7fffffff));
  // In files of 32 bits addresses wrap.
  object o{order::little, false, 3};
  o.symbol_value = 0xffffffff;
  CHECK_FALSE(relocated(o, {{1, 0, 2}}).error);
  CHECK(number_at(relocated(o, {{1, 0, 2}}), 0, 4, order::little) == 1);
}

TEST_CASE("the places that got an address are told with the section it lies in") {
  object o;
  const outcome out = relocated(o, {{2, 8, 0}, {1, 0, 0}});
  REQUIRE(out.places.size() == 2);
  CHECK(out.places[0].offset == 0);
  CHECK(out.places[1].offset == 8);
  CHECK(out.places[1].section == 1);
  object undefined;
  undefined.symbol_section = 0;
  CHECK(relocated(undefined, {{1, 0, 0}}).places[0].section == 0);
}

TEST_CASE("only object files need relocation") {
  object o;
  auto file = o.file({{1, 0, 0}});
  CHECK(elf::needs_relocation(*elf::open(file), *elf::open(file)->find_section(".target")));
  CHECK_FALSE(elf::needs_relocation(*elf::open(file), *elf::open(file)->find_section(".text")));
  file[16] = std::byte{3};  // A shared object keeps what the linker has applied.
  CHECK_FALSE(elf::needs_relocation(*elf::open(file), *elf::open(file)->find_section(".target")));
}
