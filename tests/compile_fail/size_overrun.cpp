// SPDX-License-Identifier: Apache-2.0
// expect: the members overrun the stated size of the record
#include <backsight/core/schema.hpp>

using namespace backsight;

struct too_large {
  static constexpr std::size_t size = 4;
  static constexpr field<"first", std::uint32_t> first{};
#ifdef BACKSIGHT_FAIL
  static constexpr layout fields{first, padding<8>{}};
#else
  static constexpr layout fields{first};
#endif
};
static_assert(schema<too_large>);
