// SPDX-License-Identifier: Apache-2.0
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <backsight/core/any_call_trace.hpp>
#include <backsight/core/bytes.hpp>

#include <support/call_parts.hpp>
#include <support/catch.hpp>

using namespace backsight;

namespace {

struct noted_event : test::call_event {
  byte_view payload{};
};

/// Every member gives something of its own, and marks have text.
struct noted_parts {
  using event_type = noted_event;
  struct part_type {
    std::size_t index;
    template <class F, class OnFault>
    void for_each_event(F&& f, OnFault&& on_fault) const {
      noted_event event;
      event.kind = index == 0 ? event_kind::mark : event_kind::exit;
      event.function = 7;
      event.time = 11;
      event.thread = 13;
      event.process = -17;
      event.payload = {reinterpret_cast<const std::byte*>("note"), 4};
      f(event);
      on_fault(std::string_view("file"), fault{errc::bad_value, 19, index});
    }
  };
  std::string process = "p";
  std::size_t part_count() const { return 2; }
  part_type part(std::size_t index) const { return {index}; }
  std::string_view function_name(std::uint64_t function) const { return function == 7 ? "seven" : "?"; }
  std::string_view thread_name(std::int64_t of, std::uint64_t thread) const {
    return of == -17 && thread == 13 ? "t" : "?";
  }
  const std::string& process_name(std::int64_t) const { return process; }
  clock_unit unit() const { return clock_unit::ticks; }
  std::uint64_t to_ns(std::uint64_t time) const { return time * 3; }
  std::uint64_t start() const { return 23; }
  std::uint64_t lost_records() const { return 31; }
  template <class F>
  void for_each_fault(F&& f) const {
    f(std::string_view("head"), fault{errc::truncated, 29, 0});
  }
};

/// What takes any trace, compiled once.
std::size_t parts_of(const any_call_trace& trace) { return trace.part_count(); }

}  // namespace

TEST_CASE("a trace of any format has all that the trace has that it views") {
  const noted_parts own;
  const any_call_trace trace(own);
  CHECK(parts_of(own) == 2);
  CHECK(trace.function_name(7) == "seven");
  CHECK(trace.thread_name(-17, 13) == "t");
  CHECK(trace.process_name(0).data() == own.process.data());
  CHECK(trace.unit() == clock_unit::ticks);
  CHECK(trace.to_ns(5) == 15);
  CHECK(trace.start() == 23);
  CHECK(trace.lost_records() == 31);
  std::vector<std::string> told;
  const auto tell = [&](std::string_view file, const fault& found) {
    told.push_back(std::string(file) + ":" + std::to_string(found.offset) + ":" + std::to_string(found.skipped));
  };
  trace.for_each_fault(tell);
  std::vector<any_call_event> events;
  for (std::size_t i = 0; i < trace.part_count(); ++i)
    trace.part(i).for_each_event([&](const any_call_event& e) { events.push_back(e); }, tell);
  CHECK(told == std::vector<std::string>{"head:29:0", "file:19:0", "file:19:1"});
  REQUIRE(events.size() == 2);
  CHECK(events[0].kind == event_kind::mark);
  CHECK(events[0].text == std::optional<std::string_view>("note"));
  CHECK(events[1].kind == event_kind::exit);
  CHECK(events[1].text == std::nullopt);  // Text is that of marks.
  for (const any_call_event& each : events) {
    CHECK(each.function == 7);
    CHECK(each.time == 11);
    CHECK(each.thread == 13);
    CHECK(each.process == -17);
    CHECK(mark_text(each) == each.text);
  }
}

TEST_CASE("a trace that does not tell of lost records has none") {
  struct untold : noted_parts {
    void lost_records() const;
  };
  STATIC_REQUIRE(tells_lost_records<noted_parts>);
  STATIC_REQUIRE_FALSE(tells_lost_records<untold>);
  CHECK(any_call_trace(untold{}).lost_records() == 0);
}

TEST_CASE("events of formats without text have none, and names that would not live on are refused") {
  CHECK(mark_text(test::call_event{}) == std::nullopt);
  STATIC_REQUIRE(std::convertible_to<const noted_parts&, any_call_trace>);
  STATIC_REQUIRE(call_trace<test::call_parts>);
  STATIC_REQUIRE_FALSE(std::convertible_to<const test::call_parts&, any_call_trace>);
}

TEST_CASE("modules and values are told where the trace tells them") {
  struct valued : noted_parts {
    std::string module = "libm.so";
    const std::string& function_module(std::uint64_t) const { return module; }
    std::string_view values_of(const event_type&) const { return "1, 2"; }
  };
  const valued own;
  STATIC_REQUIRE(tells_modules<valued> && tells_values<valued>);
  STATIC_REQUIRE_FALSE(tells_modules<noted_parts> || tells_values<noted_parts>);
  const any_call_trace trace(own);
  CHECK(trace.function_module(7).data() == own.module.data());
  std::vector<std::string_view> values;
  trace.part(0).for_each_event([&](const any_call_event& e) { values.push_back(trace.values_of(e)); },
                               [](std::string_view, const fault&) {});
  REQUIRE_FALSE(values.empty());
  CHECK(values.front() == "1, 2");
  const noted_parts silent;
  CHECK(any_call_trace(silent).function_module(7).empty());
  any_call_trace(silent).part(0).for_each_event([](const any_call_event& e) { CHECK(e.values.empty()); },
                                                [](std::string_view, const fault&) {});
  struct made_anew : noted_parts {
    std::string function_module(std::uint64_t) const { return "gone"; }
  };
  STATIC_REQUIRE_FALSE(std::convertible_to<const made_anew&, any_call_trace>);
}
