// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <backsight/core/lines.hpp>
#include <backsight/core/text.hpp>

// Enumerations in `enumauto:` lines of `info` and `E:` lines of *.dbg. Source: uftrace's utils/argspec.c,
// utils/auto-args.c.
namespace backsight::uftrace {

struct enumerator {
  std::string_view name;
  std::int64_t value = 0;
};

/// An enumeration: its enumerators in descending order of value, of equal ones the one defined later first.
struct enumeration {
  std::string_view name;
  std::vector<enumerator> values;
  /// A sum of more names than this many characters is cut: values of uftrace are never printed that long.
  static constexpr std::size_t longest_sum = 4096;

  /// The text of a value: the name, or names joined by `|` and a rest; empty when no name fits. `any_sign` lets names
  /// of zero and of negative values take part in sums, as uftrace does.
  void text_of(std::int64_t value, std::string& out, bool any_sign = false) const {
    const auto not_above = [this](auto from, std::int64_t limit) {
      return std::lower_bound(from, values.end(), limit,
                              [](const enumerator& e, std::int64_t v) { return e.value > v; });
    };
    auto item = not_above(values.begin(), value);
    if (item != values.end() && item->value == value) {
      out += item->name;
      return;
    }
    bool any = false;
    const std::size_t before = out.size();
    std::int64_t rest = value;
    for (; item != values.end() && out.size() - before < longest_sum; item = not_above(item, rest)) {
      if (!any_sign && item->value <= 0) break;
      if (any) out += '|';
      out += item->name;
      rest = static_cast<std::int64_t>(static_cast<std::uint64_t>(rest) - static_cast<std::uint64_t>(item->value));
      any = true;
      ++item;
      if (rest == 0) return;
    }
    if (!any) return;
    out += "+0x";
    (void)text::hexadecimal(std::back_inserter(out), static_cast<std::uint64_t>(rest));
  }
};

/// Enumerations by name.
struct enumeration_set {
  std::vector<enumeration> all;
  std::unordered_map<std::string_view, std::size_t> by_name;

  /// To be called when all is complete. Of several with one name the first counts.
  void index() {
    for (std::size_t i = 0; i < all.size(); ++i) by_name.emplace(all[i].name, i);
  }
  /// The enumeration of that name, or null.
  [[nodiscard]] const enumeration* find(std::string_view name) const {
    const auto at = by_name.find(name);
    return at == by_name.end() ? nullptr : &all[at->second];
  }
};

/// Reads `enum NAME { A, B = 2, C, };enum ...` and adds the enumerations to `all`. Views into `text`. Allocates.
inline void read_enumerations(std::string_view text, std::vector<enumeration>& all) {
  const auto trim = [](std::string_view part) {
    while (!part.empty() && (part.front() == ' ' || part.front() == '\t')) part.remove_prefix(1);
    while (!part.empty() && (part.back() == ' ' || part.back() == '\t')) part.remove_suffix(1);
    return part;
  };
  while (true) {
    const std::size_t open = text.find('{');
    if (open == std::string_view::npos) return;
    const std::size_t close = text.find('}', open);
    if (close == std::string_view::npos) return;
    std::string_view head = trim(text.substr(0, open));
    while (!head.empty() && (head.front() == ';' || head.front() == ' ')) head.remove_prefix(1);
    if (text::take(head, "enum ")) {
      enumeration item;
      item.name = trim(head);
      std::string_view body = text.substr(open + 1, close - open - 1);
      std::int64_t next = 0;
      while (!body.empty()) {
        const std::size_t comma = body.find(',');
        std::string_view part = trim(body.substr(0, comma));
        body = comma == std::string_view::npos ? std::string_view{} : body.substr(comma + 1);
        if (part.empty()) continue;
        if (const std::size_t equals = part.find('='); equals != std::string_view::npos) {
          std::string_view number = trim(part.substr(equals + 1));
          part = trim(part.substr(0, equals));
          const bool negative = text::take(number, "-");
          const bool hex = text::take(number, "0x") || text::take(number, "0X");
          const auto value = text::take_number(number, hex ? 16 : 10);
          if (value) next = static_cast<std::int64_t>(negative ? 0 - *value : *value);
        }
        item.values.push_back({part, next});
        next = static_cast<std::int64_t>(static_cast<std::uint64_t>(next) + 1);
      }
      // Names are views of one text, so where they are tells the order of definition.
      std::sort(item.values.begin(), item.values.end(), [](const enumerator& a, const enumerator& b) {
        return a.value != b.value ? a.value > b.value : a.name.data() > b.name.data();
      });
      all.push_back(std::move(item));
    }
    text.remove_prefix(close + 1);
  }
}

}  // namespace backsight::uftrace
