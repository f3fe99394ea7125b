// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

/// Names are to be shown as they are, also where a terminal has no room for them.
extern bool full_names;

/// How many characters a terminal shows of a text in UTF-8.
[[nodiscard]] std::size_t shown_width(std::string_view text);
/// A name in at most `room` characters, with its middle left out where it is longer.
[[nodiscard]] std::string shortened(std::string_view name, std::size_t room);

/// Lines of at most `width` characters: longer ones are broken at blanks. What is behind such a place begins at
/// `column` where the line has a word there, as a list of names and what they mean has, else two further than the line.
[[nodiscard]] std::string folded_text(std::string_view text, std::size_t width, std::size_t column);

/// How the tables of a command look where that is not the same for all.
struct table_look {
  std::string_view indent{};     ///< text: before each line
  std::string_view gap = " ";    ///< text: between cells
  bool json_lines = false;       ///< JSON: one object on each line, not an array of them
  bool head_with_a_row = false;  ///< nothing at all where there is no row
  bool is_on_stdout = true;      ///< text: where it goes, so that it may have to fit a terminal
  bool json_object = false;      ///< JSON: the array is the member "rows" of an object, which finish() can add to
};

/// Writes a table whose columns are named once: as text, CSV, TSV or JSON. The cells of a row follow each other;
/// end_row() ends it, and finish() the table.
///
/// On a terminal that is too narrow for its columns as they are, text is laid out by what the first rows hold: columns
/// as narrow as their cells, short headings, names with their middle left out, and last without columns that can be
/// spared, which is said below the table.
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
    // For narrow terminals:
    std::string narrow{};     ///< a shorter heading
    bool is_name = false;     ///< its cells can be shortened
    unsigned char spare = 0;  ///< it can be left out; the larger the sooner
  };

  table(output& to, std::string_view format, std::vector<column> columns, table_look look = {})
      : to_(to),
        format_(format == "text"  ? form::text
                : format == "csv" ? form::csv
                : format == "tsv" ? form::tsv
                                  : form::json),
        columns_(std::move(columns)),
        look_(look),
        room_(format_ == form::text && look.is_on_stdout ? terminal_width() : 0) {
    for (const column& one : columns_) {
      if (format_ == form::text && !one.json_only && !one.not_in_text) shown_.push_back(&one);
    }
    if (!look_.head_with_a_row && room_ == 0) head();
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
    const std::size_t begin = line_.size(), cell = row_.size();
    plain(text, text);
    const bool has_color =
        std::ranges::any_of(row_, [](const held_cell& one) { return one.color != nullptr; }) || tint_.color != nullptr;
    if (has_color || !to_.colored() || format_ != form::text || percent < 0.5) return *this;
    const char* const color = percent >= 5 ? "\x1b[31m" : "\x1b[32m";
    if (room_ == 0) tint_ = {begin, line_.size(), color};
    else if (cell < row_.size()) row_[cell].color = color;
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
    if (room_ != 0) row_.push_back({std::string(value)});
    else if (format_ == form::json) (void)backsight::text::quoted(out, value);
    else if (format_ == form::text) aligned(value);
    else (void)backsight::text::cell(out, value, separator());
    return *this;
  }
  void end_row() {
    if (room_ != 0) {
      ++rows_;
      next_ = 0;
      row_.resize(shown_.size());
      if (is_laid_out_) return put_row(std::exchange(row_, {}));
      held_.push_back(std::exchange(row_, {}));
      if (held_.size() == most_held) lay_out();
      return;
    }
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
    if (room_ != 0) {
      if (!is_laid_out_ && (rows_ != 0 || !look_.head_with_a_row)) lay_out();
      if (!left_out_.empty()) to_.write("(no room for " + left_out_ + ")\n");
    }
    if (format_ != form::json || look_.json_lines) return;
    if (rows_ == 0 && look_.head_with_a_row) head();
    to_.write(look_.json_object ? "\n]" : "\n]\n");
    if (!look_.json_object) return;
    to_.write(more);
    to_.write("}\n");
  }

 private:
  enum class form : std::uint8_t { text, csv, tsv, json };
  struct held_cell {
    std::string text;
    const char* color = nullptr;
  };
  using held_row = std::vector<held_cell>;
  /// A column as it is shown on a terminal.
  struct laid_out {
    std::string heading;
    std::size_t width = 0;
    bool is_shown = true;
  };
  static constexpr std::size_t most_held = 2000, least_name = 16;

  [[nodiscard]] char separator() const noexcept { return format_ == form::csv ? ',' : '\t'; }
  [[nodiscard]] const column& current() const noexcept { return columns_[next_ - 1]; }
  void pad(std::size_t size) {
    if (current().width > size) line_.append(current().width - size, ' ');
  }
  void aligned(std::string_view value) {
    const std::size_t size = shown_width(value);
    if (!current().is_left) pad(size);
    line_ += value;
    if (current().is_left && next_ < columns_.size()) pad(size);
  }

  /// Chooses how wide columns are by the rows that there are, and writes the heading and these.
  void lay_out();
  /// Makes the columns fit, of which the cells are that wide.
  void fit(const std::vector<std::size_t>& widest);
  /// Gives names the room that there is beside the rest, which takes `least` with the least of each name.
  void share_room(std::size_t least);
  void put_row(const held_row& row);
  void put_heading();

  /// What comes before the next cell; false where it is left out.
  bool begin_cell() {
    const column& one = columns_[next_++];
    if ((one.json_only && format_ != form::json) || (one.text_only && format_ != form::text) ||
        (one.not_in_text && format_ == form::text)) {
      return false;
    }
    if (room_ != 0) return true;
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
    if (room_ != 0) row_.push_back({std::string(value)});
    else if (format_ == form::text) aligned(value);
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
  std::size_t room_;                  ///< columns of the terminal that it is for; 0: it is for none
  std::vector<const column*> shown_;  ///< in text
  std::vector<laid_out> layout_;      ///< of each that is shown, once that was chosen
  std::vector<held_row> held_;
  held_row row_;
  std::string_view gap_;
  std::string left_out_;  ///< columns that had no room
  bool is_laid_out_ = false;
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
