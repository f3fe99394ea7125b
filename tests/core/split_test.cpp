// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/split.hpp>

#include <iterator>
#include <ranges>
#include <thread>
#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "tick_format.hpp"
#include "varying_format.hpp"

using namespace backsight;
using test::byte_builder;
using test::bytes;

namespace {

struct pair_format {
  using records = record_list<varied::pair>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    return *at == std::byte{0xff} ? errc::unknown_record : records::kind<varied::pair>;
  }
};
/// The sum of all bytes before is the context.
struct summing_format : pair_format {
  struct context {
    std::uint32_t sum = 0;
  };
  static constexpr kind_result kind_of(const std::byte*, const context&) { return records::kind<varied::pair>; }
  static constexpr void advance(context& in, const record<varied::pair, byte_order>& item) {
    in.sum += item[varied::pair::a];
  }
};

static_assert(evenly_sized_format<pair_format>);
static_assert(!evenly_sized_format<summing_format>);
static_assert(!evenly_sized_format<ticks::format>);
static_assert(!evenly_sized_format<varied::everything_format<order::little>>);
static_assert(std::ranges::forward_range<record_part<pair_format>> && std::ranges::view<record_part<pair_format>>);
static_assert(std::is_trivially_copyable_v<record_part<summing_format>>);

template <class Range>
std::vector<std::uint64_t> offsets_of(const Range& range) {
  std::vector<std::uint64_t> found;
  (void)for_each(range, [&](const auto& item) { found.push_back(item.offset()); });
  return found;
}

template <class F>
auto parts_of(const record_range<F>& range, std::size_t parts, bool walk) {
  std::vector<record_part<F>> found;
  if constexpr (evenly_sized_format<F>) {
    if (!walk) split(range, parts, std::back_inserter(found));
  }
  if (walk) split_by_walk(range, parts, std::back_inserter(found));
  return found;
}

template <class F>
void parts_are_the_whole(const record_range<F>& range, bool walk) {
  const auto whole = offsets_of(range);
  const trace_error error = range.validate();
  for (std::size_t parts = 1; parts < 40; ++parts) {
    std::vector<std::uint64_t> together;
    const auto all = parts_of(range, parts, walk);
    CHECK(all.size() <= parts);
    trace_error last;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto some = offsets_of(all[i]);
      CHECK((!some.empty() || i + 1 == all.size()));
      together.insert(together.end(), some.begin(), some.end());
      last = for_each(all[i], [](const auto&) {});
      CHECK((!last || i + 1 == all.size()));
      // As a range.
      CHECK(static_cast<std::size_t>(std::ranges::distance(all[i])) == some.size());
    }
    CHECK(together == whole);
    CHECK(last == error);
  }
}

std::vector<std::byte> many_pairs(std::size_t count) {
  byte_builder built;
  for (std::size_t i = 0; i < count; ++i) built.u8(i % 100).u16(i);
  return {built.view().begin(), built.view().end()};
}

}  // namespace

TEST_CASE("parts of a range of records of one size are its records, and begin at borders") {
  for (const std::size_t count : {0U, 1U, 2U, 30U, 100U}) {
    auto data = many_pairs(count);
    parts_are_the_whole(record_range<pair_format>(data, {}, 1000), false);
    data.push_back(std::byte{1});
    parts_are_the_whole(record_range<pair_format>(data, {}, 1000), false);
  }
}

TEST_CASE("a part tells the error of its own records and of no other") {
  auto data = many_pairs(20);
  data[30] = std::byte{0xff};
  std::vector<record_part<pair_format>> parts;
  split(record_range<pair_format>(data), 4, std::back_inserter(parts));
  REQUIRE(parts.size() == 4);
  CHECK_FALSE(for_each(parts[0], [](const auto&) {}));
  CHECK_FALSE(for_each(parts[1], [](const auto&) {}));
  CHECK(for_each(parts[2], [](const auto&) {}) == trace_error{errc::unknown_record, 30});
  CHECK_FALSE(for_each(parts[3], [](const auto&) {}));
}

TEST_CASE("parts by a walk are the records of any format, with their context and the last error") {
  for (const std::size_t count : {0U, 1U, 2U, 30U, 100U}) {
    auto data = many_pairs(count);
    parts_are_the_whole(record_range<pair_format>(data), true);
    parts_are_the_whole(record_range<summing_format>(data), true);
    data.push_back(std::byte{1});
    parts_are_the_whole(record_range<summing_format>(data), true);
  }
  byte_builder mixed;
  mixed.u8(3).u8(0);
  for (std::size_t i = 0; i < 50; ++i) {
    mixed.u16(2 * i);
    if (i % 7 == 0) mixed.u8(3).u8(1).u8('x');
  }
  parts_are_the_whole(record_range<ticks::format>(mixed.view()), true);
  parts_are_the_whole(
      record_range<varied::option_format<order::little>>(bytes<1, 3, 'a', 'b', 'c', 0, 0, 0, 2, 0, 0, 0, 3, 1, 'x', 0>),
      true);

  const auto data = many_pairs(90);
  std::vector<record_part<summing_format>> parts;
  split_by_walk(record_range<summing_format>(data), 3, std::back_inserter(parts));
  REQUIRE(parts.size() == 3);
  CHECK(parts[1].begin().context().sum == 29U * 30 / 2);
}

TEST_CASE("threads read the parts of a range") {
  const auto data = many_pairs(999);
  const record_range<summing_format> range(data);
  std::vector<record_part<summing_format>> parts;
  split_by_walk(range, 4, std::back_inserter(parts));
  std::vector<std::uint64_t> sums(parts.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    threads.emplace_back([&, i] {
      for (const auto item : parts[i]) sums[i] += item[varied::pair::b];
    });
  }
  for (auto& thread : threads) thread.join();
  std::uint64_t sum = 0;
  for (const std::uint64_t one : sums) sum += one;
  CHECK(sum == 999U * 998 / 2);
}
