// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "program.hpp"

namespace cli {

/// What an input is that no format takes, and what can be done with it. `head` is the first 64 bytes, none for a
/// folder.
[[nodiscard]] std::string what_it_is(const std::string& path, backsight::byte_view head,
                                     std::span<const trace_format* const> formats);

}  // namespace cli
