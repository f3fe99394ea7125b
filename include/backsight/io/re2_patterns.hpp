// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <string_view>

#include <re2/re2.h>

#include <backsight/names/name_pattern.hpp>

// Regular expressions by RE2, in time linear in the text and bounded memory. Link re2.
namespace backsight::io {

namespace detail {

/// A POSIX extended regular expression, as glibc reads it, in the syntax of RE2; false for what RE2 cannot do:
/// references to groups and collating elements.
[[nodiscard]] inline bool translate_pattern(std::string_view posix, std::string& out) {
  std::size_t open = 0;
  for (std::size_t i = 0; i < posix.size(); ++i) {
    const char c = posix[i];
    if (c == '[') {
      // In brackets a backslash is itself, and a `]` at the start too.
      out += c;
      if (i + 1 < posix.size() && posix[i + 1] == '^') out += posix[++i];
      for (bool first = true; ++i < posix.size() && (first || posix[i] != ']'); first = false) {
        if (posix[i] == '[' && i + 1 < posix.size() && (posix[i + 1] == '.' || posix[i + 1] == '=')) return false;
        if (posix[i] == '[' && i + 1 < posix.size() && posix[i + 1] == ':') {
          const std::size_t end = posix.find(":]", i + 2);
          if (end == std::string_view::npos) return out += '[', true;
          out += posix.substr(i, end + 2 - i);
          i = end + 1;
          continue;
        }
        if (posix[i] == '\\' || posix[i] == '[' || (first && posix[i] == ']')) out += '\\';
        out += posix[i];
      }
      if (i < posix.size()) out += ']';
      continue;
    }
    if (c == '\\' && i + 1 < posix.size()) {
      const char next = posix[++i];
      if (next >= '1' && next <= '9') return false;
      switch (next) {
        case '<':
        case '>': out += "\\b"; break;
        case '`': out += "\\A"; break;
        case '\'': out += "\\z"; break;
        case 'w':
        case 'W':
        case 's':
        case 'S':
        case 'b':
        case 'B':
          out += '\\';
          out += next;
          break;
        default:
          // Any other character stands for itself.
          if (std::string_view(".?*+-^$|()[]{}\\").find(next) != std::string_view::npos) out += '\\';
          out += next;
      }
      continue;
    }
    if (c == '(') ++open;
    if (c == ')' && open == 0) {
      out += "\\)";
      continue;
    }
    if (c == ')') --open;
    if (c == '{' && i + 1 < posix.size() && posix[i + 1] == ',') {
      out += "{0";
      continue;
    }
    // A repetition of a repetition is one in parentheses; RE2 would take `??` and the like for something else.
    const bool repeats = c == '*' || c == '+' || c == '?';
    if (repeats && i != 0 &&
        (posix[i - 1] == '*' || posix[i - 1] == '+' || posix[i - 1] == '?' || posix[i - 1] == '}') &&
        (i < 2 || posix[i - 2] != '\\')) {
      if (c == posix[i - 1]) continue;
      return false;
    }
    out += c;
  }
  return true;
}

inline errc compile_re2(const std::string& pattern, void*& compiled) {
  std::string translated;
  if (!translate_pattern(pattern, translated)) return errc::capacity;
  re2::RE2::Options options(re2::RE2::Latin1);
  options.set_posix_syntax(true);
  options.set_perl_classes(true);
  options.set_word_boundary(true);
  options.set_one_line(true);
  options.set_dot_nl(true);
  options.set_never_capture(true);
  options.set_log_errors(false);
  options.set_max_mem(1 << 17);
  auto* const made = new re2::RE2(translated, options);
  if (made->ok()) {
    compiled = made;
    return errc::ok;
  }
  const bool large = made->error_code() == re2::RE2::ErrorPatternTooLarge ||
                     made->error_code() == re2::RE2::ErrorRepeatSize || made->error_code() == re2::RE2::ErrorInternal;
  delete made;
  return large ? errc::capacity : errc::bad_text;
}
inline bool search_re2(const void* compiled, const std::string& text) {
  return re2::RE2::PartialMatch(text, *static_cast<const re2::RE2*>(compiled));
}
inline void release_re2(void* compiled) { delete static_cast<re2::RE2*>(compiled); }

}  // namespace detail

/// The regular expressions of POSIX, which are those of uftrace, by RE2. A pattern that takes more than 128 KB, or that
/// has references to groups or collating elements, is refused with errc::capacity.
[[nodiscard]] inline names::pattern_engine re2_patterns() noexcept {
  return {&detail::compile_re2, &detail::search_re2, &detail::release_re2};
}

}  // namespace backsight::io
