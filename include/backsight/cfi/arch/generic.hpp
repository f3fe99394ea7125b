// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace backsight::cfi::arch {

/// A machine of which nothing but its call frame instructions is known: rows can be read, frames cannot be unwound.
struct generic {
  static constexpr const char* name = "generic";
  static constexpr bool signs_return_addresses = false;
};

}  // namespace backsight::cfi::arch
