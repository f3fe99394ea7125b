// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "program.hpp"

namespace CLI {
class App;
}

// What commands and options there are and where they have an effect, said once: the parser, the check of what was asked
// for, the help and the matrix all come from these tables.
namespace cli {

/// Formats and commands as bits, so that an option can name several.
using format_set = std::uint32_t;
using command_set = std::uint32_t;

/// A command that works on traces.
struct trace_command {
  command_set bit = 0;
  const char* name = nullptr;
  const char* help = nullptr;
  int (*trace_format::*run)(const arguments&) = nullptr;  ///< a format's own, and what it prints as its tool does
  int (*on_calls)(const arguments&, const trace_format&) = nullptr;  ///< over every trace of calls
  bool many = false;                                                 ///< of several traces at once, too
};
[[nodiscard]] std::span<const trace_command> trace_commands();

/// Where an option has an effect.
struct option_use {
  enum class form : std::uint8_t { any, own, peer };  ///< with and without --as, without it alone, with it alone
  command_set in = 0;
  format_set of = 0;
  form when = form::any;
  const char* values = "";  ///< separated by blanks: what it may be there; empty: anything
  const char* unless = "";  ///< separated by blanks: options beside which it has none
  const char* needs = "";   ///< separated by blanks: options of which it needs one
};

/// An option, and the member of `arguments` that it sets.
struct trace_option {
  using target = std::variant<std::string arguments::*, bool arguments::*, unsigned arguments::*,
                              std::optional<std::uint64_t> arguments::*, std::optional<std::int32_t> arguments::*,
                              std::vector<std::string> arguments::*, std::vector<std::uint32_t> arguments::*>;
  enum class text : std::uint8_t { any, file, folder, duration };
  const char* names = nullptr;  ///< as CLI11 has them; the first long one is what messages say
  const char* value = "";       ///< what stands behind it in the help; empty for a flag
  const char* group = nullptr;
  const char* help = nullptr;
  target sets;
  std::vector<option_use> uses;
  text what = text::any;
  bool required = false;
};
[[nodiscard]] const std::vector<trace_option>& trace_options();
/// `--name`, of several the first long one.
[[nodiscard]] std::string long_name(const trace_option& option);

/// Gives a command its options.
void add_options(CLI::App& to, const trace_command& command, arguments& asked);
/// Says what of that does not apply to a trace of this format, and what does: gives success or usage.
[[nodiscard]] int check_options(const CLI::App& given, const trace_command& command, const trace_format& format,
                                const arguments& asked);
/// The format has the command.
[[nodiscard]] bool has_command(const trace_format& format, const trace_command& command);
/// The commands that a format has, separated by commas.
[[nodiscard]] std::string commands_of(const trace_format& format);
/// Which command applies to which format, as a table for the help.
[[nodiscard]] std::string matrix();

/// Of `words` the one that is most like `given`; empty when none is like it.
[[nodiscard]] std::string nearest(std::string_view given, const std::vector<std::string>& words);
/// What is wrong with a command line that CLI11 refused: the first word that is no command or option, with the nearest
/// one. Empty when that is not what is wrong.
[[nodiscard]] std::string unknown_word(const CLI::App& app, std::span<char* const> words);

}  // namespace cli
