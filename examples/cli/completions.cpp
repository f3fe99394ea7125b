// SPDX-License-Identifier: Apache-2.0
// The completions of bash, zsh and fish.
#include <algorithm>

#include "command_tree.hpp"

namespace cli {

namespace {

using takes = word_text::value;

std::string shell_words(const std::vector<std::string>& words, const char* between = " ") {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : between) + word;
  return all;
}

/// Names of the commands directly below, without their prefix.
std::string last_word(const command_text& command) { return command.name.substr(command.name.rfind(' ') + 1); }
std::vector<std::string> names_below(const command_text& command) {
  std::vector<std::string> names;
  for (const command_text& one : command.commands) names.push_back(last_word(one));
  return names;
}
std::vector<std::string> option_names(const command_text& command) {
  std::vector<std::string> names;
  for (const word_text& option : command.options) names.insert(names.end(), option.names.begin(), option.names.end());
  return names;
}

/// Between single quotes, for each of the shells.
std::string shell_quoted(std::string_view text, bool is_fish = false) {
  std::string to = "'";
  for (const char c : text) {
    if (c == '\'') to += is_fish ? "\\'" : "'\\''";
    else if (c == '\\' && is_fish) to += "\\\\";
    else to += c;
  }
  return to + "'";
}

// bash

void write_bash_command(output& to, const command_text& command) {
  for (const word_text& option : command.options) {
    if (option.takes == takes::none) continue;
    std::string names;
    for (const std::string& name : option.names)
      names += (names.empty() ? "\"" : " | \"") + command.name + ":" + name + "\"";
    to.write("    " + names + ")\n");
    switch (option.takes) {
      case takes::listed:
        to.write("      COMPREPLY=($(compgen -W " + shell_quoted(shell_words(option.values)) + " -- \"$word\"))\n");
        break;
      case takes::file: break;
      case takes::folder: to.write("      COMPREPLY=($(compgen -d -- \"$word\"))\n"); break;
      default: to.write("      compopt +o default +o bashdefault 2> /dev/null\n"); break;
    }
    to.write("      return ;;\n");
  }
}

void write_bash(output& to, const command_text& program) {
  const auto all = commands_in_order(program);
  to.write(
      "# Completion of backsight for bash, made by the program itself.\n"
      "_backsight() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command= here options below i\n"
      "  COMPREPLY=()\n"
      "  if [[ $word == '=' ]]; then word=; elif [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    here=${COMP_WORDS[i]}\n"
      "    case \"$command:$here\" in\n");
  const auto starts = [&](const command_text& above) {
    for (const command_text& one : above.commands)
      to.write("      \"" + above.name + ":" + last_word(one) + "\") command='" + one.name + "' ;;\n");
  };
  starts(program);
  for (const command_text* const command : all) starts(*command);
  to.write("    esac\n  done\n  case \"$command:$before\" in\n");
  write_bash_command(to, program);
  for (const command_text* const command : all) write_bash_command(to, *command);
  to.write("  esac\n  case \"$command\" in\n");
  const auto what_follows = [&](const command_text& command) {
    to.write("    " + shell_quoted(command.name) +
             ")\n      options=" + shell_quoted(shell_words(option_names(command))) +
             "\n      below=" + shell_quoted(shell_words(names_below(command))) + " ;;\n");
  };
  what_follows(program);
  for (const command_text* const command : all) what_follows(*command);
  to.write(
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$options\" -- \"$word\"))\n"
      "  elif [[ -n $below ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$below\" -- \"$word\"))\n"
      "    compopt +o default +o bashdefault 2> /dev/null\n"
      "  fi\n"
      "}\n"
      "complete -o bashdefault -o default -F _backsight backsight\n");
}

// zsh

/// A text inside of the specification of an option.
std::string zsh_text(std::string_view text) {
  std::string to;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') to += '\\';
    to += c;
  }
  return to;
}

std::string zsh_action(const word_text& word) {
  switch (word.takes) {
    case takes::listed: return "(" + shell_words(word.values) + ")";
    case takes::file: return "_files";
    case takes::folder: return "_files -/";
    default: return " ";
  }
}

std::string zsh_function(const command_text& command) {
  std::string name = "_backsight";
  if (!command.name.empty()) name += '_' + command.name;
  std::ranges::replace(name, ' ', '_');
  std::ranges::replace(name, '-', '_');
  return name;
}

void write_zsh_function(output& to, const command_text& command) {
  to.write(zsh_function(command) +
           "() {\n  local state line curcontext=\"$curcontext\"\n  typeset -A opt_args\n  _arguments -C");
  for (const word_text& option : command.options) {
    std::string spec = zsh_text(option.help);
    spec = "[" + spec + "]";
    if (option.takes != takes::none)
      spec += ":" + zsh_text(option.placeholder.empty() ? "value" : option.placeholder) + ":" + zsh_action(option);
    // A value may stand behind a `=` of a long option, too.
    for (const std::string& name : option.names)
      to.write(" \\\n    " + shell_quoted((option.several ? "*" : "") + name +
                                          (option.takes != takes::none && name.starts_with("--") ? "=" : "") + spec));
  }
  if (!command.commands.empty()) {
    // `(-)`: options behind the name of a command are that command's own.
    to.write(
        " \\\n    '(-): :->command' \\\n    '(-)*:: :->argument'\n  case $state in\n    command)\n      local -a "
        "below\n      below=(");
    for (const command_text& one : command.commands)
      to.write("\n        " + shell_quoted(zsh_text(last_word(one)) + ":" + one.help));
    to.write("\n      )\n      _describe command below ;;\n    argument)\n      case $words[1] in\n");
    for (const command_text& one : command.commands)
      to.write("        " + last_word(one) + ") " + zsh_function(one) + " ;;\n");
    to.write("      esac ;;\n  esac\n}\n");
    for (const command_text& one : command.commands) write_zsh_function(to, one);
    return;
  }
  for (const word_text& word : command.words)
    to.write(" \\\n    " + shell_quoted((word.several || &word == &command.words.back() ? "*:" : ":") +
                                        zsh_text(word.names.front()) + ":" + zsh_action(word)));
  to.write("\n}\n");
}

void write_zsh(output& to, const command_text& program) {
  to.write("#compdef backsight\n# Completion of backsight for zsh, made by the program itself.\n");
  write_zsh_function(to, program);
  to.write("_backsight \"$@\"\n");
}

// fish

void write_fish_command(output& to, const command_text& command) {
  std::string when, without;
  for (std::size_t at = 0; at < command.name.size();) {
    const std::size_t end = std::min(command.name.find(' ', at), command.name.size());
    when += (when.empty() ? "__fish_seen_subcommand_from " : "; and __fish_seen_subcommand_from ") +
            command.name.substr(at, end - at);
    at = end + 1;
  }
  if (when.empty()) without = "__fish_use_subcommand";
  else if (!command.commands.empty())
    without = when + "; and not __fish_seen_subcommand_from " + shell_words(names_below(command));
  for (const command_text& one : command.commands)
    to.write("complete -c backsight -f -n " + shell_quoted(without, true) + " -a " + last_word(one) + " -d " +
             shell_quoted(one.help, true) + "\n");
  const std::string& in = command.commands.empty() ? when : without;
  for (const word_text& option : command.options) {
    std::string line = "complete -c backsight -n " + shell_quoted(in, true);
    for (const std::string& name : option.names)
      line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    switch (option.takes) {
      case takes::none: break;
      case takes::listed: line += " -x -a " + shell_quoted(shell_words(option.values), true); break;
      case takes::file: line += " -r -F"; break;
      case takes::folder: line += " -x -a '(__fish_complete_directories)'"; break;
      case takes::any: line += " -x"; break;
    }
    to.write(line + " -d " + shell_quoted(option.help, true) + "\n");
  }
}

void write_fish(output& to, const command_text& program) {
  to.write("# Completion of backsight for fish, made by the program itself.\n");
  write_fish_command(to, program);
  for (const command_text* const command : commands_in_order(program)) write_fish_command(to, *command);
}

}  // namespace

void write_completions(output& to, const command_text& program, std::string_view shell) {
  if (shell == "bash") write_bash(to, program);
  else if (shell == "zsh") write_zsh(to, program);
  else write_fish(to, program);
}

}  // namespace cli
