// SPDX-License-Identifier: Apache-2.0
// The manual page.
#include "command_tree.hpp"

#include <cctype>

namespace cli {

namespace {

/// Text of man(7): a backslash, a hyphen that is one of an option, and a line that would be a request.
std::string man_text(std::string_view text) {
  std::string to;
  for (const char c : text) {
    if (c == '\\') to += "\\e";
    else if (c == '-') to += "\\-";
    else to += c;
  }
  if (to.starts_with('.') || to.starts_with('\'')) to.insert(0, "\\&");
  return to;
}

std::string man_bold(std::string_view text) { return "\\fB" + man_text(text) + "\\fR"; }
std::string man_italic(std::string_view text) { return "\\fI" + man_text(text) + "\\fR"; }

std::string man_capital(std::string text) {
  if (!text.empty()) text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

void write_man_options(output& to, const command_text& command) {
  std::string group;
  for (const word_text& one : command.options) {
    if (one.group != group && one.group != "Options") to.write(".PP\n" + man_italic(one.group) + "\n");
    group = one.group;
    std::string names;
    for (const std::string& name : one.names) names += (names.empty() ? "" : ", ") + man_bold(name);
    if (one.takes != word_text::value::none) {
      const bool is_list = one.takes == word_text::value::listed && one.placeholder.find('|') != std::string::npos;
      names += " " + (is_list ? man_text(one.placeholder) : man_italic(one.placeholder));
    }
    to.write(".TP\n" + names + "\n" + man_text(man_capital(one.help)));
    const bool told = one.help.find(": ") != std::string::npos || one.placeholder.find('|') != std::string::npos;
    if (!one.values.empty() && !told) {
      std::string list;
      for (const std::string& value : one.values) list += (list.empty() ? "" : ", ") + value;
      to.write(": " + man_text(list));
    }
    to.write(one.required ? " (required)\n" : "\n");
  }
}

void write_man_synopsis(output& to, const command_text& command) {
  std::string line = man_bold("backsight " + command.name);
  if (!command.options.empty()) line += " [" + man_italic("OPTION") + "]...";
  for (const word_text& word : command.words) {
    const std::string name = man_italic(word.names.front()) + (word.several ? "..." : "");
    line += word.required ? " " + name : " [" + name + "]";
  }
  to.write(line + "\n");
}

}  // namespace

void write_manual(output& to, const command_text& program, std::string_view version, std::string_view table) {
  const std::string first(version.substr(0, version.find('\n')));
  to.write(".TH BACKSIGHT 1 \"\" \"" + man_text(first) + "\" \"User Commands\"\n.SH NAME\n");
  to.write("backsight \\- " + man_text("show the traces that profilers leave behind, and unwind stacks") + "\n");
  to.write(".SH SYNOPSIS\n.B backsight\n.I COMMAND\n[\\fIOPTION\\fR]... \\fITRACE\\fR\n");
  to.write(
      ".SH DESCRIPTION\n"
      "The format of a trace is found out by its bytes: logs and profiles of LLVM XRay, directories of uftrace, "
      "memtraces of "
      "DynamoRIO, recordings of perf. A trace is a file, \\- for the standard input, or a folder where the format is "
      "one.\n.PP\n"
      "An option that has no effect on a command or a format is refused, with what does apply.\n"
      ".SH COMMANDS\n");
  for (const command_text* const command : commands_in_order(program)) {
    // A command that only holds others is told by them.
    if (!command->commands.empty() && command->words.empty()) continue;
    to.write(".SS " + man_text(command->name) + "\n");
    write_man_synopsis(to, *command);
    to.write(".PP\n" + man_text(command->help) + ".\n");
    for (const word_text& word : command->words) {
      if (!word.help.empty())
        to.write(".TP\n" + man_italic(word.names.front()) + "\n" + man_text(man_capital(word.help)) + "\n");
    }
    write_man_options(to, *command);
  }
  to.write(".SH OPTIONS\n");
  write_man_options(to, program);
  to.write(".SH COMMANDS BY FORMATS\n.nf\n");
  for (std::size_t at = 0; at < table.size();) {
    const std::size_t end = std::min(table.find('\n', at), table.size());
    to.write(man_text(table.substr(at, end - at)) + "\n");
    at = end + 1;
  }
  to.write(
      ".fi\n.SH EXIT STATUS\n.TP\n.B 0\nThe trace is shown whole.\n.TP\n.B 1\n"
      "The input is damaged or cannot be read; what can be read is shown all the same, and faults are told on the "
      "standard "
      "error as \\fIfile\\fR:\\fIoffset\\fR: \\fImessage\\fR.\n.TP\n.B 2\nWrong usage; nothing was written.\n");
  to.write(".SH SEE ALSO\n.BR perf (1),\n.BR readelf (1),\n.BR uftrace (1)\n");
}

}  // namespace cli
