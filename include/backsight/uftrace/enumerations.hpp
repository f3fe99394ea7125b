// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/core/text.hpp>
#include <backsight/uftrace/detail/lines.hpp>

// Enumerations in `enumauto:` lines of `info` and `E:` lines of *.dbg. Source: uftrace's utils/argspec.c, utils/auto-args.c.
namespace backsight::uftrace {

struct enumerator {
  std::string_view name;
  std::int64_t value = 0;
};

/// An enumeration: its enumerators in descending order of value, of equal ones the one defined later first.
struct enumeration {
  std::string_view name;
  std::vector<enumerator> values;

  /// The text of a value: the name, or names joined by `|` and a rest; empty when no name fits.
  void text_of(std::int64_t value, std::string& out) const {
    for (const enumerator& item : values) {
      if (item.value != value) continue;
      out += item.name;
      return;
    }
    bool any = false;
    std::int64_t rest = value;
    for (const enumerator& item : values) {
      if (rest == 0 || item.value > rest || item.value <= 0) continue;
      if (any) out += '|';
      out += item.name;
      rest -= item.value;
      any = true;
    }
    if (!any || rest == 0) return;
    out += "+0x";
    (void)text::hexadecimal(std::back_inserter(out), static_cast<std::uint64_t>(rest));
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
    if (detail::take(head, "enum ")) {
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
          const bool negative = detail::take(number, "-");
          const bool hex = detail::take(number, "0x") || detail::take(number, "0X");
          const auto value = detail::take_number(number, hex ? 16 : 10);
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
