// SPDX-License-Identifier: Apache-2.0
// report, and diff: two of them beside each other.
#include <algorithm>
#include <array>
#include <cinttypes>
#include <map>
#include <tuple>
#include <utility>

#include <backsight/analysis/time_table.hpp>
#include <backsight/core/escape.hpp>

#include "call_modules.hpp"
#include "call_table.hpp"

namespace cli {

using namespace backsight;

namespace {

struct call_row {
  std::uint64_t function = 0;  ///< or the thread
  std::int64_t process = 0;
  std::uint64_t count = 0, total = 0, self = 0, min = 0, mean = 0, median = 0, p90 = 0, p99 = 0, max = 0;
  std::string name;
};
using call_column = std::uint64_t call_row::*;
struct time_column {
  const char* name;
  call_column value;
};
constexpr std::array<time_column, 8> time_columns{{{"total", &call_row::total},
                                                   {"self", &call_row::self},
                                                   {"min", &call_row::min},
                                                   {"mean", &call_row::mean},
                                                   {"median", &call_row::median},
                                                   {"p90", &call_row::p90},
                                                   {"p99", &call_row::p99},
                                                   {"max", &call_row::max}}};

using rows_by = analysis::time_table::rows;
rows_by rows_of(const arguments& asked) {
  return asked.by == "thread"    ? rows_by::threads
         : asked.by == "process" ? rows_by::processes
         : asked.by == "module"  ? rows_by::groups
                                 : rows_by::functions;
}

/// The rows in what to_ns() gives, unsorted.
std::vector<call_row> read_rows(analysis::time_table& table, rows_by by, const any_call_trace& trace,
                                const module_numbers& modules, const call_input& input) {
  std::vector<call_row> rows;
  table.for_each([&](analysis::time_table::key key, analysis::time_table::row& at) {
    auto& d = at.durations;
    const auto all = d.sum_up();
    call_row row{.function = key.second, .process = key.first, .count = all.count, .name = {}};
    row.total = trace.to_ns(at.total);
    row.self = trace.to_ns(at.self);
    row.min = trace.to_ns(all.min);
    row.mean = trace.to_ns(all.sum / all.count);
    row.median = trace.to_ns(d.quantile(all, 1, 2));
    row.p90 = trace.to_ns(d.quantile(all, 9, 10));
    row.p99 = trace.to_ns(d.quantile(all, 99, 100));
    row.max = trace.to_ns(all.max);
    switch (by) {
      case rows_by::functions: row.name = trace.function_name(key.second); break;
      case rows_by::groups: row.name = modules.name(key.second); break;
      case rows_by::threads: row.name = trace.thread_name(key.first, key.second); break;
      case rows_by::processes:
        if (input.joined == nullptr) {
          row.name = trace.process_name(key.first);
        } else {
          const auto place = input.joined->place_of(key.first);  // Its trace has a column of its own.
          row.name = input.joined->sources()[place.trace].trace.process_name(place.process);
        }
        break;
    }
    rows.push_back(std::move(row));
  });
  return rows;
}

void sort_rows(std::vector<call_row>& rows, const std::string& by) {
  const auto before = [](const call_row& a, const call_row& b) {
    return std::tie(a.name, a.process, a.function) < std::tie(b.name, b.process, b.function);
  };
  call_column column = by == "count" ? &call_row::count : &call_row::self;
  for (const time_column& one : time_columns) {
    if (by == one.name) column = one.value;
  }
  std::ranges::sort(rows, [&](const call_row& a, const call_row& b) {
    if (by != "name" && a.*column != b.*column) return a.*column > b.*column;
    return before(a, b);
  });
}

/// The columns of text that fit on the terminal.
bool has_room_for(const char* column, std::size_t width) {
  const std::string_view name = column;
  return width == 0 || width >= 150 || name == "self" || name == "total" || name == "mean" || name == "max";
}

void print_rows(output& out, const std::vector<call_row>& rows, rows_by by, const any_call_trace& trace,
                const call_input& input, const lacking& what) {
  const arguments& asked = input.asked;
  const std::size_t width = asked.format == "text" ? terminal_width() : 0;
  std::vector<table::column> columns{{.key = "self%", .width = 7, .text_only = true}, {.key = "count", .width = 9}};
  std::size_t used = 7 + 2 + 9 + 2;
  for (const time_column& one : time_columns) {
    if (!has_room_for(one.name, width)) continue;
    columns.push_back({.key = with_unit(one.name, trace.unit()), .heading = one.name, .width = 10});
    used += 12;
  }
  if (by == rows_by::functions) columns.insert(columns.begin(), table::column{.key = "id", .not_in_text = true});
  const bool of_process = by == rows_by::threads || by == rows_by::processes;
  if (of_process && input.joined != nullptr) columns.push_back(trace_column()), used += 14;
  if (of_process) columns.push_back(table::column{.key = "process", .width = 8}), used += 10;
  if (by == rows_by::threads) columns.push_back(table::column{.key = "thread", .width = 8}), used += 10;
  const std::string row_name = by == rows_by::functions ? "function" : by == rows_by::groups ? "module" : "name";
  const std::string heading =
      !of_process && trace.unit() != clock_unit::nanoseconds ? row_name + " (" + unit_name(trace.unit()) + ")" : "";
  columns.push_back({.key = row_name, .heading = heading});
  std::uint64_t whole = 0;
  for (const call_row& row : rows) whole += row.self;
  call_table to(out, asked, trace.unit(), std::move(columns));
  std::uint64_t left = asked.limit.value_or(~std::uint64_t{0});
  for (const call_row& row : rows) {
    if (left-- == 0) break;
    if (by == rows_by::functions) (void)(input.has_ids ? to.cells().number(row.function) : to.cells().empty());
    to.share(row.self, whole);
    to.cells().number(row.count);
    for (const time_column& one : time_columns) {
      if (has_room_for(one.name, width)) to.time(row.*one.value);
    }
    if (of_process) to.process(row.process, input);
    if (by == rows_by::threads) to.cells().id(row.function);
    to.cells().text(width == 0 || asked.full_names ? row.name
                                                   : shortened(row.name, width > used + 20 ? width - used : 20));
    to.cells().end_row();
  }
  to.finish(what, input);
}

/// What diff keeps of a trace.
struct rows_of_trace {
  std::map<std::string, call_row> rows;
  clock_unit unit = clock_unit::nanoseconds;
  int code = success;
};

int read_for_diff(const arguments& asked, const trace_format& format, rows_of_trace& to) {
  const auto body = [&](const any_call_trace& trace, call_input& input) {
    const rows_by by = rows_of(input.asked);
    module_numbers modules(trace);
    if (by == rows_by::groups && !modules.prepare(input)) return int{usage};
    auto table = analyze(input, modules.table(by));
    to.unit = trace.unit();
    for (call_row& row : read_rows(table, by, trace, modules, input)) {
      call_row& same = to.rows.try_emplace(row.name, call_row{}).first->second;
      // Functions of one name are one: of their times the larger quantiles are kept.
      same.count += row.count;
      same.total += row.total;
      same.self += row.self;
      same.median = std::max(same.median, row.median);
      same.p90 = std::max(same.p90, row.p90);
    }
    say_what_lacks(input.path, what_lacks(trace, table));
    return input.finish();
  };
  return format.with_calls(asked, body);
}

}  // namespace

int report_calls(const arguments& asked, const trace_format& format) {
  const auto body = [&](const any_call_trace& trace, call_input& input) {
    const rows_by by = rows_of(input.asked);
    module_numbers modules(trace);
    if (by == rows_by::groups && !modules.prepare(input)) return int{usage};
    auto table = analyze(input, modules.table(by));
    const int code = input.finish();
    if (code == usage) return code;
    auto rows = read_rows(table, by, trace, modules, input);
    sort_rows(rows, input.asked.sort);
    output out("-");
    const lacking what = what_lacks(trace, table);
    print_rows(out, rows, by, trace, input, what);
    const int done = out.close(code);
    say_what_lacks(input.path, what);
    return done;
  };
  return format.with_calls(asked, body);
}

int check_calls(const arguments& asked, const trace_format& format) {
  const auto body = [&](const any_call_trace& trace, call_input& input) {
    auto table = analyze(input, analysis::time_table());
    const lacking what = what_lacks(trace, table);
    const analysis::call_faults& faults = what.calls;
    const auto& damage = input.notes.all();
    // What was open at the end was still running, and a number names a function too: both are told, and are no faults
    // of the trace.
    const bool good = damage.empty() && !input.unreadable && what.lost_records == 0 && faults.unmatched_exits == 0 &&
                      faults.missing_exits == 0;
    output out("-");
    const std::string& path = input.path;
    if (asked.format == "json") {
      out.write("{\"trace\":");
      text::quoted(output_iterator(out), path);
      out.print(",\"format\":\"%s\",\"good\":%s,\"damage\":[", format.name, good ? "true" : "false");
      const char* separator = "";
      for (const auto& [place, fault] : damage) {
        out.print("%s\n{\"file\":", std::exchange(separator, ","));
        text::quoted(output_iterator(out), place.first.empty() ? path : path + "/" + place.first);
        out.print(",\"offset\":%" PRIu64 ",\"message\":\"%s\",\"skipped\":%" PRIu64 "}", fault.offset,
                  message(fault.code), fault.skipped);
      }
      out.print("],\n\"unreadable_files\":%s,\"lost_records\":%" PRIu64 ",\"exits_without_entry\":%" PRIu64
                ",\"closed_by_caller\":%" PRIu64 ",\"calls_without_exit\":%" PRIu64 ",\"functions\":%" PRIu64
                ",\"functions_without_name\":%" PRIu64 "}\n",
                input.unreadable ? "true" : "false", what.lost_records, faults.unmatched_exits, faults.missing_exits,
                faults.unfinished, what.functions, what.unnamed);
    } else {
      for (const auto& [place, fault] : damage)
        out.print("%s:%" PRIu64 ": %s; %" PRIu64 " bytes skipped\n",
                  (place.first.empty() ? path : path + "/" + place.first).c_str(), fault.offset, message(fault.code),
                  fault.skipped);
      const auto line = [&](const char* name, std::uint64_t count) { out.print("%-24s %" PRIu64 "\n", name, count); };
      line("damaged places", damage.size());
      line("lost records", what.lost_records);
      line("exits without entry", faults.unmatched_exits);
      line("calls closed by caller", faults.missing_exits);
      line("calls without exit", faults.unfinished);
      out.print("%-24s %" PRIu64 " of %" PRIu64 "\n", "functions without name", what.unnamed, what.functions);
      out.print("%s: %s\n", path.c_str(), good ? "nothing is missing" : "something is missing");
    }
    return out.close(good ? success : bad_input);
  };
  return format.with_calls(asked, body);
}

int diff_calls(const arguments& asked, const trace_format& format, const trace_format& other) {
  rows_of_trace a, b;
  int code = read_for_diff(asked, format, a);
  if (code == usage) return code;
  arguments second = asked;
  second.paths.erase(second.paths.begin());
  const int more = read_for_diff(second, other, b);
  if (more == usage) return more;
  code = std::max(code, more);
  if (a.unit != b.unit) {
    say("backsight: the times of the traces are %s and %s\n", unit_name(a.unit), unit_name(b.unit));
    return usage;
  }
  struct pair_row {
    const std::string* name;
    call_row a, b;
    std::uint64_t difference;
  };
  std::vector<pair_row> rows;
  const auto add = [&](const std::string& name, const call_row& left, const call_row& right) {
    rows.push_back({&name, left, right, left.self > right.self ? left.self - right.self : right.self - left.self});
  };
  for (const auto& [name, row] : a.rows) {
    const auto found = b.rows.find(name);
    add(name, row, found == b.rows.end() ? call_row{} : found->second);
  }
  for (const auto& [name, row] : b.rows) {
    if (!a.rows.contains(name)) add(name, call_row{}, row);
  }
  std::ranges::stable_sort(rows, [](const pair_row& x, const pair_row& y) { return x.difference > y.difference; });
  if (asked.limit && rows.size() > *asked.limit) rows.resize(static_cast<std::size_t>(*asked.limit));
  output out("-");
  const std::size_t width = asked.format == "text" ? terminal_width() : 0;
  const bool is_narrow = width != 0 && width < 140;
  const std::size_t used = is_narrow ? 11 + 2 * 10 + 2 * 8 + 5 * 2 : 11 + 8 * 10 + 2 * 8 + 11 * 2;
  const auto timed = [&](const char* name, bool also_narrow = false) {
    return table::column{
        .key = with_unit(name, a.unit), .heading = name, .width = 10, .not_in_text = is_narrow && !also_narrow};
  };
  call_table to(out, asked, a.unit,
                {{.key = with_unit("self_change", a.unit), .heading = "change", .width = 11},
                 timed("self_a", true),
                 timed("self_b", true),
                 timed("total_a"),
                 timed("total_b"),
                 timed("median_a"),
                 timed("median_b"),
                 timed("p90_a"),
                 timed("p90_b"),
                 {.key = "count_a", .width = 8},
                 {.key = "count_b", .width = 8},
                 {.key = asked.by == "module" ? "module" : "function"}});
  for (const pair_row& row : rows) {
    std::string shown;
    if (a.unit == clock_unit::nanoseconds) (void)text::print_duration(std::back_inserter(shown), row.difference);
    else shown = std::to_string(row.difference);
    to.cells().signed_number(static_cast<std::int64_t>(row.b.self - row.a.self), (row.b.self < row.a.self   ? "-"
                                                                                  : row.b.self > row.a.self ? "+"
                                                                                                            : "") +
                                                                                     shown);
    to.time(row.a.self).time(row.b.self).time(row.a.total).time(row.b.total).time(row.a.median).time(row.b.median);
    to.time(row.a.p90).time(row.b.p90);
    to.cells().number(row.a.count).number(row.b.count);
    to.cells()
        .text(width == 0 || asked.full_names ? *row.name : shortened(*row.name, width > used + 20 ? width - used : 20))
        .end_row();
  }
  to.cells().finish();
  return out.close(code);
}

}  // namespace cli
