// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>

#include <backsight/core/inplace_vector.hpp>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>

using namespace backsight;

namespace {

static_assert(std::ranges::contiguous_range<inplace_vector<int, 3>>);
static_assert(std::is_trivially_copyable_v<inplace_vector<int, 3>>);

constexpr bool takes_no_more_than_its_capacity() {
  inplace_vector<int, 2> items;
  const bool fresh = items.empty() && !items.full() && items.size() == 0 && items.capacity() == 2;
  const bool pushed = items.push_back(5) && items.push_back(6) && !items.push_back(7);
  return fresh && pushed && items.full() && items.size() == 2 && items[0] == 5 && items.back() == 6;
}

constexpr bool compares_only_what_it_holds() {
  inplace_vector<int, 3> a, b;
  a.push_back(1);
  a.push_back(2);
  a.pop_back();
  b.push_back(1);
  const bool equal = a == b;
  b[0] = 4;
  const bool differs = !(a == b);
  b.clear();
  return equal && differs && b.empty() && !(a == b);
}

}  // namespace

TEST_CASE("a full inplace_vector refuses another element and stays as it is") {
  STATIC_REQUIRE(takes_no_more_than_its_capacity());
  CHECK(takes_no_more_than_its_capacity());
}

TEST_CASE("two inplace_vectors are equal when the elements that they hold are") {
  STATIC_REQUIRE(compares_only_what_it_holds());
  CHECK(compares_only_what_it_holds());
}

TEST_CASE("an inplace_vector works with the algorithms and never allocates") {
  inplace_vector<int, 8> items;
  CHECK(test::allocations_in([&] {
          for (const int value : {3, 1, 2}) items.push_back(value);
          std::ranges::sort(items);
        }) == 0);
  CHECK(std::ranges::equal(items, std::initializer_list<int>{1, 2, 3}));
  CHECK(items.data() == items.begin());
}

TEST_CASE("the count of allocations does see one") {
  CHECK(test::allocations_in([] { ::operator delete(::operator new(1)); }) == 1);
}
