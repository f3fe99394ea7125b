// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <backsight/core/bytes.hpp>
#include <backsight/core/lines.hpp>
#include <backsight/core/text.hpp>
#include <backsight/ftrace/event_format.hpp>
#include <backsight/ftrace/expression_value.hpp>

// The expressions in print formats of events. Sources: Linux, Documentation/trace/events.rst, "Event formats" ("print
// fmt"), and include/trace/stages/stage3_trace_output.h for its functions.
namespace backsight::ftrace::detail {

/// Evaluates the arguments of a print format, which are expressions of C. No time grows faster than the format's
/// length.
class print_expression {
 public:
  using value = expression_value;

  print_expression(const event_format& format, byte_view data, order o) noexcept
      : format_(format), data_(data), order_(o) {}

  /// The expression at the start of `rest`, which is cut off; nothing where it holds what is not known here.
  [[nodiscard]] std::optional<value> read(std::string_view& rest) {
    rest_ = rest;
    failed_ = false;
    depth_ = 0;
    value found = conditional();
    rest = rest_;
    if (failed_) return std::nullopt;
    return found;
  }

 private:
  static constexpr unsigned deepest = 64;
  static constexpr std::size_t longest_text = std::size_t{1} << 14;

  value fail() {
    failed_ = true;
    rest_ = {};
    return {};
  }
  void blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  [[nodiscard]] bool take(std::string_view token) {
    blanks();
    return text::take(rest_, token);
  }
  [[nodiscard]] std::string_view word() {
    blanks();
    std::size_t size = 0;
    const auto is_name = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    while (size < rest_.size() && is_name(rest_[size])) ++size;
    const std::string_view found = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return found;
  }
  value conditional() {
    if (++depth_ > deepest) return fail();
    value condition = binary(0);
    if (take("?")) {
      value yes = conditional();
      if (!take(":")) return fail();
      value no = conditional();
      condition = condition.number != 0 ? std::move(yes) : std::move(no);
    }
    --depth_;
    return condition;
  }

  value binary(unsigned lowest) {
    value left = unary();
    for (;;) {
      blanks();
      const auto* const found = std::find_if(operations.begin(), operations.end(),
                                             [&](const operation& one) { return rest_.starts_with(one.token); });
      if (found == operations.end() || found->level < lowest || failed_) return left;
      rest_.remove_prefix(found->token.size());
      if (++depth_ > deepest) return fail();
      const value right = binary(found->level + 1);
      --depth_;
      if (left.is_text || right.is_text) return fail();
      const auto both = apply_operator(found->token, left, right);
      if (!both) return fail();
      left = *both;
    }
  }
  value unary() {
    if (++depth_ > deepest) return fail();
    value found = [&]() -> value {
      if (take("-")) {
        const value of = unary();
        return number(0 - of.number);
      }
      if (take("~")) {
        const value of = unary();
        return number(~of.number, of.is_signed);
      }
      if (take("!")) return number(unary().number == 0 ? 1 : 0);
      if (take("+")) return unary();
      return primary();
    }();
    --depth_;
    return found;
  }

  value primary() {
    blanks();
    if (rest_.empty()) return fail();
    if (rest_.front() == '"') return literal();
    if (take("(")) {
      if (const auto cast = cast_of()) return cast_to(*cast, unary());
      value inner = conditional();
      return take(")") ? inner : fail();
    }
    if (rest_.front() >= '0' && rest_.front() <= '9') {
      const std::string_view digits = word();
      return integer(digits);
    }
    if (take("REC->")) return member();
    const std::string_view name = word();
    if (name.empty() || !take("(")) return fail();
    if (name == "__print_flags" || name == "__print_symbolic") return print_table(name == "__print_flags");
    if (name == "__get_str" || name == "__get_rel_str") {
      const event_field* const field = format_.find(word());
      return field != nullptr && take(")") ? text_value(text_of(*field)) : fail();
    }
    if (name == "__get_dynamic_array_len") {
      const event_field* const field = format_.find(word());
      if (field == nullptr || !take(")")) return fail();
      return number(data_place(field->value(data_, order_).value_or(0)).size);
    }
    return fail();
  }

  /// The type in front of a closing bracket, when what stands there is one: `(unsigned long)`, `(u8)`.
  [[nodiscard]] std::optional<std::string_view> cast_of() {
    const std::size_t end = rest_.find_first_of("()");
    if (end == rest_.npos || rest_[end] != ')' || end == 0) return std::nullopt;
    const std::string_view type = rest_.substr(0, end);
    const auto is_part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || c == ' ' ||
             c == '*';
    };
    if (!std::all_of(type.begin(), type.end(), is_part) || (type.front() >= '0' && type.front() <= '9'))
      return std::nullopt;
    rest_.remove_prefix(end + 1);
    return type;
  }
  value integer(std::string_view digits) {
    while (!digits.empty() &&
           (digits.back() == 'U' || digits.back() == 'L' || digits.back() == 'u' || digits.back() == 'l'))
      digits.remove_suffix(1);
    unsigned base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) base = 16, digits.remove_prefix(2);
    else if (digits.size() > 1 && digits.front() == '0') base = 8;
    const auto found = text::take_number(digits, base);
    return found && digits.empty() ? number(*found) : fail();
  }

  value literal() {
    value found;
    found.is_text = true;
    while (take("\"")) {
      for (;;) {
        if (rest_.empty() || found.text.size() > longest_text) return fail();
        const char c = rest_.front();
        rest_.remove_prefix(1);
        if (c == '"') break;
        if (c != '\\') {
          found.text += c;
        } else if (!rest_.empty()) {
          found.text += rest_.front() == 'n' ? '\n' : rest_.front() == 't' ? '\t' : rest_.front();
          rest_.remove_prefix(1);
        }
      }
    }
    return found;
  }

  [[nodiscard]] static bool is_text(const event_field& field) noexcept {
    return (field.is_array || field.type.starts_with("__data_loc")) && field.type.find("char") != field.type.npos;
  }
  /// The characters of a member up to a NUL: its own, or those that it points to within the data (`__data_loc`).
  [[nodiscard]] std::string_view text_of(const event_field& field) const noexcept {
    byte_view bytes = field.bytes(data_);
    const bool relative = field.type.starts_with("__rel_loc");
    if (field.type.starts_with("__data_loc") || relative) {
      data_place place(field.value(data_, order_).value_or(0));
      if (relative) place.offset += field.offset + field.size;
      bytes = place.bytes(data_);
    }
    const std::string_view found = text::as_text(bytes);
    return found.substr(0, found.find('\0'));
  }
  static value text_value(std::string_view from) { return {0, true, true, std::string(from)}; }

  value member() {
    const event_field* const field = format_.find(word());
    if (field == nullptr) return fail();
    if (take("[")) {
      const value index = conditional();
      if (!take("]") || index.is_text) return fail();
      return element(*field, index.number);
    }
    if (is_text(*field)) return text_value(text_of(*field));
    const auto found = field->value(data_, order_);
    if (!found || field->is_array) return fail();
    return number(narrow(*found, static_cast<unsigned>(field->size) * 8, field->is_signed), field->is_signed);
  }
  /// A member of an array, whose size follows from its type.
  value element(const event_field& field, std::uint64_t index) {
    event_field one = field;
    const auto has = [&](std::string_view part) { return field.type.find(part) != field.type.npos; };
    one.size = has("64") || has("long") ? 8 : has("16") || has("short") ? 2 : has("8") || has("char") ? 1 : 4;
    one.is_signed = !(has("unsigned") || field.type.starts_with("u") || field.type.starts_with("__u"));
    if (index >= field.size / one.size) return fail();
    one.offset += static_cast<std::size_t>(index) * one.size;
    const auto found = one.value(data_, order_);
    return found ? number(narrow(*found, static_cast<unsigned>(one.size) * 8, one.is_signed), one.is_signed) : fail();
  }

  /// The names of bits, or the name of a number: `value, ["delimiter",] { number, "name" }, ...)`.
  value print_table(bool flags) {
    const value of = conditional();
    value delimiter;
    if (flags) {
      if (!take(",")) return fail();
      delimiter = conditional();
      if (!delimiter.is_text) return fail();
    }
    value found = text_value({});
    std::uint64_t left = of.number;
    bool is_named = false, any = false;
    const auto name = [&](std::string_view text) {
      if (any) found.text += delimiter.text;
      found.text += text;
      any = true;
    };
    while (take(",")) {
      if (!take("{")) return fail();
      const value one = conditional();
      if (!take(",")) return fail();
      const value shown = conditional();
      if (!take("}") || one.is_text || !shown.is_text || failed_ || found.text.size() > longest_text) return fail();
      if (is_named) continue;
      if (!flags) {
        if (one.number == of.number) found.text = shown.text, is_named = true;
      } else if (of.number == 0 && one.number == 0) {
        name(shown.text);
        is_named = true;
      } else if (one.number != 0 && (left & one.number) == one.number) {
        name(shown.text);
        left &= ~one.number;
      }
    }
    if (!take(")")) return fail();
    if (flags ? left != 0 : !is_named) {
      std::string digits = "0x";
      (void)text::hexadecimal(std::back_inserter(digits), left);
      name(digits);
    }
    return found;
  }

  const event_format& format_;
  byte_view data_;
  order order_;
  std::string_view rest_;
  unsigned depth_ = 0;
  bool failed_ = false;
};

}  // namespace backsight::ftrace::detail
