// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <backsight/names/name_pattern.hpp>
#include <backsight/uftrace/object_rule.hpp>
#include <backsight/uftrace/resolver.hpp>

// Which functions an analysis shows. Source: uftrace's utils/filter.c and doc/uftrace-replay.md (FILTERS, TRIGGERS).
namespace cli::as_uftrace {

using namespace backsight;
using namespace backsight::uftrace;

/// What happens at a function.
struct filter_action {
  enum class kind : std::uint8_t { none, include, exclude };
  kind calls = kind::none;  ///< show only these functions and what they call; or leave these and what they call out
  bool hide = false;        ///< leave out the function, but not what it calls
  std::optional<std::int32_t> depth;  ///< levels to show from there on

  [[nodiscard]] friend bool operator==(const filter_action&, const filter_action&) = default;
};

/// Rules that say what happens at functions of some names; later rules override earlier ones. The pattern engine is
/// used for regular expressions only. Reading it from several threads is safe.
class function_filter {
 public:
  explicit function_filter(names::pattern_engine engine) : engine_(engine) {}

  /// Adds a rule for the functions of a module, see object_rule; of all with an empty one. Nothing is added when the
  /// pattern cannot be used: bad_text for a regular expression that is none, capacity for one that takes too much,
  /// unsupported_type without an engine. With `or_name` a regular expression that is none is taken for a name, as
  /// uftrace does.
  [[nodiscard]] errc add(std::string pattern, names::pattern_kind kind, filter_action action, std::string module = {},
                         bool or_name = false) {
    rule made{names::name_pattern(std::move(pattern), kind, engine_), std::move(module), action};
    const errc error = made.pattern.error();
    if (error != errc::ok && !(or_name && error == errc::bad_text)) return error;
    if (action.calls == filter_action::kind::include) includes_ = true;
    has_modules_ = has_modules_ || !made.module.empty();
    rules_.push_back(std::move(made));
    return errc::ok;
  }

  [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }
  /// Some rule includes functions: what is outside of them is not shown.
  [[nodiscard]] bool includes() const noexcept { return includes_; }
  /// Some rule is for one module.
  [[nodiscard]] bool has_modules() const noexcept { return has_modules_; }

  /// What happens at a function of that name, of which `in_module(name)` tells whether it is of a rule's module.
  template <class InModule>
  [[nodiscard]] filter_action at(const std::string& name, InModule&& in_module) const {
    filter_action all;
    for (const rule& r : rules_) {
      if (!r.pattern.fits(name) || !(r.module.empty() || in_module(r.module))) continue;
      if (r.action.calls != filter_action::kind::none) all.calls = r.action.calls;
      if (r.action.depth) all.depth = r.action.depth;
      all.hide = all.hide || r.action.hide;
    }
    return all;
  }
  /// The same with rules of all modules.
  [[nodiscard]] filter_action at(const std::string& name) const {
    return at(name, [](const std::string&) { return true; });
  }

  /// Whether some symbol of the recording is one that a rule is about. Looks at all symbols until one fits.
  [[nodiscard]] bool fits_any(const recording& from) const {
    object_rule modules;
    for (std::uint32_t number = 0; number < from.objects.size(); ++number) {
      for (const symbol& s : from.objects[number].symbols.symbols()) {
        const std::string name = names::short_name(s.name);
        for (const rule& r : rules_) {
          if (r.pattern.fits(name) && (r.module.empty() || modules.is_of(from, r.module, number, s.type))) return true;
        }
      }
    }
    return false;
  }

 private:
  struct rule {
    names::name_pattern pattern;
    std::string module;
    filter_action action;
  };

  names::pattern_engine engine_;
  std::vector<rule> rules_;
  bool includes_ = false, has_modules_ = false;
};

/// A filter's answers by name, or with rules of modules by function, each found once. For one analysis; the filter and
/// the resolver must outlive it.
class filter_lookup {
 public:
  explicit filter_lookup(const function_filter* filter)
      : filter_(filter != nullptr && !filter->empty() ? filter : nullptr) {}

  /// There are rules.
  [[nodiscard]] bool active() const noexcept { return filter_ != nullptr; }
  [[nodiscard]] bool includes() const noexcept { return filter_ != nullptr && filter_->includes(); }
  /// What happens at that function of the resolver. Precondition: active().
  [[nodiscard]] const filter_action& at(const resolver& names, const function& f) {
    if (filter_->has_modules()) return at_function(names, f);
    if (f.name >= known_.size()) known_.resize(names.name_count());
    std::optional<filter_action>& found = known_[f.name];
    if (!found) found = filter_->at(names.name(f.name));
    return *found;
  }

 private:
  [[nodiscard]] const filter_action& at_function(const resolver& names, const function& f) {
    const auto [at, added] = functions_.try_emplace(&f);
    if (added) {
      at->second = filter_->at(names.name(f.name), [&](const std::string& module) {
        if (!f.known) return false;
        const symbol& own = names.source().objects[f.object].symbols.symbols()[f.symbol];
        return objects_.is_of(names.source(), module, f.object, own.type);
      });
    }
    return at->second;
  }

  const function_filter* filter_;
  std::vector<std::optional<filter_action>> known_;
  std::unordered_map<const function*, filter_action> functions_;
  object_rule objects_;
};

}  // namespace cli::as_uftrace
