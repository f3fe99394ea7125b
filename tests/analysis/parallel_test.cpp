// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <set>

#include <backsight/analysis/parallel.hpp>

#include <support/catch.hpp>

using backsight::analysis::for_each_part;

TEST_CASE("every part is worked on once, whatever the number of threads") {
  for (const unsigned threads : {0U, 1U, 2U, 7U}) {
    for (const std::size_t count : {0U, 1U, 5U, 1000U}) {
      CAPTURE(threads, count);
      const auto states = for_each_part<std::multiset<std::size_t>>(
          count, threads, [](auto& state, std::size_t index) { state.insert(index); });
      CHECK(!states.empty());
      CHECK(states.size() <= std::max(1U, threads));
      std::multiset<std::size_t> all;
      for (const auto& state : states) all.insert(state.begin(), state.end());
      REQUIRE(all.size() == count);
      std::size_t expected = 0;
      for (const std::size_t index : all) CHECK(index == expected++);
    }
  }
}
