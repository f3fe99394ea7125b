// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <backsight/uftrace/resolver.hpp>

// Which functions an analysis shows. Source: uftrace's utils/filter.c and doc/uftrace-replay.md (FILTERS, TRIGGERS).
namespace backsight::uftrace {

/// How a pattern names functions: by a regular expression that is found in the name, unless it has no special characters; by a
/// shell pattern of the whole name; or by the name itself.
enum class pattern_kind : std::uint8_t { regular_expression, glob, exact };

/// What happens at a function.
struct filter_action {
  enum class kind : std::uint8_t { none, include, exclude };
  kind calls = kind::none;  ///< show only these functions and what they call; or leave these and what they call out
  bool hide = false;        ///< leave out the function, but not what it calls
  std::optional<std::int32_t> depth;  ///< levels to show from there on

  [[nodiscard]] friend bool operator==(const filter_action&, const filter_action&) = default;
};

/// Rules that say what happens at functions of some names; later rules override earlier ones. The pattern engine is used for
/// regular expressions only: without one such a rule fits nothing. Reading it from several threads is safe.
class function_filter {
 public:
  explicit function_filter(pattern_engine engine) : engine_(engine) {}
  function_filter(const function_filter&) = delete;
  function_filter& operator=(const function_filter&) = delete;
  ~function_filter() {
    for (const rule& r : rules_) {
      if (r.compiled != nullptr) engine_.release(r.compiled);
    }
  }

  /// Adds a rule; false, and nothing is added, when the regular expression is none.
  [[nodiscard]] bool add(std::string pattern, pattern_kind kind, filter_action action) {
    rule made{std::move(pattern), kind, nullptr, action};
    if (kind == pattern_kind::regular_expression) {
      if (!is_name_pattern(made.pattern)) made.kind = pattern_kind::exact;
      else if (engine_.compile != nullptr) made.compiled = engine_.compile(made.pattern.c_str());
      if (made.kind != pattern_kind::exact && made.compiled == nullptr) return false;
    }
    if (action.calls == filter_action::kind::include) includes_ = true;
    rules_.push_back(std::move(made));
    return true;
  }

  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }
  /// Some rule includes functions: what is outside of them is not shown.
  [[nodiscard]] bool includes() const noexcept { return includes_; }

  /// What happens at a function of that name.
  [[nodiscard]] filter_action at(const std::string& name) const {
    filter_action all;
    for (const rule& r : rules_) {
      if (!fits(r, name)) continue;
      if (r.action.calls != filter_action::kind::none) all.calls = r.action.calls;
      if (r.action.depth) all.depth = r.action.depth;
      all.hide = all.hide || r.action.hide;
    }
    return all;
  }

  /// Whether some symbol of the recording is one that a rule is about. Looks at all symbols until one fits.
  [[nodiscard]] bool fits_any(const recording& from) const {
    for (const object_file& m : from.objects) {
      for (const symbol& s : m.symbols.symbols()) {
        const std::string name = short_name(s.name);
        for (const rule& r : rules_) {
          if (fits(r, name)) return true;
        }
      }
    }
    return false;
  }

 private:
  struct rule {
    std::string pattern;
    pattern_kind kind;
    void* compiled;
    filter_action action;
  };

  [[nodiscard]] bool fits(const rule& r, const std::string& name) const {
    switch (r.kind) {
      case pattern_kind::regular_expression: return engine_.search(r.compiled, name.c_str());
      case pattern_kind::glob: return matches_glob(r.pattern, name);
      case pattern_kind::exact: return r.pattern == name;
    }
    return false;
  }

  pattern_engine engine_;
  std::vector<rule> rules_;
  bool includes_ = false;
};

/// A filter's answers by name, each found once. For one analysis; the filter and the resolver must outlive it.
class filter_lookup {
 public:
  explicit filter_lookup(const function_filter* filter)
      : filter_(filter != nullptr && !filter->empty() ? filter : nullptr) {}

  /// There are rules.
  [[nodiscard]] bool active() const noexcept { return filter_ != nullptr; }
  [[nodiscard]] bool includes() const noexcept { return filter_ != nullptr && filter_->includes(); }
  /// What happens at the function of that name of the resolver. Precondition: active().
  [[nodiscard]] const filter_action& at(const resolver& names, std::uint32_t name) {
    if (name >= known_.size()) known_.resize(names.name_count());
    std::optional<filter_action>& found = known_[name];
    if (!found) found = filter_->at(names.name(name));
    return *found;
  }

 private:
  const function_filter* filter_;
  std::vector<std::optional<filter_action>> known_;
};

}  // namespace backsight::uftrace
