// SPDX-License-Identifier: Apache-2.0
// expect: a member that is not whole bytes belongs into a word<Bits>(...)
#include <backsight/core/schema.hpp>

using namespace backsight;

struct bare_bits {
  static constexpr field<"flag", bool> flag{};
  static constexpr field<"value", std::uint8_t, 7> value{};
#ifdef BACKSIGHT_FAIL
  static constexpr layout fields{flag, value};
#else
  static constexpr layout fields{word<8>(flag, value)};
#endif
};
static_assert(schema<bare_bits>);
