// SPDX-License-Identifier: Apache-2.0
#include <backsight/analysis/by_function.hpp>

#include <map>

#include <support/catch.hpp>

using namespace backsight;

TEST_CASE("a value for each function is found again, of ids in the dense part and beyond") {
  analysis::by_function<int> values;
  const std::map<std::uint64_t, int> put{{3, 1}, {65535, 2}, {65536, 3}, {0x0fffffff, 4}, {~std::uint64_t{0}, 5}};
  for (const auto& [function, value] : put) values[function] = value;
  for (const auto& [function, value] : put) CHECK(values[function] == value);
  CHECK(values[4] == 0);
  std::map<std::uint64_t, int> found;
  values.for_each([&](std::uint64_t function, int value) {
    if (value != 0) found[function] = value;
  });
  CHECK(found == put);
}
