// SPDX-License-Identifier: Apache-2.0
#include <random>

#include <backsight/memtrace/analyzers.hpp>
#include <backsight/memtrace/check.hpp>
#include <backsight/memtrace/raw_counts.hpp>
#include <backsight/memtrace/split.hpp>
#include <backsight/memtrace/window_index.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;

namespace {

/// Everything that can be done with a final trace; the sum keeps the work from being left out.
std::uint64_t use_final(byte_view bytes) {
  std::uint64_t sum = 0;
  const auto head = read_final_header(bytes);
  sum += head.error().offset;
  for_each_salvaging(final_range(bytes), [&](const auto& item) { visit(item, [&](const auto& typed) { sum += typed.bytes().size(); }); }, [&](const fault& f) { sum += f.skipped; });
  final_counter counter;
  sum += counter.feed(bytes).offset;
  counter.finish();
  sum += counter.sections().size() + counter.all_pcs().size();
  const auto trace = final_trace::open(bytes);
  if (!trace) return sum;
  std::uint64_t end = 0;
  for (const window& one : trace->windows()) {
    CHECK(one.begin >= end);
    CHECK(one.end >= one.begin);
    CHECK(one.end <= bytes.size());
    end = one.begin;
    const auto [warm_up, rest] = part_of(bytes, one).split_at(10);
    sum += warm_up.bytes.size() + rest.bytes.size();
    call_tracker calls;
    run_window(*trace, one, calls, true);
    sum += calls.depth();
  }
  trace_checker checker(*trace);
  checker.run([&](const check_result& one) { sum += one.offset; });
  window_merger merger;
  sum += split_windows(bytes, [&](const window&, byte_view part) { sum += merger.add(part).offset; }).offset;
  return sum + merger.finish().size();
}

std::uint64_t use_raw(byte_view bytes) {
  std::uint64_t sum = 0;
  const auto head = read_raw_header(bytes);
  raw_counter counter;
  sum += counter.feed(bytes).offset;
  counter.finish();
  for_each_salvaging(raw_range(bytes), [&](const auto& item) { visit(item, [&](const auto& typed) { sum += typed.bytes().size(); }); }, [&](const fault& f) { sum += f.skipped; });
  if (!head) return sum;
  std::size_t end = 0;
  for (const raw_unit& unit : raw_units(bytes, *head)) {
    CHECK(unit.end > unit.begin);
    CHECK(unit.begin >= end);
    end = unit.end;
  }
  for_each_raw_window(bytes, *head, [&](const window& one) { sum += one.instructions; });
  return sum;
}

/// A copy in memory of its own size, so that AddressSanitizer sees each byte read outside.
std::vector<std::byte> copy_of(byte_view bytes) { return {bytes.begin(), bytes.end()}; }

template <class Use>
void mutate(const std::vector<std::byte>& good, std::size_t count, std::uint64_t seed, Use&& use) {
  std::mt19937_64 random(seed);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    auto bytes = good;
    for (std::uint64_t changes = random() % 8 + 1; changes != 0; --changes) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] ^= static_cast<std::byte>(1U << random() % 8); break;
        case 1: bytes[at] = static_cast<std::byte>(random()); break;
        case 2: bytes[at] = static_cast<std::byte>(random() % 50); break;
        default: {
          // Records swap places, as bytes rarely make a valid type.
          const std::size_t a = at / 4 * 4, b = random() % bytes.size() / 4 * 4, size = std::min({std::size_t{12}, bytes.size() - a, bytes.size() - b});
          for (std::size_t k = 0; k < size; ++k) std::swap(bytes[a + k], bytes[b + k]);
        }
      }
    }
    if (random() % 16 == 0) bytes.resize(random() % bytes.size());
    sum += use(byte_view(bytes));
  }
  CHECK(sum != 0);
}

}  // namespace

TEST_CASE("each truncation of small final traces ends cleanly") {
  for (const char* name : {"legacy/drmemtrace.small.x64.trace", "yield/drmemtrace.yield.24336.5587.trace.zip", "legacy/mock_syscall_sequences.x64",
                           "legacy/drmemtrace.allasm_x86_64.trace.zip"}) {
    const auto file = load_trace(name);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const auto part = copy_of(byte_view(file).first(size));
      use_final(part);
      if (size % 12 != 0) CHECK(final_range(part).validate() == trace_error{errc::truncated, size / 12 * 12});
      const auto trace = final_trace::open(part);
      if (!trace) continue;
      bool missing = false;
      trace_checker checker(*trace);
      checker.run([&](const check_result& one) { missing = missing || one.what == finding::missing_exit; });
      CHECK(missing);
    }
  }
}

TEST_CASE("each truncation of a small raw trace ends cleanly") {
  const auto file = load_trace("yield/drmemtrace.yield.24335.3353.raw");
  for (std::size_t size = 0; size < file.size(); size += size < 800 ? 1 : 61) {
    const auto part = copy_of(byte_view(file).first(size));
    use_raw(part);
    if (size % 8 != 0) CHECK(raw_range(part).validate().code == errc::truncated);
  }
}

TEST_CASE("50,000 random mutations of final traces end cleanly") {
  const auto small = load_trace("legacy/drmemtrace.small.x64.trace");
  mutate(small, 25000, 1, use_final);
  const auto chunks = load_trace("legacy/drmemtrace.allasm_x86_64.trace.zip");
  mutate(chunks, 15000, 2, use_final);
  // A real trace with windows, cut down to its first 300 records and its last 50.
  auto windows = load_trace("yield/drmemtrace.yield.24337.8675.trace.zip");
  windows.erase(windows.begin() + 12 * 300, windows.end() - 12 * 50);
  mutate(windows, 10000, 3, use_final);
}

TEST_CASE("50,000 random mutations of raw traces end cleanly") {
  auto file = load_trace("yield/drmemtrace.yield.24335.3353.raw");
  file.erase(file.begin() + 8 * 400, file.end() - 8 * 100);
  mutate(file, 50000, 4, use_raw);
}

