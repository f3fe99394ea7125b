// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cinttypes>
#include <map>

#include <backsight/analysis/by_function.hpp>
#include <backsight/analysis/call_stack.hpp>
#include <backsight/analysis/distribution.hpp>
#include <backsight/xray/calls.hpp>

#include "call_analysis.hpp"
#include "xray_trace.hpp"

namespace cli {

using namespace backsight;

namespace {

/// llvm-xray's account: a stack of open calls for each thread; an exit that does not match the top is left out, or,
/// with `deduce`, closes the nearest call of its function and all above (llvm/tools/llvm-xray/xray-account.cpp). The
/// search for that call is call_stack's, whose cost does not grow with exits of functions that are not open.
class llvm_account {
 public:
  explicit llvm_account(bool deduce) : deduce_(deduce) {}

  void take(analysis::call_stack& of, const xray::event& event) {
    if (event.kind == event_kind::mark) return;
    const bool on_top = !of.frames().empty() && of.frames().back().function == event.function;
    if (event.kind != event_kind::enter && !on_top && !deduce_) return;
    of.on(
        event, [](const auto&, std::size_t) {},
        [&](const analysis::finished_call& call, const auto&) { durations[call.function].add(call.duration); });
  }

  analysis::by_function<analysis::distribution> durations;

 private:
  bool deduce_;
};

/// The times of a thread's events never go back. Within a run of function records they cannot, so that only the sum of
/// the deltas is needed there, which vectorises.
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
            if (state.apply(typed, event)) move_to(event.time);
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
                      with_order(trace.log().byte_order(),
                                 [&](auto byte_order) { return is_in_order<byte_order()>(trace.log(), thread); });
  if (sorted) return trace.for_each_event(thread, f);
  std::vector<xray::event> events;
  trace.for_each_event(thread, [&](const xray::event& event) { events.push_back(event); });
  std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
  for (const auto& event : events) f(event);
}

/// CSV text between quotes; llvm-xray does not double quotes, and neither do function names hold any.
void llvm_row(output& out, std::uint64_t function, analysis::distribution& durations, std::uint64_t frequency,
              const xray_names& names) {
  const double scale = frequency == 0 ? 1.0 : static_cast<double>(frequency);
  const auto seconds = [&](std::uint64_t ticks) { return static_cast<double>(ticks) / scale; };
  const auto all = durations.sum_up();
  out.print("%" PRIu64 ",%" PRIu64 ",%e,%e,%e,%e,%e,%e,\"%s\",\"%s\"\n", function, all.count, seconds(all.min),
            seconds(durations.quantile(all, 1, 2)), seconds(durations.quantile(all, 9, 10)),
            seconds(durations.quantile(all, 99, 100)), seconds(all.max), seconds(all.sum),
            names.source_of(function).c_str(), names[function].c_str());
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
    llvm_row(out, function, *durations, trace.log().ticks_per_second(), names);
  }
  return out.close(trace.report_faults());
}

}  // namespace

int xray_report(const arguments& asked) {
  xray_trace trace;
  xray_names names;
  if (!trace.open(asked.path()) || !names.open(asked.symbols)) return bad_input;
  return llvm_report(trace, names, asked);
}

int xray_with_calls(const arguments& asked, const call_task& task) {
  xray_trace trace;
  xray_names names;
  if (!trace.open(asked.path()) || !names.open(asked.symbols)) return bad_input;
  call_input input{.asked = asked, .bytes = trace.log().bytes().size(), .notes = trace.faults()};
  if (asked.symbols.empty()) input.no_modules = "an XRay log tells no modules; --symbols names its program";
  return run_task(xray::calls(trace.log(), names.names(), {.program = asked.symbols, .values = shows_values(asked)}),
                  input, task);
}

}  // namespace cli
