// SPDX-License-Identifier: Apache-2.0
// Stands for io/re2_patterns.hpp
#include <backsight/names/name_pattern.hpp>

#include <string>
#include <utility>

#include <support/catch.hpp>
#include <support/patterns.hpp>

using namespace backsight;
using namespace backsight::names;

namespace {

bool found(const std::string& pattern, const std::string& name) {
  return name_pattern(pattern, pattern_kind::regular_expression, test::patterns()).fits(name);
}
errc error_of(const std::string& pattern) {
  return name_pattern(pattern, pattern_kind::regular_expression, test::patterns()).error();
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
  CHECK(matches_glob("[^a]", "b"));
  CHECK_FALSE(matches_glob("[^a]", "a"));
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

TEST_CASE("names with special characters are patterns, operators are not") {
  for (const char* const pattern :
       {"a.", "a?", "a*", "a+", "a-b", "^a", "a$", "a|b", "(a", "a)", "[a", "a]", "{a", "a}"})
    CHECK(is_name_pattern(pattern));
  for (const char* const name : {"a", "a::b", "~a", "operator new", "a<b,c>"}) CHECK_FALSE(is_name_pattern(name));
  CHECK(is_name_pattern("operator()"));
}

TEST_CASE("what a pattern is in the end depends on its characters") {
  const auto kind_of = [](const char* text, pattern_kind kind) {
    return name_pattern(text, kind, test::patterns()).kind();
  };
  CHECK(kind_of("plain", pattern_kind::regular_expression) == pattern_kind::exact);
  CHECK(kind_of("plain", pattern_kind::glob) == pattern_kind::exact);
  CHECK(kind_of("a*", pattern_kind::glob) == pattern_kind::glob);
  CHECK(kind_of("a*", pattern_kind::exact) == pattern_kind::exact);
  CHECK(kind_of("operator ()", pattern_kind::regular_expression) == pattern_kind::exact);
  CHECK(kind_of("operator n*", pattern_kind::glob) == pattern_kind::glob);
  CHECK(name_pattern("a*", pattern_kind::regular_expression, {}).error() == errc::unsupported_type);
  CHECK_FALSE(name_pattern("a*", pattern_kind::regular_expression, {}).fits("a"));
}

#ifdef BACKSIGHT_HAVE_RE2
TEST_CASE("regular expressions are those of POSIX, found anywhere in the name") {
  CHECK(found("^[a-n]", "add"));
  CHECK_FALSE(found("^[a-n]", "sum"));
  CHECK(found(".", "x"));
  CHECK(found("a|^b", "ca"));
  CHECK(found("f(oo|ar)+$", "xfoofar") == found("f(oo|ar)+$", "fooar"));
  CHECK(found("a{2,3}b", "xaab"));
  CHECK_FALSE(found("^a{2}$", "a"));
  CHECK(found("a{,2}b", "b"));
  CHECK(found("[[:digit:]_]$", "f_"));
  CHECK(found("[\\.]", "a\\"));  // in brackets a backslash is one
  CHECK(found("[]x]", "]"));
  CHECK(found("[^]x]", "a"));
  CHECK(found("a\\.b", "a.b"));
  CHECK_FALSE(found("a\\.b", "axb"));
  CHECK(found("a\\-b*", "a-"));
  CHECK(found("a)+", "a)"));
  CHECK(found("a**$", "b"));
  CHECK(found("std::.*::f", "std::vector::f"));
  CHECK(found("\\<main\\>$", "main"));
  CHECK_FALSE(found("\\<main\\>.*", "mainly"));
  CHECK_FALSE(found("A+", "a"));
}

TEST_CASE("what is no regular expression is a name") {
  for (const char* const text : {"(", "*a", "[a"}) {
    INFO(text);
    CHECK(error_of(text) == errc::bad_text);
    CHECK(found(text, text));
    CHECK_FALSE(found(text, "a"));
  }
}

TEST_CASE("patterns that take too much are refused, and nothing fits them") {
  // Assigned, as GCC 12 warns of sums of strings in an initializer list (-Warray-bounds).
  std::string much(5000, 'a'), open_brackets(4000, '(');
  much += '*';
  open_brackets += 'a';
  for (const std::string& text : {std::string("(((a{1,255}){1,255}){1,255})"), much, open_brackets,
                                  std::string("(a)\\1"), std::string("[[.hyphen.]]"), std::string("(.{1000}){2}")}) {
    INFO(text.substr(0, 40));
    CHECK(error_of(text) != errc::ok);
    if (error_of(text) == errc::capacity) CHECK_FALSE(found(text, "a"));
  }
  CHECK(error_of("(((a{1,255}){1,255}){1,255})") == errc::capacity);
  CHECK(error_of(std::string(name_pattern::max_size + 1, '.')) == errc::capacity);
  CHECK(error_of(std::string(1000, '.')) == errc::ok);
  // An engine that backtracks would not come back from this one.
  CHECK_FALSE(found("^(a|a|aa)*(a|a|aa)*(a|aa)*$", std::string(5000, 'a') + 'b'));
}
#endif

TEST_CASE("a pattern moves with what was compiled for it") {
  name_pattern first("a*b", pattern_kind::glob, test::patterns());
  name_pattern second(std::move(first));
  CHECK(second.fits("axb"));
  name_pattern third;
  third = std::move(second);
  CHECK(third.fits("axb"));
  CHECK(third.text() == "a*b");
}

TEST_CASE("globs match as a shell does") {
  CHECK(matches_glob("f*o", "foo"));
  CHECK(matches_glob("*", ""));
  CHECK(matches_glob("f?[a-c]", "fxb"));
  CHECK_FALSE(matches_glob("f?[!a-c]", "fxb"));
  CHECK_FALSE(matches_glob("f*o", "fob"));
  CHECK(matches_glob("a*b*c", "axxbyybzzc"));
  CHECK(matches_glob("a\\*", "a*"));
  CHECK_FALSE(matches_glob("a\\*", "ab"));
}
