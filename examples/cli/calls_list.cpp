// SPDX-License-Identifier: Apache-2.0
// calls and replay: every call by itself, in the order of time.
#include <algorithm>
#include <cinttypes>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <backsight/analysis/call_list.hpp>

#include "call_table.hpp"

namespace cli {

using namespace backsight;
using analysis::call_list;
using analysis::listed_call;

namespace {

/// Since the trace's start, which may lie behind the very first event of other cpus.
std::int64_t since_start(const listed_call& call, const any_call_trace& trace) {
  return static_cast<std::int64_t>(trace.to_ns(call.start) - trace.to_ns(trace.start()));
}
std::string time_text(std::int64_t value, clock_unit unit) {
  std::string shown = value < 0 ? "-" : "";
  const std::uint64_t size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  if (unit == clock_unit::nanoseconds) (void)text::print_duration(std::back_inserter(shown), size);
  else shown += std::to_string(size);
  return shown;
}

void print_calls(output& out, const call_input& input, const call_list& list, const any_call_trace& trace) {
  // A narrow terminal has no room for all, and shares what is left between the names.
  const std::size_t width = input.asked.format == "text" ? terminal_width() : 0;
  const bool is_narrow = width != 0 && width < 110, has_values = list.has_values();
  std::size_t used = is_narrow ? 8 + 12 + 10 + 5 + 5 * 2 : 8 + 8 + 12 + 10 + 10 + 5 + 7 * 2;
  if (input.joined != nullptr) used += 14;
  if (has_values) used += 4;
  const std::size_t names = has_values ? 4 : 2;
  const std::size_t room =
      width == 0 || input.asked.full_names ? 0 : std::max<std::size_t>((width - std::min(used, width)) / names, 12);
  const auto shown = [&](std::string_view name) { return room == 0 ? std::string(name) : shortened(name, room); };
  std::vector<table::column> columns{
      {.key = "process", .width = 8, .not_in_text = is_narrow},
      {.key = "thread", .width = 8},
      {.key = with_unit("start", trace.unit()), .heading = "start", .width = 12},
      {.key = with_unit("duration", trace.unit()), .heading = "duration", .width = 10},
      {.key = with_unit("self", trace.unit()), .heading = "self", .width = 10, .not_in_text = is_narrow},
      {.key = "depth", .width = 5},
      {.key = "function", .width = room, .is_left = true}};
  if (has_values) {
    columns.push_back({.key = "arguments", .width = room, .is_left = true});
    columns.push_back({.key = "result", .width = room, .is_left = true});
  }
  columns.push_back({.key = "caller"});
  if (input.joined != nullptr) columns.insert(columns.begin(), trace_column());
  call_table to(out, input.asked, trace.unit(), std::move(columns));
  std::uint64_t left = input.asked.limit.value_or(~std::uint64_t{0});
  for (const listed_call& call : list.calls()) {
    if (call.is_mark) continue;
    if (left-- == 0) break;
    const std::int64_t start = since_start(call, trace);
    to.process(call.process, input);
    to.cells().id(call.thread).signed_number(start, time_text(start, trace.unit()));
    if (call.has_ended()) to.time(trace.to_ns(call.duration)).time(trace.to_ns(call.self));
    else to.cells().number(std::nullopt).number(std::nullopt);
    to.cells().number(call.depth).text(shown(trace.function_name(call.function)));
    if (has_values) {
      const analysis::call_values values = list.values_of(call);
      to.cells().text(shown(values.arguments)).text(shown(values.result));
    }
    to.cells()
        .text(call.caller == listed_call::none ? std::string() : shown(trace.function_name(call.caller)))
        .end_row();
  }
  to.finish(what_lacks(trace, list), input);
}

/// A line of the replay: a call begins, or ends, or is a leaf, which does both.
struct line {
  std::uint64_t time, order;
  const listed_call* call;
  bool is_end;
};

/// How many lines from this one on are calls of a function by itself, one in the other: that begin one after the other,
/// or end so.
std::size_t recursion_at(const std::vector<line>& lines, std::size_t at) {
  const auto goes_on = [&](const line& one, const line& next) {
    const listed_call &a = *one.call, &b = *next.call;
    if (a.is_mark || b.is_mark || a.is_leaf || b.is_leaf || one.is_end != next.is_end || a.has_ended() != b.has_ended())
      return false;
    const bool is_inside = one.is_end ? b.depth + 1 == a.depth : a.depth + 1 == b.depth;
    return is_inside && a.function == b.function && a.thread == b.thread && a.process == b.process;
  };
  std::size_t times = 1;
  while (at + times < lines.size() && goes_on(lines[at + times - 1], lines[at + times])) ++times;
  return times;
}

void print_replay(output& out, const call_input& input, const call_list& list, const any_call_trace& trace) {
  std::vector<line> lines;
  lines.reserve(list.calls().size() * 2);
  for (const listed_call& call : list.calls()) {
    lines.push_back({call.start, call.order, &call, false});
    if (!call.is_leaf && call.has_ended()) lines.push_back({call.start + call.duration, call.end_order, &call, true});
  }
  std::ranges::stable_sort(
      lines, [](const line& a, const line& b) { return std::tie(a.time, a.order) < std::tie(b.time, b.order); });
  out.print("%12s  %10s  %8s  function%s\n", "time", "duration", "thread",
            trace.unit() == clock_unit::nanoseconds ? "" : (std::string(" (") + unit_name(trace.unit()) + ")").c_str());
  const std::size_t width = input.asked.output == "-" && !input.asked.full_names ? terminal_width() : 0;
  std::uint64_t left = input.asked.limit.value_or(~std::uint64_t{0});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (left-- == 0) break;
    const std::size_t times = input.asked.unfold ? 1 : recursion_at(lines, i);
    // A run of beginnings has the indentation and the time of its first, one of ends that of its last, which is the
    // same call.
    const line& at = lines[lines[i].is_end ? i + times - 1 : i];
    i += times - 1;
    const std::string folded = times == 1 ? "" : " x" + std::to_string(times);
    const listed_call& call = *at.call;
    const std::int64_t time = static_cast<std::int64_t>(trace.to_ns(at.time) - trace.to_ns(trace.start()));
    const bool whole = call.has_ended() && (at.is_end || call.is_leaf);
    out.print("%12s  %10s  %8" PRIu64 "  ", time_text(time, trace.unit()).c_str(),
              whole ? time_text(static_cast<std::int64_t>(trace.to_ns(call.duration)), trace.unit()).c_str() : "",
              call.thread);
    for (std::uint32_t level = 0; level < call.depth; ++level) out.write("  ");
    if (call.is_mark) {
      out.write("/* an event */\n");
      continue;
    }
    // A terminal has room for what stands in front of a name and around it, and for some of the name.
    constexpr std::size_t front = 12 + 2 + 10 + 2 + 8 + 2, around = 12;
    const std::size_t used = front + 2 * std::size_t{call.depth} + folded.size() + around;
    const std::string_view whole_name = trace.function_name(call.function);
    const std::string name =
        width == 0 ? std::string(whole_name) : shortened(whole_name, width > used + 16 ? width - used : 16);
    const char* const call_signs = name.ends_with(')') ? "" : "()";
    if (at.is_end) out.write("} /* " + name + folded + " */\n");
    else if (call.is_leaf && call.has_ended()) out.write(name + call_signs + ";\n");
    else out.write(name + call_signs + folded + (call.has_ended() ? " {\n" : " { /* does not end */\n"));
  }
}

template <class Print>
int with_list(const arguments& asked, const trace_format& format, Print print) {
  const auto body = [&](const any_call_trace& trace, call_input& input) {
    auto list = analyze(input, call_list());
    list.sort_by_start();
    const int code = input.finish();
    if (code == usage) return code;
    output out(input.asked.output);
    print(out, input, list, trace);
    const int done = out.close(code);
    say_what_lacks(input.path, what_lacks(trace, list));
    return done;
  };
  return format.with_calls(asked, body);
}

}  // namespace

int list_calls(const arguments& asked, const trace_format& format) {
  return with_list(with_values(asked), format, print_calls);
}
int replay_calls(const arguments& asked, const trace_format& format) { return with_list(asked, format, print_replay); }

}  // namespace cli
