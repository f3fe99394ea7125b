// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <vector>

#include <backsight/memtrace/reuse.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::trace_builder;

namespace {

/// A list with the latest used in front: the definition itself.
class list_of_used {
 public:
  std::optional<std::uint64_t> use(std::uint64_t what) {
    const auto at = std::find(list_.begin(), list_.end(), what);
    std::optional<std::uint64_t> distance;
    if (at != list_.end()) {
      distance = static_cast<std::uint64_t>(at - list_.begin());
      list_.erase(at);
    }
    list_.insert(list_.begin(), what);
    return distance;
  }

 private:
  std::vector<std::uint64_t> list_;
};

std::uint64_t next_number_of_reuse(std::uint64_t& state) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return state >> 33;
}

reuse_distance distances_of(byte_view file) {
  reference_builder builder;
  reuse_distance made;
  for (const entry_view item : entry_span(file)) {
    if (const auto one = builder.next(item)) made.on(*one);
  }
  return made;
}

}  // namespace

TEST_CASE("the distance of a use is the number of others since the last") {
  use_distance all;
  CHECK_FALSE(all.use(1));
  CHECK(all.use(1) == 0U);
  CHECK_FALSE(all.use(2));
  CHECK_FALSE(all.use(3));
  CHECK(all.use(2) == 1U);
  CHECK(all.use(2) == 0U);
  CHECK(all.use(1) == 2U);
  CHECK(all.different() == 3);
}

TEST_CASE("distances are those of a list, however often room is made") {
  for (const std::uint64_t different : {1U, 3U, 100U, 700U, 3000U}) {
    use_distance tree;
    list_of_used list;
    std::uint64_t state = different;
    bool same = true;
    for (int i = 0; i < 12000; ++i) {
      // Some are used much more often than others.
      const std::uint64_t what = next_number_of_reuse(state) % (1 + next_number_of_reuse(state) % different);
      same = same && tree.use(what) == list.use(what);
    }
    CHECK(same);
  }
}

TEST_CASE("a histogram has mean and median as DynamoRIO's tool has them") {
  distance_histogram one, other;
  CHECK(one.median() == 0);
  CHECK(one.mean() == 0);
  one.add(0, 3);
  one.add(4);
  other.add(10, 2);
  one += other;
  CHECK(one.uses() == 6);
  CHECK(one.mean() == 4);
  // Half of the six are reached with the first three.
  CHECK(one.median() == 0);
  one.add(4, 2);
  CHECK(one.median() == 4);
}

TEST_CASE("instructions, loads, stores and prefetches use the line in which they begin") {
  trace_builder built;
  built.header().unit(1000, 0);
  built.instruction(0x1000, 4).put(trace_type::read, 8, 0x2000).put(trace_type::write, 8, 0x203c);
  // It reaches into the next line, which is not used by it.
  built.instruction(0x1004, 4).put(trace_type::read, 8, 0x2040).put(trace_type::prefetch, 1, 0x2000);
  built.put(trace_type::prefetch_instr, 1, 0x1000)
      .put(trace_type::instr_no_fetch, 4, 0x1004)
      .put(trace_type::read, 8, 0x2001);
  const reuse_distance made = distances_of(built.exit().view());
  CHECK(made.references() == 8);
  CHECK(made.lines() == 3);
  // The store 0; the second instruction 1; both prefetches 2; the last load 1.
  CHECK(made.all().counts() == std::map<std::uint64_t, std::uint64_t>{{0, 1}, {1, 2}, {2, 2}});
  CHECK(made.data().counts() == std::map<std::uint64_t, std::uint64_t>{{0, 1}, {1, 1}, {2, 1}});
}
