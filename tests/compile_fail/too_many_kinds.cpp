// SPDX-License-Identifier: Apache-2.0
// expect: a grammar holds at most 63 kinds of record
#include <utility>

#include <backsight/core/grammar.hpp>

using namespace backsight;

template <int>
struct kind {
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};

template <int... Is>
constexpr auto rules_of(std::integer_sequence<int, Is...>) {
  return grammar<record_list<kind<Is>...>>::any();
}
#ifdef BACKSIGHT_FAIL
constexpr auto rules = rules_of(std::make_integer_sequence<int, 64>{});
#else
constexpr auto rules = rules_of(std::make_integer_sequence<int, 63>{});
#endif
static_assert(rules.may_finish(0));
