// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>
#include <utility>

#include <backsight/names/detail/name_limits.hpp>

// Older Rust names are C++ names whose components hold escapes. Source: uftrace's utils/demangle.c (dd_source_name).
namespace backsight::names::detail {

/// `h` and 16 hexadecimal digits: the last component of an older Rust name.
[[nodiscard]] inline bool is_rust_hash(std::string_view component) noexcept {
  constexpr std::string_view digits = "0123456789abcdefABCDEF";
  return component.size() == 17 && component.front() == 'h' &&
         component.find_first_not_of(digits, 1) == std::string_view::npos;
}

/// Adds a component with its escapes undone; one without escapes as it is. Everything behind ` as ` becomes `>`, and
/// `..` before an escape `::`. What stands before an unknown escape is written twice: so does uftrace.
inline void add_rust_component(name_text& out, std::string_view text) {
  static constexpr std::pair<std::string_view, std::string_view> escapes[] = {
      {"SP", "@"},  {"BP", "*"},  {"RF", "&"},   {"LT", "<"},  {"GT", ">"},  {"LP", "("},  {"RP", ")"},
      {"C", ","},   {"u20", " "}, {"u22", "\""}, {"u27", "'"}, {"u2b", "+"}, {"u3b", ";"}, {"u3d", "="},
      {"u5b", "["}, {"u5d", "]"}, {"u7b", "{"},  {"u7d", "}"}, {"u7e", "~"}};
  for (std::size_t dollar = text.find('$'); dollar != std::string_view::npos; dollar = text.find('$')) {
    std::string_view plain = text.substr(0, dollar);
    for (std::size_t dots = plain.find(".."); dots != std::string_view::npos; dots = plain.find("..")) {
      out.add(plain.substr(0, dots));
      out.add("::");
      plain.remove_prefix(dots + 2);
    }
    out.add(plain);
    const std::string_view escape = text.substr(dollar);
    if (escape.starts_with("$u20$as$u20$")) {
      out.add(">");
      return;
    }
    const auto known = std::find_if(std::begin(escapes), std::end(escapes),
                                    [&](const auto& e) { return escape.substr(1).starts_with(e.first); });
    if (known == std::end(escapes)) break;
    out.add(known->second);
    text.remove_prefix(std::min(dollar + known->first.size() + 2, text.size()));
  }
  out.add(text);
}

}  // namespace backsight::names::detail
