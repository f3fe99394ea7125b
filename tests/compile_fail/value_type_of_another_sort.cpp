// SPDX-License-Identifier: Apache-2.0
// expect: a member is a bool, an integer, an enumeration, a floating-point number or an array of bytes
#include <backsight/core/schema.hpp>

using namespace backsight;

struct with_pointer {
#ifdef BACKSIGHT_FAIL
  static constexpr field<"value", const char*, 64> value{};
#else
  static constexpr field<"value", std::uint64_t, 64> value{};
#endif
  static constexpr layout fields{value};
};
static_assert(schema<with_pointer>);
