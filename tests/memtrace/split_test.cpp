// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <vector>

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

namespace {

struct part {
  window what;
  std::vector<std::byte> bytes;
};
/// The parts of a file, and what ended the splitting.
std::vector<part> parts_of(byte_view file, trace_error* error = nullptr) {
  std::vector<part> parts;
  const trace_error ended = split_windows(file, [&](const window& one, byte_view bytes) { parts.push_back({one, {bytes.begin(), bytes.end()}}); });
  if (error != nullptr) *error = ended;
  else CHECK_FALSE(ended);
  return parts;
}
bool equal(byte_view a, byte_view b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

/// A thread's file of one window.
trace_builder one_window(std::uint64_t time, std::uint64_t ordinal, std::uint64_t tid = 7, std::uint64_t version = 7, std::uint64_t type = 0xe40) {
  trace_builder built;
  built.header(tid, version, type).unit(time, ordinal).instruction(ordinal, 1).exit(tid);
  return built;
}

}  // namespace

TEST_CASE("each file of a split trace begins with its window's time") {
  for (const std::string& name : zips) {
    CAPTURE(name);
    for (const part& one : parts_of(load_trace(name))) {
      const auto head = read_final_header(one.bytes);
      REQUIRE(head);
      CHECK(head->first_time == one.what.first_time);
    }
  }
}

TEST_CASE("a hand-made trace splits into the files that it was put together from") {
  using enum trace_type;
  trace_builder whole, zero, one, two;
  whole.header().unit(100, 0).encoded(0x10, {0x90}).put(read, 8, 0x7000).encoded(0x11, {0xeb, 0}, instr_direct_jump);
  zero.header().unit(100, 0).encoded(0x10, {0x90}).put(read, 8, 0x7000).encoded(0x11, {0xeb, 0}, instr_direct_jump);
  // The last instruction of window 0 was held back: it stands behind the TIMESTAMP of window 1.
  whole.marker(marker_type::timestamp, 200).encoded(0x13, {0xeb, 0xfe}, instr_direct_jump).marker(marker_type::window_id, 1).marker(marker_type::cpu_id, 0);
  zero.encoded(0x13, {0xeb, 0xfe}, instr_direct_jump).exit();
  // Encodings that were given before are given again, those that are new stay, and chunks end.
  whole.instruction(0x10, 1).chunk(9, 200).encoded(0x10, {0x90}).marker(marker_type::branch_target, 0x20).encoded(0x14, {0xc3}, instr_return).marker(marker_type::chunk_footer, 0);
  one.header().unit(200, 1).encoded(0x10, {0x90}).instruction(0x10, 1).put(encoding, 1, 0xc3).marker(marker_type::branch_target, 0x20).instruction(0x14, 1, instr_return).exit();
  whole.time(300).unit(310, 2).exit();
  one = trace_builder{};
  one.header().unit(200, 1).encoded(0x10, {0x90}).instruction(0x10, 1).put(encoding, 1, 0xc3).marker(marker_type::branch_target, 0x20).instruction(0x14, 1, instr_return).time(300).exit();
  two.header().unit(310, 2).exit();

  const auto parts = parts_of(whole.view());
  REQUIRE(parts.size() == 3);
  CHECK(equal(parts[0].bytes, zero.view()));
  CHECK(equal(parts[1].bytes, one.view()));
  CHECK(equal(parts[2].bytes, two.view()));
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(parts[i].what.ordinal == i);
}

TEST_CASE("the time of the next window goes in front of a jump only if it was held back") {
  using enum trace_type;
  for (const trace_type type : {instr_direct_jump, instr_direct_call, instr, instr_return}) {
    for (const std::size_t before : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      CAPTURE(static_cast<unsigned>(type), before);
      trace_builder first, merged;
      first.header().unit(100, 0).instruction(1, 1).unit(150, 0);
      for (std::size_t i = 0; i < before; ++i) first.instruction(2 + i, 1);
      merged = first;
      const bool held_back = before == 0 && (type == instr_direct_jump || type == instr_direct_call);
      if (held_back) merged.marker(marker_type::timestamp, 200).instruction(9, 2, type);
      else merged.instruction(9, 2, type).marker(marker_type::timestamp, 200);
      merged.marker(marker_type::window_id, 1).marker(marker_type::cpu_id, 0).instruction(1, 1).exit();
      window_merger merger;
      CHECK_FALSE(merger.add(first.instruction(9, 2, type).exit().view()));
      CHECK_FALSE(merger.add(one_window(200, 1).view()));
      CHECK(equal(merger.finish(), merged.view()));
    }
  }
}

TEST_CASE("a jump behind another marker than the CPU's is not held back") {
  trace_builder first;
  first.header().unit(100, 0).instruction(1, 1).marker(marker_type::syscall, 3).instruction(9, 2, trace_type::instr_direct_jump);
  trace_builder merged = first;
  merged.unit(200, 1).instruction(1, 1).exit();
  window_merger merger;
  CHECK_FALSE(merger.add(first.exit().view()));
  CHECK_FALSE(merger.add(one_window(200, 1).view()));
  CHECK(equal(merger.finish(), merged.view()));
}

TEST_CASE("a file that does not follow is not merged, and changes nothing") {
  const trace_error other{errc::bad_transition, 0}, window_again{errc::bad_transition, 12 * 9};
  const auto first = one_window(100, 4), next = one_window(200, 5);
  trace_builder without;
  without.header().time(150).instruction(1, 1).exit();
  const std::vector<std::pair<trace_builder, trace_error>> foreign{{one_window(200, 5, 8), other},
                                                                   {one_window(200, 5, 7, 6), other},
                                                                   {one_window(200, 5, 7, 7, 0xc40), other},
                                                                   {one_window(200, 4), window_again},
                                                                   {one_window(200, 3), window_again},
                                                                   {without, other},
                                                                   {one_window(200, 5, 7, 7, 0xe40 | file_type::core_sharded), {errc::unsupported_type, 0}}};
  window_merger alone;
  CHECK_FALSE(alone.add(first.view()));
  CHECK_FALSE(alone.add(next.view()));
  const auto good = alone.finish();
  for (const auto& [file, error] : foreign) {
    window_merger merger;
    CHECK_FALSE(merger.add(first.view()));
    CHECK(merger.add(file.view()) == error);
    CHECK_FALSE(merger.add(next.view()));
    CHECK(merger.finish() == good);
    // It is ready for another thread then.
    CHECK_FALSE(merger.add(one_window(1, 0).view()));
    CHECK(equal(merger.finish(), one_window(1, 0).view()));
  }
  // What has no window goes in front of what has one.
  window_merger merger;
  CHECK_FALSE(merger.add(without.view()));
  CHECK_FALSE(merger.add(first.view()));
  CHECK(merger.finish().size() == without.here() + 4 * 12);
}

TEST_CASE("a file in which threads take turns is neither split nor merged") {
  trace_builder flagged, plain;
  flagged.header(7, 7, 0xe40 | file_type::core_sharded).unit(1, 0).instruction(1, 1).exit();
  plain.header().unit(1, 0).instruction(1, 1);
  const std::uint64_t place = plain.here();
  plain.thread(8).instruction(2, 1).exit(8);
  trace_error error;
  CHECK(parts_of(flagged.view(), &error).empty());
  CHECK(error == trace_error{errc::unsupported_type, 0});
  CHECK(parts_of(plain.view(), &error).empty());
  CHECK(error == trace_error{errc::unsupported_type, place});
  window_merger merger;
  CHECK(merger.add(flagged.view()) == trace_error{errc::unsupported_type, 0});
  CHECK(merger.finish().empty());
  CHECK(merger.add(plain.view()) == trace_error{errc::unsupported_type, place});
}

TEST_CASE("what stands before damage is split and merged") {
  trace_builder good, damaged;
  good.header().unit(100, 0).instruction(1, 1).unit(200, 1).instruction(2, 1);
  damaged = good;
  damaged.put(static_cast<trace_type>(50), 0, 0).instruction(3, 1).unit(300, 2).exit();
  const auto expected = parts_of(trace_builder(good).exit().view());
  trace_error error;
  auto parts = parts_of(damaged.view(), &error);
  CHECK(error == trace_error{errc::unknown_record, good.here()});
  REQUIRE(parts.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(equal(parts[i].bytes, expected[i].bytes));
  window_merger merger;
  CHECK(merger.add(damaged.view()) == trace_error{errc::unknown_record, good.here()});
  CHECK(equal(merger.finish(), trace_builder(good).exit().view()));

  // A part of a record at the end.
  auto cut = good;
  cut.vector().resize(cut.vector().size() + 11);
  parts = parts_of(cut.view(), &error);
  CHECK(error == trace_error{errc::truncated, good.here()});
  REQUIRE(parts.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) CHECK(equal(parts[i].bytes, expected[i].bytes));
  CHECK(merger.add(cut.view()) == trace_error{errc::truncated, good.here()});
  CHECK(equal(merger.finish(), trace_builder(good).exit().view()));
}

TEST_CASE("what waits for an instruction at the end of a file is not given to the next one") {
  using enum trace_type;
  // Cut just behind a BRANCH_TARGET and an ENCODING. The bytes are gone when the next file comes.
  trace_builder cut, expected;
  cut.header().unit(100, 0).encoded(0x10, {0x90}).marker(marker_type::branch_target, 0x99).put(encoding, 1, 0xcc);
  expected.header().unit(100, 0).encoded(0x10, {0x90});
  trace_builder next;
  next.header().unit(200, 1).instruction(0x20, 1, instr_return).time(250).exit();
  expected.unit(200, 1).instruction(0x20, 1, instr_return).time(250).exit();
  window_merger merger;
  {
    const std::vector<std::byte> gone(cut.view().begin(), cut.view().end());
    CHECK_FALSE(merger.add(gone));
  }
  CHECK_FALSE(merger.add(next.view()));
  CHECK(equal(merger.finish(), expected.view()));
  // The same for what a chunk's head would have repeated.
  trace_builder head, whole;
  head.header().unit(100, 0).instruction(1, 1).marker(marker_type::record_ordinal, 9);
  whole.header().unit(100, 0).instruction(1, 1).unit(200, 1).instruction(1, 1).exit();
  CHECK_FALSE(merger.add(head.view()));
  CHECK_FALSE(merger.add(one_window(200, 1).view()));
  CHECK(equal(merger.finish(), whole.view()));
}

TEST_CASE("a merger that is used again gives the next trace all its encodings") {
  trace_builder file;
  file.header().unit(100, 0).encoded(0x10, {0x90}).instruction(0x10, 1).exit();
  window_merger merger;
  for (int i = 0; i < 2; ++i) {
    CHECK_FALSE(merger.add(file.view()));
    CHECK(equal(merger.finish(), file.view()));
  }
}

TEST_CASE("a trace without windows splits into itself") {
  trace_builder built;
  built.header().time(100).instruction(1, 1).exit();
  const auto parts = parts_of(built.view());
  REQUIRE(parts.size() == 1);
  CHECK_FALSE(parts[0].what.ordinal);
  CHECK(equal(parts[0].bytes, built.view()));
}

TEST_CASE("the first window of a part is that of its first marker") {
  trace_builder built;
  built.time(1).instruction(1, 1).put(trace_type::read, static_cast<std::uint16_t>(marker_type::window_id), 9);
  CHECK_FALSE(first_window(built.view()));
  const std::uint64_t place = built.here();
  built.marker(marker_type::window_id, 5).marker(marker_type::window_id, 6);
  REQUIRE(first_window(built.view()));
  CHECK(first_window(built.view())->ordinal == 5);
  CHECK(first_window(built.view())->offset == place);
  CHECK_FALSE(first_window(built.view().first(place + 11)));
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

TEST_CASE("windows one after the other give the references that each gives alone") {
  struct keeper {
    std::vector<std::string> all;
    void on(const reference& item) {
      std::string text = std::to_string(static_cast<unsigned>(item.type)) + " " + std::to_string(item.offset) + " " +
                         std::to_string(item.address) + " " + std::to_string(item.tid) + " " + std::to_string(item.pc);
      for (std::size_t i = 0; i < item.encoding_size; ++i) text += "," + std::to_string(std::to_integer<unsigned>(item.encoding[i]));
      all.push_back(text + (item.encoding_is_new ? " new" : ""));
    }
  };
  // Windows of two chunks; the second instruction of each has its bytes far in front, in the same chunk only.
  const auto two_chunks = [](unsigned code) {
    trace_builder built;
    built.header();
    for (const std::uint64_t chunk : {0U, 1U}) {
      if (chunk != 0) built.chunk(9, 100);
      for (std::uint64_t i = 0; i < 3; ++i) {
        built.unit(100 + 10 * chunk + i, 3 * chunk + i).encoded(0x1000 + i, {code + static_cast<unsigned>(chunk)});
        built.instruction(0x1000, 1).instruction(0x2000, 1);
      }
      if (chunk == 0) built.marker(marker_type::chunk_footer, 0);
    }
    return built.exit();
  };
  const trace_builder built = two_chunks(0x90), other = two_chunks(0xc0);
  const auto trace = final_trace::open(built.view()), second = final_trace::open(other.view());
  REQUIRE((trace && second));
  auto tasks = tasks_of({*trace});
  REQUIRE(tasks.size() == 6);
  tasks.push_back(tasks[0]);  // and back
  tasks.push_back(tasks[0]);
  // Windows of the same places in another file.
  for (const window_task& task : tasks_of({*second})) tasks.push_back(task);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}}) tasks.push_back({i == 0 ? *trace : *second, tasks[i].which});
  for (const bool encodings : {false, true}) {
    CAPTURE(encodings);
    window_reader reader;
    for (const window_task& task : tasks) {
      keeper alone, together;
      run_window(task.trace, task.which, alone, encodings);
      reader.run(task.trace, task.which, together, encodings);
      CHECK(together.all == alone.all);
    }
  }
  keeper last;
  run_window(*trace, tasks[5].which, last, true);
  CHECK(std::any_of(last.all.begin(), last.all.end(), [](const std::string& line) { return line.find(" 4096 7 4096,145") != std::string::npos; }));
}
