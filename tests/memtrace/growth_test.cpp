// SPDX-License-Identifier: Apache-2.0
// The work for many windows, threads and files grows like their number.
#include <vector>

#include <backsight/memtrace/analyzers.hpp>
#include <backsight/memtrace/check.hpp>
#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/index.hpp>
#include <backsight/memtrace/raw_counts.hpp>
#include <backsight/memtrace/split.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>
#include <support/work.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::grows_like_its_input;
using test::raw_builder;
using test::trace_builder;

namespace {

/// A thread's trace of n windows, whose times go `up` or down.
trace_builder many_windows(std::uint64_t n, bool up = true) {
  trace_builder built;
  built.header();
  for (std::uint64_t i = 0; i < n; ++i) built.unit(up ? 1000 + i : 1000 + n - i, i).encoded(0x1000, {0x90});
  return built.exit();
}

/// A core's trace of n threads that take turns, each with a window that it goes on with.
trace_builder many_threads(std::uint64_t n) {
  trace_builder built;
  built.header(1, 7, 0xe40 | file_type::core_sharded);
  for (const std::uint64_t round : {0U, 1U}) {
    for (std::uint64_t tid = n; tid != 0; --tid) {
      built.thread(tid);
      if (round == 0) built.unit(1000 + n - tid, 0);
      built.instruction(0x1000, 1);
    }
  }
  return built.put(trace_type::footer, 0, 0);
}

std::vector<indexed_window> found_in(byte_view file) {
  std::vector<indexed_window> found;
  for (const window& one : window_range(file)) found.push_back({0, one});
  return found;
}

}  // namespace

TEST_CASE("the measure tells a square from a line") {
  std::vector<int> numbers;
  const auto square = [&](std::uint64_t n) {
    numbers.assign(n, 1);
    volatile int sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (const int one : numbers) sum = sum + one;
    }
  };
  const auto line = [&](std::uint64_t n) {
    numbers.assign(n, 1);
    volatile int sum = 0;
    for (const int one : numbers) sum = sum + one;
  };
  CHECK_FALSE(grows_like_its_input(200, square));
  CHECK(grows_like_its_input(200, line));
}

TEST_CASE("the work for windows grows like their number") {
  for (const bool up : {true, false}) {
    CAPTURE(up);
    const auto file = [&](std::uint64_t n) { return many_windows(n, up); };
    CHECK(grows_like_its_input(500, [&](std::uint64_t n) { (void)found_in(file(n).view()); }));
    CHECK(grows_like_its_input(500, [&](std::uint64_t n) {
      auto found = found_in(file(n).view());
      mark_stragglers(found);
      CHECK(join_pieces(found).size() == n);
    }));
    CHECK(grows_like_its_input(500, [&](std::uint64_t n) {
      aligned_windows aligned;
      for (const indexed_window& one : found_in(file(n).view())) aligned.add(0, one.what);
      std::uint64_t sum = 0;
      for (std::uint64_t i = 0; i < n; ++i) sum += aligned.next_opening(i);
      CHECK(sum != 0);
    }));
    CHECK(grows_like_its_input(500, [&](std::uint64_t n) {
      const auto found = found_in(file(n).view());
      const auto saved = save_index(found, std::vector<indexed_file>(1));
      const auto index = window_index::open(saved);
      std::uint64_t good = 0;
      for (const indexed_window& one : found) {
        good += index->find(0, *one.what.ordinal, ~std::uint64_t{0}) == one.what;
        good += index->containing(0, one.what.begin) == one.what;
        good += index->all_of(0, *one.what.ordinal).size();
      }
      CHECK(good == 3 * n);
    }));
    CHECK(grows_like_its_input(500, [&](std::uint64_t n) {
      const auto built = file(n);
      final_counter counter;
      CHECK_FALSE(counter.feed(built.view()));
      counter.finish();
      CHECK(counter.sections().size() == n + 1);
    }));
    CHECK(grows_like_its_input(500, [&](std::uint64_t n) {
      const auto built = file(n);
      window_merger merger;
      CHECK_FALSE(split_windows(built.view(), [&](const window&, byte_view part) { CHECK_FALSE(merger.add(part)); }));
      CHECK(merger.finish().size() > n * 12);
    }));
    CHECK(grows_like_its_input(500, [&](std::uint64_t n) {
      const auto built = file(n);
      const auto trace = final_trace::open(built.view());
      trace_checker(*trace).for_each_finding([](const check_result&) {});
    }));
    // A trace without chunks has the encodings of a window's instructions anywhere in front of it.
    CHECK(grows_like_its_input(500, [&](std::uint64_t n) {
      const auto built = file(n);
      const auto trace = final_trace::open(built.view());
      CHECK(run_each_window(tasks_of({*trace}), [] { return working_set(); }, 1, true).size() == n);
    }));
  }
}

TEST_CASE("the work for threads that take turns grows like their number") {
  CHECK(grows_like_its_input(500, [](std::uint64_t n) {
    auto found = found_in(many_threads(n).view());
    mark_stragglers(found);
    CHECK(join_pieces(found).size() == n);
  }));
  CHECK(grows_like_its_input(500, [](std::uint64_t n) {
    const auto built = many_threads(n);
    final_counter counter;
    CHECK_FALSE(counter.feed(built.view()));
    counter.finish();
  }));
}

TEST_CASE("the work for windows of raw traces grows like their number") {
  const auto file = [](std::uint64_t n) {
    raw_builder built;
    built.header();
    for (std::uint64_t i = 0; i < n; ++i) built.unit(1000 + i, i).block(3).memref(5);
    return built.footer();
  };
  CHECK(grows_like_its_input(500, [&](std::uint64_t n) {
    const auto built = file(n);
    const auto head = read_raw_header(built.view());
    std::uint64_t count = 0;
    for_each_raw_window(built.view(), *head, [&](const window&) { ++count; });
    CHECK(count == n);
  }));
  CHECK(grows_like_its_input(500, [&](std::uint64_t n) {
    const auto built = file(n);
    raw_counter counter;
    CHECK_FALSE(counter.feed(built.view()));
    CHECK_FALSE(counter.finish());
  }));
}
