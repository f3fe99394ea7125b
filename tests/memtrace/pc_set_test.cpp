// SPDX-License-Identifier: Apache-2.0
#include <random>
#include <set>

#include <backsight/memtrace/pc_set.hpp>

#include <support/catch.hpp>

using namespace backsight::memtrace;

TEST_CASE("a set of addresses has what was put in, by either way, and nothing else") {
  std::mt19937_64 random(5);
  pc_set direct, by_inserter;
  pc_inserter inserter;
  inserter.attach(by_inserter);
  std::set<std::uint64_t> expected;
  const auto put = [&](std::uint64_t pc) {
    direct.insert(pc);
    inserter.insert(pc);
    expected.insert(pc);
  };
  // Neighbours at the borders of words and pages, pages that share a slot of the inserter, the ends of the address
  // space.
  for (const std::uint64_t base : {0ULL, 63ULL, 64ULL, 1023ULL, 1024ULL, 1024ULL * 256, 1024ULL * 512 + 5, ~0ULL})
    put(base);
  for (int i = 0; i < 5000; ++i) put(0x400000 + random() % 100000 * (random() % 2 == 0 ? 1 : 977));
  CHECK(direct.size() == expected.size());
  CHECK(by_inserter.size() == expected.size());
  for (const std::uint64_t pc : expected) {
    CHECK(direct.contains(pc));
    CHECK(by_inserter.contains(pc));
    for (const std::uint64_t near : {pc - 1, pc + 1, pc ^ 64, pc ^ 1024})
      CHECK(direct.contains(near) == expected.contains(near));
  }
  pc_set sum;
  sum.insert(3);
  sum.insert(0x400000 + 7);
  sum += direct;
  expected.insert({3, 0x400000 + 7});
  CHECK(sum.size() == expected.size());
  direct.clear();
  CHECK(direct.size() == 0);
  CHECK_FALSE(direct.contains(64));
}
