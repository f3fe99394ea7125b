// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include <backsight/memtrace/window_set.hpp>
#include <backsight/memtrace/windows.hpp>

#include "expected_tables.hpp"
#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;
using test::table;
using test::windows_of;
using test::yield_files;

namespace {

window at_time(std::optional<std::uint64_t> ordinal, std::uint64_t first_time, std::uint64_t last_time = 0,
               std::uint64_t instructions = 1) {
  window made;
  made.ordinal = ordinal, made.first_time = first_time, made.last_time = last_time, made.instructions = instructions;
  return made;
}

}  // namespace

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
  const std::vector<std::pair<std::uint32_t, std::uint64_t>> gaps{{2, 0}, {2, 3}, {3, 1}, {3, 4},
                                                                  {4, 2}, {4, 5}, {5, 6}, {5, 7}};
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

TEST_CASE("the next opening is the smallest time of all larger ordinals") {
  // Against the definition, on windows in any order, with ordinals and times that come more than once.
  std::mt19937_64 random(7);
  for (int round = 0; round < 200; ++round) {
    aligned_windows aligned;
    std::vector<window> all;
    for (std::uint64_t count = random() % 30; count != 0; --count) {
      all.push_back(at_time(random() % 12, 100 + random() % 20));
      if (random() % 8 == 0) all.back().ordinal.reset();
      aligned.add(0, all.back());
    }
    for (std::uint64_t ordinal = 0; ordinal < 13; ++ordinal) {
      std::uint64_t next = ~std::uint64_t{0}, own = next;
      for (const window& one : all) {
        if (one.ordinal && *one.ordinal > ordinal) next = std::min(next, one.first_time);
        if (one.ordinal == ordinal) own = std::min(own, one.first_time);
      }
      CHECK(aligned.next_opening(ordinal) == next);
      CHECK(aligned.opening_time(ordinal) == own);
    }
  }
}

TEST_CASE("a window is late from the opening of a later one on, and only with instructions") {
  std::vector<indexed_window> all;
  for (const window& one : {at_time(0, 100, 299), at_time(0, 100, 300), at_time(0, 100, 300, 0), at_time(2, 300, 900),
                            at_time(3, 800, 900), at_time({}, 1, 900)}) {
    all.push_back({static_cast<std::uint32_t>(all.size()), one});
  }
  mark_stragglers(all);
  std::vector<bool> late;
  for (const indexed_window& one : all) late.push_back(one.late);
  CHECK(late == std::vector<bool>{false, true, false, true, false, false});
}

TEST_CASE("the pieces of a thread's window are joined, in their own file") {
  const auto piece = [](std::uint32_t file, std::uint64_t tid, std::uint64_t ordinal, std::uint64_t begin,
                        bool continued) {
    indexed_window made{file, at_time(ordinal, begin, begin + 5, 2)};
    made.what.tid = tid, made.what.begin = begin, made.what.end = begin + 10, made.what.continued = continued,
    made.what.units = continued ? 1 : 3;
    return made;
  };
  const std::vector<indexed_window> pieces{
      piece(0, 1, 0, 0, false), piece(0, 2, 0, 10, false), piece(0, 1, 0, 20, true), piece(0, 1, 1, 30, false),
      piece(0, 2, 0, 40, true), piece(0, 1, 1, 50, true),  piece(1, 1, 1, 0, true),  piece(1, 2, 1, 10, false),
      piece(1, 1, 1, 20, true), piece(2, 5, 0, 0, false),  piece(2, 5, 0, 10, false)};
  const auto whole = [&](std::size_t first, std::uint64_t end, std::uint64_t last_time, std::uint64_t instructions,
                         std::uint64_t units) {
    indexed_window made = pieces[first];
    made.what.end = end, made.what.last_time = last_time, made.what.instructions = instructions,
    made.what.units = units;
    return made;
  };
  // An ordinal that comes twice without another thread in between is no piece.
  CHECK(join_pieces(pieces) == std::vector<indexed_window>{whole(0, 30, 25, 4, 4), whole(1, 50, 45, 4, 4),
                                                           whole(3, 60, 55, 4, 4), whole(6, 30, 25, 4, 2), pieces[7],
                                                           pieces[9], pieces[10]});
}

TEST_CASE("the mark of a straggler is that of all its pieces") {
  const auto piece = [](std::uint64_t tid, std::uint64_t ordinal, std::uint64_t first_time, std::uint64_t last_time,
                        std::uint64_t instructions, bool continued) {
    indexed_window made{0, at_time(ordinal, first_time, last_time, instructions)};
    made.what.tid = tid, made.what.continued = continued;
    return made;
  };
  // Thread 1 goes on with window 0 when thread 2 has opened window 1; thread 2 has no instructions in its last piece.
  std::vector<indexed_window> pieces{piece(1, 0, 100, 150, 0, false), piece(2, 1, 200, 250, 3, false),
                                     piece(1, 0, 150, 210, 1, true), piece(3, 2, 240, 240, 1, false),
                                     piece(2, 1, 250, 250, 0, true)};
  mark_stragglers(pieces);
  std::vector<bool> late;
  for (const indexed_window& one : pieces) late.push_back(one.late);
  CHECK(late == std::vector<bool>{true, true, true, false, true});
  // The time at which a thread went on opens nothing.
  pieces = {piece(1, 0, 500, 600, 1, false), piece(2, 3, 700, 700, 1, false), piece(1, 3, 550, 600, 1, true),
            piece(4, 1, 650, 650, 1, false)};
  mark_stragglers(pieces);
  for (const indexed_window& one : pieces) CHECK_FALSE(one.late);
}
