// SPDX-License-Identifier: Apache-2.0
#include "llvm_yaml.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <backsight/core/escape.hpp>

namespace cli {

namespace {

constexpr std::string_view decimal_digits = "0123456789";

std::string_view skip_digits(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(decimal_digits), text.size()));
  return text;
}

template <std::size_t Count>
bool is_any(std::string_view text, const std::array<std::string_view, Count>& words) {
  return std::ranges::find(words, text) != words.end();
}

bool is_exponent(std::string_view text) {
  if (!text.empty() && (text.front() == '+' || text.front() == '-')) text.remove_prefix(1);
  return !text.empty() && skip_digits(text).empty();
}

bool is_numeric(std::string_view text) {
  if (text.empty() || text == "+" || text == "-") return false;
  if (is_any(text, std::array<std::string_view, 3>{".nan", ".NaN", ".NAN"})) return true;
  std::string_view tail = text;
  if (tail.front() == '-' || tail.front() == '+') tail.remove_prefix(1);
  if (is_any(tail, std::array<std::string_view, 3>{".inf", ".Inf", ".INF"})) return true;
  if (text.starts_with("0o")) return text.size() > 2 && text.find_first_not_of("01234567", 2) == text.npos;
  if (text.starts_with("0x"))
    return text.size() > 2 && text.find_first_not_of("0123456789abcdefABCDEF", 2) == text.npos;
  if (tail.starts_with(".") && (tail.size() == 1 || decimal_digits.find(tail[1]) == decimal_digits.npos)) return false;
  if (tail.starts_with("e") || tail.starts_with("E")) return false;
  tail = skip_digits(tail);
  if (tail.empty()) return true;
  if (tail.front() == '.') {
    tail = skip_digits(tail.substr(1));
    if (tail.empty()) return true;
  }
  if (tail.front() != 'e' && tail.front() != 'E') return false;
  return is_exponent(tail.substr(1));
}

enum class quoting { none, single, twice };

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

quoting quoting_of(std::string_view text) {
  if (text.empty()) return quoting::single;
  constexpr std::array<std::string_view, 10> words{"null", "Null", "NULL",  "~",     "true",
                                                   "True", "TRUE", "false", "False", "FALSE"};
  quoting needed = quoting::none;
  if (is_space(text.front()) || is_space(text.back()) || is_any(text, words) || is_numeric(text))
    needed = quoting::single;
  if (std::string_view("-?:\\,[]{}#&*!|>'\"%@`").find(text.front()) != std::string_view::npos) needed = quoting::single;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) continue;
    if (std::string_view("_-^., \t").find(c) != std::string_view::npos) continue;
    if (byte < 0x20 || byte >= 0x7f) return quoting::twice;
    needed = quoting::single;
  }
  return needed;
}

void append_hex(std::string& to, std::string_view prefix, std::uint32_t value, int width) {
  to += prefix;
  for (int i = width - 1; i >= 0; --i) to += "0123456789ABCDEF"[value >> (i * 4) & 15U];
}

/// A code point that LLVM would write as it is: not a control, not private, not a noncharacter. Code points that no
/// character has yet are not told apart; LLVM escapes them.
bool is_printable(std::uint32_t code) {
  if (code < 0xa0 || code == 0x61c || code == 0x180e || (code >= 0xe000 && code < 0xf900) || code >= 0xe0000)
    return false;
  return (code & 0xfffeU) != 0xfffe && !(code >= 0xfdd0 && code < 0xfdf0) && !(code >= 0x200b && code < 0x2010) &&
         !(code >= 0x2028 && code < 0x202f) && !(code >= 0x2060 && code < 0x2070) && code != 0xfeff;
}

std::string escaped(std::string_view text) {
  using backsight::byte_view;
  const byte_view bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
  std::string to;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    constexpr std::string_view named("\0\a\b\t\n\v\f\r\x1b\"\\", 11);
    constexpr std::string_view letters = "0abtnvfre\"\\";
    if (const auto at = named.find(text[i]); at != named.npos) {
      to += '\\';
      to += letters[at];
    } else if (byte < 0x20) {
      append_hex(to, "\\x", byte, 2);
    } else if (byte < 0x80) {
      to += text[i];
    } else {
      const std::size_t size = backsight::text::utf8_sequence(bytes, i);
      if (size == 0) return to += "\xef\xbf\xbd";
      std::uint32_t code = byte & (0x7fU >> size);
      for (std::size_t k = 1; k < size; ++k) code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3fU);
      if (code == 0x85) to += "\\N";
      else if (code == 0xa0) to += "\\_";
      else if (code == 0x2028) to += "\\L";
      else if (code == 0x2029) to += "\\P";
      else if (is_printable(code)) to += text.substr(i, size);
      else if (code <= 0xff) append_hex(to, "\\x", code, 2);
      else if (code <= 0xffff) append_hex(to, "\\u", code, 4);
      else append_hex(to, "\\U", code, 8);
      i += size - 1;
    }
  }
  return to;
}

}  // namespace

std::string yaml_scalar(std::string_view text) {
  switch (quoting_of(text)) {
    case quoting::none: return std::string(text);
    case quoting::twice: return '"' + escaped(text) + '"';
    case quoting::single: break;
  }
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + '\'';
}

}  // namespace cli
