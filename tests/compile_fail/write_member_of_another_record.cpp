// SPDX-License-Identifier: Apache-2.0
// expect: this member does not belong to the record's schema
#include <backsight/core/record.hpp>

using namespace backsight;

struct mine {
  static constexpr field<"value", std::uint8_t> value{};
  static constexpr layout fields{value};
};
struct theirs {
  static constexpr field<"other", std::uint8_t> other{};
  static constexpr layout fields{other};
};

void write(mutable_record<mine, order::big> item);
void write(mutable_record<mine, order::big> item) {
#ifdef BACKSIGHT_FAIL
  item.set(theirs::other, 1);
#else
  item.set(mine::value, 1);
#endif
}
