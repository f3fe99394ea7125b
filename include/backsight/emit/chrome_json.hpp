// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <backsight/core/escape.hpp>
#include <backsight/core/event.hpp>
#include <backsight/core/text.hpp>

namespace backsight::emit {

/// Writes events in the JSON form that chrome://tracing, Perfetto and speedscope read. Times are microseconds since the
/// first event, with three decimals, exact: readers keep them as floating-point numbers, which would not hold an
/// absolute time. Source: "Trace Event Format", duration and instant events. Never allocates.
template <class Out>
class chrome_json {
 public:
  explicit chrome_json(Out out) : out_(out) {
    out_ = text::literal(out_, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
  }

  /// One event of a thread, at a time in nanoseconds that is not before that of the first event; with what was given to
  /// the call or, at its exit, given back.
  void event(event_kind kind, std::string_view name, std::int64_t process, std::int64_t thread, std::uint64_t time_ns,
             std::string_view values = {}) {
    if (!started_) start_ns_ = time_ns;
    started_ = true;
    begin();
    out_ = text::quoted(out_, name);
    const char* phase = ",\"ph\":\"E\",\"pid\":";
    if (kind == event_kind::enter) phase = ",\"ph\":\"B\",\"pid\":";
    if (kind == event_kind::mark) phase = ",\"ph\":\"i\",\"s\":\"t\",\"pid\":";
    out_ = text::decimal(text::literal(out_, phase), process);
    out_ = text::decimal(text::literal(out_, ",\"tid\":"), thread);
    out_ = text::literal(out_, ",\"ts\":");
    std::uint64_t since = time_ns - start_ns_;
    if (time_ns < start_ns_) {
      *out_++ = '-';
      since = start_ns_ - time_ns;
    }
    out_ = text::decimal(out_, since / 1000);
    *out_++ = '.';
    out_ = text::decimal(out_, since % 1000, 3);
    if (!values.empty()) {
      out_ = text::literal(out_, kind == event_kind::enter ? ",\"args\":{\"arguments\":" : ",\"args\":{\"result\":");
      out_ = text::quoted(out_, values);
      *out_++ = '}';
    }
    *out_++ = '}';
  }

  /// The name of a thread, shown in place of its number.
  void thread(std::int64_t process, std::int64_t thread, std::string_view name) {
    named("thread_name", process, thread, name);
  }
  /// The name of a process, likewise.
  void process(std::int64_t process, std::string_view name) { named("process_name", process, process, name); }

  /// Ends the file, with the time of the first event beside the events; nothing may be added afterwards.
  Out finish() {
    out_ = text::decimal(text::literal(out_, "\n],\"otherData\":{\"start_ns\":\""), start_ns_);
    return text::literal(out_, "\"}}\n");
  }

 private:
  void begin() {
    out_ = text::literal(out_, first_ ? "\n{\"name\":" : ",\n{\"name\":");
    first_ = false;
  }
  void named(std::string_view what, std::int64_t process, std::int64_t thread, std::string_view name) {
    begin();
    out_ = text::quoted(out_, what);
    out_ = text::decimal(text::literal(out_, ",\"ph\":\"M\",\"pid\":"), process);
    out_ = text::decimal(text::literal(out_, ",\"tid\":"), thread);
    out_ = text::quoted(text::literal(out_, ",\"args\":{\"name\":"), name);
    out_ = text::literal(out_, "}}");
  }

  Out out_;
  std::uint64_t start_ns_ = 0;
  bool first_ = true, started_ = false;
};

}  // namespace backsight::emit
