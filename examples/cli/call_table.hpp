// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/core/duration.hpp>

#include "calls.hpp"
#include "table.hpp"

namespace cli {

/// A table of calls: times are read by people in text, and are whole numbers of the trace's clock for machines.
class call_table {
 public:
  call_table(output& to, const arguments& asked, backsight::clock_unit unit, std::vector<table::column> columns)
      : table_(to, asked.format, std::move(columns),
               {.gap = "  ", .is_on_stdout = asked.output == "-", .json_object = true}),
        unit_(unit) {}

  call_table& time(std::uint64_t value) {
    std::string shown;
    if (unit_ == backsight::clock_unit::nanoseconds)
      (void)backsight::text::print_duration(std::back_inserter(shown), value);
    else shown = with_thousands(std::to_string(value));
    table_.number(value, shown);
    return *this;
  }
  call_table& share(std::uint64_t part, std::uint64_t whole);
  /// The number of a process; in front of it, of several traces, that which it is of.
  call_table& process(std::int64_t number, const call_input& input);
  [[nodiscard]] table& cells() { return table_; }
  /// Behind the last row; in JSON with what the trace lacks.
  void finish(const lacking& what, const call_input& input);

 private:
  table table_;
  backsight::clock_unit unit_;
};

/// Of several traces, the one that a process is of.
[[nodiscard]] inline table::column trace_column() { return {.key = "trace", .width = 12, .is_left = true}; }
/// `NAME_UNIT`, as a column of times is called for machines.
[[nodiscard]] std::string with_unit(const char* name, backsight::clock_unit unit);

}  // namespace cli
