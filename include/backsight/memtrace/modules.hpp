// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/core/lines.hpp>

namespace backsight::memtrace {

/// A mapped segment of a module: a line of modules.log. A view over the text.
struct module_segment {
  std::uint64_t id = 0;
  std::uint64_t containing_id = 0;  ///< the segment with which the module begins
  std::uint64_t start = 0, end = 0;
  std::uint64_t file_offset = 0;
  std::optional<std::uint64_t> preferred_base;  ///< where it was linked to; version 5 and later
  std::string_view path;
};

/// Where an address lies.
struct module_place {
  std::string_view path;
  std::uint64_t offset = 0;        ///< from the beginning of the module
  std::uint64_t link_address = 0;  ///< as the module's symbol table has it
};

/// The modules of a recording, read from modules.log, the module table of DynamoRIO's drmodtrack with the columns that
/// drmemtrace adds. A view over the text.
class module_table {
 public:
  module_table() = default;
  explicit module_table(std::vector<module_segment> segments) : segments_(std::move(segments)) {
    for (const module_segment& one : segments_) {
      if (one.id == one.containing_id) begins_.emplace(one.id, one.start);
    }
    std::sort(segments_.begin(), segments_.end(),
              [](const module_segment& a, const module_segment& b) { return a.start < b.start; });
  }
  /// By address.
  [[nodiscard]] const std::vector<module_segment>& segments() const noexcept { return segments_; }

  /// Nothing for code that no module has.
  [[nodiscard]] std::optional<module_place> find(std::uint64_t address) const {
    const auto behind = std::upper_bound(segments_.begin(), segments_.end(), address,
                                         [](std::uint64_t a, const module_segment& b) { return a < b.start; });
    if (behind == segments_.begin()) return {};
    const module_segment& in = *(behind - 1);
    if (address >= in.end) return {};
    const auto begin = begins_.find(in.containing_id);
    const std::uint64_t offset = address - (begin == begins_.end() ? in.start : begin->second);
    return module_place{in.path, offset, in.preferred_base ? address - in.start + *in.preferred_base : offset};
  }

 private:
  std::vector<module_segment> segments_;
  std::unordered_map<std::uint64_t, std::uint64_t> begins_;  ///< of modules, by the id of their first segment
};

namespace detail {

/// One number of a line of modules.log, in hexadecimal with or without 0x, or decimal, with the comma behind it.
[[nodiscard]] inline std::optional<std::uint64_t> module_number(std::string_view& text, bool is_decimal) noexcept {
  while (text.starts_with(' ')) text.remove_prefix(1);
  (void)text::take(text, "0x");
  const auto number = text::take_number(text, is_decimal ? 10 : 16);
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (!number || !text::take(text, ",")) return {};
  return number;
}

/// What a custom field holds is skipped; it may be any bytes, line ends too.
[[nodiscard]] inline bool skip_custom_field(std::string_view& text) noexcept {
  while (text.starts_with(' ')) text.remove_prefix(1);
  std::string_view at = text;
  if (!text::take(at, "v#") || !text::take_number(at, 10) || !text::take(at, ",")) return true;  // There is none.
  const auto size = text::take_number(at, 10);
  if (!size || !text::take(at, ",") || *size > at.size()) return false;
  at.remove_prefix(static_cast<std::size_t>(*size));
  text = at;
  return true;
}

}  // namespace detail

/// Reads modules.log. Errors: errc::bad_magic for another file, errc::bad_text for a line that cannot be read, with its
/// place; errc::truncated when the file ends inside of a line. The segments up to there are kept.
[[nodiscard]] inline result<module_table> read_modules(std::string_view text) {
  if (!text.starts_with("Module Table: version ")) return {errc::bad_magic, 0};
  const std::string_view all = text;
  const auto offset = [&] { return static_cast<std::uint64_t>(all.size() - text.size()); };
  const auto line_end = [&] { return std::min(text.find('\n'), text.size()); };
  text.remove_prefix(std::min(line_end() + 1, text.size()));
  if (!text.starts_with("Columns:")) return {errc::bad_text, offset()};
  std::vector<std::string_view> columns;
  bool has_custom = false;
  std::string_view heads = text.substr(8, line_end() - 8);
  while (!heads.empty()) {
    const std::size_t end = std::min(heads.find(','), heads.size());
    std::string_view name = heads.substr(0, end);
    heads.remove_prefix(std::min(end + 1, heads.size()));
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ') || name.ends_with('\r')) name.remove_suffix(1);
    if (name == "path") break;
    if (name.starts_with('(')) has_custom = true;
    else columns.push_back(name);
  }
  text.remove_prefix(std::min(line_end() + 1, text.size()));
  std::vector<module_segment> segments;
  trace_error error;
  while (!text.empty()) {
    const std::uint64_t at = offset();
    module_segment one;
    bool good = true;
    for (const std::string_view column : columns) {
      const bool is_id = column == "id" || column == "containing_id";
      const auto number = detail::module_number(text, is_id);
      if (!number) {
        good = false;
        break;
      }
      if (column == "id") one.id = *number;
      else if (column == "containing_id") one.containing_id = *number;
      else if (column == "start") one.start = *number;
      else if (column == "end") one.end = *number;
      else if (column == "offset") one.file_offset = *number;
      else if (column == "preferred_base") one.preferred_base = *number;
    }
    if (good && has_custom) good = detail::skip_custom_field(text);
    const std::size_t end = text.find('\n');
    if (!good || one.end < one.start) {
      error = {errc::bad_text, at};
      break;
    }
    if (end == std::string_view::npos) {
      error = {errc::truncated, all.size()};
      break;
    }
    one.path = text.substr(0, end);
    text.remove_prefix(end + 1);
    while (one.path.starts_with(' ')) one.path.remove_prefix(1);
    while (one.path.ends_with('\r')) one.path.remove_suffix(1);
    segments.push_back(one);
  }
  return {module_table(std::move(segments)), error};
}

}  // namespace backsight::memtrace
