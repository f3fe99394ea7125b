// SPDX-License-Identifier: Apache-2.0
// expect: padding over 64 bits is whole bytes
#include <backsight/core/schema.hpp>

using namespace backsight;

struct padded {
  static constexpr field<"value", std::uint8_t, 8> value{};
#ifdef BACKSIGHT_FAIL
  static constexpr layout fields{value, padding<76>{}};
#else
  static constexpr layout fields{value, padding<80>{}};
#endif
};
static_assert(schema<padded>);
