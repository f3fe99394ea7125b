// SPDX-License-Identifier: Apache-2.0
// expect: a storage word has 8 to 64 bits, whole bytes
#include <backsight/core/schema.hpp>

using namespace backsight;

struct odd_word {
  static constexpr field<"flag", bool> flag{};
#ifdef BACKSIGHT_FAIL
  static constexpr field<"value", std::uint16_t, 11> value{};
  static constexpr layout fields{word<12>(flag, value)};
#else
  static constexpr field<"value", std::uint16_t, 15> value{};
  static constexpr layout fields{word<16>(flag, value)};
#endif
};
static_assert(schema<odd_word>);
