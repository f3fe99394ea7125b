// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/lines.hpp>

#include <cstdint>
#include <optional>
#include <string_view>

#include <support/catch.hpp>

using namespace backsight;

TEST_CASE("fractions of a time have any number of digits") {
  const auto time = [](std::string_view text) { return text::take_time(text); };
  CHECK(time("1.5") == 1'500'000'000);
  CHECK(time("1.000000001") == 1'000'000'001);
  CHECK(time("1.0000000019") == 1'000'000'001);
  CHECK(time("0.123456789123") == 123'456'789);
  CHECK(time("12.") == std::nullopt);
  CHECK(time(".5") == std::nullopt);
  CHECK(time("1,5") == std::nullopt);
}

TEST_CASE("numbers are taken up to 64 bits and left where they are otherwise") {
  const auto number = [](std::string_view text, unsigned base) {
    std::string_view rest = text;
    const auto value = text::take_number(rest, base);
    return std::pair(value, std::string(rest));
  };
  using pair = std::pair<std::optional<std::uint64_t>, std::string>;
  CHECK(number("18446744073709551615x", 10) == pair{~std::uint64_t{0}, "x"});
  CHECK(number("18446744073709551616", 10) == pair{std::nullopt, "18446744073709551616"});
  CHECK(number("ffffffffffffffff", 16) == pair{~std::uint64_t{0}, ""});
  CHECK(number("10000000000000000", 16).first == std::nullopt);
  CHECK(number("9a", 10) == pair{9, "a"});
  CHECK(number("aFg", 16) == pair{0xaf, "g"});
  CHECK(number("/", 10).first == std::nullopt);
  CHECK(number(":", 10).first == std::nullopt);
  CHECK(number("", 10).first == std::nullopt);
}

TEST_CASE("lines end at a newline or at the end of the text, and tell their places") {
  text::lines text("a\n\nbc");
  std::string all;
  while (text.next()) all += std::to_string(text.offset()) + ':' + std::string(text.line()) + ' ';
  CHECK(all == "0:a 2: 3:bc ");
  text::lines ended("a\n");
  CHECK(ended.next());
  CHECK_FALSE(ended.next());
  CHECK(text::base_name("/a/b") == "b");
  CHECK(text::base_name("b") == "b");
  CHECK(text::base_name("a/") == "");
}

TEST_CASE("times that do not fit are none, and what is taken is gone") {
  std::string_view last = "18000000000.0", beyond = "18000000001.0";
  CHECK(text::take_time(last) == 18'000'000'000'000'000'000U);
  CHECK_FALSE(text::take_time(beyond));
  std::string_view rest = "a=1";
  CHECK_FALSE(text::take(rest, "b"));
  CHECK((text::take(rest, "a=") && rest == "1"));
  CHECK(text::cut_at("a") == 1);
  CHECK_FALSE(text::cut_at("a\n"));
  CHECK_FALSE(text::cut_at(""));
}
