// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <boost/endian/conversion.hpp>

namespace backsight {

/// Bytes of a trace or an object file that somebody else keeps alive.
using byte_view = std::span<const std::byte>;

/// The byte order of the machine that wrote the data.
enum class order : std::uint8_t { little, big };

/// Calls `f` with the byte order as a compile-time constant: `with_order(o, [](auto constant) { ... constant() ... })`.
template <class F>
constexpr decltype(auto) with_order(order o, F&& f) {
  if (o == order::little) return f(std::integral_constant<order, order::little>{});
  return f(std::integral_constant<order, order::big>{});
}

namespace detail {

template <std::size_t Size>
using unsigned_of_size = std::conditional_t<
    Size == 1, std::uint8_t,
    std::conditional_t<Size == 2, std::uint16_t, std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

template <order O, std::unsigned_integral T>
[[nodiscard]] constexpr T from_order(T value) noexcept {
  if constexpr (O == order::little) return boost::endian::little_to_native(value);
  else return boost::endian::big_to_native(value);
}

}  // namespace detail

/// Reads an integer, a floating-point number or an enumeration at `from`, of any alignment.
/// Precondition: sizeof(T) bytes are readable there. Costs one load (and a byte swap for a foreign order).
template <class T, order O>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
[[nodiscard]] constexpr T load(const std::byte* from) noexcept {
  using bits = detail::unsigned_of_size<sizeof(T)>;
  std::array<std::byte, sizeof(T)> raw{};
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < sizeof(T); ++i) raw[i] = from[i];
  } else {
    // Not byte by byte: GCC 12 keeps the loop.
    std::memcpy(raw.data(), from, sizeof(T));
  }
  const bits value = detail::from_order<O>(std::bit_cast<bits>(raw));
  if constexpr (std::is_same_v<T, bool>) return value != 0;
  else return std::bit_cast<T>(value);
}

/// Writes `value` at `to`: the inverse of load. Precondition: sizeof(T) bytes are writable there.
template <order O, class T>
  requires(std::is_arithmetic_v<T> || std::is_enum_v<T>)
constexpr void store(std::byte* to, T value) noexcept {
  using bits = detail::unsigned_of_size<sizeof(T)>;
  const auto raw = std::bit_cast<std::array<std::byte, sizeof(T)>>(detail::from_order<O>(std::bit_cast<bits>(value)));
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < sizeof(T); ++i) to[i] = raw[i];
  } else {
    std::memcpy(to, raw.data(), sizeof(T));
  }
}

}  // namespace backsight
