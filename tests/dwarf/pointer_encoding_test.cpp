// SPDX-License-Identifier: Apache-2.0
#include <backsight/dwarf/pointer_encoding.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;

namespace {

constexpr std::uint64_t read(byte_view bytes, std::uint8_t encoding, unsigned size, dwarf::pointer_bases bases = {}) {
  cursor<order::little> from(bytes);
  return dwarf::read_pointer(from, dwarf::pointer_encoding{encoding}, size, bases).address;
}

constexpr bool formats_are_read() {
  constexpr auto& b = test::bytes<0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f>;
  return read(b, 0x00, 8) == 0x7ffffffffffffffe && read(b, 0x00, 4) == 0xfffffffe && read(b, 0x02, 8) == 0xfffe &&
         read(b, 0x03, 8) == 0xfffffffe && read(b, 0x04, 8) == 0x7ffffffffffffffe &&
         read(b, 0x0a, 8) == ~std::uint64_t{1} && read(b, 0x0b, 8) == ~std::uint64_t{1} &&
         read(b, 0x0b, 4) == 0xfffffffe && read(b, 0x0c, 8) == 0x7ffffffffffffffe &&
         read(test::bytes<0x81, 0x01>, 0x01, 8) == 129 && read(test::bytes<0x7f>, 0x09, 8) == ~std::uint64_t{0};
}
static_assert(formats_are_read());

}  // namespace

TEST_CASE("every format of a pointer is read") { CHECK(formats_are_read()); }

TEST_CASE("what is added follows from the encoding and wraps") {
  const dwarf::pointer_bases bases{0x1000, 0x2000, 0x3000, 0x4000};
  const auto& b = test::bytes<0x10, 0, 0, 0>;
  CHECK(read(b, 0x13, 8, bases) == 0x1010);
  CHECK(read(b, 0x23, 8, bases) == 0x2010);
  CHECK(read(b, 0x33, 8, bases) == 0x3010);
  CHECK(read(b, 0x43, 8, bases) == 0x4010);
  CHECK(read(test::bytes<0, 0xf0, 0xff, 0xff>, 0x1b, 8, bases) == 0);
  CHECK(read(test::bytes<0, 0xe0, 0xff, 0xff>, 0x1b, 4, bases) == 0xfffff000);
}

TEST_CASE("an aligned pointer skips to the address size") {
  cursor<order::little> from(test::bytes<1, 0xee, 0xee, 0xee, 7, 0, 0, 0>);
  from.skip(1);
  CHECK(dwarf::read_pointer(from, dwarf::pointer_encoding{0x50}, 4, {}).address == 7);
}

TEST_CASE("encodings that nobody defines, and short bytes, are errors") {
  for (const unsigned encoding : {0x05U, 0x0fU, 0x60U, 0x70U}) {
    cursor<order::little> from(test::bytes<1, 2, 3, 4, 5, 6, 7, 8>);
    (void)dwarf::read_pointer(from, dwarf::pointer_encoding{static_cast<std::uint8_t>(encoding)}, 8, {});
    CHECK(from.error().code == errc::bad_value);
  }
  cursor<order::little> from(test::bytes<1, 2>);
  (void)dwarf::read_pointer(from, dwarf::pointer_encoding{0x03}, 8, {});
  CHECK(from.error().code == errc::truncated);
}

TEST_CASE("a range is read without a base and as unsigned") {
  cursor<order::little> from(test::bytes<0xff, 0xff, 0xff, 0xff>);
  CHECK(dwarf::read_range(from, dwarf::pointer_encoding{0x1b}, 8) == 0xffffffff);
}
