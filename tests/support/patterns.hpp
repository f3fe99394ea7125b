// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <backsight/names/name_pattern.hpp>
#ifdef BACKSIGHT_HAVE_RE2
#include <backsight/io/re2_patterns.hpp>
#endif

namespace backsight::test {

/// The regular expressions that are there: RE2's, or none.
inline names::pattern_engine patterns() {
#ifdef BACKSIGHT_HAVE_RE2
  return io::re2_patterns();
#else
  return {};
#endif
}

}  // namespace backsight::test
