// SPDX-License-Identifier: Apache-2.0
// expect: the members overrun their storage word
#include <backsight/core/schema.hpp>

using namespace backsight;

struct crowded {
  static constexpr field<"flag", bool> flag{};
#ifdef BACKSIGHT_FAIL
  static constexpr field<"value", std::uint16_t, 16> value{};
#else
  static constexpr field<"value", std::uint16_t, 15> value{};
#endif
  static constexpr layout fields{word<16>(flag, value)};
};
static_assert(schema<crowded>);
