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

TEST_CASE("an aligned pointer that lies aligned is read where it is") {
  for (const std::uint64_t section : {0x1000U, 0x1001U, 0x1004U, 0x1007U}) {
    for (std::size_t start = 0; start < 9; ++start) {
      test::byte_builder b;
      const std::uint64_t padding = (8 - (section + start) % 8) % 8;
      b.fill(start + padding, 0xee).u64(7);
      cursor<order::little> from(b.view());
      from.skip(start);
      CHECK(dwarf::read_pointer(from, dwarf::pointer_encoding{0x50}, 8, {section, 0, 0, 0}).address == 7);
      CHECK(from.position() == start + padding + 8);
    }
  }
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
  const auto range = [](byte_view bytes, unsigned encoding) {
    cursor<order::little> at(bytes);
    return dwarf::read_range(at, dwarf::pointer_encoding{static_cast<std::uint8_t>(encoding)}, 8);
  };
  for (const unsigned application : {0x00U, 0x10U, 0x30U}) {
    CHECK(range(test::bytes<0x00, 0x80>, application | 0x0aU) == 0x8000);
    CHECK(range(test::bytes<0xff, 0xff>, application | 0x0aU) == 0xffff);
    CHECK(range(test::bytes<0xff, 0x7f>, application | 0x0aU) == 0x7fff);
    CHECK(range(test::bytes<0x00, 0x80>, application | 0x02U) == 0x8000);
    CHECK(range(test::bytes<0x00, 0x00, 0x00, 0x80>, application | 0x0bU) == 0x80000000);
    CHECK(range(test::bytes<0x00, 0x00, 0x00, 0x80>, application | 0x03U) == 0x80000000);
  }
  CHECK(range(test::bytes<0x7f>, 0x09) == 0xffffffff);
  CHECK(range(test::bytes<0x3f>, 0x09) == 0x3f);
  CHECK(range(test::bytes<8, 0, 0, 0, 0, 0, 0, 0>, 0x50) == 8);
}
