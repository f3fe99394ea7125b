// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <span>
#include <string>

#include <backsight/memtrace/call_follower.hpp>

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;

namespace {

/// Feeds records and writes down calls: "+100@3" for the entry of the function at 100 before the fourth instruction,
/// "-" for its exit, "^" where it was left by a jump.
struct followed {
  call_follower follower;
  std::string text;

  explicit followed(call_follower made = call_follower()) : follower(std::move(made)) { follower.set_thread(7, 0, 0); }
  followed& add(trace_type type, std::uint16_t size, std::uint64_t value) {
    follower.on(type, size, value, [&](const memtrace::call& e) {
      if (!text.empty()) text += ' ';
      text += (e.kind == event_kind::enter  ? '+'
               : e.kind == event_kind::exit ? '-'
                                            : '^') +
              std::to_string(e.function) + '@' + std::to_string(e.time);
      CHECK(e.thread == 7);
    });
    return *this;
  }
  followed& instr(std::uint64_t pc) { return add(trace_type::instr, 4, pc); }
  followed& call(std::uint64_t pc) { return add(trace_type::instr_direct_call, 5, pc); }
  followed& back(std::uint64_t pc) { return add(trace_type::instr_return, 1, pc); }
  followed& back(std::uint64_t pc, std::uint64_t target) { return marker(marker_type::branch_target, target).back(pc); }
  followed& marker(marker_type type, std::uint64_t value) {
    return add(trace_type::marker, static_cast<std::uint16_t>(type), value);
  }
};

}  // namespace

TEST_CASE("a call is entered behind a call instruction and ends with the return to behind it") {
  CHECK(followed().instr(10).call(14).instr(100).call(104).instr(200).back(204, 109).back(109, 19).instr(19).text ==
        "+100@2 +200@4 -200@6 -100@7");
  // Without targets of returns the next instruction tells.
  CHECK(followed().instr(10).call(14).instr(100).call(104).instr(200).back(204).back(109).instr(19).text ==
        "+100@2 +200@4 -200@6 -100@7");
  // An instruction of size 0 is none, and neither are loads.
  CHECK(followed().call(14).add(trace_type::instr, 0, 50).add(trace_type::read, 8, 60).instr(100).text == "+100@1");
}

TEST_CASE("a return over several levels leaves those by a jump, one to nowhere is an exit of what is not known") {
  CHECK(followed().call(0).call(100).call(200).instr(300).back(304, 5).text ==
        "+100@1 +200@2 +300@3 ^300@5 ^200@5 -100@5");
  CHECK(followed().call(0).instr(100).back(104, 999).back(105, 5).text == "+100@1 -0@3 -100@4");
  CHECK(followed().back(104, 999).text == "-0@1");
}

TEST_CASE("of recursive calls that go on at the same place the nearest one ends") {
  CHECK(followed().call(0).call(100).call(100).instr(100).back(104, 105).back(105, 105).text ==
        "+100@1 +100@2 +100@3 -100@5 -100@6");
}

TEST_CASE("the handler of a signal is called by its marker and ends with its return or the transfer back") {
  const auto begin = [] {
    return followed()
        .call(0)
        .instr(100)
        .marker(marker_type::kernel_event, 104)
        .marker(marker_type::signal_number, 14)
        .instr(500);
  };
  // It returns to the code that gives back control.
  CHECK(begin().back(504, 900).instr(900).marker(marker_type::kernel_xfer, 904).instr(104).back(108, 5).text ==
        "+100@1 +500@2 -500@4 -100@7");
  // It is left without a return, with a call of its own open.
  CHECK(begin().call(504).instr(600).marker(marker_type::kernel_xfer, 604).instr(104).back(108, 5).text ==
        "+100@1 +500@2 +600@4 ^600@5 -500@5 -100@7");
  // A jump out of it to a caller of what it interrupted.
  CHECK(begin().back(504, 5).text == "+100@1 +500@2 ^500@4 -100@4");
  // A signal that comes when a call has just gone to its target: the marker names it.
  CHECK(followed().call(0).marker(marker_type::kernel_event, 100).instr(500).back(504, 900).text ==
        "+100@1 +500@1 -500@3");
  CHECK(followed(call_follower(call_clock::instructions, false, false))
            .call(0)
            .marker(marker_type::kernel_event, 77)
            .instr(500)
            .text == "+500@1");
  CHECK(followed().marker(marker_type::kernel_xfer, 77).instr(500).text.empty());
}

TEST_CASE("what the kernel calls in a traced system call ends with it") {
  CHECK(followed()
            .call(0)
            .instr(100)
            .marker(marker_type::syscall_trace_start, 1)
            .call(800)
            .instr(900)
            .call(904)
            .instr(950)
            .marker(marker_type::syscall_trace_end, 1)
            .instr(104)
            .back(108, 5)
            .text == "+100@1 +900@3 +950@5 ^950@6 -900@6 -100@8");
  CHECK(followed().marker(marker_type::syscall_trace_end, 1).instr(4).text.empty());
}

TEST_CASE("the clock can be that of timestamps, and cpus are those of the last marker") {
  call_follower follower(call_clock::timestamps, false, true);
  follower.set_thread(7, 0, 40);
  follower.set_process(9);
  std::uint64_t calls = 0;
  const auto feed = [&](trace_type type, std::uint16_t size, std::uint64_t value, std::uint64_t time,
                        std::uint32_t cpu) {
    follower.on(type, size, value, [&](const memtrace::call& e) {
      ++calls;
      CHECK(e.time == time);
      CHECK(e.cpu == cpu);
      CHECK(e.process == 9);
    });
  };
  feed(trace_type::instr_direct_call, 5, 0, 0, 0);
  feed(trace_type::instr, 4, 100, 40, no_cpu);
  feed(trace_type::marker, static_cast<std::uint16_t>(marker_type::timestamp), 50, 0, 0);
  feed(trace_type::marker, static_cast<std::uint16_t>(marker_type::cpu_id), 3, 0, 0);
  feed(trace_type::instr_return, 1, 104, 0, 0);
  feed(trace_type::marker, static_cast<std::uint16_t>(marker_type::cpu_id), ~std::uint64_t{0}, 0, 0);
  feed(trace_type::instr, 4, 5, 50, no_cpu);
  CHECK(calls == 2);
  CHECK(follower.depth() == 0);
}

TEST_CASE("in filtered traces function markers are calls, and instructions only count") {
  followed by(call_follower(call_clock::instructions, true, true));
  by.call(0)
      .instr(100)
      .marker(marker_type::func_id, 3)
      .marker(marker_type::func_retaddr, 5)
      .marker(marker_type::func_arg, 1);
  by.instr(104)
      .marker(marker_type::func_id, 4)
      .marker(marker_type::func_arg, 1)
      .marker(marker_type::func_id, 4)
      .marker(marker_type::func_retval, 0);
  by.marker(marker_type::func_id, 3)
      .marker(marker_type::func_retval, 0)
      .marker(marker_type::func_id, 9)
      .marker(marker_type::timestamp, 1)
      .back(4, 5);
  CHECK(by.text == "+3@2 +4@3 -4@3 -3@3");
}

TEST_CASE("before the end of a filtered beginning instructions only count") {
  followed by(call_follower(call_clock::instructions, false, true, true));
  by.call(0)
      .instr(700)
      .back(704, 9)
      .marker(marker_type::kernel_event, 8)
      .instr(800)
      .marker(marker_type::filter_endpoint, 0)
      .instr(20)
      .call(24)
      .instr(100);
  CHECK(by.text == "+100@6");
}

TEST_CASE("very many returns to nowhere do not each search all that is open, and returns are still found") {
  followed deep;
  constexpr std::uint64_t levels = 3000;
  for (std::uint64_t i = 0; i < levels; ++i) deep.call(i * 10);
  deep.instr(levels * 10);
  CHECK(deep.follower.depth() == levels);
  for (std::uint64_t i = 0; i < 200; ++i) deep.back(1, 7);
  CHECK(deep.follower.depth() == levels);
  deep.back(1, (levels - 1) * 10 + 5);
  CHECK(deep.follower.depth() == levels - 1);
  deep.back(1, 5);
  CHECK(deep.follower.depth() == 0);
}

TEST_CASE("the arguments of function markers come with the entry, what is given back with the exit") {
  call_follower follower(call_clock::instructions, true, true);
  std::string text;
  const auto tell = [&](const call& one, std::span<const std::uint64_t> values) {
    text += (one.kind == event_kind::enter ? "+" : "-") + std::to_string(one.function);
    for (const std::uint64_t value : values) text += " " + std::to_string(value);
    text += ";";
  };
  const auto marker = [&](marker_type type, std::uint64_t value) {
    follower.on(trace_type::marker, static_cast<std::uint16_t>(type), value, tell);
  };
  marker(marker_type::func_id, 3);
  marker(marker_type::func_retaddr, 5);
  marker(marker_type::func_arg, 1);
  marker(marker_type::func_arg, 2);
  CHECK(text.empty());
  marker(marker_type::func_id, 4);
  marker(marker_type::func_arg, 6);
  marker(marker_type::func_id, 4);
  marker(marker_type::func_retval, 7);
  marker(marker_type::func_arg, 8);  // Of no entry.
  marker(marker_type::func_id, 9);
  marker(marker_type::func_retaddr, 5);
  for (int i = 0; i < 1000; ++i) marker(marker_type::func_arg, 0);
  CHECK(text == "+3 1 2;+4 6;-4 7;");
  text.clear();
  follower.finish(tell);
  CHECK(text == "+9" + [] {
    std::string zeros;
    for (int i = 0; i < 64; ++i) zeros += " 0";
    return zeros;
  }() + ";");
  follower.finish(tell);
  CHECK(text.size() == 2 + 64 * 2 + 1);
}
