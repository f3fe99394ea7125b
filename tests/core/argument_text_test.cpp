// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/argument_text.hpp>

#include <array>
#include <iterator>
#include <string>

#include <support/catch.hpp>

using namespace backsight;

TEST_CASE("words whose type is not known are small decimal numbers or addresses") {
  const auto shown = [](std::uint64_t value) {
    std::string to;
    (void)text::argument(std::back_inserter(to), value);
    return to;
  };
  CHECK(shown(0) == "0");
  CHECK(shown(100'000) == "100000");
  CHECK(shown(100'001) == "0x186a1");
  CHECK(shown(~std::uint64_t{0}) == "-1");
  CHECK(shown(0 - std::uint64_t{100'000}) == "-100000");
  CHECK(shown(0 - std::uint64_t{100'001}) == "0xfffffffffffe795f");
  CHECK(shown(0x7ffc12345678) == "0x7ffc12345678");
}

TEST_CASE("several of them stand behind each other") {
  std::string to;
  (void)text::arguments(std::back_inserter(to), std::array<std::uint64_t, 3>{1, 0x100000, 2});
  CHECK(to == "1, 0x100000, 2");
  to.clear();
  (void)text::arguments(std::back_inserter(to), std::array<std::uint64_t, 0>{});
  CHECK(to.empty());
}
