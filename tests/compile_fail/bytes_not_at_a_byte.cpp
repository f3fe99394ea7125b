// SPDX-License-Identifier: Apache-2.0
// expect: an array of bytes begins at a whole byte
#include <backsight/core/record.hpp>

using namespace backsight;

struct shifted {
  static constexpr field<"flag", bool> flag{};
  static constexpr field<"rest", std::uint8_t, 7> rest{};
  static constexpr field<"tag", std::array<std::byte, 1>> tag{};
#ifdef BACKSIGHT_FAIL
  static constexpr layout fields{word<16>(flag, tag, rest)};
#else
  static constexpr layout fields{word<16>(flag, rest, tag)};
#endif
};
static_assert(schema<shifted>);

std::array<std::byte, 1> read(record<shifted, order::little> item);
std::array<std::byte, 1> read(record<shifted, order::little> item) { return item[shifted::tag]; }
