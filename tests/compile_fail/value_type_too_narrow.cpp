// SPDX-License-Identifier: Apache-2.0
// expect: the value type is too narrow for the member
#include <backsight/core/schema.hpp>

using namespace backsight;

struct narrow {
#ifdef BACKSIGHT_FAIL
  static constexpr field<"value", std::uint16_t, 24> value{};
#else
  static constexpr field<"value", std::uint32_t, 24> value{};
#endif
  static constexpr layout fields{value};
};
static_assert(schema<narrow>);
