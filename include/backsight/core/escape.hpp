// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <backsight/core/bytes.hpp>
#include <backsight/core/text.hpp>

// Text from a trace, escaped for where it goes: JSON, a cell of a table, a label in the DOT language, a terminal. What
// a trace says stays text there, whatever it says. Every function takes bytes, a pointer to characters and their
// number, or what has data() and size() as a std::string_view has; it gives the iterator behind what it wrote, and
// nothing allocates.
namespace backsight::text {

/// The bytes or characters of a text.
template <class T>
concept unit = std::same_as<T, std::byte> || std::same_as<T, char>;

/// A std::string, a std::string_view, or what is like them.
template <class T>
concept characters = requires(const T& text) {
  { text.data() } -> std::same_as<const char*>;
  { text.size() } -> std::convertible_to<std::size_t>;
};

/// The length of the well-formed UTF-8 sequence of two to four bytes at `at`; 0 when there is none.
template <unit Unit>
[[nodiscard]] constexpr std::size_t utf8_sequence(std::span<const Unit> units, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(units[at + i])); };
  const std::size_t left = units.size() - at;
  const unsigned first = byte(0);
  const std::size_t size = first >= 0xc2 && first < 0xe0   ? 2U
                           : first >= 0xe0 && first < 0xf0 ? 3U
                           : first >= 0xf0 && first < 0xf5 ? 4U
                                                           : 0U;
  if (size == 0 || size > left) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool outside = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  return overlong || outside ? 0 : size;
}

/// What stands at a place in a text.
struct symbol {
  std::uint32_t first = 0;  ///< its first byte, or for two bytes of UTF-8 the character
  std::size_t size = 1;     ///< in bytes
  bool valid = true;        ///< false: a byte that is not UTF-8
  /// A control character: below U+0020, or U+007F to U+009F.
  [[nodiscard]] constexpr bool is_control() const noexcept {
    return valid && (first < 0x20 || (first >= 0x7f && first < 0xa0));
  }
};

/// The character at `at`, or the byte that is none.
template <unit Unit>
[[nodiscard]] constexpr symbol symbol_at(std::span<const Unit> units, std::size_t at) noexcept {
  const auto byte = [&](std::size_t i) {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(units[at + i]));
  };
  if (byte(0) < 0x80) return {byte(0), 1, true};
  const std::size_t size = utf8_sequence(units, at);
  if (size == 2) return {(byte(0) & 0x1fU) << 6 | (byte(1) & 0x3fU), 2, true};
  return {byte(0), size == 0 ? 1 : size, size != 0};
}

namespace detail {

/// Copies the text symbol by symbol; where `escape(out, symbol)` gives true it has written something in its place.
template <class Out, unit Unit, class Escape>
constexpr Out replaced(Out out, std::span<const Unit> units, Escape&& escape) {
  for (std::size_t at = 0; at < units.size();) {
    const symbol s = symbol_at(units, at);
    if (!escape(out, s, units.subspan(at, s.size))) {
      for (std::size_t i = 0; i < s.size; ++i) *out++ = static_cast<char>(units[at + i]);
    }
    at += s.size;
  }
  return out;
}

/// Two hexadecimal digits for each byte, behind `before`.
template <class Out, unit Unit>
constexpr Out as_numbers(Out out, std::span<const Unit> units, const char* before = "\\x") {
  for (const Unit u : units) out = hexadecimal(literal(out, before), static_cast<unsigned char>(u), 2);
  return out;
}

}  // namespace detail

/// A NUL-terminated text.
[[nodiscard]] constexpr std::span<const char> characters_of(const char* text) noexcept {
  std::size_t size = 0;
  while (text[size] != '\0') ++size;
  return {text, size};
}

/// A quoted JSON text: `\\ \" \n \r \t`, other control characters of ASCII and bytes that are not UTF-8 as `\u00NN`,
/// all else as it is.
template <class Out, unit Unit, std::size_t Extent>
  requires(Extent == std::dynamic_extent)
constexpr Out quoted(Out out, std::span<const Unit, Extent> units) {
  *out++ = '"';
  out = detail::replaced(out, units, [](Out& to, const symbol& s, auto) {
    switch (s.valid ? s.first : 0U) {
      case '"': return to = literal(to, "\\\""), true;
      case '\\': return to = literal(to, "\\\\"), true;
      case '\n': return to = literal(to, "\\n"), true;
      case '\r': return to = literal(to, "\\r"), true;
      case '\t': return to = literal(to, "\\t"), true;
      default: break;
    }
    if (s.valid && (s.size > 1 || !s.is_control())) return false;
    return to = hexadecimal(literal(to, "\\u"), s.first, 4), true;
  });
  *out++ = '"';
  return out;
}

/// A cell of a table whose cells `separator` parts. With tabs each backslash, tab and line end is `\\ \t \n \r`, and a
/// quote at the begin `\x22`, so that lines and tabs stay what they are for any reader; with other separators a cell
/// that has one, a quote or a line end stands between quotes, and its quotes are doubled (RFC 4180).
template <class Out, unit Unit>
constexpr Out cell(Out out, std::span<const Unit> units, char separator) {
  if (separator == '\t') {
    if (!units.empty() && static_cast<char>(units.front()) == '"') {
      out = literal(out, "\\x22");
      units = units.subspan(1);
    }
    for (const Unit u : units) {
      switch (static_cast<char>(u)) {
        case '\\': out = literal(out, "\\\\"); break;
        case '\t': out = literal(out, "\\t"); break;
        case '\n': out = literal(out, "\\n"); break;
        case '\r': out = literal(out, "\\r"); break;
        default: *out++ = static_cast<char>(u);
      }
    }
    return out;
  }
  bool quotes = false;
  for (const Unit u : units) {
    const char c = static_cast<char>(u);
    quotes = quotes || c == separator || c == '"' || c == '\n' || c == '\r';
  }
  if (quotes) *out++ = '"';
  for (const Unit u : units) {
    if (static_cast<char>(u) == '"') *out++ = '"';
    *out++ = static_cast<char>(u);
  }
  if (quotes) *out++ = '"';
  return out;
}

/// A part of a quoted label in the DOT language: line ends become blanks, other control characters and bytes that are
/// not UTF-8 are shown as `\xNN`.
template <class Out, unit Unit>
constexpr Out dot_label(Out out, std::span<const Unit> units) {
  return detail::replaced(out, units, [](Out& to, const symbol& s, std::span<const Unit> part) {
    if (s.valid && (s.first == '"' || s.first == '\\')) *to++ = '\\';
    if (s.valid && (s.first == '\n' || s.first == '\r')) return *to++ = ' ', true;
    if (s.valid && !s.is_control()) return false;
    return to = detail::as_numbers(to, part, "\\\\x"), true;
  });
}

/// Text to be shown, on a terminal above all: control characters and bytes that are not UTF-8 as `\xNN`, but for those
/// of `kept`.
template <class Out, unit Unit>
constexpr Out shown(Out out, std::span<const Unit> units, const char* kept = "") {
  return detail::replaced(out, units, [kept](Out& to, const symbol& s, std::span<const Unit> part) {
    if (s.valid && !s.is_control()) return false;
    for (const char* c = kept; s.valid && *c != '\0'; ++c) {
      if (s.first == static_cast<unsigned char>(*c)) return false;
    }
    return to = detail::as_numbers(to, part), true;
  });
}

/// Text for a field that must be UTF-8: bytes that are not as `\xNN`.
template <class Out, unit Unit>
constexpr Out as_utf8(Out out, std::span<const Unit> units) {
  return detail::replaced(out, units, [](Out& to, const symbol& s, std::span<const Unit> part) {
    if (s.valid) return false;
    return to = detail::as_numbers(to, part), true;
  });
}

template <class Out>
constexpr Out quoted(Out out, byte_view bytes) {
  return quoted<Out, std::byte, std::dynamic_extent>(out, bytes);
}
template <class Out>
constexpr Out quoted(Out out, const char* text, std::size_t size) {
  return quoted(out, std::span<const char>(text, size));
}
template <class Out, characters Text>
constexpr Out quoted(Out out, const Text& text) {
  return quoted(out, std::span<const char>(text.data(), text.size()));
}
template <class Out, characters Text>
constexpr Out cell(Out out, const Text& text, char separator) {
  return cell(out, std::span<const char>(text.data(), text.size()), separator);
}
template <class Out, characters Text>
constexpr Out dot_label(Out out, const Text& text) {
  return dot_label(out, std::span<const char>(text.data(), text.size()));
}
template <class Out, characters Text>
constexpr Out shown(Out out, const Text& text, const char* kept = "") {
  return shown(out, std::span<const char>(text.data(), text.size()), kept);
}
template <class Out, characters Text>
constexpr Out as_utf8(Out out, const Text& text) {
  return as_utf8(out, std::span<const char>(text.data(), text.size()));
}

}  // namespace backsight::text
