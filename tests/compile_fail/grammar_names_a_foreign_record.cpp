// SPDX-License-Identifier: Apache-2.0
// expect: the grammar names a record that the list lacks
#include <backsight/core/grammar.hpp>

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
using last = foreign_record;
#else
using last = b_record;
#endif
constexpr auto rules = grammar<record_list<a_record, b_record>>{}.start<a_record>().follow<a_record, last>();
static_assert(rules.may_follow(0, 1));
