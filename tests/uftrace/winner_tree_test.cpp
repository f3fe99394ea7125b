// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/detail/winner_tree.hpp>

#include <cstdint>
#include <vector>

#include <support/catch.hpp>

using namespace backsight;

TEST_CASE("the tree of sources gives the earliest, the lower one on ties") {
  for (std::size_t count = 1; count < 20; ++count) {
    uftrace::detail::winner_tree tree(count);
    std::vector<std::vector<std::uint64_t>> times(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::uint64_t k = 0; k < 5; ++k) times[i].push_back(k * 7 * (i % 3 + 1));
      tree.set(i, times[i].front());
    }
    for (std::size_t left = count * 5; left != 0; --left) {
      REQUIRE_FALSE(tree.empty());
      std::size_t best = count;
      for (std::size_t i = 0; i < count; ++i) {
        if (!times[i].empty() && (best == count || times[i].front() < times[best].front())) best = i;
      }
      REQUIRE(tree.winner() == best);
      std::size_t second = count;
      for (std::size_t i = 0; i < count; ++i) {
        if (i != best && !times[i].empty() && (second == count || times[i].front() < times[second].front())) second = i;
      }
      REQUIRE(tree.runner_up() == second);
      times[best].erase(times[best].begin());
      if (times[best].empty()) tree.end(best);
      else tree.set(best, times[best].front());
    }
    CHECK(tree.empty());
  }
}
