// SPDX-License-Identifier: Apache-2.0
#include "calls.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <vector>

#include <backsight/core/escape.hpp>

namespace cli {

using namespace backsight;

namespace {

struct call_row {
  std::uint64_t function;
  std::uint64_t count, min, median, p90, p99, max, sum, self;
};

using call_column = std::uint64_t call_row::*;
constexpr std::array<std::pair<const char*, call_column>, 9> call_columns{{{"function", &call_row::function},
                                                                           {"count", &call_row::count},
                                                                           {"min", &call_row::min},
                                                                           {"median", &call_row::median},
                                                                           {"90p", &call_row::p90},
                                                                           {"99p", &call_row::p99},
                                                                           {"max", &call_row::max},
                                                                           {"sum", &call_row::sum},
                                                                           {"self", &call_row::self}}};

void print_call_rows(output& out, const std::vector<call_row>& rows, const call_texts& texts,
                     const std::string& format) {
  const char* const unit = texts.unit;
  if (format == "text") {
    out.print("%12s %10s %10s %10s %10s %10s %14s %14s  %s (%s)\n", "count", "min", "median", "90p", "99p", "max",
              "sum", "self", "function", unit);
  } else if (format != "json") {
    const char s = format == "csv" ? ',' : '\t';
    out.print("id%ccount%cmin_%s%cmedian_%s%c90p_%s%c99p_%s%cmax_%s%csum_%s%cself_%s%cfunction\n", s, s, unit, s, unit,
              s, unit, s, unit, s, unit, s, unit, s, unit, s);
  } else {
    out.write("[");
  }
  const char* before = "\n";
  for (const call_row& at : rows) {
    const auto ns = [&](std::uint64_t value) { return texts.to_ns(value); };
    const std::string_view name = texts.name(at.function);
    if (format == "text") {
      out.print("%12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %14" PRIu64
                " %14" PRIu64 "  ",
                at.count, ns(at.min), ns(at.median), ns(at.p90), ns(at.p99), ns(at.max), ns(at.sum), ns(at.self));
      out.write(name);
      out.write("\n");
    } else if (format == "json") {
      out.print("%s{\"id\":%" PRIu64 ",\"count\":%" PRIu64 ",\"min_%s\":%" PRIu64 ",\"median_%s\":%" PRIu64
                ",\"90p_%s\":%" PRIu64 ",\"99p_%s\":%" PRIu64 ",\"max_%s\":%" PRIu64 ",\"sum_%s\":%" PRIu64
                ",\"self_%s\":%" PRIu64 ",\"function\":",
                std::exchange(before, ",\n"), at.function, at.count, unit, ns(at.min), unit, ns(at.median), unit,
                ns(at.p90), unit, ns(at.p99), unit, ns(at.max), unit, ns(at.sum), unit, ns(at.self));
      text::quoted(output_iterator(out), name);
      out.write("}");
    } else {
      const char s = format == "csv" ? ',' : '\t';
      for (const std::uint64_t value : {at.function, at.count, ns(at.min), ns(at.median), ns(at.p90), ns(at.p99),
                                        ns(at.max), ns(at.sum), ns(at.self)}) {
        out.print("%" PRIu64 "%c", value, s);
      }
      text::cell(output_iterator(out), name, s);
      out.write("\n");
    }
  }
  if (format == "json") out.write("\n]\n");
}

/// The column that the report is sorted by; null when there is none of that name.
call_column sort_column(const arguments& asked) {
  if (asked.sort.empty()) return &call_row::self;
  const auto found = std::ranges::find(call_columns, asked.sort, [](const auto& c) { return std::string(c.first); });
  return found == call_columns.end() ? nullptr : found->second;
}

}  // namespace

int check_sort(const arguments& asked) {
  if (sort_column(asked) != nullptr) return success;
  say("backsight: there is no column %s to sort by\n", asked.sort.c_str());
  return usage;
}

void say_call_faults(const std::string& path, const analysis::call_faults& faults) {
  if (faults.unmatched_exits + faults.missing_exits + faults.unfinished == 0) return;
  say("%s: %" PRIu64 " exits without entry, %" PRIu64 " calls closed by their caller, %" PRIu64 " calls without exit\n",
      path.c_str(), faults.unmatched_exits, faults.missing_exits, faults.unfinished);
}

void print_report(output& out, const arguments& asked, analysis::function_table& table, const call_texts& texts) {
  std::vector<call_row> rows;
  table.for_each([&](std::uint64_t function, analysis::function_table::row& at) {
    auto& d = at.durations;
    const auto sums = d.sum_up();
    rows.push_back({function, sums.count, sums.min, d.quantile(sums, 1, 2), d.quantile(sums, 9, 10),
                    d.quantile(sums, 99, 100), sums.max, sums.sum, at.self});
  });
  const call_column sort_by = sort_column(asked);
  std::ranges::sort(rows, [&](const call_row& a, const call_row& b) {
    if (sort_by == &call_row::function) return a.function < b.function;
    return std::pair(b.*sort_by, a.function) < std::pair(a.*sort_by, b.function);
  });
  if (asked.limit && rows.size() > *asked.limit) rows.resize(static_cast<std::size_t>(*asked.limit));
  print_call_rows(out, rows, texts, asked.format);
}

void print_stacks(output& out, const arguments& asked, const analysis::call_tree& tree, const call_texts& texts) {
  std::vector<analysis::call_tree::node_id> order;
  std::uint64_t sum = 0;
  for (analysis::call_tree::node_id id = 1; id < tree.nodes().size(); ++id) {
    sum += tree.nodes()[id].self;
    if (tree.nodes()[id].count != 0) order.push_back(id);
  }
  std::ranges::stable_sort(order, [&](auto a, auto b) { return tree.nodes()[a].self > tree.nodes()[b].self; });
  const std::size_t limit = static_cast<std::size_t>(asked.limit.value_or(asked.format == "text" ? 20 : order.size()));
  if (order.size() > limit) order.resize(limit);

  const char* const unit = texts.unit;
  const char s = asked.format == "tsv" ? '\t' : ',';
  if (asked.format == "json") out.write("[");
  else if (asked.format == "text")
    out.print("%8s %14s %14s %10s  path\n", "self", (std::string("self ") + unit).c_str(),
              (std::string("total ") + unit).c_str(), "calls");
  else out.print("self_%s%ctotal_%s%ccount%cpath\n", unit, s, unit, s, s);
  const char* before = "\n";
  for (const auto id : order) {
    const auto& node = tree.nodes()[id];
    std::string path;
    for (const std::uint64_t function : tree.path(id)) {
      if (!path.empty()) path += ';';
      path += texts.name(function);
    }
    const std::uint64_t self = texts.to_ns(node.self), total = texts.to_ns(node.total);
    if (asked.format == "text") {
      out.print("%7.2f%% %14" PRIu64 " %14" PRIu64 " %10" PRIu64 "  ",
                sum == 0 ? 0.0 : 100.0 * static_cast<double>(node.self) / static_cast<double>(sum), self, total,
                node.count);
      out.write(path);
      out.write("\n");
    } else if (asked.format == "json") {
      out.print("%s{\"self_%s\":%" PRIu64 ",\"total_%s\":%" PRIu64 ",\"count\":%" PRIu64 ",\"path\":",
                std::exchange(before, ",\n"), unit, self, unit, total, node.count);
      text::quoted(output_iterator(out), path);
      out.write("}");
    } else {
      out.print("%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "%c", self, s, total, s, node.count, s);
      text::cell(output_iterator(out), path, s);
      out.write("\n");
    }
  }
  if (asked.format == "json") out.write("\n]\n");
}

}  // namespace cli
