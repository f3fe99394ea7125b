// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/format.hpp>
#include <backsight/core/lines.hpp>

// The specifications of arguments and return values. Source: uftrace's utils/argspec.c (parse_argspec), utils/filter.c
// (setup_trigger_action, add_arg_spec), utils/regs.c and doc/uftrace-record.md.
namespace backsight::uftrace {

/// How a value is meant, by the letter of its specification.
enum class value_format : char {
  automatic = 'd',
  signed_integer = 'i',
  unsigned_integer = 'u',
  hexadecimal = 'x',
  octal = 'o',
  character = 'c',
  floating = 'f',
  string = 's',
  std_string = 'S',
  pointer = 'p',
  enumeration = 'e',
  structure = 't',
};

/// Where the recorder takes a value from. It decides what values are the same.
enum class value_place : std::uint8_t { index, floating_index, in_register, stack };

/// One value of a function's payload.
struct value_spec {
  value_format format = value_format::automatic;
  value_place place = value_place::index;
  std::uint32_t index = 0;     ///< from 1; 0 for return values. It may be one that no function has
  std::uint32_t size = 8;      ///< bytes; nothing for strings
  std::int32_t location = 0;   ///< the word of the stack or the number of the register that it is read from
  std::string_view type_name;  ///< of an enumeration or a structure

  [[nodiscard]] bool is_text() const noexcept {
    return format == value_format::string || format == value_format::std_string;
  }
  [[nodiscard]] bool is_return() const noexcept { return index == 0; }
  /// Both take the same place in a function's list.
  [[nodiscard]] bool same_place(const value_spec& other) const noexcept {
    if (place != other.place) return false;
    const bool by_index = place == value_place::index || place == value_place::floating_index;
    return by_index ? index == other.index : location == other.location;
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
  if (size > rest.size()) return errc::truncated;
  size = (size + 3) / 4 * 4;
  if (size > rest.size()) return errc::truncated;
  return size;
}

/// The bytes that all values take together, a multiple of 4; the padding of the whole record to 8 is not included.
[[nodiscard]] inline payload_result values_extent(std::span<const value_spec> specs, byte_view rest, order o) noexcept {
  std::size_t total = 0;
  for (const value_spec& spec : specs) {
    const byte_view here = rest.subspan(total);
    const payload_result one =
        o == order::little ? value_extent<order::little>(spec, here) : value_extent<order::big>(spec, here);
    if (one.code != errc::ok) return one;
    total += one.size;
  }
  return total;
}

namespace detail {

/// A number as C's strtol reads it with base 0, cut to 32 bits as uftrace does; 0 when there is none.
[[nodiscard]] inline std::uint32_t take_c_number(std::string_view& text, bool any_base = true) noexcept {
  const bool negative = text::take(text, "-");
  if (!negative) (void)text::take(text, "+");
  unsigned base = 10;
  if (any_base && (text.starts_with("0x") || text.starts_with("0X"))) {
    base = 16;
    text.remove_prefix(2);
  } else if (any_base && text.starts_with("0")) {
    base = 8;
  }
  std::uint64_t value = 0;
  while (!text.empty()) {
    const char c = text.front();
    unsigned digit = base;
    if (c >= '0' && c <= '9') digit = static_cast<unsigned>(c - '0');
    else if (c >= 'a' && c <= 'f') digit = static_cast<unsigned>(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F') digit = static_cast<unsigned>(c - 'A') + 10;
    if (digit >= base) break;
    value = value > (~std::uint64_t{0} >> 1) / 16 ? ~std::uint64_t{0} >> 1 : value * base + digit;
    text.remove_prefix(1);
  }
  return static_cast<std::uint32_t>(negative ? 0 - value : value);
}

/// The number of a register that holds arguments, of any machine; -1 when the name is none.
[[nodiscard]] inline std::int32_t register_number(std::string_view name) noexcept {
  static constexpr std::string_view integer[] = {"rdi", "rsi", "rdx", "rcx", "ecx", "edx"};
  for (std::int32_t i = 0; i < 6; ++i) {
    if (name.size() == 3 && text::begins_as(name, integer[i])) return 1000 + i;
  }
  std::int32_t family = 0;
  if (text::begins_as(name, "xmm")) {
    name.remove_prefix(3);
  } else {
    if (name.empty() || std::string_view("rxsd").find(text::lower(name.front())) == std::string_view::npos) return -1;
    family = text::lower(name.front());
    name.remove_prefix(1);
  }
  const auto number = text::take_number(name, 10);
  return number && *number < 16 && name.empty() ? family * 16 + static_cast<std::int32_t>(*number) : -1;
}

}  // namespace detail

/// Reads one item such as `arg1/s`, `fparg2/32%xmm1` or `retval/t8:point`; nothing when uftrace refuses it. `long_size`
/// is 8 or 4. The result has a view into `item`.
[[nodiscard]] inline std::optional<value_spec> read_value_spec(std::string_view item, std::size_t long_size) {
  value_spec spec;
  spec.size = static_cast<std::uint32_t>(long_size);
  const auto digit_at = [&](std::size_t i) { return i < item.size() && item[i] >= '0' && item[i] <= '9'; };
  if (item.starts_with("arg") && digit_at(3)) {
    item.remove_prefix(3);
    spec.index = detail::take_c_number(item);
  } else if (item.starts_with("fparg") && digit_at(5)) {
    item.remove_prefix(5);
    spec.index = detail::take_c_number(item);
    spec.place = value_place::floating_index;
    spec.format = value_format::floating;
    spec.size = 8;
  } else if (!text::take(item, "retval")) {
    return {};
  }
  if (text::take(item, "/")) {
    const char letter = item.empty() ? '\0' : item.front();
    const bool sized_float = spec.format == value_format::floating && letter >= '0' && letter <= '9';
    if (!sized_float) {
      if (letter == '\0' || std::string_view("diuxocfsSpet").find(letter) == std::string_view::npos) return {};
      spec.format = static_cast<value_format>(letter);
      item.remove_prefix(1);
    }
    if (spec.format == value_format::character) spec.size = 1;
    if (letter == 'f') {
      spec.place = value_place::floating_index;
      spec.size = 8;
    }
    if (letter == 'e') {
      const auto alphabetic = [](char c) { return (text::lower(c) >= 'a' && text::lower(c) <= 'z') || c == '_'; };
      if (!text::take(item, ":") || item.empty() || !alphabetic(item.front())) return {};
      spec.type_name = item.substr(0, item.find('%'));
      item.remove_prefix(spec.type_name.size());
    } else if (letter == 't') {
      spec.size = detail::take_c_number(item);
      if (text::take(item, ":")) {
        spec.type_name = item.substr(0, item.find('%'));
        item.remove_prefix(spec.type_name.size());
      }
      if (!item.starts_with("%stack+")) {
        // The pieces of a structure lie in several registers; the last one counts.
        while (!item.empty() && (item.front() == '%' || item.front() == '+')) {
          item.remove_prefix(1);
          const std::string_view name = item.substr(0, item.find('+'));
          item.remove_prefix(name.size());
          if (const std::int32_t number = detail::register_number(name); number >= 0) {
            spec.place = value_place::in_register;
            spec.location = number;
          }
        }
        return spec;
      }
    } else if (!item.empty() && item.front() != '%') {
      const std::uint32_t bits = detail::take_c_number(item, false);
      if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && !(bits == 80 && spec.format == value_format::floating))
        return {};
      spec.size = bits / 8;
    }
  } else if (!item.empty() && item.front() != '%') {
    return {};
  }
  if (text::take(item, "%")) {
    if (text::take(item, "stack")) {
      spec.place = value_place::stack;
      spec.location = static_cast<std::int16_t>(detail::take_c_number(item));
    } else {
      spec.place = value_place::in_register;
      spec.location = detail::register_number(item);
      if (spec.location < 0) return {};
    }
  } else if (!item.empty()) {
    return {};
  }
  return spec;
}

/// Whether a part of a specification or filter is one of uftrace's actions other than values; else it names a module.
[[nodiscard]] inline bool is_trigger_action(std::string_view item) noexcept {
  static constexpr std::string_view all[] = {"filter",  "notrace",   "depth=", "time=", "size=",  "caller",
                                             "hide",    "trace",     "finish", "read=", "color=", "backtrace",
                                             "recover", "auto-args", "clear",  "if:"};
  return std::any_of(std::begin(all), std::end(all), [&](std::string_view a) { return text::begins_as(item, a); });
}

/// What stands behind the `@` of a specification.
struct value_list {
  /// More cannot be stored: a payload has room for 255 values.
  static constexpr std::size_t max_size = 1024;
  std::vector<value_spec> values;
  std::string_view module;  ///< a part that is no action names the module that the functions are in
  bool good = true;         ///< false when uftrace refuses an item; `values` has those before it
};

/// Reads `arg1/s,arg2/i32,retval/p`: the arguments, or with `returns` the return values; other actions of uftrace's
/// triggers are left out. Views into `text`. Allocates.
[[nodiscard]] inline value_list read_value_list(std::string_view text, std::size_t long_size, bool returns) {
  value_list list;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
    const bool argument = text::begins_as(item, "arg") || text::begins_as(item, "fparg");
    if (argument || text::begins_as(item, "retval")) {
      if (argument == returns) continue;
      const auto spec = read_value_spec(item, long_size);
      if (!spec || list.values.size() == value_list::max_size) {
        list.good = false;
        return list;
      }
      list.values.push_back(*spec);
      continue;
    }
    if (!is_trigger_action(item) && list.module.empty()) list.module = item;
  }
  return list;
}

/// The values of one function, in the order in which they are stored.
class value_collection {
 public:
  /// Adds items: one of the same place is replaced, but not one of an exact name by one of a pattern; others are
  /// appended.
  void add(const std::vector<value_spec>& more, bool exact) {
    for (const value_spec& item : more) {
      const auto same =
          std::find_if(values_.begin(), values_.end(), [&](const value_spec& s) { return s.same_place(item); });
      if (same == values_.end()) {
        if (values_.size() == value_list::max_size) return;
        values_.push_back(item);
        exact_.push_back(exact);
        continue;
      }
      const auto place = static_cast<std::size_t>(same - values_.begin());
      if (exact_[place] && !exact) continue;
      // What it is called by stays.
      const std::uint32_t index = same->index;
      *same = item;
      same->index = index;
      exact_[place] = exact;
    }
  }
  [[nodiscard]] const std::vector<value_spec>& values() const noexcept { return values_; }

 private:
  std::vector<value_spec> values_;
  std::vector<bool> exact_;
};

}  // namespace backsight::uftrace
