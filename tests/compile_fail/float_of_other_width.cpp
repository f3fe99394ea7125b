// SPDX-License-Identifier: Apache-2.0
// expect: a floating-point number or an array of bytes is as wide as its type
#include <backsight/core/schema.hpp>

using namespace backsight;

struct half_float {
#ifdef BACKSIGHT_FAIL
  static constexpr field<"value", float, 16> value{};
#else
  static constexpr field<"value", float, 32> value{};
#endif
  static constexpr layout fields{value};
};
static_assert(schema<half_float>);
