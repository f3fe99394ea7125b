// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight {

/// A text that can be a template argument.
template <std::size_t Size>
struct fixed_string {
  char text[Size]{};

  // NOLINTNEXTLINE: the conversion from a literal is the point.
  consteval fixed_string(const char (&literal)[Size]) {
    for (std::size_t i = 0; i < Size; ++i) text[i] = literal[i];
  }
  [[nodiscard]] constexpr const char* c_str() const noexcept { return text; }
  [[nodiscard]] static constexpr std::size_t size() noexcept { return Size - 1; }
};

namespace detail {

template <class T>
inline constexpr std::size_t byte_array_size = 0;
template <std::size_t Size>
inline constexpr std::size_t byte_array_size<std::array<std::byte, Size>> = Size;

template <class T>
struct digits_of : std::integral_constant<std::size_t, sizeof(T) * 8> {};
template <>
struct digits_of<bool> : std::integral_constant<std::size_t, 1> {};

template <class T>
concept member_value = std::integral<T> || std::floating_point<T> || std::is_enum_v<T> || (byte_array_size<T> != 0);

/// What every descriptor shares, kept out of the class template so that it is compiled once.
struct field_base {};
/// What descriptors of members share whose size the bytes tell.
struct varying_base : field_base {};

}  // namespace detail

/// A member of a record: its name as the format's documentation spells it, its value type and its width in bits.
/// An object of it is a descriptor: `record[member]` and `member(record)` both read the member, so that it serves as a
/// projection for the std::ranges algorithms. Where it lies is derived by the layout that lists it.
/// T is bool, an integer, an enumeration, a floating-point type or std::array<std::byte, N>.
template <fixed_string Name, class T, std::size_t Bits = detail::digits_of<T>::value>
struct field : detail::field_base {
  static_assert(
      detail::member_value<T>,
      "backsight: a member is a bool, an integer, an enumeration, a floating-point number or an array of bytes");
  static_assert(Bits != 0, "backsight: a member has at least one bit");
  static_assert(Bits <= detail::digits_of<T>::value, "backsight: the value type is too narrow for the member");
  static_assert(!(std::floating_point<T> || detail::byte_array_size<T> != 0) || Bits == sizeof(T) * 8,
                "backsight: a floating-point number or an array of bytes is as wide as its type");

  using value_type = T;
  static constexpr std::size_t bits = Bits;
  static constexpr bool is_padding = false;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }

  /// Reads this member of `record`: a projection.
  template <class Record>
  [[nodiscard]] constexpr T operator()(const Record& record) const noexcept
    requires requires { record[field{}]; }
  {
    return record[field{}];
  }
};

/// A member in a byte order of its own, whatever the order of the record: `field_in<order::big, "port",
/// std::uint16_t>`.
template <order O, fixed_string Name, class T>
struct field_in : detail::field_base {
  static_assert(detail::member_value<T> && !std::is_same_v<T, bool>,
                "backsight: a member of its own byte order is an integer, an enumeration or a floating-point number");
  using value_type = T;
  static constexpr std::size_t bits = sizeof(T) * 8;
  static constexpr bool is_padding = false;
  static constexpr order byte_order = O;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr T operator()(const Record& record) const noexcept {
    return record[field_in{}];
  }
};

/// A member that has the same value in every record: a magic number. A record in which it differs is refused with
/// errc::bad_value.
template <fixed_string Name, class T, T Value>
struct must_be : detail::field_base {
  static_assert(detail::member_value<T>,
                "backsight: a constant member is a number, an enumeration or an array of bytes");
  using value_type = T;
  static constexpr std::size_t bits = sizeof(T) * 8;
  static constexpr bool is_padding = false;
  static constexpr T value = Value;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr T operator()(const Record& record) const noexcept {
    return record[must_be{}];
  }
  template <class Record>
  [[nodiscard]] static constexpr errc verify(const Record& record) noexcept {
    return record[must_be{}] == Value ? errc::ok : errc::bad_value;
  }
};

/// A member that repeats another one, such as a length behind the data: `same_as<"total_length", std::uint32_t,
/// length>`. A record in which they differ is refused with errc::bad_value.
template <fixed_string Name, class T, auto Member>
struct same_as : detail::field_base {
  static_assert(detail::member_value<T>,
                "backsight: a repeated member is a number, an enumeration or an array of bytes");
  using value_type = T;
  static constexpr std::size_t bits = sizeof(T) * 8;
  static constexpr bool is_padding = false;
  static constexpr auto repeats = Member;
  [[nodiscard]] static constexpr const char* name() noexcept { return Name.c_str(); }
  template <class Record>
  [[nodiscard]] constexpr T operator()(const Record& record) const noexcept {
    return record[same_as{}];
  }
  /// The value that it repeats.
  template <class Record>
  [[nodiscard]] static constexpr T repeated(const Record& record) noexcept {
    return static_cast<T>(record[Member]);
  }
  template <class Record>
  [[nodiscard]] static constexpr errc verify(const Record& record) noexcept {
    return record[same_as{}] == repeated(record) ? errc::ok : errc::bad_value;
  }
};

/// Bits that mean nothing. They are carried through decode and encode, and left out of print, CSV and JSON.
/// Padding of more than 64 bits is whole bytes.
template <std::size_t Bits>
struct padding : detail::field_base {
  static_assert(Bits != 0 && (Bits <= 64 || Bits % 8 == 0), "backsight: padding over 64 bits is whole bytes");
  using value_type = std::conditional_t<(Bits > 64), std::array<std::byte, (Bits + 7) / 8>, std::uint64_t>;
  static constexpr std::size_t bits = Bits;
  static constexpr bool is_padding = true;
  [[nodiscard]] static constexpr const char* name() noexcept { return "(padding)"; }
};

/// A descriptor of a member.
template <class F>
concept member = std::derived_from<F, detail::field_base> && requires {
  { F::bits } -> std::convertible_to<std::size_t>;
};

/// A descriptor of a member whose size the bytes of a record tell; `bits` is that of its value.
template <class F>
concept varying_member = member<F> && std::derived_from<F, detail::varying_base>;

namespace detail {

// A concept of its own: Clang 16 crashes on such a requirement inside the lambda of a variable template.
template <class F>
concept has_own_order = requires {
  { F::byte_order } -> std::convertible_to<order>;
};

/// The byte order of a member in records of order O.
template <class F, order O>
inline constexpr order order_of_member = [] {
  if constexpr (has_own_order<F>) return F::byte_order;
  else return O;
}();

}  // namespace detail

}  // namespace backsight
