// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/analysis/call_stacks.hpp>
#include <backsight/analysis/run.hpp>
#include <backsight/core/call_trace.hpp>

namespace backsight::emit {

/// What chrome_json and perfetto have: where the events of a timeline go.
template <class W>
concept timeline_writer =
    requires(W& writer, event_kind kind, std::string_view name, std::int64_t id, std::uint64_t time_ns) {
      writer.event(kind, name, id, id, time_ns);
      writer.thread(id, id, name);
      writer.process(id, name);
    };

/// The same for events with what was given to the call or given back.
template <class W>
concept value_writer =
    timeline_writer<W> && requires(W& writer, event_kind kind, std::string_view name, std::int64_t id,
                                   std::uint64_t time) { writer.event(kind, name, id, id, time, name); };

/// Writes all events of a trace to a timeline, part after part, and the names of threads and processes that the trace
/// knows in front of their first events. Calls nest whatever the trace left out: an exit that closes several calls ends
/// each of them, one that closes none is dropped, and calls that a part leaves open end with its last event where
/// another part goes on with their thread, as that begins with an empty stack. `on_fault(file, fault)` is called for
/// what cannot be read. Precedes writer.finish(). Keeps the stacks of a part, the calls that parts left open, and the
/// numbers of threads and processes.
template <timeline_writer Writer, call_trace T, class OnFault>
void timeline(Writer& writer, const T& trace, OnFault&& on_fault) {
  using thread_key = std::pair<std::int64_t, std::uint64_t>;
  struct open_calls {
    std::vector<std::uint64_t> functions;
    std::uint64_t last_time = 0;
  };
  std::set<thread_key> threads;
  std::set<std::int64_t> processes;
  std::map<thread_key, open_calls> left_open;
  const auto call_ends = [&](const thread_key& key, std::uint64_t function, std::uint64_t time) {
    writer.event(event_kind::exit, trace.function_name(function), key.first, static_cast<std::int64_t>(key.second),
                 trace.to_ns(time));
  };
  for (std::size_t part = 0; part < trace.part_count(); ++part) {
    analysis::call_stacks stacks;
    std::map<thread_key, std::uint64_t> last_times;
    std::uint64_t* last_time = nullptr;
    const analysis::call_stack* last = nullptr;
    trace.part(part).for_each_event(
        [&](const auto& event) {
          const auto process = static_cast<std::int64_t>(event.process);
          const auto thread = static_cast<std::int64_t>(event.thread);
          analysis::call_stack& stack = stacks.of(event);
          if (std::exchange(last, &stack) != &stack) {
            const thread_key key{process, static_cast<std::uint64_t>(event.thread)};
            last_time = &last_times[key];
            if (threads.insert(key).second) {
              if (processes.insert(process).second) {
                const auto& name = trace.process_name(process);
                if (!std::string_view(name).empty()) writer.process(process, name);
              }
              const auto& name = trace.thread_name(process, key.second);
              if (!std::string_view(name).empty()) writer.thread(process, thread, name);
            } else if (const auto found = left_open.find(key); found != left_open.end()) {
              for (auto function = found->second.functions.rbegin(); function != found->second.functions.rend();
                   ++function)
                call_ends(key, *function, found->second.last_time);
              left_open.erase(found);
            }
          }
          *last_time = static_cast<std::uint64_t>(event.time);
          std::string_view values;
          if constexpr (tells_values<T> && value_writer<Writer>) values = trace.values_of(event);
          const auto emit = [&](event_kind kind, std::uint64_t function, bool has_values = false) {
            const auto& name = trace.function_name(function);
            if constexpr (value_writer<Writer>) {
              if (has_values && !values.empty())
                return writer.event(kind, name, process, thread, trace.to_ns(event.time), values);
            }
            writer.event(kind, name, process, thread, trace.to_ns(event.time));
          };
          if (event.kind == event_kind::mark) {
            if (const auto text = mark_text(event))
              return writer.event(event_kind::mark, *text, process, thread, trace.to_ns(event.time));
            return emit(event_kind::mark, event.function);
          }
          stack.on(
              event,
              [&](const analysis::call_stack::frame& frame, std::size_t) {
                emit(event_kind::enter, frame.function, true);
              },
              [&](const analysis::finished_call& call, const analysis::call_stack::frame&) {
                emit(event_kind::exit, call.function, call.has_exit);
              });
        },
        on_fault);
    stacks.for_each([&](const thread_key& key, const analysis::call_stack& stack) {
      if (stack.frames().empty()) return;
      open_calls& open = left_open[key];
      for (const analysis::call_stack::frame& frame : stack.frames()) open.functions.push_back(frame.function);
      open.last_time = last_times[key];
    });
  }
}

}  // namespace backsight::emit
