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

std::uint8_t read(record<mine, order::little> item);
std::uint8_t read(record<mine, order::little> item) {
#ifdef BACKSIGHT_FAIL
  return item[theirs::other];
#else
  return item[mine::value];
#endif
}
