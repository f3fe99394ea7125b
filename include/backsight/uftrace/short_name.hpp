// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <backsight/uftrace/detail/short_name_parser.hpp>

namespace backsight::uftrace {

namespace detail {

/// `h` and 16 hexadecimal digits: the last component of an older Rust name.
[[nodiscard]] inline bool is_rust_hash(std::string_view component) noexcept {
  if (component.size() != 17 || component.front() != 'h') return false;
  for (const char c : component.substr(1)) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return false;
  }
  return true;
}

/// Undoes the escapes of one component of an older Rust name.
[[nodiscard]] inline std::string rust_component(std::string_view text) {
  static constexpr std::pair<std::string_view, char> escapes[] = {
      {"$SP$", '@'}, {"$BP$", '*'}, {"$RF$", '&'}, {"$LT$", '<'}, {"$GT$", '>'}, {"$LP$", '('}, {"$RP$", ')'}, {"$C$", ','},
      {"$u20$", ' '}, {"$u22$", '"'}, {"$u27$", '\''}, {"$u2b$", '+'}, {"$u3b$", ';'}, {"$u3d$", '='}, {"$u5b$", '['},
      {"$u5d$", ']'}, {"$u7b$", '{'}, {"$u7d$", '}'}, {"$u7e$", '~'}};
  std::string out;
  if (text.starts_with("_$")) text.remove_prefix(1);
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    std::string_view plain = text.substr(0, dollar);
    while (!plain.empty()) {
      if (plain.starts_with("..")) {
        out += "::";
        plain.remove_prefix(2);
      } else {
        out += plain.front();
        plain.remove_prefix(1);
      }
    }
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar);
    if (text.starts_with("$u20$as$u20$")) return out + '>';
    bool known = false;
    for (const auto& [code, character] : escapes) {
      if (!text.starts_with(code)) continue;
      out += character;
      text.remove_prefix(code.size());
      known = true;
      break;
    }
    if (!known) return out + std::string(text);
  }
  return out;
}

/// The older Rust form of a nested name, or nothing when its last component is not a hash.
[[nodiscard]] inline std::string rust_legacy_name(std::string_view mangled) {
  if (!mangled.starts_with("_ZN")) return {};
  std::string_view rest = mangled.substr(3);
  std::string out, last;
  bool any = false;
  while (!rest.empty() && rest.front() != 'E') {
    std::size_t length = 0, digits = 0;
    for (; digits < rest.size() && rest[digits] >= '0' && rest[digits] <= '9' && length <= rest.size(); ++digits) {
      length = length * 10 + static_cast<std::size_t>(rest[digits] - '0');
    }
    if (digits == 0 || length == 0 || length > rest.size() - digits) return {};
    const std::string_view component = rest.substr(digits, length);
    rest.remove_prefix(digits + length);
    if (rest.starts_with('E')) return any && is_rust_hash(component) ? out : std::string{};
    if (any) out += "::";
    out += rust_component(component);
    any = true;
  }
  return {};
}

}  // namespace detail

/// The short form of a symbol's name: only the components of the function's own name, without parameters and template
/// arguments; a name that is not mangled, or not understood to its end, as it is. Allocates.
[[nodiscard]] inline std::string short_name(std::string_view mangled) {
  std::string_view rest = mangled;
  std::string prefix;
  for (const std::string_view known : {std::string_view("_GLOBAL__sub_I_"), std::string_view("__device_stub_")}) {
    if (!rest.starts_with(known)) continue;
    prefix = known;
    rest.remove_prefix(known.size());
  }
  if (!rest.starts_with("_Z")) return std::string(mangled);
  if (std::string rust = detail::rust_legacy_name(rest); !rust.empty()) return prefix + rust;
  detail::short_name_parser parser(rest.substr(2));
  if (!parser.run() || parser.out().empty()) return std::string(mangled);
  return prefix + parser.out();
}

}  // namespace backsight::uftrace
