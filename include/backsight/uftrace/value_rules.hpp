// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/names/name_pattern.hpp>
#include <backsight/names/short_name.hpp>
#include <backsight/uftrace/arguments.hpp>

// Which functions have which values. Source: uftrace's utils/filter.c (setup_trigger, update_filter), utils/auto-args.c
// and utils/fstack.c (setup_fstack_args).
namespace backsight::uftrace {

/// The values of the functions that a pattern names.
struct function_spec {
  names::name_pattern pattern;     ///< of the short form of the name
  std::string_view module;         ///< only functions of that module, see object_rule; empty for all
  std::vector<value_spec> values;  ///< empty: those that the function is known to have, from debug information
};

/// Specifications in their order, to be looked up by the name of a function.
class function_specs {
 public:
  /// More regular expressions and globs than this are refused: each is tried on each function that has values.
  static constexpr std::size_t max_patterns = 1000;

  /// Reads `FUNC@spec,spec;FUNC@MODULE,spec;FUNC`: the value of an argspec or retspec line, of which the arguments or
  /// the return values count. The result has views into `text`. Gives the first error of a pattern that makes it fit
  /// nothing: capacity or unsupported_type. Allocates.
  errc add(std::string_view text, std::size_t long_size, bool returns, const names::pattern_engine& engine,
           names::pattern_kind kind) {
    errc error = errc::ok;
    for (bool more = true; more;) {
      const std::size_t semicolon = text.find(';');
      const std::string_view entry = text.substr(0, semicolon);
      more = semicolon != std::string_view::npos;
      if (more) text.remove_prefix(semicolon + 1);
      if (entry.empty()) continue;
      const std::size_t at = entry.find('@');
      value_list list;
      if (at != std::string_view::npos) list = read_value_list(entry.substr(at + 1), long_size, returns);
      if (!list.good) continue;
      const std::string_view name = entry.substr(0, at);
      if (name.size() > names::name_pattern::max_size && names::is_name_pattern(name)) {
        error = error == errc::ok ? errc::capacity : error;
        continue;
      }
      function_spec spec{names::name_pattern(names::short_name(name), kind, engine), list.module,
                         std::move(list.values)};
      const bool exact = spec.pattern.kind() == names::pattern_kind::exact;
      errc found = spec.pattern.error() == errc::bad_text ? errc::ok : spec.pattern.error();
      if (!exact && patterns_.size() == max_patterns) found = errc::capacity;
      if (found != errc::ok) {
        error = error == errc::ok ? found : error;
        continue;
      }
      const auto number = static_cast<std::uint32_t>(specs_.size());
      if (exact) by_name_[spec.pattern.text()].push_back(number);
      else patterns_.push_back(number);
      specs_.push_back(std::move(spec));
    }
    return error;
  }

  [[nodiscard]] const std::vector<function_spec>& all() const noexcept { return specs_; }
  /// Adds the numbers of the specifications that fit a name to `to`.
  void find(const std::string& name, std::vector<std::uint32_t>& to) const {
    if (const auto at = by_name_.find(name); at != by_name_.end())
      to.insert(to.end(), at->second.begin(), at->second.end());
    for (const std::uint32_t number : patterns_) {
      if (specs_[number].pattern.fits(name)) to.push_back(number);
    }
  }

 private:
  std::vector<function_spec> specs_;
  std::unordered_map<std::string, std::vector<std::uint32_t>> by_name_;
  std::vector<std::uint32_t> patterns_;
};

/// The values of known functions of libraries, by name: an argauto or retauto line.
class automatic_values {
 public:
  /// Reads `FUNC@spec,spec;FUNC@spec`. Views into `text`. Allocates.
  void add(std::string_view text, std::size_t long_size, bool returns) {
    while (!text.empty()) {
      const std::size_t semicolon = text.find(';');
      const std::string_view entry = text.substr(0, semicolon);
      text = semicolon == std::string_view::npos ? std::string_view{} : text.substr(semicolon + 1);
      const std::size_t at = entry.find('@');
      if (at == std::string_view::npos) continue;
      const value_list list = read_value_list(entry.substr(at + 1), long_size, returns);
      if (list.good) by_name_[names::short_name(entry.substr(0, at))].add(list.values, true);
    }
  }
  /// The values of that function, or null.
  [[nodiscard]] const std::vector<value_spec>* find(const std::string& name) const {
    const auto at = by_name_.find(name);
    return at == by_name_.end() ? nullptr : &at->second.values();
  }

 private:
  std::unordered_map<std::string, value_collection> by_name_;
};

/// All that `info` tells of values.
struct value_rules {
  function_specs arguments, returns;  ///< by hand
  /// Return values in the argspec line, where old recorders put both.
  function_specs returns_among_arguments;
  automatic_values automatic_arguments, automatic_returns;
  bool all_automatic = false;  ///< recorded with -a: every function has the values that it is known to have
};

/// Collects the values of one function, as uftrace does for one address. `Known` gives the text of the .dbg file for
/// the arguments or the return value, `@arg1,arg2`; `InModule` tells whether a specification's module is that of the
/// function.
template <class Known, class InModule>
void collect_values(const value_rules& rules, const std::vector<std::string>& names, std::size_t long_size,
                    Known&& known, InModule&& in_module, value_collection& out) {
  /// What a function is known to have: false when nothing is.
  const auto add_automatic = [&](const std::string& name, bool returns, bool exact) {
    if (std::string_view text = known(returns); text::take(text, "@")) {
      const value_list list = read_value_list(text, long_size, returns);
      if (!list.values.empty()) return out.add(list.values, exact), true;
    }
    const auto* const found = (returns ? rules.automatic_returns : rules.automatic_arguments).find(name);
    if (found == nullptr) return false;
    out.add(*found, exact);
    return true;
  };
  std::vector<std::pair<std::uint32_t, std::uint32_t>> order;
  std::vector<std::uint32_t> numbers;
  const auto add_specs = [&](const function_specs& specs, bool returns, bool& any) {
    order.clear();
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      numbers.clear();
      specs.find(names[i], numbers);
      for (const std::uint32_t number : numbers) order.emplace_back(number, i);
    }
    std::sort(order.begin(), order.end());
    for (const auto& [number, name] : order) {
      const function_spec& spec = specs.all()[number];
      if (!spec.module.empty() && !in_module(spec.module)) continue;
      const bool exact = spec.pattern.kind() == names::pattern_kind::exact;
      if (spec.values.empty()) {
        any = add_automatic(names[name], returns, exact) || any;
      } else {
        out.add(spec.values, exact);
        any = true;
      }
    }
  };
  bool has_arguments = false, has_returns = false;
  add_specs(rules.arguments, false, has_arguments);
  add_specs(rules.returns, true, has_returns);
  add_specs(rules.returns_among_arguments, true, has_returns);
  if (!rules.all_automatic) return;
  for (const std::string& name : names) has_arguments = has_arguments || add_automatic(name, false, false);
  for (const std::string& name : names) has_returns = has_returns || add_automatic(name, true, false);
}

}  // namespace backsight::uftrace
