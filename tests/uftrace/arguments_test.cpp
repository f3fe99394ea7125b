// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/arguments.hpp>

#include <string_view>
#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

value_spec one(std::string_view text, std::size_t long_size = 8) {
  const auto specs = read_value_specs(text, long_size);
  REQUIRE(specs.size() == 1);
  return specs[0];
}

}  // namespace

TEST_CASE("sets of globs hold characters, ranges with both ends, and their own signs where a shell allows it") {
  CHECK(matches_glob("[abc]", "c"));
  CHECK_FALSE(matches_glob("[abc]", "d"));
  for (const char* const in : {"b", "c", "d"}) CHECK(matches_glob("[b-d]", in));
  for (const char* const out : {"a", "e", "-"}) CHECK_FALSE(matches_glob("[b-d]", out));
  CHECK(matches_glob("[]a]", "]"));
  CHECK(matches_glob("[]a]", "a"));
  CHECK_FALSE(matches_glob("[]a]", "b"));
  CHECK_FALSE(matches_glob("[]a]", "]a]"));
  CHECK(matches_glob("[!]a]", "b"));
  CHECK_FALSE(matches_glob("[!]a]", "]"));
  CHECK_FALSE(matches_glob("[^]a]", "a"));
  CHECK(matches_glob("[!b-d]", "a"));
  CHECK(matches_glob("[!b-d]", "e"));
  CHECK_FALSE(matches_glob("[!b-d]", "b"));
  CHECK_FALSE(matches_glob("[!b-d]", "d"));
  CHECK(matches_glob("[a-]", "-"));
  CHECK(matches_glob("[a-]", "a"));
  CHECK_FALSE(matches_glob("[a-]", "b"));
  CHECK(matches_glob("[-a]", "-"));
  CHECK(matches_glob("[a-cx-z]", "y"));
  CHECK_FALSE(matches_glob("[a-cx-z]", "d"));
  CHECK(matches_glob("[a-c]d", "cd"));
  // What is not closed is no set.
  CHECK(matches_glob("[ab", "[ab"));
  CHECK_FALSE(matches_glob("[ab", "a"));
  CHECK(matches_glob("f[", "f["));
  CHECK(matches_glob("[]", "[]"));
}

TEST_CASE("stars of globs stand for any characters, question marks for one") {
  CHECK(matches_glob("", ""));
  CHECK_FALSE(matches_glob("", "a"));
  CHECK_FALSE(matches_glob("a", ""));
  CHECK(matches_glob("**", ""));
  CHECK_FALSE(matches_glob("?", ""));
  CHECK_FALSE(matches_glob("?", "ab"));
  CHECK(matches_glob("?b", "ab"));
  CHECK(matches_glob("a*", "a"));
  CHECK(matches_glob("*a", "a"));
  CHECK(matches_glob("*ab", "aab"));
  CHECK(matches_glob("*a*a", "aa"));
  CHECK_FALSE(matches_glob("*a*a", "a"));
  CHECK(matches_glob("a*?c", "abc"));
  CHECK_FALSE(matches_glob("a*?c", "ac"));
  CHECK(matches_glob("*[ab]c", "xxbbc"));
  CHECK(matches_glob("\\?", "?"));
  CHECK_FALSE(matches_glob("\\?", "a"));
  CHECK(matches_glob("\\[a]", "[a]"));
  CHECK(matches_glob("a\\", "a\\"));  // nothing to quote behind it
}

TEST_CASE("of two items for one place the exact name wins, else the later one") {
  const auto spec = [](const char* pattern, bool is_pattern, std::string_view values) {
    return function_spec{pattern, is_pattern, read_value_specs(values, 8)};
  };
  const auto merged = [](const std::vector<function_spec>& all) {
    std::vector<value_spec> list;
    std::vector<bool> exact;
    for (const function_spec& item : all) merge_value_specs(list, exact, item);
    CHECK(exact.size() == list.size());
    std::string text;
    for (const value_spec& item : list) {
      text += std::to_string(item.index) + static_cast<char>(item.format) + ' ';
    }
    return text;
  };
  CHECK(merged({spec("f", false, "arg1/i"), spec("f.*", true, "arg1/x")}) == "1i ");
  CHECK(merged({spec("f.*", true, "arg1/x"), spec("f", false, "arg1/i")}) == "1i ");
  CHECK(merged({spec("f", false, "arg1/i"), spec("f", false, "arg1/u")}) == "1u ");
  CHECK(merged({spec("f.*", true, "arg1/x"), spec(".*", true, "arg1/u")}) == "1u ");
  CHECK(merged({spec("f", false, "arg1/i"), spec(".*", true, "arg2/u,arg1/x")}) == "1i 2u ");
  CHECK(merged({spec(".*", true, "arg2/u"), spec("f", false, "arg1/i")}) == "2u 1i ");
  CHECK(merged({spec(".*", true, "arg1/u"), spec("f", false, "arg1/i"), spec("f.*", true, "arg1/x")}) == "1i ");
  // The second of two places is exact, the first is not.
  CHECK(merged({spec(".*", true, "arg1/u"), spec("f", false, "arg2/i"), spec("f.*", true, "arg1/x,arg2/x")}) ==
        "1x 2i ");
  CHECK(merged({spec("f", false, "arg1/i,fparg1/32,arg1/u%stack+1")}) == "1i 1f 1u ");
}

TEST_CASE("items have the same place by their word of the stack, or by kind and number") {
  CHECK(one("arg1/i").same_place(one("arg1/x%rdi")));
  CHECK_FALSE(one("arg1").same_place(one("arg2")));
  CHECK_FALSE(one("arg1").same_place(one("fparg1")));
  CHECK(one("arg1%stack+2").same_place(one("fparg3%stack+2")));
  CHECK_FALSE(one("arg1%stack+2").same_place(one("arg1%stack+3")));
  CHECK_FALSE(one("arg1%stack+1").same_place(one("arg1")));
  CHECK(one("retval").same_place(one("retval/s")));
}

TEST_CASE("each value takes its size, padded to 4 bytes") {
  const auto extent = [](std::string_view text, std::size_t available, std::size_t long_size = 8) {
    const std::vector<std::byte> rest(available);
    return value_extent<order::little>(one(text, long_size), rest);
  };
  CHECK(extent("arg1", 8).size == 8);
  CHECK(extent("arg1", 7).code == errc::truncated);
  CHECK(extent("arg1", 4, 4).size == 4);
  CHECK(extent("arg1/i8", 4).size == 4);
  CHECK(extent("arg1/i8", 3).code == errc::truncated);
  CHECK(extent("arg1/c", 4).size == 4);
  CHECK(extent("fparg1", 8).size == 8);
  CHECK(extent("fparg1/32", 4).size == 4);
  CHECK(extent("fparg1/80", 12).size == 12);
  CHECK(extent("fparg1/80", 11).code == errc::truncated);
  CHECK(extent("arg1/t5:pt", 8).size == 8);
  CHECK(extent("arg1/t0:pt", 0).code == errc::ok);
  CHECK(extent("arg1/t0:pt", 0).size == 0);
  CHECK(extent("arg1/t:pt", 0).size == 0);
  const auto text_extent = [](const test::byte_builder& text, order o) {
    return o == order::little ? value_extent<order::little>(one("arg1/s"), text.view())
                              : value_extent<order::big>(one("arg1/S"), text.view());
  };
  for (const order o : {order::little, order::big}) {
    for (std::size_t length = 0; length < 12; ++length) {
      const std::size_t whole = (2 + length + 3) / 4 * 4;
      CHECK(text_extent(test::byte_builder(o).u16(length).fill(whole - 2), o).size == whole);
      CHECK(text_extent(test::byte_builder(o).u16(length).fill(whole - 3), o).code == errc::truncated);
    }
    CHECK(text_extent(test::byte_builder(o).u8(0), o).code == errc::truncated);
    CHECK(text_extent(test::byte_builder(o), o).code == errc::truncated);
  }
}

TEST_CASE("values lie one behind the other") {
  const auto specs = read_value_specs("arg1/i32,arg2/s,arg3", 8);
  test::byte_builder values;
  values.u32(7).u16(3).text("abc").fill(3).u64(9);
  CHECK(values_extent(specs, values.view(), order::little).size == 20);
  for (std::size_t size = 0; size < values.size(); ++size)
    CHECK(values_extent(specs, values.view().first(size), order::little).code == errc::truncated);
  CHECK(values_extent({}, values.view(), order::little).size == 0);
}

TEST_CASE("numbers of specifications end at their limits") {
  CHECK(one("arg65535").index == 65535);
  CHECK(one("arg1%stack+65535").stack == 65535);
  CHECK(one("arg1%stack+65536").stack == 0);
  CHECK(one("arg1/t65535:x").size == 65535);
  CHECK(one("arg1/i64", 4).size == 8);
  CHECK(one("arg1", 4).size == 4);
  CHECK(one("arg1/e:color", 4).type_name == "color");
  CHECK(one("retval/f").size == 8);
  CHECK(one("retval/f32").size == 4);
  CHECK(one("fparg1").format == value_format::floating);
  CHECK(one("arg1/q").format == value_format::automatic);
  CHECK(read_value_specs("other1,arg,,arg2", 8).size() == 1);
  CHECK(read_value_specs("arg65536,arg2", 8).back().index == 2);
}

TEST_CASE("names with special characters are patterns, operators are not") {
  for (const char* const pattern :
       {"a.", "a?", "a*", "a+", "a-b", "^a", "a$", "a|b", "(a", "a)", "[a", "a]", "{a", "a}"})
    CHECK(is_name_pattern(pattern));
  for (const char* const name : {"a", "a::b", "~a", "operator new", "operator ()", "a<b,c>"})
    CHECK_FALSE(is_name_pattern(name));
  CHECK(is_name_pattern("operator()"));
}
