// SPDX-License-Identifier: Apache-2.0
#include "as/uftrace/report.hpp"

#include <cstdint>
#include <map>
#include <ostream>
#include <string>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;
namespace fn = test::fn;
using records = test::uftrace_records;

namespace {

/// A row of a report, without its name.
struct row {
  std::uint64_t calls = 0, total = 0, recursive = 0, self = 0, min = 0, max = 0, square_sum = 0;
  friend bool operator==(const row&, const row&) = default;
};
std::ostream& operator<<(std::ostream& out, const row& r) {
  return out << "{" << r.calls << " calls, total " << r.total << ", recursive " << r.recursive << ", self " << r.self
             << ", " << r.min << " to " << r.max << ", squares " << r.square_sum << "}";
}
using rows = std::map<std::string, row>;

/// One call that took so long, so much of it itself.
row once(std::uint64_t total, std::uint64_t self) { return {1, total, 0, self, total, total, total * total}; }

rows report_of(const recording& from, merge_options merging = {}, stack_options options = {}) {
  resolver names(from);
  merged_records merged(names, merging);
  function_report report(merged, options);
  report.run();
  rows all;
  for (const report_row& r : report.rows())
    all[names.name(r.name)] = {r.calls, r.total, r.recursive, r.self, r.min, r.max, r.square_sum};
  return all;
}
/// The report of one task's file. It is made by runs and, with a filter that fits nothing, record by record.
rows report_of(const records& data, stack_options options = {}) {
  test::uftrace_builder directory;
  directory.data(7, data);
  const recording from = directory.open();
  const rows fast = report_of(from, {}, options);
  function_filter nothing({});
  CHECK(nothing.add("no such function", names::pattern_kind::exact, {filter_action::kind::exclude, false, {}}) ==
        errc::ok);
  if (options.functions == nullptr) options.functions = &nothing;
  CHECK(report_of(from, {}, options) == fast);
  return fast;
}

}  // namespace

TEST_CASE("a report counts calls, their time, and what of it was theirs") {
  records data;
  data.entry(100, 0, fn::main).entry(200, 1, fn::a).exit(300, 1, fn::a).entry(400, 1, fn::a).entry(450, 2, fn::b);
  data.exit(470, 2, fn::b).exit(600, 1, fn::a).exit(1000, 0, fn::main);
  CHECK(report_of(data) ==
        rows{{"main", once(900, 600)}, {"a", {2, 300, 0, 280, 100, 200, 100 * 100 + 200 * 200}}, {"b", once(20, 20)}});
}

TEST_CASE("calls of a function that is open already are recursive, however far up it is") {
  records data;
  data.entry(100, 0, fn::a).entry(110, 1, fn::a).exit(140, 1, fn::a).entry(150, 1, fn::b).entry(160, 2, fn::a);
  data.exit(170, 2, fn::a).exit(190, 1, fn::b).exit(200, 0, fn::a);
  CHECK(report_of(data) ==
        rows{{"a", {3, 100, 40, 30 + 10 + 30, 10, 100, 100 * 100 + 30 * 30 + 10 * 10}}, {"b", once(40, 30)}});
  // Once it is closed it is not recursive any more.
  records twice;
  twice.entry(100, 0, fn::a).exit(110, 0, fn::a).entry(120, 0, fn::a).exit(140, 0, fn::a);
  CHECK(report_of(twice) == rows{{"a", {2, 30, 0, 30, 10, 20, 500}}});
}

TEST_CASE("addresses of one hash are still different functions") {
  // Many functions open at once: more than the table of hashes has places.
  records data;
  constexpr std::uint64_t count = 1500;
  for (std::uint64_t i = 0; i < count; ++i) data.entry(100 + i, i % 1024, 0x800000 + i * 8);
  for (std::uint64_t i = count; i-- != 0;) data.exit(5000 - i, i % 1024, 0x800000 + i * 8);
  test::uftrace_builder directory;
  directory.max_stack = 2000;
  directory.data(7, data);
  for (const auto& [name, r] : report_of(directory.open(), {}, {.depth = 2000})) {
    CAPTURE(name);
    CHECK(r.recursive == 0);
    CHECK(r.calls == 1);
  }
}

TEST_CASE("a function without an exit counts up to the last record of its task") {
  records data;
  data.entry(100, 0, fn::main).entry(200, 1, fn::a).entry(300, 2, fn::b).exit(350, 2, fn::b);
  CHECK(report_of(data) == rows{{"main", once(250, 100)}, {"a", once(150, 100)}, {"b", once(50, 50)}});
  records recursive;
  recursive.entry(100, 0, fn::a).entry(110, 1, fn::a).event(150, 1000000);
  CHECK(report_of(recursive) == rows{{"a", {2, 50, 40, 10 + 40, 40, 50, 50 * 50 + 40 * 40}}});
}

TEST_CASE("a function that began behind the last time does not count") {
  records late;
  late.entry(100, 0, fn::main).entry(500, 1, fn::a).event(300, 1000000);
  CHECK(report_of(late) == rows{{"main", once(200, 200)}});
  records equal;
  equal.entry(100, 0, fn::main).entry(300, 1, fn::a).event(300, 1000000);
  CHECK(report_of(equal) == rows{{"main", once(200, 200)}, {"a", once(0, 0)}});
}

TEST_CASE("callees never count more than their caller, whatever the clock did") {
  records data;
  data.entry(100, 0, fn::main).entry(200, 1, fn::a).exit(900, 1, fn::a).exit(300, 0, fn::main);
  CHECK(report_of(data) == rows{{"main", once(200, 0)}, {"a", once(700, 700)}});
  // Without an exit the caller takes as long as its callees.
  records open;
  open.entry(100, 0, fn::main).entry(200, 1, fn::a).exit(900, 1, fn::a).event(300, 1000000);
  CHECK(report_of(open) == rows{{"main", once(700, 0)}, {"a", once(700, 700)}});
}

TEST_CASE("exits of inherited functions count from the first record on") {
  records data;
  data.exit(100, 2, fn::fork).exit(130, 1, fn::a).exit(180, 0, fn::main);
  // Their slots have no address, so each is taken for a call of the one below.
  CHECK(report_of(data) == rows{{"fork", once(0, 0)}, {"a", {1, 0, 30, 30, 30, 30, 900}}, {"main", once(80, 50)}});
}

TEST_CASE("an exit with nothing open counts what the lowest slot holds") {
  records data;
  data.entry(100, 0, fn::main).entry(110, 1, fn::a).exit(140, 1, fn::a).exit(200, 0, fn::main).exit(300, 0, fn::b);
  CHECK(report_of(data) == rows{{"main", once(100, 70)}, {"a", once(30, 30)}, {"b", once(100, 70)}});
}

TEST_CASE("an exit ends the function on top, whatever its address") {
  records data;
  data.entry(100, 0, fn::main).entry(110, 1, fn::a).exit(140, 1, fn::b).exit(200, 0, fn::main);
  CHECK(report_of(data) == rows{{"main", once(100, 70)}, {"b", once(30, 30)}});
}

TEST_CASE("levels beyond the depth that is wanted do not count, but their time is their caller's callee's") {
  records data;
  data.entry(100, 0, fn::main).entry(110, 1, fn::a).entry(120, 2, fn::b).exit(140, 2, fn::b).exit(160, 1, fn::a);
  data.exit(200, 0, fn::main);
  CHECK(report_of(data, {.depth = 1}) == rows{{"main", once(100, 50)}});
  CHECK(report_of(data, {.depth = 2}) == rows{{"main", once(100, 50)}, {"a", once(50, 30)}});
  CHECK(report_of(data, {.depth = 3}).size() == 3);
  CHECK(report_of(data, {.depth = 0}).empty());
}

TEST_CASE("levels from the recorder's limit on do not count") {
  records data;
  data.entry(100, 0, fn::main).entry(110, 1, fn::a).entry(120, 2, fn::b).exit(140, 2, fn::b).exit(160, 1, fn::a);
  data.exit(200, 0, fn::main);
  test::uftrace_builder directory;
  directory.max_stack = 2;
  directory.data(7, data);
  CHECK(report_of(directory.open()) == rows{{"main", once(100, 50)}, {"a", once(50, 50)}});
  directory.max_stack = 3;
  CHECK(report_of(directory.open()).size() == 3);
}

TEST_CASE("lost records count what they leave open above the program's functions") {
  // The slot above the stack holds 40 of the last call there, but nothing is open in it.
  records data;
  data.entry(100, 0, fn::main).entry(110, 1, fn::a).exit(150, 1, fn::a).lost(9).exit(500, 0, fn::main);
  // LOST: now = 41; the slot took 1; main gets that as a callee's time, and is closed by the exit.
  CHECK(report_of(data) == rows{{"main", once(400, 359)}, {"a", once(40, 40)}});
}

TEST_CASE("lost records do not count levels beyond the depth that is wanted") {
  records data;
  data.exit(10, 3, fn::a).entry(20, 3, fn::b).entry(30, 4, fn::c).lost(3);
  // b is the one level that shows, c is hidden; below them slot 2 is open since the start.
  const rows all = report_of(data, {.depth = 1});
  CHECK_FALSE(all.contains("c"));
  CHECK_FALSE(all.contains("<401030>"));
  CHECK(all.size() == 3);
  CHECK(all.at("<0>").calls == 1);
}

TEST_CASE("functions that lost records leave open count under their names") {
  // The first record is deeper than the program begins, so that its function lies above those that were seen to begin.
  records data;
  data.entry(2'000'000'000, 3, fn::b).lost(3).lost(4).exit(2'000'000'500, 0, fn::main);
  const rows all = report_of(data);
  CHECK(all.at("b").calls == 1);
  CHECK_FALSE(all.contains("<401020>"));
  // The same where a time is given at which the report closes what lost records at the end leave open.
  records at_end;
  at_end.entry(2'000'000'000, 0, fn::main).entry(2'000'000'100, 1, fn::a).lost(3).lost(4);
  test::uftrace_builder directory;
  directory.data(7, at_end);
  merge_options until;
  until.closes_at = 2'000'000'300;
  const rows closed = report_of(directory.open(), until);
  CHECK(closed.size() == 1);  // Lost records take the top of the stack with them.
  CHECK(closed.at("main").total == 300);
}

TEST_CASE("a wait that is open at lost records counts") {
  test::uftrace_builder directory;
  records data;
  data.entry(100, 0, fn::main).event(120, sched_out).lost(9).exit(500, 0, fn::main);
  directory.data(7, data);
  const std::uint64_t wrapped = std::uint64_t{1} - 120;
  const rows all = report_of(directory.open());
  REQUIRE(all.contains("linux:schedule"));
  CHECK(all.at("linux:schedule") == once(wrapped, wrapped - 1));
  CHECK(all.at("main").calls == 1);
  CHECK(all.size() == 2);
}

TEST_CASE("inherited functions that lost records leave open count under their address") {
  records data;
  data.exit(10, 2, fn::b).lost(3);
  // Slots 1 and 0 are open since 10 and have no address; slot 2 is not. now = 1.
  const std::uint64_t wrapped = std::uint64_t{1} - 10;
  const rows all = report_of(data);
  CHECK(all.at("b") == once(0, 0));
  CHECK(all.at("<0>").calls == 2);
  CHECK(all.at("<0>").max == wrapped);
  CHECK(all.size() == 2);
}

TEST_CASE("behind lost records functions that nobody saw begin do not make the stack less than nothing") {
  test::uftrace_builder directory;
  records data;
  data.entry(100, 0, fn::main).lost(9).exit(500, 2, fn::b).exit(600, 1, fn::a).exit(700, 0, fn::main);
  data.entry(800, 0, fn::main).event(810, sched_out).event(820, sched_in).exit(900, 0, fn::main);
  directory.data(7, data);
  const rows all = report_of(directory.open());
  CHECK(all.at("linux:schedule") == once(10, 10));  // a function of the program is open around it
  CHECK(all.at("main").calls == 2);
  CHECK(all.at("main").min == 100);
}

TEST_CASE("waits count under their kind, inside of functions only") {
  test::uftrace_builder directory;
  records data;
  data.entry(100, 0, fn::main).exit(400, 0, fn::main);
  directory.data(7, data);
  test::uftrace_perf_records waits;
  waits.sched_out(10, 7).sched_in(30, 7).sched_out(150, 7).sched_in(160, 7).preempted(200, 7).sched_in(205, 7);
  waits.sched_out(300, 7).sched_in(330, 7).sched_out(410, 7).sched_in(420, 7);
  directory.perf(waits);
  const recording from = directory.open();
  const rows expected{{"main", once(300, 255)},
                      {"linux:schedule", {2, 40, 0, 40, 10, 30, 1000}},
                      {"linux:schedule (pre-empted)", once(5, 5)}};
  CHECK(report_of(from) == expected);
  CHECK(report_of(from, {.scheduler = false}) == rows{{"main", once(300, 300)}});
  CHECK(report_of(from, {}, {.depth = 1}) == rows{{"main", once(300, 255)}});  // one level has no room for waits
}

TEST_CASE("a wait without an end counts up to the end of all scheduler events") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main)).data(8, records().entry(100, 0, fn::a).exit(110, 0, fn::a));
  directory.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  directory.perf(test::uftrace_perf_records().sched_out(150, 7).preempted(200, 8).sched_in(350, 8));
  CHECK(report_of(directory.open()) ==
        rows{{"main", once(250, 50)}, {"linux:schedule", once(200, 200)}, {"a", once(10, 10)}});
}

TEST_CASE("setjmp returns twice and longjmp never") {
  records data;
  data.entry(100, 0, fn::main).entry(110, 1, fn::setjmp).exit(120, 1, fn::setjmp).entry(130, 1, fn::a);
  data.entry(140, 2, fn::longjmp).exit(150, 1, fn::setjmp).exit(200, 0, fn::main);
  // The second return ends the slot that a has used since, and that began at 130.
  CHECK(report_of(data) == rows{{"main", once(100, 70)}, {"setjmp", {2, 30, 0, 30, 10, 20, 500}}});
}

TEST_CASE("a slot that longjmp opens again without a function took no time") {
  test::uftrace_builder directory;
  directory.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  // setjmp of one task at level 2, longjmp of the other: the places are shared.
  directory.data(
      7, records().entry(100, 0, fn::main).entry(101, 1, fn::a).entry(102, 2, fn::setjmp).exit(103, 2, fn::setjmp));
  records other;
  other.entry(200, 0, fn::main).entry(210, 1, fn::a).entry(220, 2, fn::b).exit(240, 2, fn::b).exit(250, 1, fn::a);
  other.entry(260, 1, fn::longjmp).exit(300, 2, fn::b);
  directory.data(8, other);
  const rows all = report_of(directory.open());
  CHECK(all.at("b") == row{2, 20, 0, 20, 0, 20, 400});
}

TEST_CASE("functions of the kernel count inside of the program's only") {
  using kernel = test::uftrace_kernel_records;
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).exit(400, 0, fn::main));
  directory.kernel(kernel()
                       .entry(50, 7, 0, kernel::k0)
                       .exit(60, 7, 0, kernel::k0)
                       .entry(200, 7, 0, kernel::k0)
                       .entry(210, 7, 1, kernel::k1)
                       .exit(230, 7, 1, kernel::k1)
                       .exit(250, 7, 0, kernel::k0)
                       .entry(500, 7, 0, kernel::k2)
                       .exit(510, 7, 0, kernel::k2));
  const recording from = directory.open();
  CHECK(report_of(from) == rows{{"main", once(300, 250)}, {"k0", once(50, 30)}, {"k1", once(20, 20)}});
  CHECK(report_of(from, {.kernel = false}) == rows{{"main", once(300, 300)}});
}

TEST_CASE("an invented end moves when its function waits") {
  test::uftrace_builder directory;
  directory.with(feature::estimate_return);
  directory.data(7, records().entry(100, 0, fn::main).entry(200, 1, fn::a).exit(300, 1, fn::a).exit(1000, 0, fn::main));
  directory.perf(test::uftrace_perf_records().sched_out(220, 7).sched_in(260, 7));
  const rows all = report_of(directory.open());
  // Between the return at 260 and 400, where a would end had it taken twice as long; how often it is looked at adds to
  // that.
  CHECK((all.at("a").total > 130 && all.at("a").total < 140));
  CHECK(all.at("linux:schedule") == once(40, 40));
  CHECK(all.at("main").total == 900);
  // It is held back as long as the task waits, also where it would have come before the wait ends.
  test::uftrace_builder later;
  later.with(feature::estimate_return);
  later.data(7, records().entry(100, 0, fn::main).entry(200, 1, fn::a).exit(300, 1, fn::a).exit(1000, 0, fn::main));
  later.perf(test::uftrace_perf_records().sched_out(220, 7).sched_in(360, 7));
  const rows held_back = report_of(later.open());
  CHECK(held_back.at("linux:schedule") == once(140, 140));
  CHECK(held_back.at("a").total > 160);
  CHECK(held_back.at("a").self == held_back.at("a").total - 140);
}

TEST_CASE("exec forgets its callers") {
  records data;
  data.entry(100, 0, fn::main)
      .entry(110, 1, fn::execv)
      .entry(200, 0, fn::main)
      .entry(210, 1, fn::a)
      .exit(215, 1, fn::a);
  data.exit(250, 0, fn::main);
  CHECK(report_of(data) == rows{{"main", once(50, 45)}, {"a", once(5, 5)}});
}

TEST_CASE("the rows of two tasks, and of two parts, are one") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::a).exit(200, 0, fn::a))
      .data(8, records().entry(150, 0, fn::a).exit(160, 0, fn::a));
  directory.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  CHECK(report_of(directory.open()) == rows{{"a", {2, 110, 0, 110, 10, 100, 10100}}});

  const report_row first{3, 2, 30, 5, 20, 10, 25, 725}, second{3, 3, 100, 50, 120, 4, 60, 9000}, nothing{};
  for (const auto& [a, b] : {std::pair(first, second), std::pair(second, first)}) {
    report_row sum = a;
    sum.add(b);
    CHECK((sum.name == 3 && sum.calls == 5 && sum.total == 130 && sum.recursive == 55 && sum.self == 140));
    CHECK((sum.min == 4 && sum.max == 60 && sum.square_sum == 9725));
    CHECK(sum.average() == (130 + 55) / 5);
  }
  report_row same = first;
  same.add(nothing);
  CHECK((same.calls == 2 && same.min == 10 && same.max == 25));
  CHECK(first.average() == 17);
  CHECK(nothing.average() == 0);
}

TEST_CASE("a report closes at a given time") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).entry(200, 1, fn::a));
  CHECK(report_of(directory.open(), {.closes_at = 260}) == rows{{"main", once(160, 100)}, {"a", once(60, 60)}});
  CHECK(report_of(directory.open(), {.closes_at = 199}) == rows{{"main", once(99, 99)}});
}

namespace {

/// A row of a report by tasks: total, idle, calls.
struct task_row {
  std::uint64_t total = 0, idle = 0, calls = 0;
  friend bool operator==(const task_row&, const task_row&) = default;
};
std::ostream& operator<<(std::ostream& out, const task_row& r) {
  return out << "{" << r.total << ", idle " << r.idle << ", " << r.calls << " calls}";
}
std::vector<task_row> tasks_of(test::uftrace_builder& directory, merge_options merging = {},
                               stack_options options = {}) {
  const recording from = directory.open();
  resolver names(from);
  merged_records merged(names, merging);
  task_report report(merged, options);
  report.run();
  std::vector<task_row> all;
  for (const task_report_row& r : report.rows()) {
    CHECK(r.data_index == all.size());
    all.push_back({r.total, r.idle, r.calls});
  }
  return all;
}

}  // namespace

TEST_CASE("the report by tasks adds up what each task did itself") {
  test::uftrace_builder directory;
  directory.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  records data;
  data.entry(100, 0, fn::main).entry(200, 1, fn::a).exit(300, 1, fn::a).exit(400, 0, fn::main);
  directory.data(7, data).data(8, records().entry(100, 0, fn::b).exit(150, 0, fn::b)).data(9, records());
  CHECK(tasks_of(directory) == std::vector<task_row>{{300, 0, 2}, {50, 0, 1}, {0, 0, 0}});
}

TEST_CASE("a task is idle from when it left its CPU until it came back") {
  test::uftrace_builder directory;
  records data;
  data.entry(100, 0, fn::main).exit(400, 0, fn::main);
  test::uftrace_perf_records waits;
  waits.sched_out(50, 7).sched_in(60, 7);  // outside of functions
  waits.sched_in(110, 7);                  // the first that shows counts from the task's own line on
  waits.sched_out(200, 7).sched_in(230, 7).preempted(300, 7).sched_in(305, 7);
  directory.data(7, data).perf(waits);
  // The lone sched-in ends main; behind it the outer functions are gone, so waits are counted without a caller.
  const auto all = tasks_of(directory);
  REQUIRE(all.size() == 1);
  CHECK(all[0].idle == (110 - 2) + 30);
  CHECK(all[0].calls == 4);
}

TEST_CASE("a pre-empted task is not idle") {
  test::uftrace_builder directory;
  directory.tasks =
      "SESS timestamp=0.000000001 pid=7 sid=0123456789abcdef exename=\"/bin/prog\"\n";  // no line of the task
  directory.data(7, records().entry(100, 0, fn::main).exit(400, 0, fn::main));
  directory.perf(test::uftrace_perf_records().preempted(200, 7).sched_in(230, 7).sched_out(300, 7).sched_in(310, 7));
  CHECK(tasks_of(directory) == std::vector<task_row>{{300, 10, 3}});
}

TEST_CASE("functions without an exit count up to the task's last exit or event") {
  test::uftrace_builder directory;
  records data;
  data.entry(100, 0, fn::main).entry(200, 1, fn::a).entry(300, 2, fn::b).exit(350, 2, fn::b).entry(400, 2, fn::c);
  directory.data(7, data);
  // c began behind the last exit, at 350.
  CHECK(tasks_of(directory) == std::vector<task_row>{{250, 0, 3}});
  CHECK(tasks_of(directory, {.closes_at = 500}) == std::vector<task_row>{{400, 0, 4}});
  CHECK(tasks_of(directory, {.closes_at = 400}) == std::vector<task_row>{{300, 0, 4}});
  test::uftrace_builder with_event;
  with_event.data(7, records().entry(100, 0, fn::main).event(180, 1000000));
  CHECK(tasks_of(with_event) == std::vector<task_row>{{80, 0, 1}});
  // Inherited functions have no address and do not count.
  test::uftrace_builder child;
  child.data(7, records().exit(100, 2, fn::fork).entry(120, 2, fn::a).exit(150, 2, fn::a));
  CHECK(tasks_of(child) == std::vector<task_row>{{30, 0, 2}});
}

TEST_CASE("the report by tasks leaves out the kernel outside of the program") {
  using kernel = test::uftrace_kernel_records;
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).exit(400, 0, fn::main));
  directory.kernel(kernel()
                       .entry(50, 7, 0, kernel::k0)
                       .exit(60, 7, 0, kernel::k0)
                       .entry(200, 7, 0, kernel::k0)
                       .exit(250, 7, 0, kernel::k0));
  CHECK(tasks_of(directory) == std::vector<task_row>{{300, 0, 2}});
}
