// SPDX-License-Identifier: Apache-2.0
// expect: a member overlaps the one before it
#include <backsight/core/schema.hpp>

using namespace backsight;

struct overlapping {
  static constexpr field<"first", std::uint32_t> first{};
  static constexpr field<"second", std::uint16_t> second{};
#ifdef BACKSIGHT_FAIL
  static constexpr layout fields{at<0>(first), at<2>(second)};
#else
  static constexpr layout fields{at<0>(first), at<4>(second)};
#endif
};
static_assert(schema<overlapping>);
