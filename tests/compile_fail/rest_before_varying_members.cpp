// SPDX-License-Identifier: Apache-2.0
// first: a member that takes the rest is followed by members of varying size
#include <backsight/core/varying.hpp>

using namespace backsight;

struct packet {
  static constexpr rest_bytes<"data"> data{};
  static constexpr c_string<"text"> text{};
  static constexpr field<"end", std::uint8_t> end{};
#ifdef BACKSIGHT_FAIL
  static constexpr layout fields{data, text};
#else
  static constexpr layout fields{data, end};
#endif
};
static_assert(schema<packet>);
