// SPDX-License-Identifier: Apache-2.0
// expect: the members do not fill their storage word
#include <backsight/core/schema.hpp>

using namespace backsight;

struct unfilled {
  static constexpr field<"flag", bool> flag{};
#ifdef BACKSIGHT_FAIL
  static constexpr field<"value", std::uint16_t, 14> value{};
#else
  static constexpr field<"value", std::uint16_t, 15> value{};
#endif
  static constexpr layout fields{word<16>(flag, value)};
};
static_assert(schema<unfilled>);
