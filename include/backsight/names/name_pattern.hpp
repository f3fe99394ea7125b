// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <backsight/core/error.hpp>

// Patterns that names of functions are compared with. Source: uftrace's utils/filter.c (init_filter_pattern).
namespace backsight::names {

/// How a pattern names functions: by a regular expression that is found in the name, unless it has no special
/// characters; by a shell pattern of the whole name; or by the name itself.
enum class pattern_kind : std::uint8_t { regular_expression, glob, exact };

/// Whether a text is a pattern rather than a plain name.
[[nodiscard]] inline bool is_name_pattern(std::string_view name) noexcept {
  return name.find_first_of(".?*+-^$|()[]{}") != std::string_view::npos;
}

/// Whether `name` matches a shell pattern of `*`, `?` and `[...]`. Takes at most time in the product of the lengths.
[[nodiscard]] inline bool matches_glob(std::string_view pattern, std::string_view name) noexcept {
  std::size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  const auto one = [&](std::size_t& next) {
    if (pattern[p] == '?') return next = p + 1, true;
    if (pattern[p] == '[') {
      std::size_t i = p + 1;
      const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
      if (negated) ++i;
      bool inside = false;
      const std::size_t first = i;
      for (; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
        if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
          inside = inside || (pattern[i] <= name[n] && name[n] <= pattern[i + 2]);
          i += 2;
        } else {
          inside = inside || pattern[i] == name[n];
        }
      }
      if (i < pattern.size()) return next = i + 1, inside != negated;
    }
    std::size_t at = p;
    if (pattern[at] == '\\' && at + 1 < pattern.size()) ++at;
    next = at + 1;
    return pattern[at] == name[n];
  };
  while (n < name.size()) {
    std::size_t next = 0;
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && one(next)) {
      p = next;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// Searches names by a regular expression. Patterns come from traces, so an engine must take time linear in the name
/// and bounded memory whatever the pattern is. Headers here come without one: io/re2_patterns.hpp has that of RE2.
/// Searching from several threads at once must be safe.
struct pattern_engine {
  /// Sets `compiled`. Errors: bad_text for what is no regular expression, capacity for what is one but takes more than
  /// the engine allows or can do.
  errc (*compile)(const std::string& pattern, void*& compiled) = nullptr;
  bool (*search)(const void* compiled, const std::string& text) = nullptr;
  void (*release)(void* compiled) = nullptr;
};

/// A pattern, compiled once.
class name_pattern {
 public:
  /// The longest pattern that is taken, in bytes.
  static constexpr std::size_t max_size = 4096;

  name_pattern() = default;
  /// As uftrace does, text without special characters or one that is no regular expression is a plain name.
  name_pattern(std::string text, pattern_kind kind, const pattern_engine& engine)
      : text_(std::move(text)), kind_(kind), engine_(engine) {
    if (!is_name_pattern(text_) || (kind == pattern_kind::regular_expression && text_.starts_with("operator ")))
      kind_ = pattern_kind::exact;
    if (kind_ == pattern_kind::exact) return;
    if (text_.size() > max_size) {
      error_ = errc::capacity;
    } else if (kind_ == pattern_kind::regular_expression) {
      error_ = engine_.compile == nullptr ? errc::unsupported_type : engine_.compile(text_, compiled_);
      if (error_ == errc::bad_text) kind_ = pattern_kind::exact;
    }
  }
  name_pattern(name_pattern&& other) noexcept
      : text_(std::move(other.text_)),
        kind_(other.kind_),
        error_(other.error_),
        engine_(other.engine_),
        compiled_(std::exchange(other.compiled_, nullptr)) {}
  name_pattern& operator=(name_pattern&& other) noexcept {
    std::swap(text_, other.text_);
    std::swap(kind_, other.kind_);
    std::swap(error_, other.error_);
    std::swap(engine_, other.engine_);
    std::swap(compiled_, other.compiled_);
    return *this;
  }
  ~name_pattern() {
    if (compiled_ != nullptr) engine_.release(compiled_);
  }

  [[nodiscard]] const std::string& text() const noexcept { return text_; }
  /// What it is in the end: exact also for a pattern that has no special characters.
  [[nodiscard]] pattern_kind kind() const noexcept { return kind_; }
  /// ok; bad_text for a regular expression that is none; capacity for a pattern that takes too much; unsupported_type
  /// for a regular expression without an engine. With the last two nothing fits.
  [[nodiscard]] errc error() const noexcept { return error_; }

  [[nodiscard]] bool fits(const std::string& name) const {
    switch (kind_) {
      case pattern_kind::regular_expression: return compiled_ != nullptr && engine_.search(compiled_, name);
      case pattern_kind::glob: return error_ == errc::ok && matches_glob(text_, name);
      case pattern_kind::exact: return text_ == name;
    }
    return false;
  }

 private:
  std::string text_;
  pattern_kind kind_ = pattern_kind::exact;
  errc error_ = errc::ok;
  pattern_engine engine_;
  void* compiled_ = nullptr;
};

}  // namespace backsight::names
