// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <backsight/uftrace/detail/rust_v0_parser.hpp>
#include <backsight/uftrace/detail/short_name_names.hpp>
#include <backsight/uftrace/detail/short_name_types.hpp>

// The short form of C++ and Rust names that uftrace shows. Source: uftrace's utils/demangle.c and utils/demangle-rust.c.
namespace backsight::uftrace {

/// The short form of a symbol's name: only the components of the function's own name, without parameters and template
/// arguments; a name that is not mangled, or not understood to its end, as it is. Rust names of the newer form keep their
/// generic arguments. Allocates.
[[nodiscard]] inline std::string short_name(std::string_view mangled) {
  if (mangled.starts_with("_R")) {
    detail::rust_v0_parser parser(mangled);
    return parser.run() && !parser.out().empty() ? parser.out() : std::string(mangled);
  }
  std::string_view rest = mangled;
  std::string prefix;
  for (const std::string_view known : {std::string_view("_GLOBAL__sub_I_"), std::string_view("__device_stub_")}) {
    if (!rest.starts_with(known)) continue;
    prefix = known;
    rest.remove_prefix(known.size());
  }
  if (!rest.starts_with("_Z")) return std::string(mangled);
  detail::short_name_parser parser(rest.substr(2));
  if (!parser.run() || parser.out().empty()) return std::string(mangled);
  return prefix + parser.out();
}

}  // namespace backsight::uftrace
