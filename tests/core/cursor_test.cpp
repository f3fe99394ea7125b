// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <backsight/core/cursor.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::byte_builder;
using test::bytes;

namespace {

using little_cursor = cursor<order::little>;

constexpr bool reads_one_after_the_other() {
  constexpr auto data = bytes<1, 2, 0, 0, 0, 3, 'a', 'b', 0, 9, 9>;
  little_cursor little(data, 100);
  const bool first = little.read<std::uint8_t>() == 1 && little.read<std::uint32_t>() == 2 && little.offset() == 105;
  little.skip(1);
  const byte_view text = little.c_string();
  const bool second =
      text.size() == 2 && text[1] == std::byte{'b'} && little.take(1).size() == 1 && little.remaining() == 1;
  little.seek(0);
  const bool third =
      little.read_unsigned(2) == 0x0201 && little.position() == 2 && !little.at_end() && little.rest().size() == 9;
  cursor<order::big> big(data);
  return first && second && third && !little.failed() && big.read_unsigned(4) == 0x01020000;
}

constexpr bool keeps_the_first_error() {
  constexpr auto data = bytes<1, 2, 3>;
  little_cursor in(data, 50);
  in.skip(1);
  const auto cut = in.read<std::uint32_t>();
  const bool failed = cut == 0 && in.error() == trace_error{errc::truncated, 51};
  in.seek(99);
  in.fail(errc::bad_value);
  return failed && in.error() == trace_error{errc::truncated, 51} && in.read<std::uint8_t>() == 0 &&
         in.take(1).empty() && in.c_string().empty() && in.rest().empty() && in.at_end() && in.uleb128() == 0 &&
         in.sleb128() == 0 && in.offset() == 51;
}

constexpr bool stays_where_its_error_is() {
  constexpr auto data = bytes<1, 2, 3>;
  little_cursor in(data, 50);
  in.skip(2);
  in.skip(2);
  const bool failed = in.error() == trace_error{errc::truncated, 52} && in.position() == 2;
  in.seek(0);
  in.skip(0);
  little_cursor whole(data);
  whole.skip(3);
  whole.seek(3);
  const bool at_end = !whole.failed() && whole.at_end();
  whole.seek(4);
  return failed && in.position() == 2 && in.offset() == 52 && at_end &&
         whole.error() == trace_error{errc::out_of_range, 3};
}

constexpr trace_error error_of(byte_view data, void (*read)(little_cursor&)) {
  little_cursor in(data);
  read(in);
  return in.error();
}

struct unsigned_number {
  std::uint64_t value = 0;
  errc code = errc::ok;
  std::size_t size = 0;
};
constexpr unsigned_number unsigned_of(byte_view data) {
  little_cursor in(data);
  const std::uint64_t value = in.uleb128();
  return {value, in.error().code, in.position()};
}
constexpr bool is(unsigned_number number, std::uint64_t value, std::size_t size) {
  return number.code == errc::ok && number.value == value && number.size == size;
}

struct signed_number {
  std::int64_t value = 0;
  errc code = errc::ok;
  std::size_t size = 0;
};
constexpr signed_number signed_of(byte_view data) {
  little_cursor in(data);
  const std::int64_t value = in.sleb128();
  return {value, in.error().code, in.position()};
}
constexpr bool is(signed_number number, std::int64_t value, std::size_t size) {
  return number.code == errc::ok && number.value == value && number.size == size;
}

constexpr auto f = 0xff;
constexpr auto c = 0x80;

// The examples of DWARF 5, figures 22 and 23, then the largest and smallest numbers, then padded ones.
constexpr bool reads_unsigned_numbers() {
  return is(unsigned_of(bytes<2>), 2, 1) && is(unsigned_of(bytes<127>), 127, 1) &&
         is(unsigned_of(bytes<0x80, 1>), 128, 2) && is(unsigned_of(bytes<0x81, 1>), 129, 2) &&
         is(unsigned_of(bytes<57 + 0x80, 100>), 12857, 2) &&
         is(unsigned_of(bytes<f, f, f, f, f, f, f, f, f, 1>), ~std::uint64_t{0}, 10) &&
         is(unsigned_of(bytes<c, c, c, c, c, c, c, c, c, 1>), std::uint64_t{1} << 63, 10) &&
         is(unsigned_of(bytes<0x81, c, c, c, c, c, c, c, c, c, c, c, 0>), 1, 13);
}
constexpr bool rejects_unsigned_numbers() {
  return unsigned_of(bytes<f, f, f, f, f, f, f, f, f, 2>).code == errc::number_too_large &&
         unsigned_of(bytes<c, c, c, c, c, c, c, c, c, c, 1>).code == errc::number_too_large &&
         unsigned_of(bytes<c, c>).code == errc::truncated && unsigned_of({}).code == errc::truncated;
}
constexpr bool reads_signed_numbers() {
  using limits = std::numeric_limits<std::int64_t>;
  return is(signed_of(bytes<2>), 2, 1) && is(signed_of(bytes<0x7e>), -2, 1) && is(signed_of(bytes<0xff, 0>), 127, 2) &&
         is(signed_of(bytes<0x81, 0x7f>), -127, 2) && is(signed_of(bytes<0x80, 1>), 128, 2) &&
         is(signed_of(bytes<0x80, 0x7f>), -128, 2) && is(signed_of(bytes<0x81, 1>), 129, 2) &&
         is(signed_of(bytes<0xff, 0x7e>), -129, 2) && is(signed_of(bytes<0x40>), -64, 1) &&
         is(signed_of(bytes<0x3f>), 63, 1) && is(signed_of(bytes<f, f, f, f, f, f, f, f, f, 0>), limits::max(), 10) &&
         is(signed_of(bytes<c, c, c, c, c, c, c, c, c, 0x7f>), limits::min(), 10) &&
         is(signed_of(bytes<c, c, c, c, c, c, c, c, 0x40>), -(std::int64_t{1} << 62), 9) &&
         is(signed_of(bytes<f, f, f, f, f, f, f, f, f, f, f, 0x7f>), -1, 12) &&
         is(signed_of(bytes<0x81, c, c, c, c, c, c, c, c, c, c, 0>), 1, 12);
}
constexpr bool rejects_signed_numbers() {
  return signed_of(bytes<f, f, f, f, f, f, f, f, f, 1>).code == errc::number_too_large &&
         signed_of(bytes<c, c, c, c, c, c, c, c, c, 0x7e>).code == errc::number_too_large &&
         signed_of(bytes<c, c, c, c, c, c, c, c, c, c, 0x7f>).code == errc::number_too_large &&
         signed_of(bytes<f>).code == errc::truncated && signed_of({}).code == errc::truncated;
}

constexpr bool errors_are_at_the_number_that_they_concern() {
  constexpr auto large = bytes<7, c, c, c, c, c, c, c, c, c, c, 1>;
  constexpr auto tenth = bytes<7, c, c, c, c, c, c, c, c, c, 3>;
  constexpr auto open_text = bytes<7, 'a', 'b'>;
  return error_of(large,
                  [](little_cursor& in) {
                    in.skip(1);
                    (void)in.uleb128();
                  }) == trace_error{errc::number_too_large, 1} &&
         error_of(large,
                  [](little_cursor& in) {
                    in.skip(1);
                    (void)in.sleb128();
                  }) == trace_error{errc::number_too_large, 1} &&
         error_of(tenth,
                  [](little_cursor& in) {
                    in.skip(1);
                    (void)in.uleb128();
                  }) == trace_error{errc::number_too_large, 1} &&
         error_of(tenth,
                  [](little_cursor& in) {
                    in.skip(1);
                    (void)in.sleb128();
                  }) == trace_error{errc::number_too_large, 1} &&
         error_of(open_text,
                  [](little_cursor& in) {
                    in.skip(1);
                    (void)in.c_string();
                  }) == trace_error{errc::bad_string, 1} &&
         error_of(open_text, [](little_cursor& in) { in.seek(4); }) == trace_error{errc::out_of_range, 0} &&
         error_of(open_text, [](little_cursor& in) { (void)in.read_unsigned(3); }) == trace_error{errc::bad_size, 0} &&
         error_of(open_text, [](little_cursor& in) { (void)in.take(~std::uint64_t{0}); }) ==
             trace_error{errc::truncated, 0};
}

}  // namespace

TEST_CASE("a cursor reads numbers, texts and blocks one after the other") {
  STATIC_REQUIRE(reads_one_after_the_other());
  CHECK(reads_one_after_the_other());
}

TEST_CASE("a cursor keeps its first error and gives zeros from then on") {
  STATIC_REQUIRE(keeps_the_first_error());
  CHECK(keeps_the_first_error());
}

TEST_CASE("a cursor stays where its error is, and may stand at the end without one") {
  STATIC_REQUIRE(stays_where_its_error_is());
  CHECK(stays_where_its_error_is());
}

TEST_CASE("unsigned LEB128 numbers are read up to 64 bits, padded ones too") {
  STATIC_REQUIRE(reads_unsigned_numbers());
  CHECK(reads_unsigned_numbers());
}

TEST_CASE("unsigned LEB128 numbers of more than 64 bits or without an end are errors") {
  STATIC_REQUIRE(rejects_unsigned_numbers());
  CHECK(rejects_unsigned_numbers());
}

TEST_CASE("signed LEB128 numbers are read up to 64 bits, padded ones too") {
  STATIC_REQUIRE(reads_signed_numbers());
  CHECK(reads_signed_numbers());
}

TEST_CASE("signed LEB128 numbers of more than 64 bits or without an end are errors") {
  STATIC_REQUIRE(rejects_signed_numbers());
  CHECK(rejects_signed_numbers());
}

TEST_CASE("the offset of a cursor's error is where the thing began that could not be read") {
  STATIC_REQUIRE(errors_are_at_the_number_that_they_concern());
  CHECK(errors_are_at_the_number_that_they_concern());
}

TEST_CASE("an empty cursor is at its end without an error") {
  STATIC_REQUIRE(little_cursor().at_end());
  CHECK_FALSE(little_cursor().failed());
}
