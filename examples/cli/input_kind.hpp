// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "program.hpp"

namespace cli {

/// What an input is that a command for other files than traces does not take: a trace, or as below; empty when that is
/// not known.
[[nodiscard]] std::string what_else_it_is(const std::string& path);

/// What an input is that no format takes, and what can be done with it. `head` is the first 64 bytes, none for a
/// folder.
[[nodiscard]] std::string what_it_is(const std::string& path, backsight::byte_view head);

}  // namespace cli
