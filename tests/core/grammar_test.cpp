// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/grammar.hpp>

#include <support/catch.hpp>

using namespace backsight;

namespace {

template <int>
struct kind {
  static constexpr field<"value", std::uint8_t> value{};
  static constexpr layout fields{value};
};
using records = record_list<kind<0>, kind<1>, kind<2>>;

constexpr auto rules = grammar<records>{}
                           .start<kind<0>>()
                           .follow<kind<0>, kind<1>, kind<2>>()
                           .follow<kind<1>, kind<1>>()
                           .finish<kind<1>>();
constexpr std::uint32_t start = decltype(rules)::start_state;

constexpr bool says_what_may_follow_what() {
  return rules.may_follow(start, 0) && !rules.may_follow(start, 1) && rules.may_follow(0, 1) &&
         rules.may_follow(0, 2) && !rules.may_follow(0, 0) && rules.may_follow(1, 1) && !rules.may_follow(1, 0) &&
         !rules.may_follow(2, 2);
}

constexpr bool says_what_may_come_last() {
  return rules.may_finish(start) && !rules.may_finish(0) && rules.may_finish(1) && !rules.may_finish(2);
}

constexpr bool any_allows_everything() {
  constexpr auto all = grammar<records>::any();
  for (std::uint32_t from = 0; from <= start; ++from) {
    for (std::uint32_t to = 0; to < start; ++to) {
      if (!all.may_follow(from, to)) return false;
    }
    if (!all.may_finish(from)) return false;
  }
  return true;
}

template <int... Is>
constexpr auto many_rules(std::integer_sequence<int, Is...>) {
  using list = record_list<kind<Is>...>;
  return grammar<list>{}
      .template start<kind<62>>()
      .template follow<kind<62>, kind<0>, kind<62>>()
      .template finish<kind<62>>();
}
constexpr auto most = many_rules(std::make_integer_sequence<int, 63>{});

}  // namespace

TEST_CASE("a grammar says which kinds may follow which") {
  STATIC_REQUIRE(says_what_may_follow_what());
  CHECK(says_what_may_follow_what());
}

TEST_CASE("a grammar says which kinds may come last, and allows nothing at all") {
  STATIC_REQUIRE(says_what_may_come_last());
  CHECK(says_what_may_come_last());
}

TEST_CASE("the grammar of everything allows everything") {
  STATIC_REQUIRE(any_allows_everything());
  CHECK(any_allows_everything());
}

TEST_CASE("the predecessors of a kind are a mask of kinds, with the start as the bit behind them") {
  STATIC_REQUIRE(rules.predecessors(0) == 0b1000);
  STATIC_REQUIRE(rules.predecessors(1) == 0b0011);
  STATIC_REQUIRE(rules.predecessors(2) == 0b0001);
}

TEST_CASE("a grammar holds 63 kinds and the start") {
  STATIC_REQUIRE(decltype(most)::start_state == 63);
  STATIC_REQUIRE(most.predecessors(62) == (std::uint64_t{1} << 63 | std::uint64_t{1} << 62));
  CHECK(most.may_follow(63, 62));
  CHECK(most.may_finish(62));
  CHECK_FALSE(most.may_follow(63, 0));
}
