// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cli {

/// Appends `text` as a terminal may have it: control characters but line ends and tabs, and bytes that are not UTF-8,
/// as `\x1b`. Gives how many bytes of `text` that was: of a text that goes on, a last character that is not whole is
/// left.
std::size_t show_on_terminal(std::string& to, std::string_view text, bool goes_on);

/// How much is said beside the results, which each command can be asked for.
struct manners {
  bool quiet = false;          ///< no notes, no progress: errors alone
  bool verbose = false;        ///< what was found and what it took, too
  std::string color = "auto";  ///< or always or never
  bool no_pager = false;
  bool thousands = false;  ///< numbers of tables with a comma behind each three digits, in text
};
extern manners manner;

/// The descriptor is a terminal, or stdout is a pager's that has one.
[[nodiscard]] bool is_terminal(int descriptor);
/// The columns of the terminal that stdout is; 0 when it is none.
[[nodiscard]] std::size_t terminal_width();
/// Whether text for stdout is to be coloured: as --color says, or on a terminal, where NO_COLOR is not set.
[[nodiscard]] bool wants_color();
/// Gives stdout to a pager as git does: on a terminal, unless that was forbidden. Once; later calls do nothing.
void start_pager();
/// Ends what goes to the pager and waits until it was left. Safe in a signal handler.
void end_pager() noexcept;

/// printf to stderr: every message of the program goes this way. On a terminal control characters, and bytes that are
/// not UTF-8, are shown as `\x1b`; elsewhere a message stays as it is.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...);

/// The same for what is no error: nothing with --quiet.
[[gnu::format(printf, 1, 2)]] void note(const char* format, ...);

/// As say(), for a text that is put together already and may have several lines.
void say_text(std::string_view text);

}  // namespace cli
