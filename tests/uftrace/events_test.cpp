// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/events.hpp>

#include <string>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
namespace fn = test::fn;
using records = test::uftrace_records;
using kernel = test::uftrace_kernel_records;

namespace {

/// `7 +main@100/0 -main@200/0`: tasks, enters and exits, times and depths; `?` behind ambiguous ones.
std::string calls_of(test::uftrace_builder& directory, const merge_options& merging = {},
                     std::vector<task_fault>* faults = nullptr) {
  const recording from = directory.open();
  resolver names(from);
  std::string text;
  std::uint64_t task = 0;
  auto found = for_each_call(names, merging, [&](const uftrace::call_event& e) {
    if (!text.empty()) text += ' ';
    if (e.thread != task) text += std::to_string(e.thread) + ' ';
    task = e.thread;
    text += (e.kind == event_kind::enter ? '+' : '-') + names.name(static_cast<std::uint32_t>(e.function));
    text += '@' + std::to_string(e.time) + '/' + std::to_string(e.depth) + (e.ambiguous ? "?" : "");
  });
  if (faults != nullptr) *faults = std::move(found);
  return text;
}
std::string calls_of(const records& data) {
  test::uftrace_builder directory;
  directory.data(7, data);
  return calls_of(directory);
}

}  // namespace

TEST_CASE("entries and exits of all tasks are calls, other records are none") {
  test::uftrace_builder directory;
  directory.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  directory.data(7, records()
                        .entry(100, 0, fn::main)
                        .event(120, 1000000)
                        .entry(150, 1, fn::a)
                        .exit(160, 1, fn::a)
                        .exit(200, 0, fn::main));
  directory.data(8, records().entry(155, 0, fn::b));
  directory.perf(test::uftrace_perf_records().sched_out(110, 7).sched_in(115, 7));
  CHECK(calls_of(directory) == "7 +main@100/0 +a@150/1 8 +b@155/0 7 -a@160/1 -main@200/0");
  CHECK(calls_of(directory, {.from = 150, .until = 160}) == "7 +a@150/1 8 +b@155/0 7 -a@160/1");
  CHECK(calls_of(directory, {.shorter_than = 11}) == "7 +main@100/0 8 +b@155/0 7 -main@200/0");
}

TEST_CASE("depths beyond 1023 levels and addresses of calls are true") {
  records data;
  for (std::uint64_t i = 0; i < 1026; ++i) data.entry(100 + i, i, fn::a);
  data.exit(5000, 1025, fn::a).exit(5001, 1024, fn::a).exit(5002, 1023, fn::a);
  const std::string text = calls_of(data);
  CHECK(text.find("+a@1123/1023 +a@1124/1024 +a@1125/1025 -a@5000/1025 -a@5001/1024 -a@5002/1023") !=
        std::string::npos);
}

TEST_CASE("behind a loss and behind an exec the next record tells its depth") {
  CHECK(calls_of(records().entry(100, 0, fn::main).lost(9).entry(200, 600, fn::a)) == "7 +main@100/0 +a@200/600");
  records deep;
  for (std::uint64_t i = 0; i < 1030; ++i) deep.entry(100 + i, i, fn::a);
  deep.entry(2000, 1030, fn::execv).entry(2001, 0, fn::main);
  CHECK(calls_of(deep).ends_with("+execv@2000/1030 +main@2001/0"));
}

TEST_CASE("calls of the kernel lie on those of the program") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).entry(110, 1, fn::a).exit(300, 1, fn::a).exit(400, 0, fn::main));
  directory.kernel(kernel()
                       .entry(150, 7, 0, kernel::k0)
                       .entry(160, 7, 1, kernel::k1)
                       .exit(170, 7, 1, kernel::k1)
                       .exit(180, 7, 0, kernel::k0));
  CHECK(calls_of(directory) == "7 +main@100/0 +a@110/1 +k0@150/2 +k1@160/3 -k1@170/3 -k0@180/2 -a@300/1 -main@400/0");
}

TEST_CASE("damage is passed over and told") {
  test::uftrace_builder directory;
  directory.data(7, records().entry(100, 0, fn::main).u64(1).u64(2).exit(130, 0, fn::main));
  std::vector<task_fault> faults;
  CHECK(calls_of(directory, {}, &faults) == "7 +main@100/0 -main@130/0");
  REQUIRE(faults.size() == 1);
  CHECK((faults[0].data_index == 0 && faults[0].fault == fault{errc::bad_value, 16, 16}));
}

TEST_CASE("a call is ambiguous where libraries were loaded over one another") {
  test::uftrace_builder directory;
  directory.tasks +=
      "DLOP timestamp=0.000000100 tid=7 sid=0123456789abcdef base=700000 libname=\"one.so\"\n"
      "DLOP timestamp=0.000000200 tid=7 sid=0123456789abcdef base=700000 libname=\"two.so\"\n";
  directory.file("one.so.sym", std::string_view("0 10 T one\n")).file("two.so.sym", std::string_view("0 8 T two\n"));
  directory.data(7, records()
                        .entry(150, 0, 0x700000)
                        .exit(199, 0, 0x700000)
                        .entry(200, 0, 0x700000)
                        .exit(210, 0, 0x700000)
                        .entry(220, 0, 0x700008));
  CHECK(calls_of(directory) == "7 +one@150/0 -one@199/0 +two@200/0? -two@210/0? +one@220/0");
}

TEST_CASE("what is not chosen is no call, and the choice sees every record") {
  struct without_a {
    std::uint64_t seen = 0;
    void consume(const merged_record&) { ++seen; }
    [[nodiscard]] static bool shows(const merged_record&, resolver& names, const uftrace::function& found) {
      return names.name(found.name) != "a";
    }
  };
  test::uftrace_builder directory;
  directory.data(7, records()
                        .entry(100, 0, fn::main)
                        .event(120, 1000000)
                        .entry(150, 1, fn::a)
                        .exit(160, 1, fn::a)
                        .exit(200, 0, fn::main));
  const recording from = directory.open();
  resolver names(from);
  without_a choice;
  std::vector<std::uint64_t> times;
  CHECK(for_each_call(names, {}, choice, [&](const uftrace::call_event& e) { times.push_back(e.time); }).empty());
  CHECK(times == std::vector<std::uint64_t>{100, 200});
  CHECK(choice.seen == 5);
}
