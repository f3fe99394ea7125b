// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <vector>

#include <backsight/memtrace/analyzers.hpp>

#include "sample_files.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::trace_builder;

namespace {

/// How many bytes of code ran.
struct coded_instructions {
  std::uint64_t bytes = 0;
  void on(const reference& item) { bytes += item.encoding_size; }
};

/// What an analyzer is told, in a line: instructions by their PC, windows by their ordinals between brackets.
struct told {
  std::string line;
  void begin_part(const window& which) { line += "[" + std::to_string(which.ordinal.value_or(99)) + " "; }
  void end_part(const window& which) { line += std::to_string(which.ordinal.value_or(99)) + "] "; }
  void on(const reference& item) {
    if (is_instruction(item.type)) line += std::to_string(item.pc) + " ";
  }
};
static_assert(analyzer_of<told, reference>);

}  // namespace

TEST_CASE("an analyzer of a whole file is told where windows begin and end") {
  trace_builder built;
  built.header()
      .instruction(1, 1)
      .unit(100, 0)
      .instruction(2, 1)
      .unit(200, 0)
      .instruction(3, 1)
      .unit(300, 4)
      .instruction(4, 1)
      .exit();
  const auto trace = final_trace::open(built.view());
  REQUIRE(trace);
  told to;
  CHECK_FALSE(run_phases(*trace, to));
  // What stands in front of the first WINDOW_ID is a window without ordinal.
  CHECK(to.line == "[99 1 99] [0 2 3 0] [4 4 4] ");
}

TEST_CASE("a working set has the lines of data and code that are touched, once") {
  trace_builder built;
  built.header().unit(100, 0).instruction(0x1000, 4).put(trace_type::read, 8, 0x2000).put(trace_type::write, 8, 0x2008);
  // Over the border of a line; the second one again, of code.
  built.put(trace_type::read, 2, 0x203f)
      .instruction(0x103e, 4)
      .instruction(0x1040, 2)
      .put(trace_type::prefetch, 8, 0x9000)
      .exit();
  const auto trace = final_trace::open(built.view());
  REQUIRE(trace);
  working_set touched;
  CHECK_FALSE(run_phases(*trace, touched));
  CHECK(touched.line_size() == 64);
  CHECK(touched.data_lines() == 2);
  CHECK(touched.code_lines() == 2);
  working_set other(64);
  CHECK_FALSE(run_phases(*trace, other));
  touched.merge(other);
  CHECK(touched.data_lines() == 2);
}

TEST_CASE("fresh analyzers for each window give the same results with any number of threads, and add up") {
  std::vector<std::vector<std::byte>> files;
  std::vector<final_trace> traces;
  for (const std::string& name : test::good_files) files.push_back(load_trace(name));
  for (const auto& file : files) traces.push_back(*final_trace::open(file));
  const auto tasks = tasks_of(traces);
  const auto sets = [](unsigned jobs) {
    return [jobs](const auto& all) { return run_each_window(all, [] { return working_set(); }, jobs); };
  };
  const auto one = sets(1)(tasks), four = sets(4)(tasks);
  REQUIRE(one.size() == four.size());
  working_set total;
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].data_lines() == four[i].data_lines());
    CHECK(one[i].code_lines() == four[i].code_lines());
    total.merge(one[i]);
  }
  // With encodings, of which later windows have those of earlier ones.
  const auto coded = [&](unsigned jobs) {
    return run_each_window(tasks, [] { return coded_instructions(); }, jobs, true);
  };
  const auto coded_one = coded(1), coded_four = coded(4);
  for (std::size_t i = 0; i < tasks.size(); ++i) CHECK(coded_one[i].bytes == coded_four[i].bytes);
  // The whole application, by one analyzer over all of it.
  working_set all;
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
      for (std::size_t i = 0; i < item.encoding_size; ++i)
        text += "," + std::to_string(std::to_integer<unsigned>(item.encoding[i]));
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
  for (const std::size_t i : {std::size_t{0}, std::size_t{2}})
    tasks.push_back({i == 0 ? *trace : *second, tasks[i].which});
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
  CHECK(std::any_of(last.all.begin(), last.all.end(),
                    [](const std::string& line) { return line.find(" 4096 7 4096,145") != std::string::npos; }));
}
