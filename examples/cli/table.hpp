// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/escape.hpp>
#include <backsight/core/text.hpp>

#include "output_file.hpp"
#include "terminal.hpp"

namespace cli {

/// The digits of a number for people, with commas where they are wanted.
[[nodiscard]] inline std::string with_thousands(std::string digits) {
  if (!manner.thousands) return digits;
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// How the tables of a command look where that is not the same for all.
struct table_look {
  std::string_view indent{};     ///< text: before each line
  std::string_view gap = " ";    ///< text: between cells
  bool json_lines = false;       ///< JSON: one object on each line, not an array of them
  bool head_with_a_row = false;  ///< nothing at all where there is no row
  bool json_object = false;      ///< JSON: the array is the member "rows" of an object, which finish() can add to
};

/// Writes a table whose columns are named once: as text, CSV, TSV or JSON. The cells of a row follow each other;
/// end_row() ends it.
class table {
 public:
  struct column {
    std::string key;        ///< its name for machines
    std::string heading{};  ///< its name in text; empty: as for machines
    std::size_t width = 0;  ///< in text: at least so many characters, right-aligned where not said otherwise
    bool json_only = false;
    bool text_only = false;
    bool not_in_text = false;
    bool is_left = false;  ///< text: left-aligned
  };

  table(output& to, std::string_view format, std::vector<column> columns, table_look look = {})
      : to_(to),
        format_(format == "text"  ? form::text
                : format == "csv" ? form::csv
                : format == "tsv" ? form::tsv
                                  : form::json),
        columns_(std::move(columns)),
        look_(look) {
    if (!look_.head_with_a_row) head();
  }
  table(const table&) = delete;
  table& operator=(const table&) = delete;

  table& number(std::uint64_t value) {
    std::string digits;
    (void)backsight::text::decimal(std::back_inserter(digits), value);
    if (format_ == form::text) digits = with_thousands(std::move(digits));
    return plain(digits, digits);
  }
  /// A number that is a name, as those of threads and windows are: without commas. `-`, in JSON null, where there is
  /// none.
  table& id(const std::optional<std::uint64_t>& value) {
    if (!value) return plain("-", "null");
    const std::string digits = std::to_string(*value);
    return plain(digits, digits);
  }
  /// A share of the whole, in percent; on a terminal the more striking the larger it is.
  table& share(std::uint64_t part, std::uint64_t whole) {
    const double percent = whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
    char text[32];
    std::snprintf(text, sizeof text, "%.2f%%", percent);
    const std::size_t begin = line_.size();
    plain(text, text);
    if (tint_.color == nullptr && to_.colored() && format_ == form::text && percent >= 0.5)
      tint_ = {begin, line_.size(), percent >= 5 ? "\x1b[31m" : "\x1b[32m"};
    return *this;
  }
  table& signed_number(std::int64_t value) {
    const std::string digits = std::to_string(value);
    return plain(digits, digits);
  }
  table& signed_number(std::int64_t value, std::string_view shown) {
    return format_ == form::text ? plain(shown, shown) : signed_number(value);
  }
  /// In text as `shown`.
  table& number(std::uint64_t value, std::string_view shown) {
    return format_ == form::text ? plain(shown, shown) : number(value);
  }
  /// `-`, in JSON null, where there is none.
  table& number(const std::optional<std::uint64_t>& value) { return value ? number(*value) : plain("-", "null"); }
  /// `yes` or nothing, in JSON true or false.
  table& flag(bool value) { return plain(value ? "yes" : "", value ? "true" : "false"); }
  /// Nothing, in JSON null.
  table& empty() { return plain("", "null"); }
  table& text(std::string_view value) {
    if (!begin_cell()) return *this;
    const auto out = std::back_inserter(line_);
    if (format_ == form::json) (void)backsight::text::quoted(out, value);
    else if (format_ == form::text) aligned(value);
    else (void)backsight::text::cell(out, value, separator());
    return *this;
  }
  void end_row() {
    if (format_ == form::json) line_ += look_.json_lines ? "}\n" : "}";
    else line_ += '\n';
    if (rows_++ == 0 && look_.head_with_a_row) head();
    const std::string_view line = line_;
    to_.write(line.substr(0, tint_.begin));
    if (tint_.color != nullptr) {
      to_.control(tint_.color);
      to_.write(line.substr(tint_.begin, tint_.end - tint_.begin));
      to_.control("\x1b[0m");
    }
    to_.write(line.substr(tint_.end));
    tint_ = {};
    line_.clear();
    next_ = cells_ = 0;
  }
  /// Behind the last row. `more` is what follows the rows of a JSON object: members with a comma in front.
  void finish(std::string_view more = {}) {
    if (format_ != form::json || look_.json_lines) return;
    if (rows_ == 0 && look_.head_with_a_row) head();
    to_.write(look_.json_object ? "\n]" : "\n]\n");
    if (!look_.json_object) return;
    to_.write(more);
    to_.write("}\n");
  }

 private:
  enum class form : std::uint8_t { text, csv, tsv, json };

  [[nodiscard]] char separator() const noexcept { return format_ == form::csv ? ',' : '\t'; }
  [[nodiscard]] const column& current() const noexcept { return columns_[next_ - 1]; }
  void pad(std::size_t size) {
    if (current().width > size) line_.append(current().width - size, ' ');
  }
  void aligned(std::string_view value) {
    if (!current().is_left) pad(value.size());
    line_ += value;
    if (current().is_left && next_ < columns_.size()) pad(value.size());
  }

  /// What comes before the next cell; false where it is left out.
  bool begin_cell() {
    const column& one = columns_[next_++];
    if ((one.json_only && format_ != form::json) || (one.text_only && format_ != form::text) ||
        (one.not_in_text && format_ == form::text)) {
      return false;
    }
    const bool first = cells_++ == 0;
    if (format_ == form::json) {
      if (first) line_ += rows_ != 0 && !look_.json_lines ? ",\n{\"" : "{\"";
      else line_ += ",\"";
      line_ += one.key;
      line_ += "\":";
    } else if (format_ == form::text) {
      line_ += first ? look_.indent : look_.gap;
    } else if (!first) {
      line_ += separator();
    }
    return true;
  }
  table& plain(std::string_view value, std::string_view in_json) {
    if (!begin_cell()) return *this;
    if (format_ == form::text) aligned(value);
    else line_ += format_ == form::json ? in_json : value;
    return *this;
  }

  void head() {
    if (format_ == form::json) {
      if (!look_.json_lines) to_.write(look_.json_object ? "{\"rows\":[\n" : "[\n");
      return;
    }
    std::string row = std::exchange(line_, {});
    const std::size_t at = std::exchange(next_, 0), cells = std::exchange(cells_, 0);
    for (const column& one : columns_) {
      const std::string_view name = format_ == form::text && !one.heading.empty() ? one.heading : one.key;
      (void)plain(name, name);
    }
    if (to_.colored() && format_ == form::text) {
      to_.control("\x1b[1m");
      to_.write(line_);
      to_.control("\x1b[0m");
      line_.clear();
    }
    line_ += '\n';
    to_.write(line_);
    line_ = std::move(row);
    next_ = at;
    cells_ = cells;
  }

  output& to_;
  form format_;
  std::vector<column> columns_;
  table_look look_;
  std::string line_;
  /// The part of the row that is coloured.
  struct tinted {
    std::size_t begin = 0, end = 0;
    const char* color = nullptr;
  } tint_;
  std::size_t next_ = 0, cells_ = 0;  ///< of the row: the next column, and how many cells are there
  std::uint64_t rows_ = 0;
};

}  // namespace cli
