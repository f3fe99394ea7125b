// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <backsight/core/lines.hpp>
#include <backsight/core/text.hpp>

// Lengths of time as people write and read them.
namespace backsight::text {

namespace detail {

struct time_unit {
  std::string_view name, longer;
  std::uint64_t nanoseconds = 1;
};
inline constexpr time_unit time_units[] = {
    {"ns", "nsec", 1},           {"us", "usec", 1000},         {"ms", "msec", 1'000'000},
    {"s", "sec", 1'000'000'000}, {"m", "min", 60'000'000'000}, {"h", "hour", 3'600'000'000'000}};

}  // namespace detail

/// A number with a unit behind it, such as `8.873us`, in nanoseconds: ns, us, ms, s, m and h, in any case, or nsec,
/// usec, msec, sec, min and hour. Digits below a nanosecond are cut off. Nothing when there is no such unit, anything
/// behind it, or more than 64 bits hold.
[[nodiscard]] inline std::optional<std::uint64_t> read_time_with_unit(std::string_view text) noexcept {
  const auto whole = take_number(text, 10);
  if (!whole) return {};
  std::string_view fraction;
  if (take(text, ".")) {
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    fraction = text.substr(0, digits);
    text.remove_prefix(digits);
  }
  for (const detail::time_unit& unit : detail::time_units) {
    const bool is = (text.size() == unit.name.size() && begins_as(text, unit.name)) ||
                    (text.size() == unit.longer.size() && begins_as(text, unit.longer));
    if (!is) continue;
    if (*whole > ~std::uint64_t{0} / unit.nanoseconds) return {};
    std::uint64_t sum = *whole * unit.nanoseconds, part = unit.nanoseconds;
    for (const char digit : fraction) {
      const std::uint64_t more = static_cast<std::uint64_t>(digit - '0') * part / 10;
      if (sum > ~std::uint64_t{0} - more) return {};
      sum += more;
      if ((part /= 10) == 0) break;
    }
    return sum;
  }
  return {};
}

/// The same, where a number alone counts nanoseconds.
[[nodiscard]] inline std::optional<std::uint64_t> read_duration(std::string_view text) noexcept {
  if (const auto time = read_time_with_unit(text)) return time;
  const auto number = take_number(text, 10);
  return text.empty() ? number : std::nullopt;
}

/// Nanoseconds in the largest unit of ns, us, ms and s of which there is one, with three decimals: `8.873 us`.
/// Nanoseconds are whole.
template <class Out>
constexpr Out print_duration(Out out, std::uint64_t nanoseconds) {
  if (nanoseconds < 1000) return literal(decimal(out, nanoseconds), " ns");
  std::size_t unit = 1;
  std::uint64_t scale = 1000;
  for (; unit < 3 && nanoseconds / scale >= 1000; ++unit) scale *= 1000;
  constexpr const char* names[] = {" ns", " us", " ms", " s"};
  out = decimal(out, nanoseconds / scale);
  *out++ = '.';
  return literal(decimal(out, nanoseconds % scale / (scale / 1000), 3), names[unit]);
}

}  // namespace backsight::text
