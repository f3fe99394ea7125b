// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/context_view.hpp>

#include <ranges>
#include <vector>

#include <backsight/core/tagged_format.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;

namespace {

struct step_record {
  static constexpr field<"step", std::uint8_t> step{};
  static constexpr layout fields{step};
};
struct stepping : tagged_format<order::little, step_record> {
  struct context {
    std::uint32_t at = 10;
    friend constexpr bool operator==(const context&, const context&) = default;
  };
  static constexpr void advance(context& in, const record<step_record, byte_order>& item) {
    in.at += item[step_record::step];
  }
  static constexpr errc check(const record<step_record, byte_order>& item, const context&) {
    return item[step_record::step] == 9 ? errc::bad_value : errc::ok;
  }
};
using steps = record_range<stepping>;
using before_view = decltype(with_context(steps()));
static_assert(std::ranges::forward_range<before_view> && std::ranges::view<before_view> &&
              std::ranges::borrowed_range<before_view>);
static_assert(std::is_trivially_copyable_v<before_view> && std::is_trivially_copyable_v<record_in_context<stepping>>);

constexpr bool gives_both_states() {
  constexpr auto data = bytes<1, 2, 4, 9>;
  std::array<std::uint32_t, 3> before{}, after{};
  std::size_t count = 0;
  for (const auto [item, context] : with_context(steps(data)))
    before[count] = context.at, after[count++] = item[step_record::step];
  if (before != std::array<std::uint32_t, 3>{10, 11, 13} || after != std::array<std::uint32_t, 3>{1, 2, 4})
    return false;
  count = 0;
  for (const auto [item, context] : with_context<context_is::after_record>(steps(data))) after[count++] = context.at;
  auto it = with_context(steps(data)).begin();
  while (it != std::default_sentinel) it++;
  return after == std::array<std::uint32_t, 3>{11, 13, 17} && it.error() == trace_error{errc::bad_value, 3};
}

}  // namespace

TEST_CASE("a view with context gives the state before or after each record") {
  STATIC_REQUIRE(gives_both_states());
  CHECK(gives_both_states());
}

TEST_CASE("a view with context works with the views of std::ranges, and for_each gives the state before") {
  constexpr auto data = bytes<1, 2, 4>;
  std::vector<std::uint32_t> seen;
  for (const auto at :
       with_context(steps(data)) | std::views::transform([](const auto& one) { return one.context.at; }))
    seen.push_back(at);
  std::vector<std::uint32_t> called;
  CHECK_FALSE(
      for_each(steps(data), [&](const auto&, const stepping::context& context) { called.push_back(context.at); }));
  CHECK(seen == called);
}
