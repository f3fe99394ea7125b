// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstring>

#include <backsight/core/bytes.hpp>
#include <backsight/core/call_trace.hpp>

#include <support/call_parts.hpp>
#include <support/catch.hpp>

using namespace backsight;

namespace {

struct without_names : test::call_parts {
  void function_name(std::uint64_t) const;
};
struct without_clock : test::call_parts {
  void to_ns(std::uint64_t) const;
};
struct without_parts : test::call_parts {
  void part(std::size_t) const;
};
struct with_more : test::call_event {
  std::uint16_t cpu = 0;
  std::array<std::uint32_t, 2> arguments{};
  byte_view payload{};
};

}  // namespace

TEST_CASE("a call trace has parts, names and a clock") {
  STATIC_REQUIRE(call_trace<test::call_parts>);
  STATIC_REQUIRE_FALSE(call_trace<without_names>);
  STATIC_REQUIRE_FALSE(call_trace<without_clock>);
  STATIC_REQUIRE_FALSE(call_trace<without_parts>);
  STATIC_REQUIRE(parted_trace<without_names>);
  STATIC_REQUIRE_FALSE(parted_trace<without_parts>);
}

TEST_CASE("events tell by their members what they have beside function and time") {
  STATIC_REQUIRE(has_cpu<with_more> && has_arguments<with_more> && has_text<with_more>);
  STATIC_REQUIRE_FALSE(has_cpu<test::call_event> || has_arguments<test::call_event> || has_text<test::call_event>);
}

TEST_CASE("each unit of a clock has a name of its own") {
  CHECK(std::strcmp(unit_name(clock_unit::nanoseconds), "ns") == 0);
  CHECK(std::strcmp(unit_name(clock_unit::ticks), "ticks") == 0);
  CHECK(std::strcmp(unit_name(clock_unit::instructions), "instructions") == 0);
}
