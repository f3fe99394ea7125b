// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/core/error.hpp>
#include <backsight/core/lines.hpp>

// The files *.dbg. Source: uftrace's utils/dwarf.c.
namespace backsight::uftrace {

/// What a .dbg file tells about one function. Views into the file's bytes.
struct debug_function {
  std::uint64_t offset = 0;  ///< of the function in its object file
  std::string_view name;
  std::string_view arguments;     ///< `@arg1,arg2/s`; empty when there is no such line
  std::string_view return_value;  ///< `@retval/s`
  std::uint64_t line = 0;         ///< of its definition; 0 when not known
  std::string_view file;
};

/// A .dbg file: functions sorted by offset, and the texts of the enumerations.
struct debug_file {
  std::vector<debug_function> functions;
  std::vector<std::string_view> enumerations;  ///< `enum NAME {A,B=2,...}`
  std::vector<fault> faults;

  /// The function at that offset of the object file, or null. A binary search.
  [[nodiscard]] const debug_function* find(std::uint64_t offset) const noexcept {
    const auto at = std::lower_bound(functions.begin(), functions.end(), offset,
                                     [](const debug_function& f, std::uint64_t o) { return f.offset < o; });
    return at != functions.end() && at->offset == offset ? &*at : nullptr;
  }
};

/// Reads a .dbg file; lines that are malformed are skipped and listed. Allocates.
[[nodiscard]] inline debug_file read_debug_file(byte_view bytes) {
  debug_file file;
  text::lines text(text::as_text(bytes));
  while (text.next()) {
    std::string_view rest = text.line();
    if (rest.empty() || rest.front() == '#') continue;
    const char kind = rest.front();
    rest.remove_prefix(1);
    bool good = text::take(rest, ": ");
    if (good && kind == 'F') {
      debug_function function;
      const auto offset = text::take_number(rest, 16);
      good = offset && text::take(rest, " ");
      function.offset = offset.value_or(0);
      function.name = rest;
      if (good) file.functions.push_back(function);
    } else if (good && kind == 'E') {
      file.enumerations.push_back(rest);
    } else if (good && !file.functions.empty()) {
      debug_function& function = file.functions.back();
      if (kind == 'A') function.arguments = rest;
      else if (kind == 'R') function.return_value = rest;
      else if (kind == 'L') {
        function.line = text::take_number(rest, 10).value_or(0);
        function.file = text::take(rest, " ") ? rest : std::string_view{};
      } else {
        good = false;
      }
    } else {
      good = false;
    }
    if (!good) file.faults.push_back({errc::bad_text, text.offset(), text.line().size() + 1});
  }
  if (const auto cut = text::cut_at(text::as_text(bytes))) file.faults.push_back({errc::truncated, *cut, 0});
  // Names are views of one text, so where they are tells the order of the lines.
  std::sort(file.functions.begin(), file.functions.end(), [](const debug_function& a, const debug_function& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.name.data() < b.name.data();
  });
  return file;
}

}  // namespace backsight::uftrace
