// SPDX-License-Identifier: Apache-2.0
// expect: detail::names_differ({}) [with S = twins]' evaluated to 'false' or else 'detail::names_differ(typename detail::layout_of<twins>::members{})' evaluated to false
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
