// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <map>
#include <ranges>
#include <sstream>

#include <backsight/io/zip_trace.hpp>
#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/raw_counts.hpp>
#include <backsight/memtrace/window_index.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::trace_builder;

static_assert(std::ranges::forward_range<window_range> && std::ranges::view<window_range>);

namespace {

std::vector<window> windows_of(byte_view file) {
  const auto trace = final_trace::open(file);
  REQUIRE(trace);
  std::vector<window> all;
  for (const window& one : trace->windows()) all.push_back(one);
  return all;
}

/// The rows of a table of tests/data/memtrace/expected, by tid and window: the fields behind those two.
std::map<std::pair<std::string, std::string>, std::vector<std::string>> table(const std::string& name) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> rows;
  std::ifstream file(test::data_path("memtrace/expected/" + name));
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::vector<std::string> fields;
    std::istringstream words(line);
    for (std::string field; std::getline(words, field, '\t');) fields.push_back(field);
    rows[{fields.at(0), fields.at(1)}] = {fields.begin() + 2, fields.end()};
  }
  return rows;
}

const std::vector<std::string> yield_files{"24335.3353", "24336.5587", "24337.8675", "24338.6180", "24339.0887", "24340.6622"};

}  // namespace

TEST_CASE("the windows of a merged trace are found with their numbers") {
  const auto file = load_trace("single/drmemtrace.single.10508.3099.trace.gz");
  const auto all = windows_of(file);
  REQUIRE(all.size() == 5);
  const std::vector<std::uint64_t> instructions{7707, 11129, 7364, 7687, 0};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(all[i].ordinal == i);
    CHECK(all[i].tid == 10508);
    CHECK(all[i].instructions == instructions[i]);
    CHECK(all[i].gap() == (i != 0));
    CHECK(all[i].end == (i == 4 ? file.size() : all[i + 1].begin));
  }
  // A direct jump that was held back stands between the last window's TIMESTAMP and its WINDOW_ID.
  CHECK(all[4].begin - all[4].opening == 24);
  CHECK(all[3].begin - all[3].opening == 12);
  CHECK(all[1].idle_time == 547);
}

TEST_CASE("late and idle threads have the windows that they ran in, and stragglers are hinted at") {
  aligned_windows aligned;
  const auto expected = table("yield.per_thread_window.tsv");
  for (std::uint32_t i = 0; i < yield_files.size(); ++i) {
    for (const window& one : windows_of(load_trace("yield/drmemtrace.yield." + yield_files[i] + ".trace.zip"))) {
      aligned.add(i, one);
      const auto row = expected.find({std::to_string(one.tid), std::to_string(one.ordinal.value_or(99))});
      REQUIRE(row != expected.end());
      CHECK(row->second.at(0) == std::to_string(one.instructions));
    }
  }
  REQUIRE(aligned.rows().size() == 10);
  CHECK(aligned.rows().at(0).size() == 5);
  // The last thread comes late: its first window is 5.
  CHECK(std::ranges::none_of(aligned.rows().at(4), [](const indexed_window& one) { return one.file == 5; }));
  CHECK(std::ranges::any_of(aligned.rows().at(5), [](const indexed_window& one) { return one.file == 5; }));
  std::size_t hinted = 0;
  const std::vector<std::pair<std::uint32_t, std::uint64_t>> gaps{{2, 0}, {2, 3}, {3, 1}, {3, 4}, {4, 2}, {4, 5}, {5, 6}, {5, 7}};
  for (const auto& [ordinal, row] : aligned.rows()) {
    for (const indexed_window& one : row) {
      const bool late = one.what.straggler(aligned.next_opening(*ordinal));
      hinted += late;
      // The windows of expected/pc_gaps.txt are all among them.
      if (std::ranges::count(gaps, std::pair(one.file, *ordinal)) != 0) CHECK(late);
    }
  }
  CHECK(hinted == 22);
}

TEST_CASE("the scanner gives the same windows whatever the pieces") {
  const auto file = load_trace("yield/drmemtrace.yield.24339.0887.trace.zip");
  const auto whole = windows_of(file);
  for (const std::size_t piece : {std::size_t{12}, std::size_t{24}, std::size_t{1200}, std::size_t{12 * 777}}) {
    window_scanner scanner;
    std::vector<window> found;
    for (std::size_t at = 0; at < file.size(); at += piece) {
      byte_view rest = byte_view(file).subspan(at, std::min(piece, file.size() - at));
      while (!rest.empty()) {
        rest = rest.subspan(scanner.feed(rest));
        if (scanner.done()) found.push_back(*scanner.done());
      }
    }
    found.push_back(scanner.last());
    CHECK(found == whole);
  }
}

TEST_CASE("a trace without windows is one window without ordinal") {
  trace_builder built;
  built.header().time(100).instruction(1, 1).instruction(2, 1).exit();
  const auto all = windows_of(built.view());
  REQUIRE(all.size() == 1);
  CHECK_FALSE(all[0].ordinal);
  CHECK(all[0].instructions == 2);
  CHECK_FALSE(all[0].gap());
}

TEST_CASE("a saved index gives back every window and refuses what is none") {
  const auto file = load_trace("single/drmemtrace.single.10508.3099.trace.gz");
  std::vector<indexed_window> all;
  for (const window& one : windows_of(file)) all.push_back({0, one});
  for (const window& one : windows_of(load_trace("yield/drmemtrace.yield.24339.0887.trace.zip"))) all.push_back({1, one});
  const auto saved = save_index(all);
  const auto index = window_index::open(saved);
  REQUIRE(index);
  REQUIRE(index->size() == all.size());
  for (const indexed_window& one : all) CHECK(index->find(one.file, *one.what.ordinal, ~std::uint64_t{0}) == one.what);
  CHECK_FALSE(index->find(0, 5, file.size()));
  CHECK_FALSE(index->find(2, 0, file.size()));
  // An index of another file does not lead outside of this one.
  CHECK_FALSE(index->find(0, 4, file.size() - 1));
  auto damaged = saved;
  damaged[0] = std::byte{'X'};
  CHECK(window_index::open(damaged).error() == trace_error{errc::bad_magic, 0});
  damaged = saved;
  damaged[8] = std::byte{2};
  CHECK(window_index::open(damaged).error() == trace_error{errc::unsupported_version, 8});
  for (std::size_t size = 0; size < saved.size(); ++size) CHECK(window_index::open(byte_view(saved).first(size)).error().code == errc::truncated);
}

TEST_CASE("a window of a chunked trace is read by its chunks alone, and a chunk knows its window") {
  const auto packed = test::read_file(test::data_path("memtrace/single/drmemtrace.single.10508.3099.trace.zip"));
  const auto archive = io::zip_archive::open(packed);
  REQUIRE(archive);
  REQUIRE(archive->members().size() > 2);
  const auto whole = load_trace("single/drmemtrace.single.10508.3099.trace.zip");
  std::vector<indexed_window> all;
  for (const window& one : windows_of(whole)) {
    all.push_back({0, one});
    const auto bytes = io::read_window(*archive, one);
    REQUIRE(bytes);
    CHECK(std::ranges::equal(*bytes, part_of(whole, one).bytes));
    const auto with_encodings = io::read_window(*archive, one, true);
    REQUIRE(with_encodings);
    CHECK(with_encodings->size() == one.end - one.chunk);
    // The chunk that a window begins in is where its member begins.
    CHECK(archive->members()[io::chunk_at(*archive, one.begin)].offset == one.chunk);
  }
  const auto saved = save_index(all);
  const auto index = window_index::open(saved);
  REQUIRE(index);
  CHECK_FALSE(index->containing(0, 0));
  for (const io::zip_member& chunk : archive->members()) {
    if (chunk.offset == 0) continue;
    const auto current = index->containing(0, chunk.offset);
    REQUIRE(current);
    CHECK(current->begin <= chunk.offset);
    CHECK(chunk.offset < current->end);
  }
  CHECK(io::read_chunks(*archive, whole.size() - 1, whole.size() + 1).error().code == errc::out_of_range);
  CHECK(io::read_chunks(*archive, 5, 5)->empty());
}

TEST_CASE("a window is split into a warm-up of that many instructions and the rest") {
  const auto file = load_trace("single/drmemtrace.single.10508.3099.trace.gz");
  const auto all = windows_of(file);
  const window_part whole = part_of(file, all[1]);
  const auto count = [](const window_part& part) {
    std::uint64_t instructions = 0;
    for (const auto item : part.entries()) instructions += is_instruction(item[entry_record::type]) && item[entry_record::size] != 0;
    return instructions;
  };
  for (const std::uint64_t warm_up : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{5000}, std::uint64_t{11129}, std::uint64_t{99999}}) {
    const auto [first, second] = whole.split_at(warm_up);
    CHECK(count(first) == std::min<std::uint64_t>(warm_up, 11129));
    CHECK(count(first) + count(second) == 11129);
    CHECK(first.bytes.size() + second.bytes.size() == whole.bytes.size());
    CHECK(second.base == first.base + first.bytes.size());
    // Encodings and branch targets go with the instruction behind them.
    if (!first.bytes.empty()) {
      const auto last = first.entries()[first.entries().size() - 1];
      CHECK(last[entry_record::type] != trace_type::encoding);
    }
  }
}

TEST_CASE("window_at goes to one window and none that is not there") {
  const auto file = load_trace("yield/drmemtrace.yield.24340.6622.trace.zip");
  const auto trace = final_trace::open(file);
  REQUIRE(trace);
  CHECK_FALSE(trace->window_at(0));
  REQUIRE(trace->window_at(6));
  CHECK(trace->window_at(6)->ordinal == 6);
}

TEST_CASE("the units of raw traces have window, thread and time, and join to windows") {
  const auto expected = table("yield.raw_windows.tsv");
  for (const std::string& name : yield_files) {
    const auto file = load_trace("yield/drmemtrace.yield." + name + ".raw");
    const auto head = read_raw_header(file);
    REQUIRE(head);
    std::uint64_t units = 0, windows = 0, joined = 0;
    std::size_t end = head->size;
    for (const raw_unit& unit : raw_units(file, *head)) {
      CHECK(unit.begin == end);
      CHECK(unit.tid == head->tid);
      CHECK(unit.window);
      CHECK(unit.time > 13439699000000000);
      end = unit.end;
      ++units;
    }
    CHECK(end == file.size());
    raw_counter counter;
    CHECK_FALSE(counter.feed(file));
    counter.finish();
    for_each_raw_window(file, *head, [&](const window& one) {
      ++windows;
      joined += one.units;
      CHECK(one.ordinal == counter.windows().at(windows).window);
      CHECK(one.instructions == counter.windows().at(windows).instructions);
    });
    CHECK(joined == units);
    CHECK(windows + 1 == counter.windows().size());
  }
}

TEST_CASE("counts equal those of an independent counter, whole and in pieces") {
  for (const auto& [set, files] : std::map<std::string, std::vector<std::string>>{{"yield", yield_files}, {"single", {"10508.3099"}}, {"sig", {"15934.7959"}}}) {
    const auto expected = table(set + ".per_thread_window.tsv");
    for (const std::string& name : files) {
      const auto file = load_trace(set + "/drmemtrace." + set + "." + name + ".trace.zip");
      final_counter whole, pieces;
      CHECK_FALSE(whole.feed(file));
      whole.finish();
      for (std::size_t at = 0; at < file.size(); at += 12 * 100) CHECK_FALSE(pieces.feed(byte_view(file).subspan(at, std::min<std::size_t>(1200, file.size() - at))));
      pieces.finish();
      CHECK(whole.sections() == pieces.sections());
      for (const section_counts& one : whole.sections()) {
        const auto row = expected.find({std::to_string(one.tid), one.window ? std::to_string(*one.window) : "-"});
        REQUIRE(row != expected.end());
        const record_counts& c = one.counts;
        std::vector<std::string> mine;
        for (const std::uint64_t number : {c.instructions, c.unique_pcs, c.non_fetched, c.prefetches, c.loads, c.stores, c.time_and_cpu, c.kernel_transfers,
                                           c.syscalls, c.blocking_syscalls, c.other_markers, c.encodings, c.exits, whole.records()}) {
          mine.push_back(std::to_string(number));
        }
        CHECK(mine == row->second);
      }
    }
  }
}
