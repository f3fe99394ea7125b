// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cinttypes>
#include <functional>
#include <map>

#include <backsight/analysis/function_table.hpp>
#include <backsight/analysis/parallel.hpp>
#include <backsight/core/escape.hpp>

#include "xray_trace.hpp"

namespace cli {

using namespace backsight;

namespace {

/// llvm-xray's account: a stack of open calls for each thread; an exit that does not match the top is left out, or, with
/// `deduce`, closes the nearest call of its function and all above (llvm/tools/llvm-xray/xray-account.cpp). The search for
/// that call is call_stack's, whose cost does not grow with exits of functions that are not open.
class llvm_account {
 public:
  explicit llvm_account(bool deduce) : deduce_(deduce) {}

  void take(analysis::call_stack& of, const xray::event& event) {
    if (event.kind == event_kind::mark) return;
    const bool on_top = !of.frames().empty() && of.frames().back().function == event.function;
    if (event.kind != event_kind::enter && !on_top && !deduce_) return;
    of.take(event, [](const auto&, std::size_t) {},
            [&](const analysis::finished_call& call, const auto&) { durations[call.function].add(call.duration); });
  }

  analysis::by_function<analysis::distribution> durations;

 private:
  bool deduce_;
};

/// The times of a thread's events never go back. Within a run of function records they cannot, so that only the sum of the
/// deltas is needed there, which vectorises.
template <order O>
bool is_in_order(const xray::log& log, const xray_trace::traced_thread& thread) {
  xray::fdr_state state{.version = log.version()};
  xray::event event;
  std::uint64_t last = 0;
  bool sorted = true;
  const auto move_to = [&](std::uint64_t time) { sorted = sorted && time >= std::exchange(last, time); };
  for (const auto& block : thread.blocks) {
    state = {.version = log.version()};
    (void)for_each_run(
        block.records<O, grammar_check::ignored>(log.version()),
        [&](const auto& run) {
          std::uint64_t sum = 0;
          for (const auto item : run) sum += item[xray::function_record::tsc_delta];
          sorted = sorted && state.time + sum >= state.time;
          move_to(state.time += sum);
        },
        [&](const auto& item) {
          visit(item, [&](const auto& typed) {
            const std::uint64_t before = state.time;
            if (state.take(typed, event)) move_to(event.time);
            // A delta that goes on from a new time is compared with what came before it.
            else if (state.time != before) sorted = sorted && state.time >= last;
          });
        });
  }
  return sorted;
}

/// Calls `f(event)` for each event of a thread sorted by time. Most threads are in order; only those that are not are
/// gathered and sorted.
template <class F>
void for_each_sorted(xray_trace& trace, const xray_trace::traced_thread& thread, F&& f) {
  const bool sorted = trace.log().type() == xray::log_type::fdr &&
                      with_order(trace.log().byte_order(), [&](auto byte_order) { return is_in_order<byte_order()>(trace.log(), thread); });
  if (sorted) return trace.for_each_event(thread, f);
  std::vector<xray::event> events;
  trace.for_each_event(thread, [&](const xray::event& event) { events.push_back(event); });
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  for (const auto& event : events) f(event);
}

/// CSV text between quotes; llvm-xray does not double quotes, and neither do function names hold any.
void llvm_row(output& out, std::uint64_t function, analysis::distribution& durations, std::uint64_t frequency, const xray_names::entry& name) {
  const double scale = frequency == 0 ? 1.0 : static_cast<double>(frequency);
  const auto seconds = [&](std::uint64_t ticks) { return static_cast<double>(ticks) / scale; };
  const auto all = durations.sum_up();
  out.print("%" PRIu64 ",%" PRIu64 ",%e,%e,%e,%e,%e,%e,\"%s\",\"%s\"\n", function, all.count, seconds(all.min),
            seconds(durations.quantile(all, 1, 2)), seconds(durations.quantile(all, 9, 10)), seconds(durations.quantile(all, 99, 100)),
            seconds(all.max), seconds(all.sum), name.source.c_str(), name.function.c_str());
}

int llvm_report(xray_trace& trace, xray_names& names, const arguments& asked) {
  llvm_account account(asked.deduce_calls);
  const bool basic = trace.log().type() == xray::log_type::basic;
  progress shown(trace.log().bytes().size());
  std::uint64_t count = 0;
  for (const auto& thread : trace.threads(true)) {
    std::map<std::int32_t, analysis::call_stack> stacks;
    analysis::call_stack& only = stacks[thread.id];
    for_each_sorted(trace, thread, [&](const xray::event& event) {
      if ((++count & (events_between_updates - 1)) == 0) shown.add(bytes_between_updates);
      account.take(basic ? stacks[event.thread] : only, event);
    });
  }
  // As llvm-xray: ids are 32-bit signed there, and rows come in the order of ids.
  std::map<std::uint64_t, analysis::distribution*> rows;
  account.durations.for_each([&](std::uint64_t function, analysis::distribution& durations) {
    if (!durations.empty()) rows.emplace(function, &durations);
  });
  output out("-");
  out.write("funcid,count,min,median,90%ile,99%ile,max,sum,debug,function\n");
  for (const auto& [function, durations] : rows) {
    llvm_row(out, function, *durations, trace.log().ticks_per_second(), names[function]);
  }
  return out.close(trace.report_faults());
}

struct row {
  std::uint64_t function;
  std::uint64_t count, min, median, p90, p99, max, sum, self;
};

using column = std::uint64_t row::*;
constexpr std::array<std::pair<const char*, column>, 9> columns{{{"function", &row::function},
                                                                 {"count", &row::count},
                                                                 {"min", &row::min},
                                                                 {"median", &row::median},
                                                                 {"90p", &row::p90},
                                                                 {"99p", &row::p99},
                                                                 {"max", &row::max},
                                                                 {"sum", &row::sum},
                                                                 {"self", &row::self}}};

void print_rows(output& out, const std::vector<row>& rows, xray_names& names, const xray::log& log, const std::string& format) {
  const bool ticks = log.ticks_per_second() == 0;
  const char* const unit = ticks ? "ticks" : "ns";
  if (format == "text") {
    out.print("%12s %10s %10s %10s %10s %10s %14s %14s  %s (%s)\n", "count", "min", "median", "90p", "99p", "max", "sum", "self", "function",
              unit);
  } else if (format != "json") {
    const char s = format == "csv" ? ',' : '\t';
    out.print("id%ccount%cmin_%s%cmedian_%s%c90p_%s%c99p_%s%cmax_%s%csum_%s%cself_%s%cfunction\n", s, s, unit, s, unit, s, unit, s, unit, s,
              unit, s, unit, s, unit, s);
  } else {
    out.write("[");
  }
  const char* before = "\n";
  for (const row& at : rows) {
    const auto ns = [&](std::uint64_t value) { return log.to_ns(value); };
    const std::string& name = names[at.function].function;
    if (format == "text") {
      out.print("%12" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %10" PRIu64 " %14" PRIu64 " %14" PRIu64 "  ", at.count,
                ns(at.min), ns(at.median), ns(at.p90), ns(at.p99), ns(at.max), ns(at.sum), ns(at.self));
      out.write(name);
      out.write("\n");
    } else if (format == "json") {
      out.print("%s{\"id\":%" PRIu64 ",\"count\":%" PRIu64 ",\"min_%s\":%" PRIu64 ",\"median_%s\":%" PRIu64 ",\"90p_%s\":%" PRIu64
                ",\"99p_%s\":%" PRIu64 ",\"max_%s\":%" PRIu64 ",\"sum_%s\":%" PRIu64 ",\"self_%s\":%" PRIu64 ",\"function\":",
                std::exchange(before, ",\n"), at.function, at.count, unit, ns(at.min), unit, ns(at.median), unit, ns(at.p90), unit, ns(at.p99), unit,
                ns(at.max), unit, ns(at.sum), unit, ns(at.self));
      text::quoted(output_iterator(out), name);
      out.write("}");
    } else {
      const char s = format == "csv" ? ',' : '\t';
      for (const std::uint64_t value : {at.function, at.count, ns(at.min), ns(at.median), ns(at.p90), ns(at.p99), ns(at.max), ns(at.sum), ns(at.self)}) {
        out.print("%" PRIu64 "%c", value, s);
      }
      text::cell(output_iterator(out), name, s);
      out.write("\n");
    }
  }
  if (format == "json") out.write("\n]\n");
}

/// What one worker thread gathers.
struct part {
  analysis::function_table table;
  analysis::call_faults faults;
  std::vector<fault> damage;

  void merge(part& other) {
    table.merge(other.table);
    faults.add(other.faults);
    damage.insert(damage.end(), other.damage.begin(), other.damage.end());
  }
};

void take_thread(const xray_trace& trace, const xray_trace::traced_thread& thread, progress& shown, part& to) {
  std::map<std::pair<std::int32_t, std::int32_t>, analysis::call_stack> stacks;
  analysis::call_stack* stack = nullptr;
  std::pair<std::int32_t, std::int32_t> of{};
  std::uint64_t count = 0;
  trace.for_each_event(
      thread,
      [&](const xray::event& event) {
        if ((++count & (events_between_updates - 1)) == 0) shown.add(bytes_between_updates);
        if (stack == nullptr || of != std::pair(event.process, event.thread)) stack = &stacks[of = {event.process, event.thread}];
        to.table.take(*stack, event);
      },
      [&](const fault& found) { to.damage.push_back(found); });
  for (auto& [key, open] : stacks) {
    open.finish();
    to.faults.add(open.faults());
  }
}

}  // namespace

int xray_report(const arguments& asked) {
  column sort_by = &row::self;
  if (!asked.sort.empty()) {
    const auto found = std::ranges::find(columns, asked.sort, [](const auto& c) { return std::string(c.first); });
    if (found == columns.end()) {
      say("backsight: there is no column %s to sort by\n", asked.sort.c_str());
      return usage;
    }
    sort_by = found->second;
  }
  xray_trace trace;
  xray_names names;
  if (!trace.open(asked.path()) || !names.open(asked.symbols)) return bad_input;
  if (asked.as == "llvm-xray") return llvm_report(trace, names, asked);

  const auto threads = trace.threads();
  progress shown(trace.log().bytes().size());
  auto parts = analysis::for_each_part<part>(threads.size(), asked.jobs, [&](part& to, std::size_t index) { take_thread(trace, threads[index], shown, to); });
  part& all = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) all.merge(parts[i]);
  for (const fault& fault : all.damage) trace.add_fault(fault);

  std::vector<row> rows;
  all.table.for_each([&](std::uint64_t function, analysis::function_table::row& at) {
    auto& d = at.durations;
    const auto sums = d.sum_up();
    rows.push_back({function, sums.count, sums.min, d.quantile(sums, 1, 2), d.quantile(sums, 9, 10), d.quantile(sums, 99, 100), sums.max, sums.sum, at.self});
  });
  std::ranges::sort(rows, [&](const row& a, const row& b) {
    if (sort_by == &row::function) return a.function < b.function;
    return std::pair(b.*sort_by, a.function) < std::pair(a.*sort_by, b.function);
  });
  if (asked.limit && rows.size() > *asked.limit) rows.resize(static_cast<std::size_t>(*asked.limit));
  output out("-");
  print_rows(out, rows, names, trace.log(), asked.format);
  const int code = out.close(trace.report_faults());
  if (all.faults.unmatched_exits + all.faults.missing_exits + all.faults.unfinished != 0) {
    say("%s: %" PRIu64 " exits without entry, %" PRIu64 " calls closed by their caller, %" PRIu64 " calls without exit\n",
                 asked.path().c_str(), all.faults.unmatched_exits, all.faults.missing_exits, all.faults.unfinished);
  }
  return code;
}

}  // namespace cli
