// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/condition.hpp>

#include <backsight/core/record.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;

namespace {

struct flags {
  static constexpr field<"kind", std::uint8_t, 3> kind{};
  static constexpr field<"rest", std::uint8_t, 5> rest{};
  static constexpr layout fields{word<8>(kind, rest)};
};

}  // namespace

TEST_CASE("a condition on a member holds for the records in which it has the value") {
  constexpr auto five = bytes<0x0d>, six = bytes<0x06>;
  const record<flags, order::little> a(five.data()), b(six.data());
  CHECK(is(flags::kind, 5)(a));
  CHECK_FALSE(is(flags::kind, 5)(b));
  CHECK(is(flags::kind, std::uint8_t{4}, std::uint8_t{5}, std::uint8_t{6}, std::uint8_t{7})(b));
}
