// SPDX-License-Identifier: Apache-2.0
// first: two members of a record have the same name
#include <backsight/core/record.hpp>

using namespace backsight;

struct twins {
  static constexpr field<"value", std::uint8_t> first{};
#ifdef BACKSIGHT_FAIL
  static constexpr field<"value", std::uint8_t> second{};
#else
  static constexpr field<"other", std::uint8_t> second{};
#endif
  static constexpr layout fields{first, second};
};
static_assert(schema<twins>);
