// SPDX-License-Identifier: Apache-2.0
// expect: the word of a common record lies inside the record
#include <backsight/core/format.hpp>

using namespace backsight;

struct a_record {
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};
struct b_record {
  static constexpr bool has_payload = true;
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};
struct foreign_record {
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};

#ifdef BACKSIGHT_FAIL
constexpr common_record<a_record, std::uint16_t> common{.mask = 1, .value = 0};
#else
constexpr common_record<a_record, std::uint8_t> common{.mask = 1, .value = 0};
#endif
static_assert(common.mask == 1);
