// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <backsight/analysis/call_filter.hpp>
#include <backsight/analysis/call_tree.hpp>
#include <backsight/analysis/run.hpp>
#include <backsight/io/uftrace_directory.hpp>
#include <backsight/uftrace/calls.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
namespace fn = test::fn;
using records = test::uftrace_records;

namespace {

using call_row = std::tuple<event_kind, std::string, std::uint64_t, std::int64_t>;
using call_rows = std::map<std::uint64_t, std::vector<call_row>>;

call_rows call_rows_of(const uftrace::calls& calls) {
  call_rows rows;
  for (std::size_t part = 0; part < calls.part_count(); ++part) {
    calls.part(part).for_each_event(
        [&](const uftrace::call_event& e) {
          rows[e.thread].emplace_back(e.kind, calls.function_name(e.function), e.time, e.process);
        },
        [](std::string_view, const fault&) {});
  }
  return rows;
}
call_rows merged_call_rows_of(const uftrace::recording& from) {
  uftrace::resolver names(from);
  call_rows rows;
  (void)uftrace::for_each_call(names, [&](const uftrace::call_event& e) {
    rows[e.thread].emplace_back(e.kind, names.name(static_cast<std::uint32_t>(e.function)), e.time, e.process);
  });
  return rows;
}

}  // namespace

TEST_CASE("the parts of a uftrace directory have the calls of its tasks, walked apart or merged") {
  for (const char* name :
       {"single-pg", "bigendian-derived", "except-pg", "dlopen-pg", "kernel-made", "truncated-derived", "args-spec"}) {
    CAPTURE(name);
    const auto directory =
        io::uftrace_directory::open(test::data_path("uftrace/" + std::string(name) + "/uftrace.data"));
    REQUIRE(directory);
    const uftrace::calls calls(directory->recording());
    CHECK(calls.part_count() == (std::string_view(name) == "kernel-made" ? 1 : directory->recording().data.size()));
    const auto rows = call_rows_of(calls);
    CHECK_FALSE(rows.empty());
    CHECK(rows == merged_call_rows_of(directory->recording()));
  }
}

TEST_CASE("tasks are named, the clock is the trace's own, and faults name their files") {
  const auto directory = io::uftrace_directory::open(test::data_path("uftrace/truncated-derived/uftrace.data"));
  const uftrace::calls calls(directory->recording());
  CHECK(calls.unit() == clock_unit::nanoseconds);
  CHECK(calls.to_ns(12345) == 12345);
  std::uint64_t first = ~std::uint64_t{0};
  for (const auto& [thread, rows] : call_rows_of(calls)) {
    first = std::min(first, std::get<2>(rows.front()));
    CHECK(std::string_view(calls.thread_name(0, thread)) ==
          directory->recording().tasks[directory->recording().find_task(static_cast<std::uint32_t>(thread))].comm);
  }
  CHECK(calls.start() == first);
  CHECK(calls.thread_name(1, 999999).empty());
  CHECK(calls.process_name(-1).empty());
  std::map<std::string_view, int> by_file;
  (void)analysis::run(calls, analysis::call_tree(), [&](std::string_view file, const fault&) { ++by_file[file]; });
  CHECK_FALSE(by_file.empty());
  for (const auto& [file, count] : by_file) CHECK(file.ends_with(".dat"));
}

TEST_CASE(
    "records that were lost are counted once a part, when it was walked, and at least one where their number is not "
    "known") {
  test::uftrace_builder directory;
  for (const std::uint32_t tid : {8U, 9U}) {
    directory.tasks += "TASK timestamp=0.000000003 tid=" + std::to_string(tid) + " pid=7\n";
    directory.data(tid, records().entry(100, 0, fn::a).lost(tid == 8 ? 5 : 0).exit(120, 0, fn::a));
  }
  const uftrace::recording from = directory.open();
  const uftrace::calls calls(from);
  CHECK(calls.lost_records() == 0);
  const auto ignore = [](const auto&...) {};
  calls.part(0).for_each_event(ignore, ignore);
  CHECK(calls.lost_records() == 5);
  for (int times = 0; times < 2; ++times) {
    calls.part(1).for_each_event(ignore, ignore);
    CHECK(calls.lost_records() == 6);
  }
  const auto few = analysis::chosen(calls, {.levels = 1});
  CHECK(few.lost_records() == 6);
}

TEST_CASE("a function has one number in all parts, however many jobs walk them") {
  test::uftrace_builder directory;
  for (std::uint32_t tid = 8; tid < 40; ++tid) {
    directory.tasks += "TASK timestamp=0.000000003 tid=" + std::to_string(tid) + " pid=7\n";
    directory.data(tid, records()
                            .entry(100, 0, tid % 2 == 0 ? fn::a : fn::main)
                            .entry(110, 1, fn::b)
                            .exit(120, 1, fn::b)
                            .exit(200, 0, tid % 2 == 0 ? fn::a : fn::main));
  }
  const uftrace::recording from = directory.open();
  for (const unsigned jobs : {1U, 4U}) {
    const uftrace::calls calls(from);
    const auto tree = analysis::run(calls, analysis::call_tree(), [](std::string_view, const fault&) {}, jobs);
    std::map<std::string, std::uint64_t> counts;
    for (analysis::call_tree::node_id id = 1; id < tree.nodes().size(); ++id) {
      std::string path;
      for (const std::uint64_t function : tree.path(id)) path += "/" + std::string(calls.function_name(function));
      counts[path] += tree.nodes()[id].count;
    }
    CHECK(counts == std::map<std::string, std::uint64_t>{{"/a", 16}, {"/a/b", 16}, {"/main", 16}, {"/main/b", 16}});
  }
}

TEST_CASE("functions of a uftrace directory have modules and values where they are asked for") {
  const auto directory = io::uftrace_directory::open(test::data_path("uftrace/args-spec/uftrace.data"));
  REQUIRE(directory);
  uftrace::call_options options{.by_module = true};
  options.values = [](uftrace::resolver&, const uftrace::merged_record& record, std::string& to) {
    to += record.type == uftrace::record_type::entry ? "given " : "back ";
    to += std::to_string(record.payload.size());
  };
  const uftrace::calls calls(directory->recording(), options), plain(directory->recording());
  std::size_t given = 0, back = 0, known = 0, events = 0;
  for (std::size_t part = 0; part < calls.part_count(); ++part) {
    calls.part(part).for_each_event(
        [&](const uftrace::calls::event_type& event) {
          ++events;
          given += calls.values_of(event).starts_with("given ") ? 1U : 0U;
          back += calls.values_of(event).starts_with("back ") ? 1U : 0U;
          CHECK((event.values.empty() || (event.kind == event_kind::enter) == event.values.starts_with("given ")));
          known += calls.function_module(event.function).empty() ? 0U : 1U;
        },
        [](std::string_view, const fault&) {});
    plain.part(part).for_each_event([](const uftrace::calls::event_type& event) { CHECK(event.values.empty()); },
                                    [](std::string_view, const fault&) {});
  }
  CHECK((given != 0 && back != 0 && given + back < events));
  CHECK(known == events);
  CHECK(calls.function_module(~std::uint64_t{0}).empty());
}
