// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/value_rules.hpp>

#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/patterns.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

struct rules_of {
  value_rules rules;
  std::string known_arguments, known_return;  ///< of the .dbg file
  std::string object = "prog";

  rules_of& arguments(const char* text, names::pattern_kind kind = names::pattern_kind::glob) {
    CHECK(rules.arguments.add(text, 8, false, test::patterns(), kind) == errc::ok);
    return *this;
  }
  rules_of& returns(const char* text) {
    CHECK(rules.returns.add(text, 8, true, test::patterns(), names::pattern_kind::glob) == errc::ok);
    return *this;
  }
  rules_of& automatic(const char* arguments, const char* returns, bool all = false) {
    rules.automatic_arguments.add(arguments, 8, false);
    rules.automatic_returns.add(returns, 8, true);
    rules.all_automatic = all;
    return *this;
  }
  /// The values of a function of these names as `index` and letter.
  [[nodiscard]] std::string operator()(const std::vector<std::string>& names) const {
    value_collection list;
    collect_values(
        rules, names, 8, [&](bool returns) -> std::string_view { return returns ? known_return : known_arguments; },
        [&](std::string_view name) { return name == object; }, list);
    std::string text;
    for (const value_spec& item : list.values())
      text += std::to_string(item.index) + static_cast<char>(item.format) + ' ';
    return text;
  }
};

}  // namespace

TEST_CASE("a specification without values makes its function automatic, from debug information first") {
  rules_of rules;
  rules.arguments("add;f*").returns("add").automatic("add@arg1/x;four@arg1/p", "add@retval/u");
  CHECK(rules({"add"}) == "1x 0u ");
  CHECK(rules({"four"}) == "1p ");
  CHECK(rules({"five"}).empty());
  CHECK(rules({"main"}).empty());
  rules.known_arguments = "@arg1/i32,arg2/s";
  rules.known_return = "@retval/f64";
  CHECK(rules({"add"}) == "1i 2s 0f ");
  CHECK(rules({"five"}) == "1i 2s ");
  CHECK(rules({"main"}).empty());
  // What cannot be read of debug information ends it there; nothing at all makes it not known.
  rules.known_arguments = "@arg1/i32,arg2/q,arg3";
  CHECK(rules({"five"}) == "1i ");
  rules.known_arguments = "@arg2/q";
  CHECK(rules({"add"}) == "1x 0f ");
}

TEST_CASE("everything is automatic but for what is told by hand when a recording says so") {
  rules_of rules;
  rules.arguments("add@arg1/x").automatic("add@arg1/i;sub@arg1/i,arg2/i", "add@retval/u", true);
  CHECK(rules({"add"}) == "1x 0u ");
  CHECK(rules({"sub"}) == "1i 2i ");
  // An index that no function has takes its place, and keeps what is automatic away.
  rules_of odd;
  odd.arguments("sub@arg9999999").automatic("sub@arg1/i", "", true);
  CHECK(odd({"sub"}) == "9999999d ");
}

TEST_CASE("all names of a place count, in the order of the specifications") {
  rules_of rules;
  rules.arguments("free@arg1/x;cfree@arg2/u;fr*@arg1/s,arg3/s");
  CHECK(rules({"free"}) == "1x 3s ");
  CHECK(rules({"free", "cfree"}) == "1x 2u 3s ");
  CHECK(rules({"cfree"}) == "2u ");
}

TEST_CASE("a specification that is refused, or of another object, is passed over") {
  rules_of rules;
  rules.arguments("f@arg1/q,arg2;g@prog,arg1;h@other,arg1;i@arg1,prog;;@arg1");
  CHECK(rules({"f"}).empty());
  CHECK(rules({"g"}) == "1d ");
  CHECK(rules({"h"}).empty());
  CHECK(rules({"i"}) == "1d ");
}

TEST_CASE("old recordings have return values among the arguments") {
  rules_of rules;
  const char* const text = "f@arg1,retval/s;g@retval";
  rules.arguments(text);
  CHECK(rules.rules.returns_among_arguments.add(text, 8, true, {}, names::pattern_kind::glob) == errc::ok);
  CHECK(rules({"f"}) == "1d 0s ");
  CHECK(rules({"g"}) == "0d ");
}

TEST_CASE("too many patterns are refused, names are not") {
  std::string patterns, names;
  for (std::size_t i = 0; i <= function_specs::max_patterns; ++i) {
    patterns += "a" + std::to_string(i) + "*@arg1;";
    names += "a" + std::to_string(i) + "@arg1;";
  }
  function_specs specs;
  CHECK(specs.add(names, 8, false, {}, names::pattern_kind::glob) == errc::ok);
  CHECK(specs.add(patterns, 8, false, {}, names::pattern_kind::glob) == errc::capacity);
  CHECK(specs.all().size() == 2 * function_specs::max_patterns + 1);
  function_specs without;
  CHECK(without.add("a.*@arg1;b@arg1", 8, false, {}, names::pattern_kind::regular_expression) ==
        errc::unsupported_type);
  CHECK(without.all().size() == 1);
}

TEST_CASE("patterns are compiled once, however many functions are asked for") {
  static std::size_t compiled;
  compiled = 0;
  const names::pattern_engine counting{
      [](const std::string&, void*& made) { return made = &compiled, ++compiled, errc::ok; },
      [](const void*, const std::string& text) { return text.starts_with("f"); }, [](void*) {}};
  value_rules rules;
  CHECK(rules.arguments.add("f.*@arg1;f+@arg2", 8, false, counting, names::pattern_kind::regular_expression) ==
        errc::ok);
  for (int i = 0; i < 100; ++i) {
    value_collection list;
    collect_values(
        rules, {"f" + std::to_string(i)}, 8, [](bool) { return std::string_view{}; },
        [](std::string_view) { return true; }, list);
    CHECK(list.values().size() == 2);
  }
  CHECK(compiled == 2);
}
