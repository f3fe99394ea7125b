// SPDX-License-Identifier: Apache-2.0
// One analyzer, and the analyses and exporters of the library, on a trace of each format.
#include <cstdint>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <backsight/analysis/call_filter.hpp>
#include <backsight/analysis/call_tree.hpp>
#include <backsight/analysis/run.hpp>
#include <backsight/analysis/time_table.hpp>
#include <backsight/emit/chrome_json.hpp>
#include <backsight/emit/dot.hpp>
#include <backsight/emit/folded.hpp>
#include <backsight/emit/timeline.hpp>
#include <backsight/io/mapped_file.hpp>
#include <backsight/io/uftrace_directory.hpp>
#include <backsight/memtrace/calls.hpp>
#include <backsight/memtrace/windows.hpp>
#include <backsight/uftrace/calls.hpp>
#include <backsight/xray/calls.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;

namespace {

/// The analyzer: it knows no format. How often each function was entered, and in how many parts.
class entry_counts {
 public:
  template <call_event Event>
  void on(const Event& event) {
    if (event.kind == event_kind::enter) ++counts_[event.function];
  }
  template <class Part>
  void end_part(const Part&) {
    ++parts_;
  }
  void merge(const entry_counts& later) {
    for (const auto& [function, count] : later.counts_) counts_[function] += count;
    parts_ += later.parts_;
  }
  std::map<std::uint64_t, std::uint64_t> counts_;
  std::size_t parts_ = 0;
};

struct function_sums {
  std::uint64_t calls = 0, total = 0, self = 0;
  friend bool operator==(const function_sums&, const function_sums&) = default;
};

/// What the analyses say of a trace, by the names of functions; they must agree with one another whatever the number of
/// jobs.
template <call_trace T>
std::map<std::string, function_sums> sums_of(const T& trace, std::size_t expected_faults = 0) {
  std::map<std::string, function_sums> first;
  for (const unsigned jobs : {1U, 3U}) {
    std::size_t faults = 0;
    const auto on_fault = [&](std::string_view, const fault&) { ++faults; };
    auto table = analysis::run(trace, analysis::time_table(), on_fault, jobs);
    CHECK(std::exchange(faults, 0) == expected_faults);
    const auto counts = analysis::run(trace, entry_counts(), on_fault, jobs);
    CHECK(counts.parts_ == trace.part_count());
    const auto tree = analysis::run(trace, analysis::call_tree(), on_fault, jobs);

    std::map<std::string, function_sums> sums, of_tree;
    std::uint64_t entered = 0, self = 0, folded = 0;
    table.for_each([&](const auto& key, auto& row) {
      const auto all = row.durations.sum_up();
      auto& sum = sums[std::string(trace.function_name(key.second))];
      sum.calls += all.count;
      sum.total += trace.to_ns(all.sum);
      sum.self += trace.to_ns(row.self);
    });
    for (std::size_t id = 1; id < tree.nodes().size(); ++id) {
      const auto& node = tree.nodes()[id];
      if (node.count == 0) continue;
      auto& sum = of_tree[std::string(trace.function_name(node.function))];
      sum.calls += node.count;
      sum.total += trace.to_ns(node.total);
      sum.self += trace.to_ns(node.self);
      self += trace.to_ns(node.self);
    }
    CHECK(sums == of_tree);
    for (const auto& [function, count] : counts.counts_) entered += count;
    std::uint64_t ended = 0;
    for (const auto& [name, sum] : sums) ended += sum.calls;
    CHECK(entered == ended + table.faults().unfinished);

    // The widths of a flame graph are the self times.
    std::string text;
    emit::folded(std::back_inserter(text), tree, trace);
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) folded += std::stoull(line.substr(line.rfind(' ') + 1));
    CHECK(folded == self);
    std::string graph;
    emit::dot(std::back_inserter(graph), tree, trace);
    CHECK(graph.find(std::string(" ") + unit_name(trace.unit()) + "\"];") != std::string::npos);

    if (jobs == 1) first = sums;
    CHECK(sums == first);
  }
  // Of calls on the first level alone none has a callee.
  auto outermost = analysis::run(analysis::chosen(trace, {.levels = 1}), analysis::time_table(),
                                 [](std::string_view, const fault&) {});
  outermost.for_each([&](const auto&, auto& row) { CHECK(row.self == row.durations.sum_up().sum); });
  std::string json;
  emit::chrome_json writer(std::back_inserter(json));
  emit::timeline(writer, trace, [](std::string_view, const fault&) {});
  writer.finish();
  std::size_t begins = 0, ends = 0;
  for (std::size_t at = 0; (at = json.find("\"ph\":\"", at)) != std::string::npos; ++at) {
    begins += json[at + 6] == 'B';
    ends += json[at + 6] == 'E';
  }
  CHECK(begins >= ends);
  CHECK(ends > 0);
  return first;
}

/// The rows of a table of text, split at a character.
std::vector<std::vector<std::string>> rows_of(const std::string& path, char separator) {
  const auto bytes = test::read_file(path);
  std::istringstream lines(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string>& row = rows.emplace_back();
    std::istringstream words(line);
    for (std::string word; std::getline(words, word, separator);) {
      if (separator != ' ' || !word.empty()) row.push_back(word);
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("the calls of an XRay log are those of llvm-xray's account") {
  for (const char* name : {"fdr-args", "basic-args"}) {
    CAPTURE(name);
    const auto file = test::read_file(test::data_path("xray/c19/" + std::string(name) + ".xray"));
    const auto sums = sums_of(xray::calls(xray::open(file).value()));
    // funcid,count,min,median,90%ile,99%ile,max,sum,debug,function; times in seconds, with seven digits.
    const auto rows = rows_of(test::data_path("xray/expected/c19/" + std::string(name) + "/account-d.csv"), ',');
    REQUIRE(rows.size() == sums.size() + 1);
    for (std::size_t i = 1; i < rows.size(); ++i) {
      const auto found = sums.find("#" + rows[i][0]);
      REQUIRE(found != sums.end());
      CHECK(std::to_string(found->second.calls) == rows[i][1]);
      const double seconds = std::stod(rows[i][7]);
      CHECK(static_cast<double>(found->second.total) / 1e9 >= seconds * 0.999999);
      CHECK(static_cast<double>(found->second.total) / 1e9 <= seconds * 1.000001);
    }
  }
}

TEST_CASE("the calls of a uftrace directory are those of uftrace's report") {
  for (const char* name : {"args-spec", "bigendian-derived"}) {
    CAPTURE(name);
    const std::string folder = test::data_path("uftrace/" + std::string(name));
    const auto directory = io::uftrace_directory::open(folder + "/uftrace.data");
    REQUIRE(directory);
    const auto sums = sums_of(uftrace::calls(directory->recording()));
    // Total time, self time, calls, function; times with three decimals of their unit, cut off.
    const auto nanoseconds = [](const std::string& number, const std::string& unit) {
      const std::uint64_t scale = unit == "us" ? 1 : unit == "ms" ? 1000 : unit == "s" ? 1000000 : 0;
      REQUIRE(scale != 0);
      const std::size_t point = number.find('.');
      return (std::stoull(number.substr(0, point)) * 1000 + std::stoull(number.substr(point + 1))) * scale;
    };
    std::size_t functions = 0;
    for (const auto& row : rows_of(folder + "/expected/report.txt", ' ')) {
      if (row.size() < 6 || row[0] == "Total" || row[0].starts_with("=")) continue;
      ++functions;
      std::string function = row[5];
      for (std::size_t i = 6; i < row.size(); ++i) function += " " + row[i];
      CAPTURE(function);
      const auto found = sums.find(function);
      // uftrace counts calls that do not end, too.
      if (found == sums.end()) continue;
      CHECK(std::to_string(found->second.calls) == row[4]);
      const std::uint64_t self = nanoseconds(row[2], row[3]), unit = row[3] == "us"   ? 1
                                                                     : row[3] == "ms" ? 1000
                                                                                      : 1000000;
      CHECK(found->second.self / unit == self / unit);
    }
    CHECK(functions >= sums.size());
    CHECK(functions > 5);
  }
}

TEST_CASE("the calls of a memtrace are what its instructions call, counted by hand") {
  const auto file =
      io::mapped_file::open(test::data_path("memtrace/single/drmemtrace.single.10508.3099.trace").c_str());
  REQUIRE(file);
  const memtrace::calls trace({{file->bytes(), ""}});
  const auto sums = sums_of(trace);
  // A second reader: a stack of where calls go on, as the trace's own program has it, each window for itself.
  std::map<std::string, function_sums> expected;
  using memtrace::trace_type;
  for (const memtrace::window& which : memtrace::window_range(file->bytes())) {
    struct open_call {
      std::uint64_t function, back, start, in_callees;
    };
    std::vector<open_call> stack;
    std::uint64_t instructions = 0, back = 0, target = 0;
    bool called = false;
    const auto window = memtrace::part_of(file->bytes(), which);
    for (const auto entry : window.entries()) {
      const trace_type type = entry[memtrace::entry_record::type];
      const std::uint64_t value = entry[memtrace::entry_record::addr];
      const auto size = entry[memtrace::entry_record::size];
      if (type == trace_type::marker && size == static_cast<std::uint16_t>(memtrace::marker_type::branch_target))
        target = value;
      if (!memtrace::is_instruction(type)) continue;
      if (std::exchange(called, false)) stack.push_back({value, back, instructions, 0});
      ++instructions;
      if (type == trace_type::instr_direct_call || type == trace_type::instr_indirect_call) {
        called = true;
        back = value + size;
      }
      // This program has neither jumps over calls nor handlers: a return goes to the innermost call or to before the
      // window.
      if (type != trace_type::instr_return || stack.empty() || stack.back().back != target) continue;
      const open_call done = stack.back();
      stack.pop_back();
      const std::uint64_t took = instructions - done.start;
      if (!stack.empty()) stack.back().in_callees += took;
      std::ostringstream name;
      name << "0x" << std::hex << done.function;
      function_sums& sum = expected[name.str()];
      ++sum.calls;
      sum.total += took;
      sum.self += took - done.in_callees;
    }
  }
  CHECK(sums == expected);
  std::uint64_t ended = 0;
  for (const auto& [name, sum] : sums) ended += sum.calls;
  CHECK(ended == 1285);
}
