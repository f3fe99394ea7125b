// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "output_file.hpp"

namespace CLI {
class App;
}

// The commands and options of the program as the parser has them, for what is written about them: the manual page and
// the completions of shells.
namespace cli {

/// An option or a word without one.
struct word_text {
  enum class value : std::uint8_t { none, any, listed, file, folder };
  std::vector<std::string> names;  ///< `-o`, `--output`; of a word without option its name alone
  std::string placeholder;         ///< what stands behind it; empty for a flag
  std::string help, group;
  value takes = value::none;
  std::vector<std::string> values;  ///< where they are listed
  bool required = false, several = false;
};

/// A command, or the program itself.
struct command_text {
  std::string name;  ///< `cfi rows`; empty for the program
  std::string help;
  std::vector<word_text> options, words;
  std::vector<command_text> commands;  ///< below it
};
[[nodiscard]] command_text command_tree(const CLI::App& app);

/// Every command below, each before those below it.
[[nodiscard]] std::vector<const command_text*> commands_in_order(const command_text& program);

/// Writes the manual page in the language of man(7). `version` is as --version has it, `table` the commands by formats.
void write_manual(output& to, const command_text& program, std::string_view version, std::string_view table);

/// Writes the completions for `bash`, `zsh` or `fish`.
void write_completions(output& to, const command_text& program, std::string_view shell);

}  // namespace cli
