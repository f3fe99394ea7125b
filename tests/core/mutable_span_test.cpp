// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/mutable_span.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

#include <backsight/core/record_range.hpp>
#include <backsight/core/record_span.hpp>
#include <backsight/core/tagged_format.hpp>

#include <support/catch.hpp>

using namespace backsight;

namespace {

struct entry {
  static constexpr field<"time", std::uint16_t> time{};
  static constexpr field<"id", std::uint8_t> id{};
  static constexpr layout fields{time, id};
};
template <order O>
using span_of = mutable_record_span<entry, O>;
using iterator = span_of<order::little>::iterator;
static_assert(std::ranges::random_access_range<span_of<order::little>> && std::ranges::view<span_of<order::big>>);
static_assert(std::sortable<iterator, std::ranges::less, std::remove_const_t<decltype(entry::time)>>);
static_assert(std::permutable<iterator>);

template <order O>
std::vector<std::byte> entries(std::size_t count) {
  std::vector<std::byte> data(count * size_of<entry> + 1);
  span_of<O> span(data);
  for (std::size_t i = 0; i < count; ++i)
    span[i].set(entry::time, static_cast<std::uint16_t>(i * 7919 % 1009)).set(entry::id, static_cast<std::uint8_t>(i));
  return data;
}

template <order O>
bool is_sorted_and_whole(const std::vector<std::byte>& data, std::size_t count) {
  const record_span<entry, O> view(data);
  if (view.size() != count || !std::ranges::is_sorted(view, {}, entry::time)) return false;
  // Each record is as it was: its time follows from its number, below 256 of them.
  return std::ranges::all_of(view, [](const auto item) { return item[entry::time] == item[entry::id] * 7919 % 1009; });
}

template <order O>
constexpr bool sorts_in_a_constant_expression() {
  std::array<std::byte, 9> data{};
  span_of<O> span(data);
  for (std::size_t i = 0; i < 3; ++i)
    span[i].set(entry::time, static_cast<std::uint16_t>(300 - i)).set(entry::id, static_cast<std::uint8_t>(i));
  std::ranges::sort(span, {}, entry::time);
  return span[0][entry::id] == 2 && span[2][entry::id] == 0 && span.size() == 3 && span[0][entry::time] == 298;
}

}  // namespace

TEST_CASE("records are sorted in place by a member") {
  STATIC_REQUIRE(sorts_in_a_constant_expression<order::little>());
  STATIC_REQUIRE(sorts_in_a_constant_expression<order::big>());
  for (const std::size_t count : {0U, 1U, 2U, 17U, 200U}) {
    auto little = entries<order::little>(count);
    std::ranges::sort(span_of<order::little>(little), {}, entry::time);
    CHECK(is_sorted_and_whole<order::little>(little, count));
    auto big = entries<order::big>(count);
    std::ranges::sort(span_of<order::big>(big), {}, entry::time);
    CHECK(is_sorted_and_whole<order::big>(big, count));
  }
}

TEST_CASE("algorithms of C++17 work on records in writable bytes") {
  auto data = entries<order::little>(200);
  const span_of<order::little> span(data);
  const auto by_time = [](const auto& a, const auto& b) { return a[entry::time] < b[entry::time]; };
  std::sort(span.begin(), span.end(), by_time);
  CHECK(is_sorted_and_whole<order::little>(data, 200));
  std::reverse(span.begin(), span.end());
  std::partial_sort(span.begin(), span.end(), span.end(), by_time);
  CHECK(is_sorted_and_whole<order::little>(data, 200));
  const auto middle = std::partition(span.begin(), span.end(), [](const auto& item) { return item[entry::id] < 50; });
  CHECK(middle - span.begin() == 50);
  std::rotate(span.begin(), middle, span.end());
  CHECK(std::accumulate(span.begin(), span.end(), 0U,
                        [](unsigned sum, const auto& item) { return sum + item[entry::id]; }) == 199U * 200 / 2);
}

TEST_CASE("a member is a projection of records whose format has one kind, or that all have it") {
  const auto data = entries<order::little>(20);
  const record_range<tagged_format<order::little, entry>> range(byte_view(data).first(60));
  std::vector<any_record<tagged_format<order::little, entry>>> items(range.begin(), range.begin());
  for (const auto item : range) items.push_back(item);
  std::ranges::sort(items, {}, entry::time);
  CHECK(std::ranges::is_sorted(items, {}, [](const auto& item) { return item.template as<entry>()[entry::time]; }));
  CHECK(std::ranges::max(range, {}, entry::id)[entry::id] == 19);
}
