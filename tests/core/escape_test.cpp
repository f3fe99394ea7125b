// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <string>
#include <string_view>

#include <backsight/core/escape.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/sink.hpp>

using namespace backsight;
using namespace std::string_view_literals;
using test::bytes;
using test::writes;

namespace {

constexpr bool quotes_bytes() {
  return writes([](char* out) { return text::quoted(out, {}); }, "\"\"") &&
         writes([](char* out) { return text::quoted(out, bytes<'a', '"', '\\', '\n', '\r', '\t', ' ', '~'>); },
                "\"a\\\"\\\\\\n\\r\\t ~\"") &&
         writes([](char* out) { return text::quoted(out, bytes<0, 0x1f, 0x7f, 0xff>); },
                "\"\\u0000\\u001f\\u007f\\u00ff\"") &&
         writes([](char* out) { return text::quoted(out, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"sv); },
                "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\"") &&
         // Not UTF-8: a lone continuation, overlong forms, surrogates, beyond U+10FFFF, cut short.
         writes([](char* out) { return text::quoted(out, "\x80\xc0\xaf\xed\xa0\x80"sv); },
                "\"\\u0080\\u00c0\\u00af\\u00ed\\u00a0\\u0080\"") &&
         writes([](char* out) { return text::quoted(out, "\xe0\x9f\xbf\xf4\x90\x80\x80\xe2\x82"sv); },
                "\"\\u00e0\\u009f\\u00bf\\u00f4\\u0090\\u0080\\u0080\\u00e2\\u0082\"");
}

constexpr bool writes_cells() {
  const auto with = [](char separator, std::string_view in, std::string_view expected) {
    return writes([&](char* out) { return text::cell(out, in, separator); }, expected);
  };
  return with(',', "", "") && with(',', "a b;\tc'\x1b\xff", "a b;\tc'\x1b\xff") &&
         with(',', "f(int, char)", "\"f(int, char)\"") && with(',', "say \"b\"", "\"say \"\"b\"\"\"") &&
         with(',', "a\nb", "\"a\nb\"") && with(',', "a\rb", "\"a\rb\"") && with(';', "a,b", "a,b") &&
         with(';', "a;b", "\"a;b\"") &&  //
         with('\t', "f(int, char) \"x\"", "f(int, char) \"x\"") && with('\t', "a\tb\\t\nc\r", "a\\tb\\\\t\\nc\\r") &&
         with('\t', "\"x\"", "\\x22x\"") && with('\t', "", "");
}

constexpr bool shows_text() {
  return writes([](char* out) { return text::shown(out, "a\x1b]0;x\a\x7f\n\t\0"sv); },
                "a\\x1b]0;x\\x07\\x7f\\x0a\\x09\\x00") &&
         writes([](char* out) { return text::shown(out, "a\n\tb\r"sv, "\n\t"); }, "a\n\tb\\x0d") &&
         writes([](char* out) { return text::shown(out, "\xc3\xa9\xff\xc2\x9b\xe2\x82"sv); },
                "\xc3\xa9\\xff\\xc2\\x9b\\xe2\\x82") &&
         writes([](char* out) { return text::as_utf8(out, "\x1b\xc3\xa9\xc2\x9b\xff"sv); },
                "\x1b\xc3\xa9\xc2\x9b\\xff");
}

constexpr bool writes_labels() {
  return writes([](char* out) { return text::dot_label(out, "say \"b\" \\N\n\x1b\xff\xc3\xa9"sv); },
                "say \\\"b\\\" \\\\N \\\\x1b\\\\xff\xc3\xa9");
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

// U+0080 to U+009F are control characters, U+00A0 and what follows are not; JSON takes both as they are.
constexpr bool tells_controls_of_two_bytes() {
  return writes([](char* out) { return text::shown(out, "\xc2\x80\xc2\x9f\xc2\xa0\xc3\x80\xd0\x80\xdf\xbf"sv); },
                "\\xc2\\x80\\xc2\\x9f\xc2\xa0\xc3\x80\xd0\x80\xdf\xbf") &&
         writes([](char* out) { return text::shown(out, "\x1f\x20\x7e\x7f"sv); }, "\\x1f\x20\x7e\\x7f") &&
         keeps<0xc2, 0x80>() && keeps<0xc2, 0x9f>() &&
         writes([](char* out) { return text::dot_label(out, "a\rb\\"sv); }, "a b\\\\");
}

}  // namespace

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

TEST_CASE("a cell of a table cannot end its line or begin another cell") {
  STATIC_REQUIRE(writes_cells());
  CHECK(writes_cells());
}

TEST_CASE("control characters and bytes that are not UTF-8 are shown by their numbers") {
  STATIC_REQUIRE(shows_text());
  CHECK(shows_text());
}

TEST_CASE("control characters of two bytes are told from what follows them") {
  STATIC_REQUIRE(tells_controls_of_two_bytes());
  CHECK(tells_controls_of_two_bytes());
}

TEST_CASE("a label in the DOT language stays within its quotes") {
  STATIC_REQUIRE(writes_labels());
  CHECK(writes_labels());
}

TEST_CASE("every two bytes are either UTF-8 or not, as the Unicode standard's table of well-formed sequences has it") {
  for (unsigned first = 0x80; first < 0x100; ++first) {
    for (unsigned second = 0; second < 0x100; ++second) {
      const char pair[]{static_cast<char>(first), static_cast<char>(second), '\xbf', '\xbf'};
      const bool follows = second >= 0x80 && second < 0xc0;
      const std::size_t size = text::utf8_sequence(std::span<const char>(pair), 0);
      std::size_t expected = 0;
      if (follows && first >= 0xc2 && first < 0xe0) expected = 2;
      if (follows && first >= 0xe0 && first < 0xf0 && !(first == 0xe0 && second < 0xa0) &&
          !(first == 0xed && second >= 0xa0))
        expected = 3;
      if (follows && first >= 0xf0 && first < 0xf5 && !(first == 0xf0 && second < 0x90) &&
          !(first == 0xf4 && second >= 0x90))
        expected = 4;
      CAPTURE(first, second);
      REQUIRE(size == expected);
      // Cut short by one byte it is none.
      if (size != 0) REQUIRE(text::utf8_sequence(std::span<const char>(pair, size - 1), 0) == 0);
    }
  }
}
