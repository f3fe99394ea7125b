// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace cli {

/// A text as LLVM's YAML output writes a scalar: plain, in single quotes or in double quotes with escapes, by the rules
/// of llvm/Support/YAMLTraits.h (needsQuotes) and lib/Support/YAMLParser.cpp (escape). As there, double-quoted text
/// ends with U+FFFD at the first byte that is not UTF-8.
[[nodiscard]] std::string yaml_scalar(std::string_view text);

}  // namespace cli
