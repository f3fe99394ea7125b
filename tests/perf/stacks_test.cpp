// SPDX-License-Identifier: Apache-2.0
#include <backsight/perf/stacks.hpp>

#include <vector>

#include <support/catch.hpp>

namespace perf = backsight::perf;
using backsight::order;

namespace {

struct words {
  std::vector<std::byte> bytes;
  explicit words(const std::vector<std::uint64_t>& from) {
    for (const std::uint64_t word : from) {
      for (unsigned shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<std::byte>(word >> shift));
    }
  }
  [[nodiscard]] perf::word_list list() const { return {bytes, order::little}; }
};

constexpr auto kernel = static_cast<std::uint64_t>(perf::chain_context::kernel);
constexpr auto user = static_cast<std::uint64_t>(perf::chain_context::user);
constexpr auto later = static_cast<std::uint64_t>(perf::chain_context::user_deferred);

std::vector<perf::stack_entry> entries(const words& chain, const words& deferred = words(std::vector<std::uint64_t>()),
                                       std::size_t limit = 127) {
  std::vector<perf::stack_entry> all;
  (void)perf::for_each_address(chain.list(), deferred.list(), perf::cpu_mode::user, limit,
                               [&](const perf::stack_entry& one) { all.push_back(one); });
  return all;
}

}  // namespace

TEST_CASE("contexts of a call chain set the mode of what follows") {
  const auto all = entries(words({kernel, 0xffffffff81000000, 0xffffffff81000010, user, 0x1000, 0x2000}));
  REQUIRE(all.size() == 4);
  CHECK(all[0] == perf::stack_entry{0xffffffff81000000, perf::cpu_mode::kernel, true, false});
  CHECK(all[1] == perf::stack_entry{0xffffffff81000010, perf::cpu_mode::kernel, false, false});
  CHECK(all[2] == perf::stack_entry{0x1000, perf::cpu_mode::user, true, false});
  CHECK(all[3] == perf::stack_entry{0x2000, perf::cpu_mode::user, false, false});
}

TEST_CASE("a chain without a context has the mode of its sample, and ends at the limit") {
  const auto all = entries(words({0x1000, 0x2000, 0x3000}), words(std::vector<std::uint64_t>()), 2);
  REQUIRE(all.size() == 2);
  CHECK(all[1] == perf::stack_entry{0x2000, perf::cpu_mode::user, false, false});
}

TEST_CASE("what follows an unknown context belongs nowhere") {
  const words chain({user, 0x1000, ~std::uint64_t{0} - 99, 0x2000});
  std::size_t count = 0;
  CHECK_FALSE(
      perf::for_each_address(chain.list(), {}, perf::cpu_mode::user, 127, [&](const perf::stack_entry&) { ++count; }));
  CHECK(count == 1);
}

TEST_CASE("the user part that comes later takes the place of the cookie") {
  const words chain({kernel, 0xffffffff81000000, later, 77});
  REQUIRE(perf::cookie_of(chain.list()) == 77);
  CHECK_FALSE(perf::cookie_of(words({user, 0x1000}).list()));
  const auto all = entries(chain, words({0x1000, 0x2000}));
  REQUIRE(all.size() == 3);
  CHECK(all[1] == perf::stack_entry{0x1000, perf::cpu_mode::user, true, false});
  CHECK(entries(chain).size() == 1);
}

TEST_CASE("deferred samples go out with their thread's chain, or at the end in their order") {
  perf::deferred_samples<int> waiting(3);
  CHECK(waiting.hold(1, 10, 100));
  CHECK(waiting.hold(2, 10, 200));
  CHECK(waiting.hold(1, 11, 101));
  CHECK_FALSE(waiting.hold(1, 11, 102));
  std::vector<std::pair<int, bool>> out;
  waiting.deliver(1, 11, [&](int item, bool matches) { out.emplace_back(item, matches); });
  CHECK(out == std::vector<std::pair<int, bool>>{{100, false}, {101, true}});
  waiting.deliver(1, 11, [&](int, bool) { CHECK(false); });
  CHECK(waiting.hold(3, 1, 300));
  std::vector<int> rest;
  waiting.finish([&](int item) { rest.push_back(item); });
  CHECK(rest == std::vector<int>{200, 300});
  CHECK(waiting.size() == 0);
}
