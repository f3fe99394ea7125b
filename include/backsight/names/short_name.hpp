// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include <backsight/names/detail/rust_v0_parser.hpp>
#include <backsight/names/detail/short_name_names.hpp>
#include <backsight/names/detail/short_name_types.hpp>

// The short form of C++ and Rust names that uftrace shows. Source: uftrace's utils/demangle.c and
// utils/demangle-rust.c.
namespace backsight::names {

/// The short form of a symbol's name: only the components of the function's own name, without parameters and template
/// arguments. Rust names of the newer form keep their generic arguments. A name that is not mangled comes as it is, and
/// so does one that uftrace does not understand to its end, that is longer than `detail::longest_short_name` when read,
/// or that takes more than `detail::name_steps_per_byte` steps for each of its bytes. Allocates.
[[nodiscard]] inline std::string short_name(std::string_view mangled) {
  if (mangled.starts_with("_R")) {
    detail::rust_v0_parser parser(mangled);
    return std::string(parser.run() ? std::string_view(parser.out()) : mangled);
  }
  std::string_view prefix;
  for (const std::string_view known : {"_GLOBAL__sub_I_", "__device_stub_"}) {
    if (mangled.starts_with(known)) prefix = known;
  }
  const std::string_view rest = mangled.substr(prefix.size());
  if (!rest.starts_with("_Z")) return std::string(mangled);
  detail::short_name_parser parser(rest.substr(2));
  return parser.run() ? std::string(prefix) + parser.out() : std::string(mangled);
}

}  // namespace backsight::names
