// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// Whether the text of a mangled C++ name stays below about `limit` bytes, found without making it: references to
/// earlier parts count with all that they stand for. False for a name that is not understood. Takes time linear in the
/// name's length.
[[nodiscard]] bool demangles_within(std::string_view mangled, std::size_t limit);

/// Of a mangled C++ function the part that is its name, itself mangled: without parameters, return type and the
/// qualifiers of member functions. Empty for a name that is not understood, or whose text would be longer than `limit`.
[[nodiscard]] std::string mangled_name_alone(std::string_view mangled, std::size_t limit);

}  // namespace cli
