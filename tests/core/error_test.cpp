// SPDX-License-Identifier: Apache-2.0
#include <string_view>
#include <type_traits>
#include <utility>

#include <backsight/core/error.hpp>

#include <support/catch.hpp>

using namespace backsight;

namespace {

constexpr bool every_code_has_its_own_message() {
  for (std::uint8_t i = 0; i < errc_count; ++i) {
    const std::string_view text = message(static_cast<errc>(i));
    if (text.empty() || text == "unknown error code") return false;
    for (std::uint8_t j = 0; j < i; ++j) {
      if (text == message(static_cast<errc>(j))) return false;
    }
  }
  return true;
}

constexpr bool values_and_errors_lie_side_by_side() {
  const result<int> good(7);
  const result<int> bad(errc::bad_size, 12);
  const result<int> partial(5, trace_error{errc::truncated, 40});
  const result<int> same(trace_error{errc::bad_size, 12});
  return good && good.value() == 7 && *good == 7 && !good.error() && !bad &&
         bad.error() == trace_error{errc::bad_size, 12} && bad.partial() == 0 && !partial && partial.partial() == 5 &&
         partial.error().offset == 40 && same.error() == bad.error() && result<int>().has_value();
}

constexpr bool values_can_be_changed_and_moved_out() {
  struct pair {
    int first = 0, second = 0;
  };
  result<pair> both(pair{1, 2});
  both->first = 3;
  (*both).second = 4;
  const pair moved = result<pair>(both).value();
  result<pair> failed(errc::io, 0);
  failed.partial().first = 9;
  return both->first == 3 && moved.second == 4 && failed.partial().first == 9;
}

static_assert(std::is_trivially_copyable_v<result<int>>);
// Temporaries give what they hold by value; nothing refers to what has gone.
static_assert(std::is_same_v<decltype(std::declval<result<int>>().value()), int>);
static_assert(std::is_same_v<decltype(std::declval<result<int>>().partial()), int>);
static_assert(std::is_same_v<decltype(*std::declval<result<int>>()), int>);
static_assert(std::is_same_v<decltype(std::declval<result<int>&>().value()), int&>);
static_assert(std::is_same_v<decltype(std::declval<const result<int>&>().partial()), const int&>);
static_assert(std::is_trivially_copyable_v<trace_error>);
static_assert(std::is_trivially_copyable_v<fault>);
static_assert(sizeof(errc) == 1);

}  // namespace

TEST_CASE("every error code has a message and no two are equal") {
  STATIC_REQUIRE(every_code_has_its_own_message());
  CHECK(every_code_has_its_own_message());
}

TEST_CASE("errc_count counts all error codes") {
  CHECK(std::string_view(message(static_cast<errc>(errc_count - 1))) != "unknown error code");
  CHECK(std::string_view(message(static_cast<errc>(errc_count))) == "unknown error code");
}

TEST_CASE("a result holds a value and an error side by side") {
  STATIC_REQUIRE(values_and_errors_lie_side_by_side());
  CHECK(values_and_errors_lie_side_by_side());
}

TEST_CASE("the value of a result can be changed in place and moved out") {
  STATIC_REQUIRE(values_can_be_changed_and_moved_out());
  CHECK(values_can_be_changed_and_moved_out());
}

TEST_CASE("an error converts to true, no error to false") {
  STATIC_REQUIRE(trace_error{errc::truncated, 0});
  STATIC_REQUIRE_FALSE(trace_error{});
  const trace_error first{errc::truncated, 0}, none{errc::ok, 5};
  CHECK(first);
  CHECK_FALSE(none);
  CHECK(trace_error{errc::truncated, 1} != trace_error{errc::truncated, 2});
  CHECK(fault{errc::truncated, 1, 2} == fault{errc::truncated, 1, 2});
}
