// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/text_store.hpp>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <support/catch.hpp>

using namespace backsight;

TEST_CASE("kept texts stay where they are, equal ones once") {
  text_store store;
  std::vector<std::string_view> kept;
  std::vector<std::string> expected;
  for (int i = 0; i < 30'000; ++i) {
    expected.push_back("text " + std::to_string(i));
    kept.push_back(store.keep(std::string(expected.back())));
  }
  expected.push_back(std::string(200'000, 'x'));  // Longer than a piece.
  kept.push_back(store.keep(expected.back()));
  expected.emplace_back("behind it");
  kept.push_back(store.keep("behind it"));
  REQUIRE(kept.size() == expected.size());
  bool equal = true;
  for (std::size_t i = 0; i < kept.size(); ++i) equal = equal && kept[i] == expected[i];
  CHECK(equal);
  CHECK(store.keep("text 7").data() == kept[7].data());
  CHECK(store.keep("").empty());
}

TEST_CASE("texts that are moved stay valid, and a copy has none of them") {
  text_store first;
  const std::string_view kept = first.keep("a text");
  text_store copy(first);
  CHECK(copy.keep("a text").data() != kept.data());
  text_store moved(std::move(first));
  CHECK(moved.keep("a text").data() == kept.data());
  CHECK(kept == "a text");
}

TEST_CASE("several threads keep texts at once") {
  text_store store;
  std::vector<std::vector<std::string_view>> kept(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 2'000; ++n) kept[i].push_back(store.keep(std::to_string(n)));
    });
  }
  for (std::thread& each : threads) each.join();
  for (std::size_t i = 1; i < kept.size(); ++i) {
    bool same = kept[i].size() == kept[0].size();
    for (std::size_t n = 0; same && n < kept[0].size(); ++n) same = kept[i][n].data() == kept[0][n].data();
    CHECK(same);
  }
}
