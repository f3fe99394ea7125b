// SPDX-License-Identifier: Apache-2.0
#include <set>

#include <backsight/memtrace/analyzers.hpp>
#include <backsight/memtrace/check.hpp>
#include <backsight/memtrace/split.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::trace_builder;

namespace {

std::vector<std::byte> split_and_merge(byte_view file) {
  window_merger merger;
  CHECK_FALSE(split_windows(file, [&](const window&, byte_view bytes) { CHECK_FALSE(merger.add(bytes)); }));
  return merger.finish();
}

std::vector<finding> findings(byte_view file) {
  const auto trace = final_trace::open(file);
  REQUIRE(trace);
  std::vector<finding> found;
  trace_checker checker(*trace);
  checker.run([&](const check_result& one) { found.push_back(one.what); });
  return found;
}
bool has(const std::vector<finding>& found, finding what) { return std::find(found.begin(), found.end(), what) != found.end(); }

const std::vector<std::string> zips{"single/drmemtrace.single.10508.3099.trace.zip", "sig/drmemtrace.sig.15934.7959.trace.zip",
                                    "yield/drmemtrace.yield.24335.3353.trace.zip",   "yield/drmemtrace.yield.24336.5587.trace.zip",
                                    "yield/drmemtrace.yield.24337.8675.trace.zip",   "yield/drmemtrace.yield.24340.6622.trace.zip",
                                    "legacy/drmemtrace.allasm_x86_64.trace.zip",     "legacy/drmemtrace.small.x64.trace"};

/// A trace that has nothing to find: a loop of a load and a jump back, then a return.
trace_builder good_trace() {
  trace_builder built;
  built.header().unit(100, 0);
  built.encoded(0x1000, {0x8b, 0x07}).put(trace_type::read, 4, 0x7000);
  built.encoded(0x1002, {0x75, 0xfc}, trace_type::instr_taken_jump);
  built.instruction(0x1000, 2).put(trace_type::read, 4, 0x7004).instruction(0x1002, 2, trace_type::instr_untaken_jump);
  return built;
}

}  // namespace

TEST_CASE("splitting and merging gives back a trace without chunks byte for byte") {
  const auto plain = load_trace("single/drmemtrace.single.10508.3099.trace.gz");
  CHECK(split_and_merge(plain) == plain);
  // From the chunked file comes the same trace: chunks are left out.
  CHECK(split_and_merge(load_trace("single/drmemtrace.single.10508.3099.trace.zip")) == plain);
  for (const std::string& name : zips) {
    CAPTURE(name);
    if (name.find("legacy") != std::string::npos) continue;
    const auto flat = split_and_merge(load_trace(name));
    CHECK(split_and_merge(flat) == flat);
  }
}

TEST_CASE("each window of a split trace stands alone and passes the checks") {
  for (const std::string& name : zips) {
    CAPTURE(name);
    const auto file = load_trace(name);
    std::vector<std::uint64_t> instructions;
    const auto trace = final_trace::open(file);
    REQUIRE(trace);
    for (const window& one : trace->windows()) instructions.push_back(one.instructions);
    std::size_t i = 0;
    CHECK_FALSE(split_windows(file, [&](const window& one, byte_view bytes) {
      for (const finding what : findings(bytes)) CHECK(what == finding::straggler);
      const auto part = final_trace::open(bytes);
      REQUIRE(part);
      const auto only = part->windows().begin();
      CHECK(only->ordinal == one.ordinal);
      CHECK(only->instructions == instructions.at(i++));
      CHECK(part->header().tid == trace->header().tid);
    }));
    CHECK(i == instructions.size());
  }
}

TEST_CASE("the checks find nothing in real traces but the known stragglers") {
  for (const std::string& name : zips) {
    CAPTURE(name);
    std::size_t stragglers = 0;
    for (const finding what : findings(load_trace(name))) {
      CHECK(what == finding::straggler);
      ++stragglers;
    }
    const bool two = name.find("24337") != std::string::npos || name.find("24340") != std::string::npos;
    CHECK(stragglers == (two ? 2U : 0U));
  }
}

TEST_CASE("files of another thread are not merged") {
  window_merger merger;
  CHECK_FALSE(merger.add(load_trace("yield/drmemtrace.yield.24335.3353.trace.zip")));
  CHECK(merger.add(load_trace("yield/drmemtrace.yield.24336.5587.trace.zip")).code == errc::bad_transition);
}

TEST_CASE("each invariant that is broken is found") {
  using enum finding;
  CHECK(findings(good_trace().exit().view()).empty());
  CHECK(has(findings(good_trace().view()), missing_exit));
  CHECK(has(findings(good_trace().put(static_cast<trace_type>(60), 0, 0).exit().view()), unreadable));
  CHECK(has(findings(good_trace().time(90).time(80).exit().view()), time_reversed));
  CHECK(has(findings(good_trace().unit(200, 2).unit(300, 1).exit().view()), window_reversed));
  CHECK(has(findings(good_trace().marker(marker_type::chunk_footer, 3).exit().view()), chunk_order));
  CHECK(has(findings(good_trace().marker(marker_type::chunk_footer, 0).exit().view()), chunk_size));
  CHECK(has(findings(good_trace().marker(marker_type::record_ordinal, 1).time(100).exit().view()), record_ordinal));
  CHECK(has(findings(good_trace().instruction(0x1004, 3).exit().view()), missing_encoding));
  CHECK(has(findings(good_trace().put(trace_type::encoding, 2, 0x9090).instruction(0x1004, 3).exit().view()), encoding_size));
  // A gap, and another block behind it, so that it is no straggler.
  auto gap = good_trace();
  gap.encoded(0x2000, {0xeb, 0xfe}, trace_type::instr_direct_jump).encoded(0x3000, {0xeb, 0xfe}, trace_type::instr_direct_jump);
  CHECK(has(findings(gap.exit().view()), pc_discontinuity));
  // The same gap in front of the last block of a window.
  const auto late = findings(good_trace().encoded(0x2000, {0x90}).unit(300, 1).exit().view());
  CHECK(late == std::vector<finding>{straggler});
  CHECK(has(findings(good_trace().encoded(0x1004, {0xc3}, trace_type::instr_return).exit().view()), branch_target));
  CHECK(has(findings(good_trace().encoded(0x1004, {0x75, 0}, trace_type::instr_conditional_jump).exit().view()), branch_type));
  CHECK(has(findings(trace_builder{}.header().unit(1, 0).put(trace_type::read, 4, 1).exit().view()), orphan_data));
  CHECK(has(findings(good_trace().marker(marker_type::syscall, 1).exit().view()), syscall_marker));
  CHECK(has(findings(good_trace().time(100).marker(marker_type::syscall, 1).exit().view()), syscall_marker));
  CHECK(findings(good_trace().encoded(0x1004, {0x0f, 0x05}).time(101).marker(marker_type::syscall, 1).exit().view()).empty());
  CHECK(has(findings(good_trace().marker(marker_type::maybe_blocking_syscall, 0).exit().view()), syscall_marker));
  CHECK(has(findings(good_trace().marker(marker_type::signal_number, 11).exit().view()), signal_marker));
  CHECK(has(findings(good_trace().marker(marker_type::virtual_address, 11).exit().view()), physical_pair));
  auto handler = good_trace();
  handler.marker(marker_type::kernel_event, 0x1004).marker(marker_type::signal_number, 14).encoded(0x5000, {0x90});
  handler.marker(marker_type::kernel_xfer, 0x5001);
  auto wrong = handler;
  CHECK(findings(handler.encoded(0x1004, {0x90}).exit().view()).empty());
  CHECK(has(findings(wrong.encoded(0x1008, {0x90}).exit().view()), signal_return));
  trace_builder headless;
  headless.put(trace_type::header, 0, 7).marker(marker_type::filetype, 0xe40).put(trace_type::thread, 4, 7).exit();
  CHECK(has(findings(headless.view()), header_order));
}

TEST_CASE("texts of findings differ") {
  std::set<std::string> texts;
  for (std::uint8_t i = 0; i < finding_count; ++i) texts.insert(message(static_cast<finding>(i)));
  CHECK(texts.size() == finding_count);
}

TEST_CASE("a call tracker starts anew at a gap between windows, and not between units of one") {
  trace_builder built;
  built.header().unit(100, 0).instruction(0x10, 5, trace_type::instr_direct_call).instruction(0x100, 1);
  built.unit(200, 0).instruction(0x101, 5, trace_type::instr_direct_call).instruction(0x200, 1);
  built.unit(300, 1).marker(marker_type::branch_target, 0x15).instruction(0x300, 1, trace_type::instr_return).exit();
  const auto trace = final_trace::open(built.view());
  REQUIRE(trace);
  struct depths : call_tracker {
    std::vector<std::size_t> at_end, at_begin;
    void begin_window(const window& which) {
      call_tracker::begin_window(which);
      at_begin.push_back(depth());
    }
    void end_window(const window& which) {
      at_end.push_back(depth());
      call_tracker::end_window(which);
    }
  } tracker;
  CHECK_FALSE(run_phases(*trace, tracker));
  CHECK(tracker.at_begin == std::vector<std::size_t>{0, 0});
  CHECK(tracker.at_end == std::vector<std::size_t>{2, 0});
  CHECK(tracker.unmatched_returns() == 1);
  CHECK(tracker.calls().at(0x100) == 1);
  CHECK(tracker.calls().at(0x200) == 1);
}

TEST_CASE("fresh analyzers for each window give the same results with any number of threads, and add up") {
  std::vector<std::vector<std::byte>> files;
  std::vector<final_trace> traces;
  for (const std::string& name : zips) files.push_back(load_trace(name));
  for (const auto& file : files) traces.push_back(*final_trace::open(file));
  const auto tasks = tasks_of(traces);
  const auto sets = [](unsigned jobs) { return [jobs](const auto& all) { return run_each_window(all, [] { return working_set(); }, jobs); }; };
  const auto one = sets(1)(tasks), four = sets(4)(tasks);
  REQUIRE(one.size() == four.size());
  working_set total;
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].data_lines() == four[i].data_lines());
    CHECK(one[i].code_lines() == four[i].code_lines());
    total += one[i];
  }
  const auto calls_one = run_each_window(tasks, [] { return call_tracker(); }, 1, true);
  const auto calls_four = run_each_window(tasks, [] { return call_tracker(); }, 4, true);
  for (std::size_t i = 0; i < tasks.size(); ++i) CHECK(calls_one[i].calls() == calls_four[i].calls());
  // The whole application, by one analyzer over all of it.
  struct whole : working_set {
    void begin_window(const window&) {}
    void end_window(const window&) {}
  } all;
  for (const final_trace& trace : traces) CHECK_FALSE(run_phases(trace, all));
  CHECK(all.data_lines() == total.data_lines());
  CHECK(all.code_lines() == total.code_lines());
}
