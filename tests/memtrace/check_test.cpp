// SPDX-License-Identifier: Apache-2.0
// Stands for memtrace/findings.hpp
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <backsight/memtrace/check.hpp>

#include "sample_files.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::trace_builder;

namespace {

bool has(const std::vector<finding>& found, finding what) {
  return std::find(found.begin(), found.end(), what) != found.end();
}

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

TEST_CASE("the checks find nothing in real traces but the known stragglers") {
  for (const std::string& name : test::good_files) {
    CAPTURE(name);
    std::size_t stragglers = 0;
    for (const finding what : test::findings(load_trace(name))) {
      CHECK(what == finding::straggler);
      ++stragglers;
    }
    const bool two = name.find("24337") != std::string::npos || name.find("24340") != std::string::npos;
    CHECK(stragglers == (two ? 2U : 0U));
  }
}

TEST_CASE("each invariant that is broken is found") {
  using enum finding;
  CHECK(test::findings(good_trace().exit().view()).empty());
  CHECK(has(test::findings(good_trace().view()), missing_exit));
  CHECK(has(test::findings(good_trace().put(static_cast<trace_type>(60), 0, 0).exit().view()), unreadable));
  CHECK(has(test::findings(good_trace().time(90).time(80).exit().view()), time_reversed));
  CHECK(has(test::findings(good_trace().unit(200, 2).unit(300, 1).exit().view()), window_reversed));
  CHECK(has(test::findings(good_trace().marker(marker_type::chunk_footer, 3).exit().view()), chunk_order));
  CHECK(has(test::findings(good_trace().marker(marker_type::chunk_footer, 0).exit().view()), chunk_size));
  CHECK(
      has(test::findings(good_trace().marker(marker_type::record_ordinal, 1).time(100).exit().view()), record_ordinal));
  CHECK(has(test::findings(good_trace().instruction(0x1004, 3).exit().view()), missing_encoding));
  CHECK(has(test::findings(good_trace().put(trace_type::encoding, 2, 0x9090).instruction(0x1004, 3).exit().view()),
            encoding_size));
  // A gap, and another block behind it, so that it is no straggler.
  auto gap = good_trace();
  gap.encoded(0x2000, {0xeb, 0xfe}, trace_type::instr_direct_jump)
      .encoded(0x3000, {0xeb, 0xfe}, trace_type::instr_direct_jump);
  CHECK(has(test::findings(gap.exit().view()), pc_discontinuity));
  // The same gap in front of the last block of a window.
  const auto late = test::findings(good_trace().encoded(0x2000, {0x90}).unit(300, 1).exit().view());
  CHECK(late == std::vector<finding>{straggler});
  CHECK(
      has(test::findings(good_trace().encoded(0x1004, {0xc3}, trace_type::instr_return).exit().view()), branch_target));
  CHECK(has(test::findings(good_trace().encoded(0x1004, {0x75, 0}, trace_type::instr_conditional_jump).exit().view()),
            branch_type));
  CHECK(
      has(test::findings(trace_builder{}.header().unit(1, 0).put(trace_type::read, 4, 1).exit().view()), orphan_data));
  CHECK(has(test::findings(good_trace().marker(marker_type::syscall, 1).exit().view()), syscall_marker));
  CHECK(has(test::findings(good_trace().time(100).marker(marker_type::syscall, 1).exit().view()), syscall_marker));
  CHECK(
      test::findings(good_trace().encoded(0x1004, {0x0f, 0x05}).time(101).marker(marker_type::syscall, 1).exit().view())
          .empty());
  CHECK(has(test::findings(good_trace().marker(marker_type::maybe_blocking_syscall, 0).exit().view()), syscall_marker));
  CHECK(has(test::findings(good_trace().marker(marker_type::signal_number, 11).exit().view()), signal_marker));
  CHECK(has(test::findings(good_trace().marker(marker_type::virtual_address, 11).exit().view()), physical_pair));
  auto handler = good_trace();
  handler.marker(marker_type::kernel_event, 0x1004).marker(marker_type::signal_number, 14).encoded(0x5000, {0x90});
  handler.marker(marker_type::kernel_xfer, 0x5001);
  auto wrong = handler;
  CHECK(test::findings(handler.encoded(0x1004, {0x90}).exit().view()).empty());
  CHECK(has(test::findings(wrong.encoded(0x1008, {0x90}).exit().view()), signal_return));
  trace_builder headless;
  headless.put(trace_type::header, 0, 7).marker(marker_type::filetype, 0xe40).put(trace_type::thread, 4, 7).exit();
  CHECK(has(test::findings(headless.view()), header_order));
}

TEST_CASE("texts of findings differ") {
  std::set<std::string> texts;
  for (std::uint8_t i = 0; i < finding_count; ++i) texts.insert(message(static_cast<finding>(i)));
  CHECK(texts.size() == finding_count);
}
