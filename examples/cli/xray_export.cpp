// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cinttypes>
#include <map>

#include <backsight/analysis/call_tree.hpp>

#include "llvm_yaml.hpp"
#include "xray_trace.hpp"

namespace cli {

using namespace backsight;

namespace {

/// `llvm-xray convert -f yaml`: all records sorted by time. Two of its fields leak from one record to the next within a
/// thread, which is copied: the function id of an event is that of the record before it, and the type of a typed event
/// stays on all later records (FDRTraceExpander.cpp).
/// The flags and cpus in it differ from ours where llvm-xray reads other bits than the recorder wrote: the flags of
/// big-endian logs, and the cpu of custom events before version 4.
int export_llvm_yaml(xray_trace& trace, xray_names& names, const arguments& asked) {
  struct line {
    xray::event event;
    std::uint32_t function;
    std::uint16_t type;
  };
  const auto& log = trace.log();
  std::vector<line> lines;
  for (const auto& thread : trace.threads()) {
    std::uint32_t function = 0;
    std::uint16_t type = 0;
    trace.for_each_event(thread, [&](const xray::event& event) {
      if (event.kind != event_kind::mark) function = event.function;
      if (event.mark == xray::mark_kind::typed) type = event.event_type;
      lines.push_back({event, function, type});
    });
  }
  std::stable_sort(lines.begin(), lines.end(),
                   [](const line& a, const line& b) { return a.event.time < b.event.time; });

  bool constant = log.constant_tsc(), nonstop = log.nonstop_tsc();
  if (log.type() == xray::log_type::basic && log.byte_order() == order::big) {
    const auto flags = load<std::uint32_t, order::big>(log.bytes().data() + 4);
    constant = (flags & 1U) != 0;
    nonstop = (flags & 2U) != 0;
  }
  const bool cpu_in_padding = log.type() == xray::log_type::fdr && log.version() < 4;
  const auto cpu_of = [&](const xray::event& event) -> unsigned {
    if (!cpu_in_padding || event.mark != xray::mark_kind::custom) return event.cpu;
    return with_order(log.byte_order(), [&](auto byte_order) -> unsigned {
      const record<xray::custom_event_record_v4, byte_order()> as_v4(log.bytes().data() + event.offset, 0);
      return as_v4[xray::custom_event_record_v4::cpu_id];
    });
  };

  output out(asked.output);
  out.print(
      "---\nheader:\n  version:         %u\n  type:            %u\n  constant-tsc:    %s\n  nonstop-tsc:     %s\n  "
      "cycle-frequency: %" PRIu64 "\nrecords:\n",
      unsigned{log.version()}, static_cast<unsigned>(log.type()), constant ? "true" : "false",
      nonstop ? "true" : "false", log.ticks_per_second());
  for (const line& at : lines) {
    const auto& event = at.event;
    out.print("  - { type: %u, func-id: %" PRId32 ", function: ", unsigned{at.type},
              static_cast<std::int32_t>(at.function));
    out.write(yaml_scalar(names.knows(at.function) ? names[at.function]
                                                   : std::to_string(static_cast<std::int32_t>(at.function))));
    if (!event.arguments.empty()) {
      out.write(", args: [ ");
      for (std::size_t i = 0; i < event.arguments.size(); ++i)
        out.print("%s%" PRIu64, i == 0 ? "" : ", ", event.arguments[i]);
      out.write(" ]");
    }
    out.print(", cpu: %u", cpu_of(event));
    if (event.thread != 0) out.print(", thread: %" PRIu32, static_cast<std::uint32_t>(event.thread));
    if (event.process != 0) out.print(", process: %" PRIu32, static_cast<std::uint32_t>(event.process));
    const char* kind = event.with_arguments ? "function-enter-arg" : "function-enter";
    if (event.kind == event_kind::exit) kind = "function-exit";
    if (event.kind == event_kind::tail_exit) kind = "function-tail-exit";
    if (event.mark == xray::mark_kind::custom) kind = "custom-event";
    if (event.mark == xray::mark_kind::typed) kind = "typed-event";
    out.print(", kind: %s, tsc: %" PRIu64 ", data: ", kind, event.time);
    out.write(yaml_scalar({reinterpret_cast<const char*>(event.payload.data()), event.payload.size()}));
    out.write(" }\n");
  }
  out.write("...\n");
  return out.close(trace.report_faults());
}

/// `llvm-xray convert -f trace_event` (xray-converter.cpp): every value is a string, a stack frame has a number.
int export_llvm_chrome(xray_trace& trace, xray_names& names, const arguments& asked) {
  const auto& log = trace.log();
  const auto name_of = [&](std::uint64_t function) {
    return names.knows(function) ? names[function] : std::to_string(static_cast<std::int32_t>(function));
  };
  const double scale = 1e6 / static_cast<double>(log.ticks_per_second());
  const bool with_process = log.version() >= 3;
  analysis::call_tree tree;
  std::map<std::int32_t, std::vector<analysis::call_tree::node_id>> stacks;
  output out(asked.output);
  out.write("{\n  \"traceEvents\": [");
  const char* separator = "";
  const auto emit = [&](const xray::event& event, char phase, analysis::call_tree::node_id node) {
    char time[64];
    const double ts = scale * static_cast<double>(event.time);
    if (ts > 1.7e308) std::snprintf(time, sizeof time, "INF");
    else std::snprintf(time, sizeof time, with_process ? "%.4f" : "%.3f", ts);
    const std::string name = name_of(tree.nodes()[node].function);
    out.print("%s\n    { \"name\" : \"%s\", \"ph\" : \"%c\", \"tid\" : \"%" PRIu32 "\", \"pid\" : \"%" PRIu32
              "\", \"ts\" : \"%s\", \"sf\" : \"%" PRIu32 "\" }",
              std::exchange(separator, ","), name.c_str(), phase, static_cast<std::uint32_t>(event.thread),
              with_process ? static_cast<std::uint32_t>(event.process) : 1U, time, node - 1);
  };
  for (const auto& event : trace.sorted_events()) {
    if (event.kind == event_kind::mark) continue;
    auto& stack = stacks[event.thread];
    if (event.kind == event_kind::enter) {
      stack.push_back(tree.child(stack.empty() ? analysis::call_tree::root : stack.back(), event.function));
      emit(event, 'B', stack.back());
      continue;
    }
    for (bool closed = false; !closed && !stack.empty(); stack.pop_back()) {
      closed = tree.nodes()[stack.back()].function == event.function;
      emit(event, 'E', stack.back());
    }
  }
  out.write("\n  ],\n  \"displayTimeUnit\": \"ns\",\n  \"stackFrames\": {");
  separator = "";
  for (std::uint32_t id = 1; id < tree.nodes().size(); ++id) {
    const auto& node = tree.nodes()[id];
    out.print("%s\n    \"%" PRIu32 "\" : { \"name\" : \"%s\"", std::exchange(separator, ","), id - 1,
              name_of(node.function).c_str());
    if (node.parent != analysis::call_tree::root) out.print(", \"parent\": \"%" PRIu32 "\"", node.parent - 1);
    out.write(" }");
  }
  out.write("\n  }\n}\n");
  return out.close(trace.report_faults());
}

}  // namespace

int xray_export(const arguments& asked) {
  xray_trace trace;
  xray_names names;
  if (!trace.open(asked.path()) || !names.open(asked.symbols)) return bad_input;
  return asked.to == "yaml" ? export_llvm_yaml(trace, names, asked) : export_llvm_chrome(trace, names, asked);
}

}  // namespace cli
