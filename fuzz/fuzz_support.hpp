// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace backsight::fuzz {

/// Swallows characters, so that printing touches every member without memory.
struct sink {
  using difference_type = std::ptrdiff_t;
  std::uint64_t* sum;
  sink& operator*() { return *this; }
  sink& operator++() { return *this; }
  sink operator++(int) { return *this; }
  sink& operator=(char c) {
    *sum = *sum * 31 + static_cast<unsigned char>(c);
    return *this;
  }
};

/// Ends the program where something does not hold, also without assertions.
inline void require(bool held) {
  if (!held) std::abort();
}

}  // namespace backsight::fuzz
