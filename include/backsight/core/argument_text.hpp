// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/text.hpp>

namespace backsight::text {

/// A word whose type is not known, such as an argument of a call: up to 100,000 in size as a decimal number, others as
/// `0x...`.
template <class Out>
constexpr Out argument(Out out, std::uint64_t value) {
  const auto number = static_cast<std::int64_t>(value);
  if (number >= -100'000 && number <= 100'000) return decimal(out, number);
  return hexadecimal(literal(out, "0x"), value);
}

/// Several of these, with commas between.
template <class Out, class Words>
constexpr Out arguments(Out out, const Words& words) {
  for (std::size_t i = 0; i < words.size(); ++i) out = argument(i == 0 ? out : literal(out, ", "), words[i]);
  return out;
}

}  // namespace backsight::text
