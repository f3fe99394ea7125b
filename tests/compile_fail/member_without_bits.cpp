// SPDX-License-Identifier: Apache-2.0
// expect: a member has at least one bit
#include <backsight/core/schema.hpp>

using namespace backsight;

struct without_bits {
#ifdef BACKSIGHT_FAIL
  static constexpr field<"value", std::uint8_t, 0> value{};
#else
  static constexpr field<"value", std::uint8_t, 8> value{};
#endif
  static constexpr layout fields{value};
};
static_assert(schema<without_bits>);
