// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <backsight/core/text.hpp>

namespace backsight::memtrace {

namespace detail {

template <class Out>
constexpr Out padded_decimal(Out out, std::uint64_t value, unsigned digits) {
  std::uint64_t power = 1;
  for (unsigned i = 1; i < digits; ++i) power *= 10;
  for (; power > 1 && value < power; power /= 10) *out++ = '0';
  return text::decimal(out, value);
}

}  // namespace detail

/// Prints a time of a memtrace, microseconds since 1601, as a date and time of UTC: `2026-08-30 12:35:41.710502`. The
/// calendar is the Gregorian one throughout, which has no leap seconds. Out takes chars.
template <class Out>
constexpr Out print_utc(Out out, std::uint64_t microseconds) {
  constexpr std::uint64_t day = std::uint64_t{86'400} * 1'000'000;
  const std::uint64_t days = microseconds / day, rest = microseconds % day;
  // 1601 begins a span of 400 years, in which leap years repeat: 100 have one year less of four, and the last none
  // less. The last day of a span is the 366th of its last year.
  constexpr std::uint64_t span = 146'097, century = 36'524, four = 1461, plain = 365;
  const std::uint64_t in_span = days % span;
  const std::uint64_t centuries = in_span / century < 4 ? in_span / century : 3;
  const std::uint64_t in_century = in_span - centuries * century;
  const std::uint64_t in_four = in_century % four;
  const std::uint64_t years = in_four / plain < 4 ? in_four / plain : 3;
  const std::uint64_t year = 1601 + days / span * 400 + centuries * 100 + in_century / four * 4 + years;
  const bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  const std::uint64_t lengths[]{31, is_leap ? 29U : 28U, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  std::uint64_t left = in_four - years * plain, month = 0;
  for (; left >= lengths[month]; ++month) left -= lengths[month];
  out = detail::padded_decimal(out, year, 4);
  *out++ = '-';
  out = detail::padded_decimal(out, month + 1, 2);
  *out++ = '-';
  out = detail::padded_decimal(out, left + 1, 2);
  *out++ = ' ';
  out = detail::padded_decimal(out, rest / 3'600'000'000, 2);
  *out++ = ':';
  out = detail::padded_decimal(out, rest / 60'000'000 % 60, 2);
  *out++ = ':';
  out = detail::padded_decimal(out, rest / 1'000'000 % 60, 2);
  *out++ = '.';
  return detail::padded_decimal(out, rest % 1'000'000, 6);
}

}  // namespace backsight::memtrace
