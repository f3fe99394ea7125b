// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>
#include <vector>

#include <backsight/core/record_span.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/no_alloc.hpp>

#include "tick_format.hpp"

using namespace ticks;
using test::byte_builder;
using test::bytes;

namespace {

using ticks_view = record_span<tick, order::little>;
static_assert(std::ranges::random_access_range<ticks_view>);
static_assert(std::ranges::common_range<ticks_view>);
static_assert(std::ranges::sized_range<ticks_view>);
static_assert(std::ranges::view<ticks_view>);
static_assert(std::ranges::borrowed_range<ticks_view>);

constexpr auto three = bytes<2, 0, 4, 0, 6, 0, 9>;

constexpr bool is_a_random_access_range() {
  const ticks_view view(three);
  auto it = view.begin();
  it += 2;
  --it;
  const auto before = it++;
  const auto after = it--;
  return view.size() == 3 && !view.empty() && view[2][tick::value] == 3 && view.bytes().size() == 6 &&
         view.end() - view.begin() == 3 && before == view.begin() + 1 && after == 2 + view.begin() &&
         it == view.end() - 2 && it[1][tick::value] == 3 && it < view.end() && (it -= 1) == view.begin() &&
         ticks_view().empty() && ticks_view(bytes<1>).empty();
}

}  // namespace

TEST_CASE("records side by side are a random-access range, without bytes behind the last whole one") {
  STATIC_REQUIRE(is_a_random_access_range());
  CHECK(is_a_random_access_range());
}

TEST_CASE("the algorithms of std::ranges work on records side by side") {
  const ticks_view view(three);
  CHECK(std::ranges::max(view, {}, tick::value)[tick::value] == 3);
  CHECK(std::ranges::lower_bound(view, 2, {}, tick::value) == view.begin() + 1);
  auto backwards = view | std::views::reverse | std::views::transform(tick::value);
  CHECK(std::ranges::equal(backwards, std::vector<int>{3, 2, 1}));
}

TEST_CASE("runs come in order with the records between them, and nothing allocates") {
  constexpr auto data = bytes<3, 0, 2, 0, 4, 0, 3, 1, 'x', 6, 0, 5>;
  std::array<std::uint64_t, 8> seen{};
  std::size_t count = 0;
  trace_error error;
  CHECK(test::allocations_in([&] {
          error = for_each_run(
              record_range<format>(data), [&](ticks_view run) { seen[count++] = run.size(); },
              [&](any_record<format> other) { seen[count++] = 100 + other.offset(); });
        }) == 0);
  CHECK_FALSE(error);
  CHECK(count == 5);
  CHECK(seen == std::array<std::uint64_t, 8>{100, 2, 106, 1, 111});
}

TEST_CASE("a fault ends the walk over runs, behind all that came before it") {
  byte_builder built;
  built.u8(3).u8(0);
  for (std::size_t i = 0; i < 20; ++i) built.u16(2 * i);
  built.u8(4);
  std::size_t found = 0;
  const trace_error error = for_each_run(
      record_range<format>(built.view()), [&](ticks_view run) { found += run.size(); }, [](any_record<format>) {});
  CHECK(found == 20);
  CHECK(error == trace_error{errc::truncated, 42});
}
