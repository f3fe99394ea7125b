// SPDX-License-Identifier: Apache-2.0
// expect: satisfaction of 'schema<S>' [with S = no_fields] or else 'no_fields' does not satisfy 'schema'
#include <backsight/core/record.hpp>

struct no_fields {};
struct with_fields {
  static constexpr backsight::field<"value", std::uint8_t> value{};
  static constexpr backsight::layout fields{value};
};

#ifdef BACKSIGHT_FAIL
using view = backsight::record<no_fields, backsight::order::little>;
#else
using view = backsight::record<with_fields, backsight::order::little>;
#endif
static_assert(sizeof(view) != 0);
