// SPDX-License-Identifier: Apache-2.0
// Stands for dwarf/constants.hpp
#include <backsight/dwarf/expression.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;

namespace {

constexpr auto registers = [](std::uint64_t number) -> std::optional<std::uint64_t> {
  if (number > 40) return std::nullopt;
  return 0x1000 * (number + 1);
};
constexpr auto memory = [](std::uint64_t address) -> std::optional<std::uint64_t> {
  if (address >= 0xf000) return std::nullopt;
  return address * 2 + 0x1122334400000000;
};

constexpr result<std::uint64_t> run(byte_view code, unsigned size = 8,
                                    std::optional<std::uint64_t> first = std::nullopt) {
  return dwarf::evaluate<order::little>(code, {size, 100}, first, registers, memory);
}
constexpr bool gives(byte_view code, std::uint64_t value, unsigned size = 8) {
  const auto r = run(code, size);
  return r && *r == value;
}
constexpr bool fails(byte_view code, errc error, std::uint64_t offset) {
  return run(code).error() == trace_error{error, offset};
}
using test::bytes;

constexpr bool constants_and_registers() {
  return gives(bytes<0x30>, 0) && gives(bytes<0x4f>, 31) && gives(bytes<0x08, 0xff>, 255) &&
         gives(bytes<0x09, 0xff>, ~std::uint64_t{0}) && gives(bytes<0x0a, 1, 2>, 0x201) &&
         gives(bytes<0x0b, 0, 0x80>, 0xffffffffffff8000) && gives(bytes<0x0c, 1, 2, 3, 4>, 0x04030201) &&
         gives(bytes<0x0d, 0, 0, 0, 0x80>, 0xffffffff80000000) &&
         gives(bytes<0x0e, 1, 0, 0, 0, 0, 0, 0, 9>, 0x900000000000001) && gives(bytes<0x10, 0x81, 1>, 129) &&
         gives(bytes<0x11, 0x7e>, ~std::uint64_t{1}) && gives(bytes<0x03, 1, 0, 0, 0, 0, 0, 0, 0>, 1) &&
         gives(bytes<0x77, 8>, 0x8008) && gives(bytes<0x77, 0x78>, 0x7ff8) && gives(bytes<0x92, 16, 4>, 0x11004) &&
         gives(bytes<0x09, 0xff>, 0xffffffff, 4);
}
constexpr bool stack_operations() {
  return gives(bytes<0x35, 0x12, 0x22>, 10) && gives(bytes<0x35, 0x36, 0x13>, 5) && gives(bytes<0x35, 0x36, 0x14>, 5) &&
         gives(bytes<0x35, 0x36, 0x37, 0x15, 2>, 5) && gives(bytes<0x35, 0x36, 0x16>, 5) &&
         gives(bytes<0x31, 0x32, 0x33, 0x17>, 2) && gives(bytes<0x31, 0x32, 0x33, 0x17, 0x13>, 1);
}
constexpr bool arithmetic() {
  return gives(bytes<0x09, 0xfb, 0x19>, 5) && gives(bytes<0x0c, 0xfb, 0xff, 0xff, 0xff, 0x19>, 5, 4) &&
         gives(bytes<0x0c, 0xfb, 0xff, 0xff, 0xff, 0x19>, 0xfffffffb) && gives(bytes<0x3c, 0x3a, 0x1a>, 8) &&
         gives(bytes<0x09, 0xf8, 0x32, 0x1b>, ~std::uint64_t{3}) && gives(bytes<0x32, 0x35, 0x1c>, ~std::uint64_t{2}) &&
         gives(bytes<0x37, 0x34, 0x1d>, 3) && gives(bytes<0x33, 0x34, 0x1e>, 12) &&
         gives(bytes<0x31, 0x1f>, ~std::uint64_t{0}) && gives(bytes<0x30, 0x20>, ~std::uint64_t{0}) &&
         gives(bytes<0x31, 0x32, 0x21>, 3) && gives(bytes<0x31, 0x23, 5>, 6) && gives(bytes<0x31, 0x34, 0x24>, 16) &&
         gives(bytes<0x40, 0x34, 0x25>, 1) && gives(bytes<0x09, 0xf0, 0x32, 0x26>, ~std::uint64_t{3}) &&
         gives(bytes<0x33, 0x35, 0x27>, 6) && gives(bytes<0x31, 0x08, 64, 0x24>, 0) &&
         gives(bytes<0x31, 0x08, 32, 0x24>, 0, 4) && gives(bytes<0x0c, 0xff, 0xff, 0xff, 0xff, 0x31, 0x22>, 0, 4);
}
constexpr bool comparisons_and_branches() {
  return gives(bytes<0x31, 0x31, 0x29>, 1) && gives(bytes<0x09, 0xff, 0x31, 0x2d>, 1) &&
         gives(bytes<0x09, 0xff, 0x31, 0x2a>, 0) && gives(bytes<0x32, 0x31, 0x2b>, 1) &&
         gives(bytes<0x32, 0x31, 0x2c>, 0) && gives(bytes<0x32, 0x31, 0x2e>, 1) &&
         gives(bytes<0x39, 0x30, 0x28, 1, 0, 0x38>, 8) && gives(bytes<0x39, 0x31, 0x28, 1, 0, 0x38>, 9) &&
         gives(bytes<0x31, 0x28, 1, 0, 0x13, 0x39>, 9) && gives(bytes<0x39, 0x2f, 1, 0, 0x13>, 9) &&
         gives(bytes<0x39, 0x96>, 9) && gives(bytes<0x39, 0x9f, 0x13>, 9);
}
constexpr bool memory_reads() {
  return gives(bytes<0x08, 8, 0x06>, 0x1122334400000010) && gives(bytes<0x08, 8, 0x94, 1>, 0x10) &&
         gives(bytes<0x08, 8, 0x94, 4>, 0x10) && gives(bytes<0x08, 8, 0x06>, 0x10, 4);
}
// The CFA of a lazy PLT: rsp + 8, and 8 more from byte 11 of each stub of 16 bytes on.
constexpr bool procedure_linkage_table() {
  constexpr auto& code = bytes<0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22>;
  for (unsigned byte = 0; byte < 16; ++byte) {
    const auto at = [&](std::uint64_t number) -> std::optional<std::uint64_t> {
      return number == 7 ? 0x7000U : 0x400020U + byte;
    };
    const auto cfa = dwarf::evaluate<order::little>(code, {}, std::nullopt, at, memory);
    if (!cfa || *cfa != 0x7008U + (byte >= 11 ? 8U : 0U)) return false;
  }
  return true;
}
constexpr bool errors() {
  return fails(bytes<0x06>, errc::out_of_range, 0) && fails(bytes<0x31, 0x30, 0x1b>, errc::bad_value, 2) &&
         fails(bytes<0x31, 0x30, 0x1d>, errc::bad_value, 2) && fails(bytes<0x92, 50, 0>, errc::not_found, 0) &&
         fails(bytes<0x0a, 0, 0xf0, 0x06>, errc::not_found, 3) && fails(bytes<0x50>, errc::unknown_record, 0) &&
         fails(bytes<0x9c>, errc::unknown_record, 0) && fails(bytes<0xff>, errc::unknown_record, 0) &&
         fails(bytes<0x2f, 0xfd, 0xff>, errc::step_limit, 0) && fails(bytes<0x2f, 1, 0>, errc::out_of_range, 0) &&
         fails(bytes<0x0c, 1>, errc::truncated, 1) && fails(bytes<0x30, 0x94, 9>, errc::bad_size, 1) &&
         run({}).error().code == errc::out_of_range;
}
static_assert(constants_and_registers());
static_assert(stack_operations());
static_assert(arithmetic());
static_assert(comparisons_and_branches());
static_assert(memory_reads());
static_assert(procedure_linkage_table());
static_assert(errors());

}  // namespace

TEST_CASE("expressions evaluate every operation that call frame information may contain") {
  CHECK(constants_and_registers());
  CHECK(stack_operations());
  CHECK(arithmetic());
  CHECK(comparisons_and_branches());
  CHECK(memory_reads());
  CHECK(procedure_linkage_table());
}

TEST_CASE("an expression in error says where") { CHECK(errors()); }

TEST_CASE("a register rule's expression begins with the CFA on its stack") {
  CHECK(*run(bytes<0x23, 8>, 8, 0x100) == 0x108);
}

TEST_CASE("as many operations as are allowed are executed, and no more") {
  std::vector<std::byte> code(100, std::byte{0x96});
  code[0] = std::byte{0x39};
  CHECK(*run(code) == 9);
  code.push_back(std::byte{0x96});
  CHECK(run(code).error() == trace_error{errc::step_limit, 100});
}

TEST_CASE("shifts by the width of an address and more leave the sign or nothing") {
  for (const unsigned size : {8U, 4U}) {
    const std::uint64_t all = dwarf::wrap(~std::uint64_t{0}, size);
    for (const unsigned count : {size * 8, size * 8 + 1, 100U}) {
      const auto by = [&](unsigned value, unsigned operation) {
        return *run(test::byte_builder{}.u8(0x09).u8(value).u8(0x08).u8(count).u8(operation).view(), size);
      };
      CHECK(by(0x81, 0x24) == 0);
      CHECK(by(0x81, 0x25) == 0);
      CHECK(by(0x81, 0x26) == all);
      CHECK(by(0x7f, 0x26) == 0);
    }
    // One less is a shift.
    const unsigned last = size * 8 - 1;
    CHECK(*run(test::byte_builder{}.u8(0x09).u8(0x81).u8(0x08).u8(last).u8(0x24).view(), size) == std::uint64_t{1}
                                                                                                      << last);
    CHECK(*run(test::byte_builder{}.u8(0x09).u8(0x81).u8(0x08).u8(last).u8(0x25).view(), size) == 1);
    CHECK(*run(test::byte_builder{}.u8(0x09).u8(0x81).u8(0x08).u8(last).u8(0x26).view(), size) == all);
  }
}

TEST_CASE("a stack of more than 64 elements is an error") {
  CHECK(run(std::vector<std::byte>(64, std::byte{0x31})));
  std::vector<std::byte> code(65, std::byte{0x31});
  CHECK(run(code).error() == trace_error{errc::capacity, 64});
}
