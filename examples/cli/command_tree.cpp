// SPDX-License-Identifier: Apache-2.0
#include "command_tree.hpp"

#include <algorithm>
#include <utility>

#include <CLI/CLI.hpp>

namespace cli {

namespace {

std::vector<std::string> split_at(std::string_view text, char separator) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(separator, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// What the parser says of a value: its type and, behind colons, what checks it: `FORM:{text,json}`, `TEXT:FILE`,
/// `a|b`.
void read_type(word_text& to, std::string type) {
  const std::size_t brace = type.find(":{"), end = type.rfind('}');
  if (brace != std::string::npos && end != std::string::npos && end > brace) {
    to.values = split_at(std::string_view(type).substr(brace + 2, end - brace - 2), ',');
    type.resize(brace);
  }
  const std::size_t colon = type.find(':');
  const std::string check = colon == std::string::npos ? "" : type.substr(colon + 1);
  if (colon != std::string::npos) type.resize(colon);
  if (type.find('|') != std::string::npos) {
    if (to.values.empty()) to.values = split_at(type, '|');
    type.clear();
  }
  using value = word_text::value;
  to.takes = !to.values.empty()                             ? value::listed
             : type == "FILE" || check.starts_with("FILE")  ? value::file
             : type == "FOLDER" || check.starts_with("DIR") ? value::folder
                                                            : value::any;
  if (type.empty() && to.takes == value::listed) {
    for (const std::string& one : to.values) to.placeholder += (to.placeholder.empty() ? "" : "|") + one;
  } else {
    to.placeholder = std::move(type);
  }
}

word_text word_text_of(const CLI::Option& option) {
  word_text made;
  made.help = option.get_description();
  made.group = option.get_group();
  made.required = option.get_required();
  made.several = option.get_items_expected_max() > 1;
  if (option.get_positional()) {
    made.names = {option.get_name(true)};
    made.takes = made.names.front() == "ADDRESS" ? word_text::value::any : word_text::value::file;
    if (const std::string type = option.get_type_name(); type.find(":{") != std::string::npos) read_type(made, type);
    return made;
  }
  for (const std::string& name : option.get_snames()) made.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) made.names.push_back("--" + name);
  if (option.get_items_expected_max() > 0) read_type(made, option.get_type_name());
  // Of what is too long for a placeholder, the list stands behind the description.
  const std::string told = made.help.substr(0, made.help.find(" ["));  // Behind it are the formats that it is for.
  const std::size_t list = told.rfind(": ");
  if (made.takes == word_text::value::any && list != std::string::npos && !told.substr(list + 2).empty()) {
    auto values = split_at(told.substr(list + 2), ',');
    for (std::string& one : values) one.erase(0, one.find_first_not_of(' '));
    const bool are_words = std::ranges::none_of(
        values, [](const std::string& one) { return one.empty() || one.find(' ') != std::string::npos; });
    if (are_words && values.size() > 1) {
      made.values = std::move(values);
      made.takes = word_text::value::listed;
    }
  }
  return made;
}

command_text command_text_of(const CLI::App& app, const std::string& prefix, bool is_program) {
  command_text made;
  if (!is_program) made.name = prefix.empty() ? app.get_name() : prefix + " " + app.get_name();
  made.help = app.get_description();
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? made.words : made.options).push_back(word_text_of(*option));
  }
  for (const CLI::App* const below : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!below->get_group().empty()) made.commands.push_back(command_text_of(*below, made.name, false));
  }
  return made;
}

void add_commands_in_order(const command_text& from, std::vector<const command_text*>& to) {
  for (const command_text& one : from.commands) {
    to.push_back(&one);
    add_commands_in_order(one, to);
  }
}

}  // namespace

command_text command_tree(const CLI::App& app) { return command_text_of(app, "", true); }

std::vector<const command_text*> commands_in_order(const command_text& program) {
  std::vector<const command_text*> all;
  add_commands_in_order(program, all);
  return all;
}

}  // namespace cli
