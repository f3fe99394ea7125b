// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cinttypes>
#include <map>

#include <backsight/analysis/call_tree.hpp>
#include <backsight/emit/chrome_json.hpp>
#include <backsight/emit/dot.hpp>
#include <backsight/emit/folded.hpp>
#include <backsight/emit/perfetto.hpp>

#include "llvm_yaml.hpp"
#include "nested_events.hpp"
#include "xray_trace.hpp"

namespace cli {

using namespace backsight;

namespace {

/// Calls `f(stack, event)` for each event, thread by thread, with the stack of its thread.
template <class F>
void for_each_with_stack(xray_trace& trace, F&& f) {
  progress shown(trace.log().bytes().size());
  std::uint64_t count = 0;
  for (const auto& thread : trace.threads()) {
    std::map<std::pair<std::int32_t, std::int32_t>, analysis::call_stack> stacks;
    trace.for_each_event(thread, [&](const xray::event& event) {
      if ((++count & (events_between_updates - 1)) == 0) shown.add(bytes_between_updates);
      f(stacks[{event.process, event.thread}], event);
    });
  }
}

analysis::call_tree tree_of(xray_trace& trace) {
  analysis::call_tree tree;
  for_each_with_stack(trace, [&](analysis::call_stack& stack, const xray::event& event) { tree.take(stack, event); });
  return tree;
}

/// Begins and ends of calls, and what else the log holds.
template <class Emitter>
void emit_nested(xray_trace& trace, xray_names& names, Emitter& emitter) {
  for_each_with_stack(trace, [&](analysis::call_stack& stack, const xray::event& event) {
    const auto emit = [&](event_kind kind, std::string_view name) {
      emitter.event(kind, name, event.process, event.thread, trace.log().to_ns(event.time));
    };
    if (event.kind == event_kind::mark) {
      return emit(event_kind::mark, {reinterpret_cast<const char*>(event.payload.data()), event.payload.size()});
    }
    cli::emit_nested(stack, event, [&](std::uint64_t function) { return std::string_view(names[function].function); }, emit);
  });
}

/// `llvm-xray convert -f yaml`: all records sorted by time. Two of its fields leak from one record to the next within a
/// thread, which is copied: the function id of an event is that of the record before it, and the type of a typed event
/// stays on all later records (FDRTraceExpander.cpp).
/// The flags and cpus in it differ from ours where llvm-xray reads other bits than the recorder wrote: the flags of big-endian
/// logs, and the cpu of custom events before version 4.
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
  std::stable_sort(lines.begin(), lines.end(), [](const line& a, const line& b) { return a.event.time < b.event.time; });

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
  out.print("---\nheader:\n  version:         %u\n  type:            %u\n  constant-tsc:    %s\n  nonstop-tsc:     %s\n  cycle-frequency: %" PRIu64
            "\nrecords:\n",
            unsigned{log.version()}, static_cast<unsigned>(log.type()), constant ? "true" : "false",
            nonstop ? "true" : "false", log.ticks_per_second());
  for (const line& at : lines) {
    const auto& event = at.event;
    out.print("  - { type: %u, func-id: %" PRId32 ", function: ", unsigned{at.type}, static_cast<std::int32_t>(at.function));
    out.write(yaml_scalar(names.knows(at.function) ? names[at.function].function : std::to_string(static_cast<std::int32_t>(at.function))));
    if (!event.arguments.empty()) {
      out.write(", args: [ ");
      for (std::size_t i = 0; i < event.arguments.size(); ++i) out.print("%s%" PRIu64, i == 0 ? "" : ", ", event.arguments[i]);
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
    return names.knows(function) ? names[function].function : std::to_string(static_cast<std::int32_t>(function));
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
    out.print("%s\n    \"%" PRIu32 "\" : { \"name\" : \"%s\"", std::exchange(separator, ","), id - 1, name_of(node.function).c_str());
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
  if (asked.to == "yaml") return export_llvm_yaml(trace, names, asked);
  if (asked.as == "llvm-xray") {
    if (asked.to == "chrome") return export_llvm_chrome(trace, names, asked);
    return no_such_form(("export to " + asked.to).c_str());
  }
  if (asked.to == "dot") return xray_graph(asked);
  output out(asked.output);
  if (asked.to == "chrome") {
    emit::chrome_json emitter{output_iterator(out)};
    emit_nested(trace, names, emitter);
    emitter.finish();
  } else if (asked.to == "perfetto") {
    emit::perfetto emitter{output_iterator(out)};
    emit_nested(trace, names, emitter);
    emitter.finish();
  } else {
    emit::folded(
        output_iterator(out), tree_of(trace), [&](std::uint64_t function) { return std::string_view(names[function].function); },
        [&](const analysis::call_tree::node& node) { return trace.log().to_ns(node.self); });
  }
  return out.close(trace.report_faults());
}

int xray_graph(const arguments& asked) {
  xray_trace trace;
  xray_names names;
  if (!trace.open(asked.path()) || !names.open(asked.symbols)) return bad_input;
  output out(asked.output);
  const bool ticks = trace.log().ticks_per_second() == 0;
  emit::dot(
      output_iterator(out), tree_of(trace), [&](std::uint64_t function) { return std::string_view(names[function].function); },
      [&](output_iterator to, std::uint64_t time) { return text::literal(text::decimal(to, trace.log().to_ns(time)), ticks ? " ticks" : " ns"); });
  return out.close(trace.report_faults());
}

int xray_stacks(const arguments& asked) {
  xray_trace trace;
  xray_names names;
  if (!trace.open(asked.path()) || !names.open(asked.symbols)) return bad_input;
  const analysis::call_tree tree = tree_of(trace);
  std::vector<analysis::call_tree::node_id> order;
  std::uint64_t sum = 0;
  for (analysis::call_tree::node_id id = 1; id < tree.nodes().size(); ++id) {
    sum += tree.nodes()[id].self;
    if (tree.nodes()[id].count != 0) order.push_back(id);
  }
  std::ranges::stable_sort(order, [&](auto a, auto b) { return tree.nodes()[a].self > tree.nodes()[b].self; });
  const std::size_t limit = static_cast<std::size_t>(asked.limit.value_or(asked.format == "text" ? 20 : order.size()));
  if (order.size() > limit) order.resize(limit);

  const char* const unit = trace.log().ticks_per_second() == 0 ? "ticks" : "ns";
  output out("-");
  const char s = asked.format == "tsv" ? '\t' : ',';
  if (asked.format == "json") out.write("[");
  else if (asked.format == "text") out.print("%8s %14s %14s %10s  path\n", "self", (std::string("self ") + unit).c_str(), (std::string("total ") + unit).c_str(), "calls");
  else out.print("self_%s%ctotal_%s%ccount%cpath\n", unit, s, unit, s, s);
  const char* before = "\n";
  for (const auto id : order) {
    const auto& node = tree.nodes()[id];
    std::string path;
    for (const std::uint64_t function : tree.path(id)) path += (path.empty() ? "" : ";") + names[function].function;
    const std::uint64_t self = trace.log().to_ns(node.self), total = trace.log().to_ns(node.total);
    if (asked.format == "text") {
      out.print("%7.2f%% %14" PRIu64 " %14" PRIu64 " %10" PRIu64 "  ", sum == 0 ? 0.0 : 100.0 * static_cast<double>(node.self) / static_cast<double>(sum),
                self, total, node.count);
      out.write(path);
      out.write("\n");
    } else if (asked.format == "json") {
      out.print("%s{\"self_%s\":%" PRIu64 ",\"total_%s\":%" PRIu64 ",\"count\":%" PRIu64 ",\"path\":", std::exchange(before, ",\n"), unit, self, unit,
                total, node.count);
      text::quoted(output_iterator(out), path);
      out.write("}");
    } else {
      out.print("%" PRIu64 "%c%" PRIu64 "%c%" PRIu64 "%c", self, s, total, s, node.count, s);
      text::cell(output_iterator(out), path, s);
      out.write("\n");
    }
  }
  if (asked.format == "json") out.write("\n]\n");
  return out.close(trace.report_faults());
}

}  // namespace cli
