// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <backsight/core/escape.hpp>
#include <backsight/core/record.hpp>
#include <backsight/core/text.hpp>

// The values of members as text, as cells of tables, and as JSON.
namespace backsight {

namespace detail {

/// The shortest decimal form that reads back the same; in a constant expression, where there is none, the bits.
template <class Out, std::floating_point T>
constexpr Out print_floating(Out out, T value) {
  if (std::is_constant_evaluated()) {
    return text::hexadecimal(text::literal(out, "0x"), std::bit_cast<unsigned_of_size<sizeof(T)>>(value),
                             sizeof(T) * 2);
  }
  char characters[32];
  const auto written = std::to_chars(characters, characters + sizeof characters, value);
  for (const char* c = characters; c != written.ptr; ++c) *out++ = *c;
  return out;
}

/// Several values or records: numbers, the records of a part.
template <class T>
concept sequence = requires(const T& value) { value.begin() == value.end(); } && byte_array_size<T> == 0;

/// The member of that index is there.
template <std::size_t Index, class Record>
[[nodiscard]] constexpr bool has_member(const Record& item) noexcept {
  if constexpr (requires { item.template has_at<Index>(); }) return item.template has_at<Index>();
  else return true;
}

}  // namespace detail

/// Writes one value as text: bytes in quotes, several values in brackets. An enumeration that has a `constexpr const
/// char* enumerator_name(E)` found by argument-dependent look-up prints that name, or its number where the function
/// gives null.
template <class Out, class T>
constexpr Out print_value(Out out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    *out++ = value ? '1' : '0';
    return out;
  } else if constexpr (std::is_enum_v<T>) {
    if constexpr (requires { enumerator_name(value); }) {
      if (const char* name = enumerator_name(value)) return text::literal(out, name);
    }
    return text::decimal(out, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_floating_point_v<T>) {
    return detail::print_floating(out, value);
  } else if constexpr (detail::byte_array_size<T> != 0) {
    return text::hex_bytes(out, value);
  } else if constexpr (std::is_same_v<T, byte_view>) {
    return text::quoted(out, value);
  } else if constexpr (detail::sequence<T>) {
    *out++ = '[';
    bool first = true;
    for (const auto& one : value) {
      if (!first) *out++ = ',';
      first = false;
      if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(one)>> ||
                    std::is_enum_v<std::remove_cvref_t<decltype(one)>>) {
        out = print_value(out, one);
      } else {
        *out++ = '{';
        out = print(out, one);
        *out++ = '}';
      }
    }
    *out++ = ']';
    return out;
  } else {
    return text::decimal(out, value);
  }
}

namespace detail {

/// The name of an enumerator as print_value has it; null for other values.
template <class T>
[[nodiscard]] constexpr const char* name_of_value([[maybe_unused]] const T& value) noexcept {
  if constexpr (std::is_enum_v<T>) {
    if constexpr (requires { enumerator_name(value); }) return enumerator_name(value);
  }
  return nullptr;
}

/// print_value as a cell of a table. Only names and texts can need quotes: the rest is digits, letters, `.`, `+` and
/// `-`. Several numbers stand side by side, other bytes and records as hexadecimal digits.
template <class M, class Out, class T>
constexpr Out print_cell(Out out, const T& value, char separator) {
  if constexpr (requires { M::is_text; }) {
    return text::cell(out, value, separator);
  } else if constexpr (std::is_same_v<T, byte_view>) {
    return text::hex_bytes(out, value);
  } else if constexpr (sequence<T>) {
    if constexpr (std::is_arithmetic_v<typename T::value_type> || std::is_enum_v<typename T::value_type>) {
      bool first = true;
      for (const auto one : value) {
        if (!first) *out++ = ' ';
        first = false;
        out = print_value(out, one);
      }
      return out;
    } else {
      return text::hex_bytes(out, value.bytes());
    }
  } else {
    if (const char* name = name_of_value(value)) return text::cell(out, text::characters_of(name), separator);
    return print_value(out, value);
  }
}

template <class Out, schema S, order O>
constexpr Out json_members(Out out, const record<S, O>& item);

/// print_value as JSON has it: integers as numbers, a NaN as null, the rest as texts.
template <class Out, class T>
constexpr Out print_json(Out out, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    if (value != value) return text::literal(out, "null");
  }
  if constexpr (std::is_integral_v<T>) {
    return print_value(out, value);
  } else if constexpr (std::is_same_v<T, byte_view>) {
    return text::quoted(out, value);
  } else if constexpr (sequence<T>) {
    *out++ = '[';
    bool first = true;
    for (const auto& one : value) {
      if (!first) *out++ = ',';
      first = false;
      if constexpr (requires { one.kind(); }) {
        out = json_line(out, one);
      } else if constexpr (requires { one.bytes(); }) {
        *out++ = '{';
        out = json_members(out, one);
        *out++ = '}';
      } else {
        out = print_json(out, one);
      }
    }
    *out++ = ']';
    return out;
  } else {
    if (const char* name = name_of_value(value)) return text::quoted(out, text::characters_of(name));
    *out++ = '"';
    out = print_value(out, value);
    *out++ = '"';
    return out;
  }
}

}  // namespace detail

}  // namespace backsight
