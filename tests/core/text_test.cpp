// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <backsight/core/text.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/sink.hpp>

using namespace backsight;
using test::bytes;
using test::writes;

namespace {

constexpr bool writes_decimal_numbers() {
  return writes([](char* out) { return text::decimal(out, 0); }, "0") &&
         writes([](char* out) { return text::decimal(out, std::numeric_limits<std::int64_t>::min()); }, "-9223372036854775808") &&
         writes([](char* out) { return text::decimal(out, std::numeric_limits<std::uint64_t>::max()); }, "18446744073709551615") &&
         writes([](char* out) { return text::decimal(out, std::int8_t{-128}); }, "-128") &&
         writes([](char* out) { return text::decimal(out, 42, 6); }, "000042") &&
         writes([](char* out) { return text::decimal(out, 123456, 2); }, "123456") &&
         writes([](char* out) { return text::decimal(out, true); }, "1");
}

constexpr bool writes_hexadecimal_numbers() {
  return writes([](char* out) { return text::hexadecimal(out, 0); }, "0") &&
         writes([](char* out) { return text::hexadecimal(out, 0xabc, 5); }, "00abc") &&
         writes([](char* out) { return text::hexadecimal(out, ~std::uint64_t{0}, 3); }, "ffffffffffffffff") &&
         writes([](char* out) { return text::hexadecimal(out, 1, 18); }, "000000000000000001") &&
         writes([](char* out) { return text::hex_bytes(out, bytes<0, 0x7f, 0xe>); }, "007f0e");
}

constexpr bool quotes_bytes() {
  return writes([](char* out) { return text::quoted(out, {}); }, "\"\"") &&
         writes([](char* out) { return text::quoted(out, bytes<'a', '"', '\\', '\n', '\r', '\t', ' ', '~'>); },
                "\"a\\\"\\\\\\n\\r\\t ~\"") &&
         writes([](char* out) { return text::quoted(out, bytes<0, 0x1f, 0x7f, 0xff>); }, "\"\\u0000\\u001f\\u007f\\u00ff\"");
}

/// The bytes as a quoted text, which keeps them as they are.
template <int... Values>
constexpr bool keeps() {
  constexpr auto given = bytes<Values...>;
  const auto written = test::sink<>::of([](char* out) { return text::quoted(out, bytes<Values...>); });
  if (written.size != given.size() + 2) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (static_cast<std::byte>(written.characters[i + 1]) != given[i]) return false;
  }
  return true;
}

/// The bytes as a quoted text, each of them as its number.
template <int... Values>
constexpr bool numbers() {
  const auto written = test::sink<>::of([](char* out) { return text::quoted(out, bytes<Values...>); });
  const auto wanted = test::sink<>::of([](char* out) {
    *out++ = '"';
    for (const std::byte b : bytes<Values...>)
      out = text::hexadecimal(text::literal(out, "\\u"), std::to_integer<unsigned>(b), 4);
    *out++ = '"';
    return out;
  });
  return written.view() == wanted.view();
}

// The first and the last sequence of each row of table 3-7 of the Unicode standard (15.0).
constexpr bool keeps_well_formed_utf8() {
  return keeps<0xc2, 0x80>() && keeps<0xdf, 0xbf>() && keeps<0xe0, 0xa0, 0x80>() && keeps<0xe0, 0xbf, 0xbf>() &&
         keeps<0xe1, 0x80, 0x80>() && keeps<0xec, 0xbf, 0xbf>() && keeps<0xed, 0x80, 0x80>() &&
         keeps<0xed, 0x9f, 0xbf>() && keeps<0xee, 0x80, 0x80>() && keeps<0xef, 0xbf, 0xbf>() &&
         keeps<0xf0, 0x90, 0x80, 0x80>() && keeps<0xf0, 0xbf, 0xbf, 0xbf>() && keeps<0xf1, 0x80, 0x80, 0x80>() &&
         keeps<0xf3, 0xbf, 0xbf, 0xbf>() && keeps<0xf4, 0x80, 0x80, 0x80>() && keeps<0xf4, 0x8f, 0xbf, 0xbf>();
}

// What lies just outside of these rows: longer than need be, surrogates, beyond U+10FFFF, and bytes that begin nothing.
constexpr bool numbers_what_is_not_utf8() {
  return numbers<0x80>() && numbers<0xbf>() && numbers<0xc0, 0x80>() && numbers<0xc1, 0xbf>() &&
         numbers<0xe0, 0x80, 0x80>() && numbers<0xe0, 0x9f, 0xbf>() && numbers<0xed, 0xa0, 0x80>() &&
         numbers<0xed, 0xbf, 0xbf>() && numbers<0xf0, 0x80, 0x80, 0x80>() && numbers<0xf0, 0x8f, 0xbf, 0xbf>() &&
         numbers<0xf4, 0x90, 0x80, 0x80>() && numbers<0xf4, 0xbf, 0xbf, 0xbf>() && numbers<0xf5, 0x80, 0x80, 0x80>() &&
         numbers<0xf7, 0xbf, 0xbf, 0xbf>() && numbers<0xf8, 0x88, 0x80, 0x80>() && numbers<0xff>();
}

// Cut at its end, and with a byte that continues nothing at each of its places.
constexpr bool numbers_sequences_that_are_cut() {
  return numbers<0xc2>() && numbers<0xe2, 0x82>() && numbers<0xf0, 0x9f, 0x98>() && numbers<0xc2, 0x00>() &&
         numbers<0xc2, 0xc0>() && numbers<0xe2, 0x7f, 0xac>() && numbers<0xe2, 0xc0>() && numbers<0xe2, 0x82, 0xff>() &&
         numbers<0xf0, 0x9f, 0x98, 0xc0>() && numbers<0xf0, 0x9f, 0xc0>() &&
         writes([](char* out) { return text::quoted(out, bytes<0xc2, 'A', 0xe2, 0x82, 'B', 0xc3, 0xa9>); },
                "\"\\u00c2A\\u00e2\\u0082B\xc3\xa9\"");
}

constexpr bool quotes_the_borders_of_ascii() {
  return keeps<0x20>() && keeps<0x7e>() && numbers<0x1f>() && numbers<0x7f>() && numbers<0>();
}

constexpr bool widths_at_the_border() {
  return writes([](char* out) { return text::decimal(out, 123, 3); }, "123") &&
         writes([](char* out) { return text::decimal(out, 123, 4); }, "0123") &&
         writes([](char* out) { return text::decimal(out, -12, 3); }, "-012") &&
         writes([](char* out) { return text::decimal(out, 10); }, "10") &&
         writes([](char* out) { return text::hexadecimal(out, 0xf); }, "f") &&
         writes([](char* out) { return text::hexadecimal(out, 0x10); }, "10") &&
         writes([](char* out) { return text::hexadecimal(out, 0x100, 3); }, "100") &&
         writes([](char* out) { return text::hexadecimal(out, std::uint64_t{1} << 60); }, "1000000000000000") &&
         writes([](char* out) { return text::hexadecimal(out, (std::uint64_t{1} << 60) - 1); }, "fffffffffffffff");
}

}  // namespace

TEST_CASE("integers are written in decimal, with zeros up to the width") {
  STATIC_REQUIRE(writes_decimal_numbers());
  CHECK(writes_decimal_numbers());
}

TEST_CASE("integers and bytes are written in hexadecimal") {
  STATIC_REQUIRE(writes_hexadecimal_numbers());
  CHECK(writes_hexadecimal_numbers());
}

TEST_CASE("bytes are quoted so that JSON readers take them") {
  STATIC_REQUIRE(quotes_bytes());
  CHECK(quotes_bytes());
}

TEST_CASE("well-formed UTF-8 stays as it is in a quoted text") {
  STATIC_REQUIRE(keeps_well_formed_utf8());
  CHECK(keeps_well_formed_utf8());
}

TEST_CASE("bytes that are not well-formed UTF-8 are numbers in a quoted text") {
  STATIC_REQUIRE(numbers_what_is_not_utf8());
  CHECK(numbers_what_is_not_utf8());
  STATIC_REQUIRE(numbers_sequences_that_are_cut());
  CHECK(numbers_sequences_that_are_cut());
}

TEST_CASE("printable ASCII stays as it is in a quoted text, from the blank to the tilde") {
  STATIC_REQUIRE(quotes_the_borders_of_ascii());
  CHECK(quotes_the_borders_of_ascii());
}

TEST_CASE("numbers of just the width that is asked for get no zeros") {
  STATIC_REQUIRE(widths_at_the_border());
  CHECK(widths_at_the_border());
}
