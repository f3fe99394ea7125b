// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <backsight/analysis/time_table.hpp>
#include <backsight/core/any_call_trace.hpp>

#include "calls.hpp"

namespace cli {

/// The modules of a trace's functions, by number.
class module_numbers {
 public:
  explicit module_numbers(const backsight::any_call_trace& trace) : trace_(trace) {}

  /// Before the analysis: says why modules are not known and gives false, or makes names to be asked for in it.
  [[nodiscard]] static bool prepare(call_input& input) {
    if (!input.no_modules.empty()) {
      say("backsight: --by module: %s\n", input.no_modules.c_str());
      return false;
    }
    input.asks_names = true;
    return true;
  }
  /// An empty table with such rows; of modules, as long as this lives.
  [[nodiscard]] backsight::analysis::time_table table(backsight::analysis::time_table::rows by) {
    using backsight::analysis::time_table;
    if (by != time_table::rows::groups) return time_table(by);
    return time_table([this](std::uint64_t function) { return number_of(function); });
  }
  [[nodiscard]] std::uint64_t number_of(std::uint64_t function) {
    std::string name(trace_.function_module(function));
    if (name.empty()) name = "[unknown]";
    const auto [at, is_new] = numbers_.try_emplace(std::move(name), names_.size());
    if (is_new) names_.push_back(at->first);
    return at->second;
  }
  [[nodiscard]] const std::string& name(std::uint64_t number) const { return names_[static_cast<std::size_t>(number)]; }

 private:
  backsight::any_call_trace trace_;
  std::unordered_map<std::string, std::uint64_t> numbers_;
  std::vector<std::string> names_;
};

}  // namespace cli
