// SPDX-License-Identifier: Apache-2.0
// Stands for uftrace/merged_record.hpp
#include <backsight/uftrace/merged_records.hpp>

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
namespace fn = test::fn;
using records = test::uftrace_records;
using perf_records_of = test::uftrace_perf_records;
using kernel_records = test::uftrace_kernel_records;

namespace {

/// `7 100, k8 120`: tasks and times; k for the kernel's records, p for those of the scheduler, x for external ones.
std::string order_of(merged_records& merged) {
  std::string text;
  const merged_record* ahead = merged.peek();
  for (merged_record r; ahead != nullptr;) {
    const std::uint64_t expected = ahead->time;
    const record_source source = ahead->source;
    if (!merged.next(r)) break;
    CHECK(r.time == expected);
    CHECK(r.source == source);
    if (!text.empty()) text += ", ";
    if (r.source == record_source::kernel_file) text += 'k';
    if (r.source == record_source::perf_file) text += 'p';
    if (r.source == record_source::external_file) text += 'x';
    text += std::to_string(merged.source().data[r.data_index].tid) + ' ' +
            (r.type == record_type::lost ? "lost" : std::to_string(r.time));
    ahead = merged.peek();
  }
  merged_record none;
  CHECK_FALSE(merged.next(none));
  return text;
}
std::string order_of(test::uftrace_builder& directory, merge_options options = {}) {
  const recording from = directory.open();
  resolver names(from);
  merged_records merged(names, options);
  return order_of(merged);
}

test::uftrace_builder two_tasks(const records& seven, const records& eight) {
  test::uftrace_builder directory;
  directory.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  directory.data(7, seven).data(8, eight);
  return directory;
}

}  // namespace

TEST_CASE("of records of one time those of tasks come first, then the kernel's, the scheduler's and external ones") {
  auto directory = two_tasks(records().entry(100, 0, fn::main).entry(200, 1, fn::a), records().entry(200, 0, fn::main));
  directory.kernel(kernel_records().entry(200, 8, 0, kernel_records::k0).exit(250, 8, 0, kernel_records::k0));
  directory.kernel(kernel_records().entry(200, 7, 0, kernel_records::k0).exit(250, 7, 0, kernel_records::k0));
  directory.perf(perf_records_of().sched_out(200, 8)).perf(perf_records_of().sched_out(200, 7));
  directory.file("extern.dat", "0.000000200 hello\n");
  // An external record belongs to the task of the one before it.
  CHECK(order_of(directory, {.external = true}) ==
        "7 100, 7 200, 8 200, k8 200, k7 200, p8 200, p7 200, x7 200, k8 250, k7 250");
  CHECK(order_of(directory) == "7 100, 7 200, 8 200, k8 200, k7 200, p8 200, p7 200, k8 250, k7 250");
  CHECK(order_of(directory, {.scheduler = false, .kernel = false}) == "7 100, 7 200, 8 200");
  CHECK(order_of(directory, {.scheduler = false, .kernel = false, .external = true}) == "7 100, 7 200, 8 200, x8 200");
}

TEST_CASE("a record that is one nanosecond earlier comes first, whatever its source") {
  auto directory = two_tasks(records().entry(200, 0, fn::main), records().entry(199, 0, fn::main));
  directory.kernel(kernel_records().entry(198, 7, 0, kernel_records::k0).exit(300, 7, 0, kernel_records::k0));
  directory.perf(perf_records_of().sched_out(197, 8).sched_in(201, 8));
  directory.file("extern.dat", "0.000000196 first\n0.000000198 second\n0.000000500 third\n");
  CHECK(order_of(directory, {.external = true}) ==
        "x7 196, p8 197, k7 198, x7 198, 8 199, 7 200, p8 201, k7 300, x7 500");
}

TEST_CASE("of tasks of one time the one that info lists first comes first") {
  auto directory = two_tasks(records().entry(100, 0, fn::main).entry(100, 1, fn::a).entry(101, 2, fn::b),
                             records().entry(100, 0, fn::main).entry(101, 1, fn::a));
  CHECK(order_of(directory) == "7 100, 7 100, 8 100, 7 101, 8 101");
  test::uftrace_builder reversed;
  reversed.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  reversed.data(8, records().entry(100, 0, fn::main)).data(7, records().entry(100, 0, fn::main));
  CHECK(order_of(reversed) == "8 100, 7 100");
}

TEST_CASE("lost records have time 0 and come at once") {
  auto directory =
      two_tasks(records().entry(300, 0, fn::main).lost(4).entry(400, 1, fn::a), records().entry(350, 0, fn::main));
  CHECK(order_of(directory) == "7 300, 7 lost, 8 350, 7 400");
}

namespace {

/// The times of the runs that a merge gives, each with its task: `7: 100 110`, and records that are in no run as `(7
/// 120)`.
std::string runs_of(test::uftrace_builder& directory, merge_options options = {}) {
  const recording from = directory.open();
  resolver names(from);
  merged_records merged(names, options);
  std::string text;
  for (;;) {
    std::string run;
    const std::size_t taken = merged.take_run<order::little>([&](std::uint32_t index, const auto& item) {
      if (run.empty()) run = std::to_string(from.data[index].tid) + ":";
      run += ' ' + std::to_string(item[record_head::time]);
      return true;
    });
    CHECK((taken != 0) == !run.empty());
    text += run;
    merged_record r;
    if (taken == 0) {
      if (!merged.next(r)) break;
      text += "(" + std::to_string(from.data[r.data_index].tid) + ' ' + std::to_string(r.time) + ")";
    }
    text += ' ';
  }
  return text;
}

}  // namespace

TEST_CASE("a run ends where another task's turn comes") {
  auto ties_higher =
      two_tasks(records().entry(100, 0, fn::main).entry(200, 1, fn::a).entry(200, 2, fn::b).entry(201, 3, fn::c),
                records().entry(200, 0, fn::main));
  CHECK(runs_of(ties_higher) == "7: 100 200 200 8: 200 7: 201 ");
  auto ties_lower = two_tasks(records().entry(200, 0, fn::main),
                              records().entry(100, 0, fn::main).entry(200, 1, fn::a).entry(201, 2, fn::b));
  CHECK(runs_of(ties_lower) == "8: 100 7: 200 8: 200 201 ");
}

TEST_CASE("a run takes what has the time of another source and nothing behind it") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).entry(200, 1, fn::a).exit(200, 1, fn::a).exit(201, 0, fn::main));
  directory.perf(perf_records_of().sched_out(200, 7));
  CHECK(runs_of(directory) == "7: 100 200 200 (7 200) 7: 201 ");
  // Of two bounds of one time the stricter one: the lower task comes before the scheduler.
  auto both = two_tasks(records().entry(200, 0, fn::main), records().entry(100, 0, fn::main).entry(200, 1, fn::a));
  both.perf(perf_records_of().sched_out(200, 8).sched_in(300, 8));
  CHECK(runs_of(both) == "8: 100 7: 200 8: 200 (8 200) (8 300) ");
  auto scheduler_first =
      two_tasks(records().entry(200, 0, fn::main), records().entry(100, 0, fn::main).entry(199, 1, fn::a));
  scheduler_first.perf(perf_records_of().sched_out(150, 8).sched_in(200, 8));
  CHECK(runs_of(scheduler_first) == "8: 100 (8 150) 8: 199 7: 200 (8 200) ");
}

TEST_CASE("records of other kinds are in no run") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).event(110, 1000000).lost(2).exit(120, 0, fn::main));
  CHECK(runs_of(directory) == "7: 100 (7 110) (7 0) 7: 120 ");
  CHECK(runs_of(directory, {.shorter_than = 1}) == "(7 100) (7 110) (7 0) (7 120) ");
}

TEST_CASE("what a taker refuses is still there") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).entry(110, 1, fn::a));
  const recording from = directory.open();
  resolver names(from);
  merged_records merged(names, {});
  CHECK(merged.take_run<order::little>(
            [](std::uint32_t, const auto& item) { return item[record_head::time] == 100; }) == 1);
  CHECK(merged.take_run<order::little>([](std::uint32_t, const auto&) { return false; }) == 0);
  REQUIRE(merged.waiting(0) != nullptr);
  CHECK(merged.waiting(0)->time == 110);
  merged_record r;
  REQUIRE(merged.next(r));
  CHECK((r.time == 110 && r.offset == 16 && r.address == fn::a && r.depth == 1));
  CHECK(merged.waiting(0) == nullptr);
}

TEST_CASE("a wait exactly as long as the time filter stays, a shorter one goes") {
  auto directory = two_tasks(records().entry(100, 0, fn::main), records().entry(100, 0, fn::main));
  perf_records_of cpu0, cpu1;
  cpu0.sched_out(200, 7).sched_out(310, 8).sched_in(450, 7).preempted(500, 7);
  cpu1.sched_in(300, 7).sched_in(409, 8).sched_out(451, 8).sched_in(599, 7).sched_in(551, 8);
  directory.perf(cpu0).perf(cpu1);
  // 7 waits 100 ns, comes back again at 450 without having left, and is pre-empted for 99; 8 waits 99 and then 100.
  CHECK(order_of(directory, {.shorter_than = 100}) == "7 100, 8 100, p7 200, p7 300, p7 450, p8 451, p8 551");
  CHECK(order_of(directory, {.shorter_than = 101}) == "7 100, 8 100, p7 450");
  CHECK(order_of(directory, {.shorter_than = 99}) ==
        "7 100, 8 100, p7 200, p7 300, p8 310, p8 409, p7 450, p8 451, p7 500, p8 551, p7 599");
}

TEST_CASE("a return is a wait only behind a leaving") {
  auto directory = two_tasks(records().entry(100, 0, fn::main), records().entry(100, 0, fn::main));
  directory.perf(perf_records_of()
                     .comm(200, 7, "x")
                     .sched_in(210, 7)
                     .sched_in(220, 7)
                     .sched_out(300, 7)
                     .comm(305, 7, "y")
                     .sched_in(310, 7));
  CHECK(order_of(directory, {.shorter_than = 100}) == "7 100, 8 100, p7 200, p7 210, p7 220, p7 300, p7 305, p7 310");
}

TEST_CASE("scheduler events that are held come behind those of tasks of the same time") {
  auto directory = two_tasks(records().entry(100, 0, fn::main).exit(300, 0, fn::main),
                             records().entry(100, 0, fn::a).exit(300, 0, fn::a));
  directory.perf(perf_records_of().sched_out(100, 8).sched_in(300, 8).sched_out(100, 7).sched_in(300, 7));
  CHECK(order_of(directory, {.shorter_than = 10}) == "7 100, 8 100, p7 100, p8 100, 7 300, 8 300, p7 300, p8 300");
}

TEST_CASE("a merge between two times has both of them, of every source") {
  auto directory =
      two_tasks(records().entry(100, 0, fn::main).entry(200, 1, fn::a).exit(300, 1, fn::a).exit(400, 0, fn::main),
                records().entry(199, 0, fn::main).exit(301, 0, fn::main));
  directory.kernel(kernel_records()
                       .entry(199, 7, 0, kernel_records::k0)
                       .entry(200, 7, 1, kernel_records::k1)
                       .exit(300, 7, 1, kernel_records::k1)
                       .exit(301, 7, 0, kernel_records::k0));
  directory.perf(perf_records_of().sched_out(199, 7).sched_in(200, 7).sched_out(300, 7).sched_in(301, 7));
  directory.file("extern.dat", "0.000000199 a\n0.000000200 b\n0.000000300 c\n0.000000301 d\n");
  CHECK(order_of(directory, {.external = true, .from = 200, .until = 300}) ==
        "7 200, k7 200, p7 200, x7 200, 7 300, k7 300, p7 300, x7 300");
  CHECK(order_of(directory, {.external = true, .from = 201, .until = 299}).empty());
  CHECK(order_of(directory, {.external = true, .from = 401}).empty());
}

TEST_CASE("scheduler events of tasks without a file are left out") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main)).no_data(8);
  directory.perf(perf_records_of().sched_out(110, 8).sched_out(120, 9).sched_out(130, 7));
  CHECK(order_of(directory) == "7 100, p7 130");
}

TEST_CASE("a task that left its CPU comes back before the kernel goes on in it") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).exit(900, 0, fn::main));
  directory.kernel(kernel_records()
                       .entry(200, 7, 0, kernel_records::k0)
                       .entry(210, 7, 1, kernel_records::k1)
                       .exit(300, 7, 1, kernel_records::k1)
                       .exit(310, 7, 0, kernel_records::k0));
  directory.perf(perf_records_of().sched_out(220, 7).sched_in(305, 7));
  // The kernel's record at 300 is behind the return, which comes right before it.
  CHECK(order_of(directory) == "7 100, k7 200, k7 210, p7 220, p7 299, k7 300, k7 310, 7 900");
  test::uftrace_builder other;
  other.data(7, records().entry(100, 0, fn::main).exit(900, 0, fn::main)).data(8, records().entry(110, 0, fn::main));
  other.kernel(kernel_records().entry(200, 7, 0, kernel_records::k0).exit(300, 7, 0, kernel_records::k0));
  other.perf(perf_records_of().sched_out(220, 8).sched_in(305, 8));
  CHECK(order_of(other) == "7 100, 8 110, k7 200, p8 220, k7 300, p8 305, 7 900");
  // Nothing waits in that file any more.
  test::uftrace_builder ended;
  ended.data(7, records().entry(100, 0, fn::main));
  ended.kernel(kernel_records().entry(200, 7, 0, kernel_records::k0).exit(300, 7, 0, kernel_records::k0));
  ended.perf(perf_records_of().sched_out(220, 7));
  CHECK(order_of(ended) == "7 100, k7 200, p7 220, k7 300");
}

TEST_CASE("only its own return brings a task back before the kernel") {
  const auto order_with = [](const perf_records_of& waits) {
    test::uftrace_builder directory;
    directory.data(7, records().entry(100, 0, fn::main)).data(8, records().entry(100, 0, fn::main));
    directory.kernel(kernel_records().entry(200, 7, 0, kernel_records::k0).exit(300, 7, 0, kernel_records::k0));
    directory.perf(waits);
    return order_of(directory);
  };
  CHECK(order_with(perf_records_of().sched_out(220, 7).sched_in(305, 7)) ==
        "7 100, 8 100, k7 200, p7 220, p7 299, k7 300");
  CHECK(order_with(perf_records_of().sched_out(220, 7).comm(305, 7, "x").sched_in(306, 7)) ==
        "7 100, 8 100, k7 200, p7 220, k7 300, p7 305, p7 306");
  CHECK(order_with(perf_records_of().sched_out(220, 7).sched_in(305, 8)) ==
        "7 100, 8 100, k7 200, p7 220, k7 300, p8 305");
  CHECK(order_with(perf_records_of().preempted(220, 7).sched_in(250, 7).comm(305, 7, "x")) ==
        "7 100, 8 100, k7 200, p7 220, p7 250, k7 300, p7 305");
}

TEST_CASE("faults of task files come task by task, those of others file by file") {
  auto directory = two_tasks(records().entry(100, 0, fn::main).u64(1).u64(2).exit(130, 0, fn::main),
                             records().entry(100, 0, fn::main).fill(5, 1));
  test::byte_builder perf;
  perf.u32(9).u16(0).u16(16).fill(8).u32(9).u16(0).u16(7).fill(4);
  directory.with(feature::perf_event).file("perf-cpu0.dat", perf.view()).file("perf-cpu1.dat", std::string_view());
  directory.kernel(kernel_records().wake(100, 7, 1).wake(110, 7, 1, 99).wake(120, 7, 1));
  const recording from = directory.open();
  const auto faults = [&](bool salvage) {
    resolver names(from);
    merged_records merged(names, {.salvage = salvage});
    std::size_t count = 0;
    for (merged_record r; merged.next(r);) ++count;
    CHECK(count == (salvage ? 5 : 3));
    return std::pair(merged.faults(), merged.other_faults());
  };
  for (const bool salvage : {false, true}) {
    const auto [tasks, others] = faults(salvage);
    REQUIRE(tasks.size() == 2);
    CHECK((tasks[0].data_index == 0 && tasks[0].fault == fault{errc::bad_value, 16, salvage ? 16U : 32U}));
    CHECK((tasks[1].data_index == 1 && tasks[1].fault == fault{errc::truncated, 16, 5}));
    REQUIRE(others.size() == 2);
    CHECK((others[0].file == "kernel-cpu0.dat" && others[0].fault == fault{errc::unknown_record, 32, 12}));
    CHECK((others[1].file == "perf-cpu0.dat" && others[1].fault == fault{errc::bad_size, 16, 12}));
  }
}
