// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/rule.hpp>

#include <vector>

#include <support/catch.hpp>

using namespace backsight;
using cfi::rule_kind;

namespace {

constexpr cfi::register_rule at(std::uint32_t reg, std::int64_t offset) {
  return {reg, rule_kind::at_cfa_offset, 0, offset};
}

std::vector<std::uint32_t> registers(const cfi::rule_list& list) {
  std::vector<std::uint32_t> all;
  for (const cfi::register_rule& rule : list) all.push_back(rule.reg);
  return all;
}

constexpr bool keeps_the_last_rule() {
  cfi::rule_list list;
  const bool set = list.set(at(16, -8)) && list.set(at(3, -16)) && list.set(at(3, -24)) && list.set(at(300, -32));
  return set && list.size() == 3 && list.find(3)->value == -24 && list.find(16)->value == -8 &&
         list.find(300)->value == -32 && list.find(4) == nullptr && list.find(299) == nullptr &&
         list.find(std::uint64_t{1} << 40) == nullptr;
}
static_assert(keeps_the_last_rule());

}  // namespace

TEST_CASE("a register has the rule that was set last") { CHECK(keeps_the_last_rule()); }

TEST_CASE("rules come ascending by register, in whatever order they were set") {
  cfi::rule_list list;
  CHECK(list.empty());
  for (const std::uint32_t reg : {127U, 4097U, 0U, 256U, 64U, 4096U, 63U, 128U}) REQUIRE(list.set(at(reg, reg)));
  CHECK(registers(list) == std::vector<std::uint32_t>{0, 63, 64, 127, 128, 256, 4096, 4097});
  CHECK(list.size() == 8);
  for (const cfi::register_rule& rule : list) CHECK(rule.value == std::int64_t{rule.reg});
}

TEST_CASE("an erased register leaves the others") {
  cfi::rule_list list;
  for (const std::uint32_t reg : {3U, 6U, 200U, 300U, 400U}) REQUIRE(list.set(at(reg, 1)));
  list.erase(6);
  list.erase(300);
  list.erase(5);
  list.erase(301);
  CHECK(registers(list) == std::vector<std::uint32_t>{3, 200, 400});
  list.clear();
  CHECK(list.empty());
}

TEST_CASE("a copy has the same rules and is independent") {
  cfi::rule_list list;
  for (const std::uint32_t reg : {3U, 100U, 300U}) REQUIRE(list.set(at(reg, 7)));
  cfi::rule_list copy = list;
  list.set(at(3, 8));
  list.erase(300);
  CHECK(registers(copy) == std::vector<std::uint32_t>{3, 100, 300});
  CHECK(copy.find(3)->value == 7);
}

TEST_CASE("room for high registers ends, and what is there stays") {
  cfi::rule_list list;
  std::uint32_t reg = 1000;
  while (list.set(at(reg, 0))) ++reg;
  CHECK(reg == 1064);
  CHECK(list.size() == 64);
  CHECK(list.set(at(1063, 5)));
  CHECK(list.set(at(1, 5)));
  list.erase(1000);
  CHECK(list.set(at(5000, 5)));
}

TEST_CASE("rows are the same when their rules are, wherever expressions lie") {
  const auto section = std::array{std::byte{0x30}, std::byte{0x30}, std::byte{0x31}};
  cfi::row a, b;
  a.rules.set({3, rule_kind::at_expression, 1, 0});
  b.rules.set({3, rule_kind::at_expression, 1, 1});
  CHECK(cfi::same_rules(section, a, b));
  b.rules.set({3, rule_kind::at_expression, 1, 2});
  CHECK_FALSE(cfi::same_rules(section, a, b));
  b.rules.set({3, rule_kind::at_cfa_offset, 0, 1});
  CHECK_FALSE(cfi::same_rules(section, a, b));
  a.rules.clear();
  b.rules.clear();
  a.rules.set(at(3, 1));
  b.rules.set(at(4, 1));
  CHECK_FALSE(cfi::same_rules(section, a, b));
}
