// SPDX-License-Identifier: Apache-2.0
// Damaged logs: every truncation and random mutations of small ones. The library ends cleanly, keeps what came before
// the damage and says the same about it as the second decoder.
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <support/catch.hpp>
#include <support/xray_builder.hpp>

#include "compare_with_oracle.hpp"

using namespace backsight;
using test::xray_builder;

namespace {

/// A log of two threads with every kind of record that its version has.
xray_builder small_log(order o, unsigned version) {
  auto file = xray_builder(o, version).header(400);
  for (int i = 0; i < 3; ++i) {
    auto body = xray_builder(o, version).preamble(100 + i % 2, 99, 5, static_cast<std::uint32_t>(i)).cpu(1, 1000);
    body.function(0, 1, 10)
        .argument(77)
        .function(3, 2, 5)
        .argument(1)
        .argument(2)
        .wrap(500)
        .custom("payload", 3, 700, 2)
        .function(2, 2, 1);
    if (version >= 2) body.typed("typed", 9, -4, 800);
    body.cpu(2, 2000).function(0, 3, 1).function(1, 3, 1).function(1, 1, 9);
    file.block(body, 400, 0x0f);
    if (i == 0 && version >= 2) file.fill(5);
  }
  return file;
}

xray_builder small_basic_log(order o, unsigned version) {
  auto file = xray_builder(o, version).header(0, 0);
  for (unsigned i = 0; i < 3; ++i) {
    file.basic_function(1, 3, 5, 100 + i, 7, 6)
        .basic_argument(5, 7, 6, i)
        .basic_function(2, 0, 6, 101, 8, 6)
        .basic_function(1, 2, 5, 102, 7, 6);
  }
  return file;
}

std::vector<std::vector<std::byte>> small_logs() {
  std::vector<std::vector<std::byte>> logs;
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 1; version <= 5; ++version) {
      const auto file = small_log(o, version);
      logs.emplace_back(file.view().begin(), file.view().end());
    }
    for (unsigned version = 1; version <= 3; ++version) {
      const auto file = small_basic_log(o, version);
      logs.emplace_back(file.view().begin(), file.view().end());
    }
  }
  return logs;
}

bool is_prefix(const std::vector<test::oracle_event>& part, const std::vector<test::oracle_event>& whole) {
  if (part.size() > whole.size()) return false;
  for (std::size_t i = 0; i < part.size(); ++i) {
    // The last call may have lost arguments that were cut off, and with them its being an enter.
    if (part[i] == whole[i]) continue;
    auto cut = part[i];
    cut.kind = whole[i].kind;
    cut.arguments = whole[i].arguments;
    if (i + 1 != part.size() || !(cut == whole[i])) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("every truncation of a small log keeps the events before the cut") {
  for (const auto& log : small_logs()) {
    const auto whole = test::read_by_library(log);
    REQUIRE(whole.faults.empty());
    for (std::size_t size = 0; size < log.size(); ++size) {
      const std::vector<std::byte> cut(log.begin(), log.begin() + static_cast<std::ptrdiff_t>(size));
      const auto found = test::read_by_library(cut);
      INFO("version " << std::to_integer<int>(log[0]) + std::to_integer<int>(log[1]) << " type "
                      << std::to_integer<int>(log[2]) + std::to_integer<int>(log[3]) << " cut at " << size);
      CHECK(is_prefix(found.events, whole.events));
      // Every event whose records lie before the cut is there.
      std::size_t before = 0;
      while (before < whole.events.size() &&
             whole.events[before].offset + 32 + whole.events[before].payload.size() <= size)
        ++before;
      CHECK(found.events.size() >= before);
      for (const auto& damage : found.faults) CHECK(damage.offset <= size);
      CHECK(test::difference(cut) == "");
    }
  }
}

TEST_CASE("random damage is told alike by the library and the second decoder") {
  // 100,000 mutations in all; BACKSIGHT_MUTATIONS asks for another number.
  const char* const asked = std::getenv("BACKSIGHT_MUTATIONS");
  const auto logs = small_logs();
  const std::size_t rounds = (asked != nullptr ? std::strtoul(asked, nullptr, 10) : 100000) / logs.size();
  std::mt19937 random(7);
  std::size_t faults = 0;
  for (const auto& log : logs) {
    for (std::size_t round = 0; round < rounds; ++round) {
      auto damaged = log;
      for (auto changes = random() % 4 + 1; changes != 0; --changes) {
        const std::size_t at = random() % damaged.size();
        switch (random() % 4) {
          case 0: damaged[at] ^= static_cast<std::byte>(1U << random() % 8); break;
          case 1: damaged[at] = static_cast<std::byte>(random()); break;
          case 2: damaged.erase(damaged.begin() + static_cast<std::ptrdiff_t>(at)); break;
          default:
            damaged.insert(damaged.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::byte>(random()));
            break;
        }
      }
      damaged.shrink_to_fit();
      const std::string different = test::difference(damaged);
      if (!different.empty()) {
        INFO("version " << std::to_integer<int>(log[0]) + std::to_integer<int>(log[1]) << ", round " << round);
        CHECK(different == "");
      }
      faults += test::read_xray_by_hand(damaged).faults.empty() ? 0U : 1U;
    }
  }
  // The damage is real: most mutations are noticed.
  CHECK(faults > rounds * logs.size() / 3);
}
