// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <numeric>
#include <random>
#include <vector>

#include <backsight/analysis/distribution.hpp>

#include <support/catch.hpp>

using backsight::analysis::distribution;

namespace {

/// Every rank and sum of `values` equals that of a sorted vector.
void check_equal(distribution& found, std::vector<std::uint64_t> values) {
  std::sort(values.begin(), values.end());
  const auto all = found.sum_up();
  REQUIRE(all.count == values.size());
  CHECK(all.min == values.front());
  CHECK(all.max == values.back());
  CHECK(all.sum == std::accumulate(values.begin(), values.end(), std::uint64_t{0}));
  bool equal = true;
  for (std::size_t rank = 0; rank < values.size(); rank += 1 + values.size() / 997)
    equal = equal && found.at_rank(rank) == values[rank];
  CHECK(equal);
  CHECK(found.quantile(all, 1, 2) == values[values.size() / 2]);
  CHECK(found.quantile(all, 9, 10) == values[values.size() * 9 / 10]);
  CHECK(found.quantile(all, 99, 100) == values[values.size() * 99 / 100]);
}

std::vector<std::uint64_t> random_values(std::size_t count, std::uint64_t limit, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> values(count);
  for (auto& value : values) value = random() % limit;
  return values;
}

}  // namespace

TEST_CASE("a distribution without values has none") {
  const distribution empty;
  CHECK(empty.empty());
  const auto all = empty.sum_up();
  CHECK(all.count == 0);
  CHECK(all.sum == 0);
  CHECK(all.min == 0);
  CHECK(all.max == 0);
}

TEST_CASE("every rank of a distribution is that of the sorted values") {
  for (const std::size_t count : {1U, 2U, 100U, 4096U, 4097U, 50000U}) {
    for (const std::uint64_t limit : {std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{65536}, std::uint64_t{70000},
                                      ~std::uint64_t{0} / 100000}) {
      CAPTURE(count, limit);
      const auto values = random_values(count, limit, count + limit);
      distribution all;
      for (const auto value : values) all.add(value);
      check_equal(all, values);
      // Asking for a rank does not keep more from being added.
      auto more = values;
      all.add(65535);
      all.add(65536);
      more.insert(more.end(), {65535, 65536});
      check_equal(all, more);
    }
  }
}

TEST_CASE("merged distributions equal one of all values, whatever their sizes") {
  for (const std::size_t a : {0U, 10U, 5000U}) {
    for (const std::size_t b : {1U, 4000U, 9000U}) {
      CAPTURE(a, b);
      auto values = random_values(a, 100000, 1);
      const auto others = random_values(b, 100000, 2);
      distribution first, second;
      for (const auto value : values) first.add(value);
      for (const auto value : others) second.add(value);
      first.merge(second);
      values.insert(values.end(), others.begin(), others.end());
      check_equal(first, values);
    }
  }
}

TEST_CASE(
    "values around those that are counted keep their ranks, added before or behind the point where counting starts") {
  const std::uint64_t around[]{65534, 65535, 65536, 65537, 65791, 65792, ~std::uint64_t{0}};
  for (const bool late : {false, true}) {
    distribution d;
    if (!late) {
      for (const std::uint64_t value : around) d.add(value);
    }
    for (std::uint64_t i = 0; i < 5000; ++i) d.add(7);
    if (late) {
      for (const std::uint64_t value : around) d.add(value);
    }
    for (std::uint64_t i = 0; i < 5000; ++i) REQUIRE(d.at_rank(i) == 7);
    for (std::uint64_t i = 0; i < std::size(around); ++i) CHECK(d.at_rank(5000 + i) == around[i]);
    const auto all = d.sum_up();
    CHECK(all.count == 5007);
    CHECK(all.min == 7);
    CHECK(all.max == ~std::uint64_t{0});
  }
}
