// SPDX-License-Identifier: Apache-2.0
// expect: bytes at the end of the record belong to no member
#include <backsight/core/schema.hpp>

using namespace backsight;

struct too_small {
  static constexpr std::size_t size = 8;
  static constexpr field<"first", std::uint32_t> first{};
#ifdef BACKSIGHT_FAIL
  static constexpr layout fields{first};
#else
  static constexpr layout fields{first, padding<32>{}};
#endif
};
static_assert(schema<too_small>);
