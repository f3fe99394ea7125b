// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/visit_each.hpp>

#include <random>
#include <string>
#include <vector>

#include <backsight/core/print.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "tick_format.hpp"
#include "varying_format.hpp"

using namespace backsight;
using test::bytes;

namespace {

/// What for_each with visit prints, and the error; then what visit_each does.
template <class Range>
void check_same(const Range& range) {
  std::string one, other;
  const trace_error by_range = for_each(range, [&](auto item) { one += '\n', print(std::back_inserter(one), item); });
  const trace_error directly =
      visit_each(range, [&](const auto& item) { other += '\n', print(std::back_inserter(other), item); });
  CHECK(by_range == directly);
  CHECK(one == other);
}

struct counting {
  unsigned seen = 0;
};
struct counted_format : ticks::format {
  using context = counting;
  static constexpr kind_result kind_of(const std::byte* at, const context&) { return ticks::format::kind_of(at, {}); }
  static constexpr payload_result payload_size(record<ticks::note, byte_order> item, const context&) {
    return std::size_t{item[ticks::note::length]};
  }
  static constexpr void advance(context& in, record<ticks::note, byte_order>) { ++in.seen; }
  static constexpr std::size_t resync(byte_view all, std::size_t, context&) { return all.size(); }
};

}  // namespace

TEST_CASE("visiting each record is the same as walking a range and visiting, errors and offsets too") {
  std::mt19937 random(7);
  const std::vector<std::byte> good = [] {
    constexpr auto start = bytes<3, 2, 'h', 'i', 4, 0, 6, 0, 3, 0, 8, 0, 5>;
    return std::vector<std::byte>(start.begin(), start.end());
  }();
  constexpr auto block =
      bytes<28, 0, 0, 0, 0x34, 0x12, 0, 1, 5, 6, 0, 0, 1, 2, 'a', 'b', 7, 1, 'x', 0, 9, 0, 0, 0, 28, 0, 0, 0>;
  for (int i = 0; i < 300; ++i) {
    auto data = good;
    data[random() % data.size()] = static_cast<std::byte>(random());
    data.resize(random() % (data.size() + 1));
    check_same(record_range<ticks::format>(data, {}, 10));
    check_same(record_range<ticks::format, grammar_check::ignored>(data));
    std::vector<std::byte> blocks(block.begin(), block.end());
    blocks.insert(blocks.end(), block.begin(), block.end());
    blocks[random() % blocks.size()] = static_cast<std::byte>(random());
    check_same(varied::blocks<order::little>(blocks, {}, 5));
  }
  check_same(record_range<ticks::format>(good));
}

TEST_CASE("a visitor that takes the context is given it as it is before the record") {
  std::vector<unsigned> seen;
  const record_range<counted_format> range(bytes<3, 0, 3, 1, 'x', 2, 0>);
  CHECK_FALSE(visit_each(range, [&](const auto&, const counting& in) { seen.push_back(in.seen); }));
  CHECK(seen == std::vector<unsigned>{0, 1, 2});
}
