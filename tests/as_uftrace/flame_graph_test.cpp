// SPDX-License-Identifier: Apache-2.0
#include "as/uftrace/flame_graph.hpp"

#include <string>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;
namespace fn = test::fn;
using records = test::uftrace_records;

namespace {

/// `main=5 main;a=3`: each path with its samples, those of 0 left out.
void add(std::string& out, const flame_graph& flame, resolver& names, std::uint32_t node, const std::string& path) {
  for (std::uint32_t at = flame.tree().first_child(node); at != tree_node::none; at = flame.tree().next_sibling(at)) {
    const std::string here = (path.empty() ? "" : path + ";") + names.name(flame.tree().name(at));
    if (flame.samples(at) != 0) out += (out.empty() ? "" : " ") + here + "=" + std::to_string(flame.samples(at));
    add(out, flame, names, at, here);
  }
}
std::string flame_text(test::uftrace_builder& directory, merge_options merging = {}, stack_options options = {}) {
  const recording from = directory.open();
  resolver names(from);
  merged_records merged(names, merging);
  flame_graph flame(merged, options);
  flame.run();
  std::string out;
  add(out, flame, names, 0, "");
  return out;
}
std::uint64_t sample_of(std::string_view elapsed) {
  test::uftrace_builder directory;
  if (!elapsed.empty()) directory.info_lines = {{11, "record_date:x\nelapsed_time:" + std::string(elapsed) + " sec\n"}};
  const recording from = directory.open();
  resolver names(from);
  merged_records merged(names, {});
  return flame_graph(merged, {}).sample();
}
/// One task, recorded for so long that a sample is a microsecond.
test::uftrace_builder one_task(const records& data) {
  test::uftrace_builder directory;
  directory.info_lines = {{11, "record_date:x\nelapsed_time:0.5 sec\n"}};
  directory.data(7, data);
  return directory;
}

}  // namespace

TEST_CASE("a sample stands for at least a millionth of the recording") {
  CHECK(sample_of("") == 0);
  CHECK(sample_of("0.0") == 0);
  CHECK(sample_of("0.000000001") == 1000);
  CHECK(sample_of("1.000000000") == 1000);
  CHECK(sample_of("1.000000001") == 10'000);
  CHECK(sample_of("10.000000000") == 10'000);
  CHECK(sample_of("10.000000001") == 100'000);
  CHECK(sample_of("1000000.0") == 1'000'000'000);
  CHECK(sample_of("1000001.0") == 1'000'000'000);
  CHECK(sample_of("99000000.0") == 1'000'000'000);
}

TEST_CASE("samples are what a function did itself, and what is too short stays with the caller") {
  records data;
  data.entry(1'000, 0, fn::main).entry(11'000, 1, fn::a).exit(14'000, 1, fn::a).exit(21'000, 0, fn::main);
  auto directory = one_task(data);
  CHECK(flame_text(directory) == "main=17 main;a=3");
  records rest;
  rest.entry(1'000, 0, fn::main)
      .entry(11'000, 1, fn::a)
      .exit(13'900, 1, fn::a)
      .entry(15'000, 1, fn::b)
      .exit(15'999, 1, fn::b);
  rest.exit(21'000, 0, fn::main);
  auto with_rest = one_task(rest);
  // 900 ns of a and 999 of b count as main's: 20000 - 2900 - 999 + 900 + 999.
  CHECK(flame_text(with_rest) == "main=18 main;a=2");
}

TEST_CASE("without the time of the recording calls are counted") {
  test::uftrace_builder directory;
  directory.data(7, records()
                        .entry(100, 0, fn::main)
                        .entry(110, 1, fn::a)
                        .exit(120, 1, fn::a)
                        .entry(130, 1, fn::a)
                        .exit(140, 1, fn::a)
                        .exit(150, 0, fn::main));
  CHECK(flame_text(directory) == "main=1 main;a=2");
}

TEST_CASE("functions without an exit end with the last record of the task, of whatever source") {
  records data;
  data.entry(1'000, 0, fn::main).entry(5'000, 1, fn::a);
  auto directory = one_task(data);
  directory.perf(test::uftrace_perf_records().task(9'000, 7, 4));
  CHECK(flame_text(directory) == "main=4 main;a=4");
  CHECK(flame_text(directory, {.scheduler = false}) == "main=4");
  CHECK(flame_text(directory, {.closes_at = 8'000}) == "main=4 main;a=3");
  CHECK(flame_text(directory, {.closes_at = 50'000}) == "main=4 main;a=4");
}

TEST_CASE("plain waits are nodes, pre-empted ones take their caller with them as in uftrace") {
  records data;
  data.entry(1'000, 0, fn::main).exit(21'000, 0, fn::main);
  auto plain = one_task(data);
  plain.perf(test::uftrace_perf_records().sched_out(2'000, 7).sched_in(5'000, 7));
  CHECK(flame_text(plain) == "main=17 main;linux:schedule=3");
  auto preempted = one_task(data);
  preempted.perf(test::uftrace_perf_records().preempted(2'000, 7).sched_in(5'000, 7));
  // main ends with the wait's 3 samples; its own exit then belongs to the root.
  CHECK(flame_text(preempted) == "main=3");
}

TEST_CASE("levels beyond the depth are part of their callers") {
  records data;
  data.entry(1'000, 0, fn::main)
      .entry(2'000, 1, fn::a)
      .entry(3'000, 2, fn::b)
      .exit(5'000, 2, fn::b)
      .exit(9'000, 1, fn::a)
      .exit(11'000, 0, fn::main);
  auto directory = one_task(data);
  CHECK(flame_text(directory) == "main=3 main;a=5 main;a;b=2");
  CHECK(flame_text(directory, {}, {.depth = 2}) == "main=3 main;a=5");
  CHECK(flame_text(directory, {}, {.depth = 1}) == "main=3");
}

TEST_CASE("all tasks share one flame graph") {
  test::uftrace_builder directory;
  directory.info_lines = {{11, "record_date:x\nelapsed_time:0.5 sec\n"}};
  directory.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  directory.data(7, records().entry(1'000, 0, fn::main).exit(3'000, 0, fn::main))
      .data(8,
            records().entry(2'000, 0, fn::main).exit(5'000, 0, fn::main).entry(6'000, 0, fn::a).exit(7'000, 0, fn::a));
  CHECK(flame_text(directory) == "main=5 a=1");
}
