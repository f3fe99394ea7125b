// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/core/format.hpp>
#include <backsight/uftrace/detail/lines.hpp>
#include <backsight/uftrace/short_name.hpp>

// The specifications of arguments and return values. Source: uftrace's utils/argspec.c and doc/uftrace-record.md.
namespace backsight::uftrace {

/// How a value is meant, by the letter of its specification.
enum class value_format : char {
  automatic = 'd', signed_integer = 'i', unsigned_integer = 'u', hexadecimal = 'x', octal = 'o', character = 'c',
  floating = 'f', string = 's', std_string = 'S', pointer = 'p', enumeration = 'e', structure = 't',
};

enum class value_kind : std::uint8_t { argument, floating_argument, return_value };

/// One value of a function's payload.
struct value_spec {
  value_kind kind = value_kind::argument;
  value_format format = value_format::automatic;
  std::uint16_t index = 0;  ///< from 1; 0 for return values
  std::uint16_t size = 8;   ///< bytes; nothing for strings
  std::uint16_t stack = 0;  ///< the word of the stack that it is read from, from 1; 0 when it has another place
  std::string_view type_name;  ///< of an enumeration or a structure

  [[nodiscard]] bool is_text() const noexcept { return format == value_format::string || format == value_format::std_string; }
  /// Both take the same place in a function's list.
  [[nodiscard]] bool same_place(const value_spec& other) const noexcept {
    return stack != 0 || other.stack != 0 ? stack == other.stack : kind == other.kind && index == other.index;
  }
};

/// The bytes that a value takes in the payload, padding included; `code` is truncated when `rest` ends inside it.
template <order O>
[[nodiscard]] inline payload_result value_extent(const value_spec& spec, byte_view rest) noexcept {
  std::size_t size = spec.size;
  if (spec.is_text()) {
    if (rest.size() < 2) return errc::truncated;
    size = std::size_t{2} + load<std::uint16_t, O>(rest.data());
  }
  size = (size + 3) / 4 * 4;
  if (size > rest.size()) return errc::truncated;
  return size;
}

/// The bytes that all values take together, a multiple of 4; the padding of the whole record to 8 is not included.
[[nodiscard]] inline payload_result values_extent(std::span<const value_spec> specs, byte_view rest, order o) noexcept {
  std::size_t total = 0;
  for (const value_spec& spec : specs) {
    const byte_view here = rest.subspan(total);
    const payload_result one = o == order::little ? value_extent<order::little>(spec, here) : value_extent<order::big>(spec, here);
    if (one.code != errc::ok) return one;
    total += one.size;
  }
  return total;
}

/// Reads `arg1/s,arg2/i32,retval/p`: the part of a specification behind a function's `@`. Items of another form are left
/// out. `long_size` is 8 or 4. The result has views into `text`. Allocates.
[[nodiscard]] inline std::vector<value_spec> read_value_specs(std::string_view text, std::size_t long_size) {
  std::vector<value_spec> specs;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    value_spec spec;
    if (const std::size_t place = item.find('%'); place != std::string_view::npos) {
      std::string_view where = item.substr(place + 1);
      const auto word = detail::take(where, "stack+") ? detail::take_number(where, 10) : std::nullopt;
      if (word && *word <= 0xffff) spec.stack = static_cast<std::uint16_t>(*word);
      item = item.substr(0, place);
    }
    spec.size = static_cast<std::uint16_t>(long_size);
    if (detail::take(item, "retval")) {
      spec.kind = value_kind::return_value;
    } else {
      if (detail::take(item, "fparg")) spec.kind = value_kind::floating_argument;
      else if (!detail::take(item, "arg")) continue;
      const auto index = detail::take_number(item, 10);
      if (!index || *index > 0xffff) continue;
      spec.index = static_cast<std::uint16_t>(*index);
    }
    if (spec.kind == value_kind::floating_argument) {
      spec.format = value_format::floating;
      spec.size = 8;
    }
    if (detail::take(item, "/")) {
      constexpr std::string_view letters = "diuxocfsSpet";
      if (!item.empty() && letters.find(item.front()) != std::string_view::npos) {
        spec.format = static_cast<value_format>(item.front());
        item.remove_prefix(1);
      }
      if (spec.format == value_format::character) spec.size = 1;
      if (spec.format == value_format::floating) spec.size = 8;
      const auto number = detail::take_number(item, 10);
      if (number && *number <= 0xffff) {
        const bool bytes = spec.format == value_format::structure;
        spec.size = static_cast<std::uint16_t>(bytes ? *number : *number / 8);
      } else if (spec.format == value_format::structure) {
        spec.size = 0;
      }
      if (detail::take(item, ":")) spec.type_name = item;
    }
    specs.push_back(spec);
  }
  return specs;
}

/// The values of the functions that a pattern names.
struct function_spec {
  std::string pattern;  ///< the short form of the name, or a pattern
  bool is_pattern = false;
  std::vector<value_spec> values;
};

/// Whether a function part is a pattern rather than a plain name.
[[nodiscard]] inline bool is_name_pattern(std::string_view name) noexcept {
  if (name.starts_with("operator ")) return false;
  return name.find_first_of(".?*+-^$|()[]{}") != std::string_view::npos;
}

/// Reads `FUNC@spec,spec;FUNC@spec`: the value of an argspec, retspec, argauto or retauto line. Allocates; the type names are
/// views into `text`.
[[nodiscard]] inline std::vector<function_spec> read_function_specs(std::string_view text, std::size_t long_size) {
  std::vector<function_spec> all;
  while (!text.empty()) {
    const std::size_t semicolon = text.find(';');
    const std::string_view entry = text.substr(0, semicolon);
    text = semicolon == std::string_view::npos ? std::string_view{} : text.substr(semicolon + 1);
    const std::size_t at = entry.find('@');
    if (at == std::string_view::npos) continue;
    function_spec spec;
    spec.pattern = short_name(entry.substr(0, at));
    spec.is_pattern = is_name_pattern(spec.pattern);
    spec.values = read_value_specs(entry.substr(at + 1), long_size);
    all.push_back(std::move(spec));
  }
  return all;
}

/// Whether `name` matches a shell pattern of `*`, `?` and `[...]`. Linear in the lengths for each star.
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

/// Adds the items of `more` to a function's list: an item of the same kind and number is replaced, but not one of an exact
/// name by one of a pattern; others are appended.
inline void merge_value_specs(std::vector<value_spec>& list, std::vector<bool>& exact, const function_spec& more) {
  for (const value_spec& item : more.values) {
    const auto same = std::find_if(list.begin(), list.end(), [&](const value_spec& s) { return s.same_place(item); });
    if (same == list.end()) {
      list.push_back(item);
      exact.push_back(!more.is_pattern);
      continue;
    }
    const auto place = static_cast<std::size_t>(same - list.begin());
    if (exact[place] && more.is_pattern) continue;
    *same = item;
    exact[place] = !more.is_pattern;
  }
}

}  // namespace backsight::uftrace
