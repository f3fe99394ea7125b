// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// Appends `text` as a terminal may have it: control characters but line ends and tabs, and bytes that are not UTF-8, as
/// `\x1b`. Gives how many bytes of `text` that was: of a text that goes on, a last character that is not whole is left.
std::size_t show_on_terminal(std::string& to, std::string_view text, bool goes_on);

/// printf to stderr: every message of the program goes this way. On a terminal control characters, and bytes that are not
/// UTF-8, are shown as `\x1b`; elsewhere a message stays as it is.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// The same for a text that is put together already and may have several lines.
void say_text(std::string_view text);

}  // namespace cli
