// SPDX-License-Identifier: Apache-2.0
// expect: bytes before a member belong to no member; list them as padding
#include <backsight/core/schema.hpp>

using namespace backsight;

struct with_gap {
  static constexpr field<"first", std::uint8_t> first{};
  static constexpr field<"second", std::uint16_t> second{};
#ifdef BACKSIGHT_FAIL
  static constexpr layout fields{at<0>(first), at<2>(second)};
#else
  static constexpr layout fields{at<0>(first), padding<8>{}, at<2>(second)};
#endif
};
static_assert(schema<with_gap>);
