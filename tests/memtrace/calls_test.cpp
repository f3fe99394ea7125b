// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/memtrace/calls.hpp>
#include <backsight/memtrace/windows.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::trace_builder;

namespace {

/// The calls of a part, as in "+100 -100".
std::string text_of(const calls& trace, std::size_t part,
                    std::vector<std::pair<std::string, fault>>* faults = nullptr) {
  std::string text;
  trace.part(part).for_each_event(
      [&](const memtrace::call& e) {
        if (!text.empty()) text += ' ';
        text += (e.kind == event_kind::enter  ? '+'
                 : e.kind == event_kind::exit ? '-'
                                              : '^') +
                std::to_string(e.function);
      },
      [&](std::string_view file, const fault& found) {
        if (faults != nullptr) faults->emplace_back(file, found);
      });
  return text;
}
trace_builder& call_of(trace_builder& to, std::uint64_t from, std::uint64_t target, bool returns = true) {
  to.instruction(from, 5, trace_type::instr_direct_call).instruction(target, 4);
  if (returns) to.marker(marker_type::branch_target, from + 5).instruction(target + 4, 1, trace_type::instr_return);
  return to;
}

}  // namespace

TEST_CASE("the windows of all files are parts, and stacks begin anew in each") {
  trace_builder one, two;
  one.header(7).unit(100, 0);
  call_of(one, 10, 1000, false).unit(200, 2);
  call_of(one, 20, 2000).exit();
  two.header(8).unit(150, 0);
  call_of(two, 30, 3000).exit(8);
  const calls trace({{one.view(), "one"}, {two.view(), "two"}});
  REQUIRE(trace.part_count() == 3);
  CHECK(text_of(trace, 0) == "+1000");
  CHECK(text_of(trace, 1) == "+2000 -2000");
  CHECK(text_of(trace, 2) == "+3000 -3000");
  CHECK(trace.window_of(1).ordinal == 2);
  CHECK(trace.window_of(2).tid == 8);
  CHECK(trace.unit() == clock_unit::instructions);
  CHECK(trace.to_ns(5) == 5);
  CHECK(trace.start() == 0);
  CHECK(trace.function_name(0xabc) == "0xabc");
  CHECK(trace.function_name(0) == "0x0");
  CHECK(trace.function_name(~std::uint64_t{0}) == "0xffffffffffffffff");
  CHECK(trace.thread_name(7, 7).empty());
}

TEST_CASE("time can be that of timestamps, and functions can be named") {
  trace_builder file;
  file.header(7).unit(100, 0);
  call_of(file, 10, 1000, false).time(130).instruction(1004, 4, trace_type::instr_return).instruction(15, 4).exit();
  const calls trace({{file.view(), ""}}, {call_clock::timestamps, [](std::uint64_t address) {
                                            return address == 1000 ? std::string("work") : std::string();
                                          }});
  std::vector<std::uint64_t> times;
  trace.part(0).for_each_event([&](const memtrace::call& e) { times.push_back(trace.to_ns(e.time)); },
                               [](std::string_view, const fault&) { CHECK(false); });
  CHECK(times == std::vector<std::uint64_t>{100000, 130000});
  CHECK(trace.start() == 100);
  CHECK(trace.unit() == clock_unit::nanoseconds);
  CHECK(trace.function_name(1000) == "work");
  CHECK(trace.function_name(1001) == "0x3e9");
}

TEST_CASE("the pieces of a window that threads take turns in are one part for each thread") {
  trace_builder file;
  file.header(7).time(100);
  call_of(file, 10, 1000, false).thread(9).time(110);
  call_of(file, 20, 2000, false).thread(7).time(120);
  file.marker(marker_type::branch_target, 15).instruction(1004, 1, trace_type::instr_return).exit();
  const calls trace({{file.view(), ""}});
  std::map<std::uint64_t, std::string> texts;
  for (std::size_t i = 0; i < trace.part_count(); ++i) texts[trace.window_of(i).tid] += text_of(trace, i);
  CHECK(texts == std::map<std::uint64_t, std::string>{{7, "+1000 -1000"}, {9, "+2000"}});
}

TEST_CASE("what is damaged is told with its file, by its last part or when the file cannot be opened") {
  trace_builder cut, bad;
  cut.header(7).unit(100, 0);
  call_of(cut, 10, 1000).unit(110, 1);
  call_of(cut, 10, 1000);
  bad.header(7).unit(100, 0);
  call_of(bad, 10, 1000);
  const std::uint64_t place = bad.here();
  bad.put(static_cast<trace_type>(77), 0, 0).exit();
  trace_builder odd = cut;
  odd.exit().vector().push_back(std::byte{1});
  const calls trace({{cut.view(), "cut"}, {bad.view(), "bad"}, {{}, "none"}, {odd.view(), "odd"}});
  std::vector<std::pair<std::string, fault>> faults;
  for (std::size_t i = 0; i < trace.part_count(); ++i) CHECK(text_of(trace, i, &faults) == "+1000 -1000");
  CHECK(faults == std::vector<std::pair<std::string, fault>>{{"cut", {errc::bad_end, cut.here(), 0}},
                                                             {"bad", {errc::unknown_record, place, bad.here() - place}},
                                                             {"odd", {errc::truncated, odd.here() - 1, 1}}});
  faults.clear();
  trace.for_each_fault([&](std::string_view file, const fault& found) { faults.emplace_back(file, found); });
  CHECK(faults == std::vector<std::pair<std::string, fault>>{{"none", {errc::truncated, 0, 0}}});
}

TEST_CASE("files of the 32-bit layout have calls too") {
  std::vector<std::byte> bytes;
  const auto put = [&](trace_type type, std::size_t size, std::uint32_t value) {
    const std::uint32_t head = static_cast<std::uint32_t>(type) | static_cast<std::uint32_t>(size) << 16;
    for (const std::uint32_t word : {head, value}) {
      for (unsigned i = 0; i < 4; ++i) bytes.push_back(static_cast<std::byte>(word >> 8 * i));
    }
  };
  put(trace_type::header, 0, 7);
  put(trace_type::marker, static_cast<std::size_t>(marker_type::version), 7);
  put(trace_type::marker, static_cast<std::size_t>(marker_type::filetype), 0x20);
  put(trace_type::thread, 4, 7);
  put(trace_type::pid, 4, 6);
  put(trace_type::instr_direct_call, 5, 10);
  put(trace_type::instr, 4, 1000);
  put(trace_type::instr_return, 1, 1004);
  put(trace_type::instr, 4, 15);
  put(trace_type::footer, 0, 0);
  const calls trace({{bytes, ""}});
  REQUIRE(trace.part_count() == 1);
  CHECK(text_of(trace, 0) == "+1000 -1000");
}

TEST_CASE("function markers are the calls of a filtered file") {
  trace_builder file;
  file.header(7, 7, 0xe40 | file_type::ifiltered)
      .time(100)
      .instruction(10, 5, trace_type::instr_direct_call)
      .instruction(1000, 4);
  file.marker(marker_type::func_id, 4)
      .marker(marker_type::func_retaddr, 15)
      .marker(marker_type::func_id, 4)
      .marker(marker_type::func_retval, 0)
      .exit();
  const calls trace({{file.view(), ""}});
  CHECK(text_of(trace, 0) == "+4 -4");
  CHECK(trace.function_name(4) == "function 4");
}

TEST_CASE("calls by function markers tell their values, and calls by instructions their modules") {
  trace_builder file;
  file.header(7, 7, 0xe40 | file_type::ifiltered).time(100).instruction(10, 5);
  file.marker(marker_type::func_id, 4)
      .marker(marker_type::func_retaddr, 15)
      .marker(marker_type::func_arg, 3)
      .marker(marker_type::func_arg, 0x10000000)
      .exit();
  backsight::memtrace::call_options options;
  options.values = true;
  options.module = [](std::uint64_t) { return std::string("libc.so"); };
  const calls trace({{file.view(), ""}}, options);
  std::vector<std::string> values;
  trace.part(0).for_each_event([&](const calls::event_type& event) { values.emplace_back(trace.values_of(event)); },
                               [](std::string_view, const fault&) {});
  CHECK(values == std::vector<std::string>{"3, 0x10000000"});
  CHECK(trace.is_by_markers());
  CHECK(trace.function_module(4).empty());

  trace_builder whole;
  whole.header(7, 7, 0xe40).time(100).instruction(10, 5, trace_type::instr_direct_call).instruction(1000, 4).exit();
  const calls other({{whole.view(), ""}}, options);
  CHECK_FALSE(other.is_by_markers());
  CHECK(other.function_module(1000) == "libc.so");
  CHECK(calls({{whole.view(), ""}}).function_module(1000).empty());
}

TEST_CASE("the calls of a recorded trace are what its instructions call, counted by hand") {
  const auto file = load_trace("single/drmemtrace.single.10508.3099.trace.gz");
  const calls trace({{file, ""}});
  REQUIRE(trace.part_count() == 5);
  for (std::size_t part = 0; part < 5; ++part) {
    const window& which = trace.window_of(part);
    // Behind each call the next instruction is the function's first: nothing else is known here.
    std::map<std::uint64_t, std::uint64_t> expected, found;
    bool called = false;
    std::uint64_t returns = 0;
    const auto window = part_of(file, which);
    for (const auto entry : window.entries()) {
      const trace_type type = entry[entry_record::type];
      if (!is_instruction(type)) continue;
      if (called) ++expected[entry[entry_record::addr]];
      called = type == trace_type::instr_direct_call || type == trace_type::instr_indirect_call;
      returns += type == trace_type::instr_return;
    }
    std::uint64_t ends = 0, last = which.first_instruction;
    trace.part(part).for_each_event(
        [&](const memtrace::call& e) {
          CHECK(e.time >= last);
          last = e.time;
          if (e.kind == event_kind::enter) ++found[e.function];
          ends += e.kind == event_kind::exit;
        },
        [](std::string_view, const fault&) { CHECK(false); });
    CHECK(found == expected);
    CHECK(ends == returns);
    CHECK(last <= which.first_instruction + which.instructions);
  }
}
