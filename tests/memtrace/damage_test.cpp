// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include <backsight/memtrace/analyzers.hpp>
#include <backsight/memtrace/check.hpp>
#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/index.hpp>
#include <backsight/memtrace/raw_counts.hpp>
#include <backsight/memtrace/split.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::load_trace;

namespace {

/// What is wrong with the records of a final trace, by a second reading of the format: every 12 bytes are one.
std::vector<fault> faults_of_final(byte_view bytes) {
  std::vector<fault> faults;
  for (std::size_t at = 0; at < bytes.size(); at += 12) {
    const std::uint64_t left = std::min<std::size_t>(12, bytes.size() - at);
    const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(bytes[at + i]); };
    const unsigned type = left < 2 ? 0 : byte(0) + byte(1) * 256;
    if (type >= 50) faults.push_back({errc::unknown_record, at, left});
    else if (left < 12) faults.push_back({errc::truncated, at, left});
    else if ((type == 47 || type == 17) && byte(2) + byte(3) * 256 > 8) faults.push_back({errc::bad_size, at, left});
  }
  return faults;
}

/// The same for a raw trace: every 8 bytes are an entry, but halves of a value and ends of flushed code need a second
/// one.
std::vector<fault> faults_of_raw(byte_view bytes) {
  std::vector<fault> faults;
  bool arm32 = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t left = bytes.size() - at;
    const auto word = [&](std::size_t i) {
      std::uint64_t value = 0;
      for (std::size_t k = 8; k-- != 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + i + k]);
      return value;
    };
    if (left < 8) {
      faults.push_back({errc::truncated, at, left});
      break;
    }
    const auto type = [](std::uint64_t entry) { return entry >> 61; };
    const auto kind = [](std::uint64_t entry) { return entry >> 56 & 0x1f; };
    const auto marker = [](std::uint64_t entry) { return entry >> 48 & 0xff; };
    const std::uint64_t now = word(0);
    const bool half = type(now) == 6 && kind(now) == 2 && marker(now) == 8, flush = type(now) == 5 && arm32;
    errc code = errc::ok;
    if (type(now) == 6 && kind(now) > 5) code = errc::unknown_record;
    else if ((half || flush) && left < 16) code = errc::truncated;
    else if (half && !(type(word(8)) == 6 && kind(word(8)) == 2 && marker(word(8)) != 8)) code = errc::unpaired_record;
    else if (flush && type(word(8)) != 5) code = errc::unpaired_record;
    if (type(now) == 6 && kind(now) == 4) arm32 = (now & 0x10) != 0;
    if (type(now) == 6 && kind(now) == 0) arm32 = (marker(now) & 0x10) != 0;
    if (code != errc::ok) faults.push_back({code, at, std::min<std::size_t>(8, left)});
    at += code == errc::ok && (half || flush) ? 16 : 8;
  }
  return faults;
}

/// The first fault as an error, parts of a record at the end left out.
trace_error first_of(const std::vector<fault>& faults, std::size_t end) {
  if (faults.empty() || faults.front().offset >= end) return {};
  return {faults.front().code, faults.front().offset};
}

/// Does everything that can be done with a final trace, and compares what is said about damage; gives the number of
/// faults.
std::size_t use_final(byte_view bytes) {
  const std::vector<fault> expected = faults_of_final(bytes);
  const std::size_t whole = bytes.size() / 12 * 12;
  const trace_error first = first_of(expected, whole);
  std::vector<fault> found;
  std::uint64_t read = 0;
  for_each_salvaging(
      final_range(bytes),
      [&](const auto& item) { visit(item, [&](const auto& typed) { read += typed.bytes().size(); }); },
      [&](const fault& f) { found.push_back(f); });
  CHECK(found == expected);
  for (const fault& one : expected) read += one.skipped;
  CHECK(read == bytes.size());
  final_counter counter;
  CHECK(counter.feed(bytes) == first);
  counter.finish();
  CHECK(counter.records() == (first ? first.offset : whole) / 12);
  const auto trace = final_trace::open(bytes);
  if (!trace) return expected.size();

  std::uint64_t end = 0, instructions = 0;
  auto it = trace->windows().begin();
  for (; it != std::default_sentinel; ++it) {
    const window one = *it;
    CHECK(one.begin >= end);
    CHECK(one.end >= one.begin);
    CHECK(one.end <= bytes.size());
    end = one.begin;
    instructions += one.instructions;
    const auto [warm_up, rest] = part_of(bytes, one).split_at(10);
    CHECK(warm_up.bytes.size() + rest.bytes.size() == one.end - one.begin);
    std::uint64_t ran = 0;
    struct counter_of_instructions {
      std::uint64_t* ran;
      void on(const reference& item) { *ran += is_instruction(item.type); }
    } to{&ran};
    run_window(*trace, one, to, true);
    CHECK(ran == one.instructions);
  }
  CHECK(it.error() == first);
  std::uint64_t counted = 0;
  for (const section_counts& one : counter.sections()) counted += one.counts.instructions;
  CHECK(instructions == counted);

  bool unreadable = false;
  trace_checker checker(*trace);
  checker.for_each_finding(
      [&](const check_result& one) { unreadable = unreadable || one.what == finding::unreadable; });
  const bool unknown =
      std::any_of(expected.begin(), expected.end(), [](const fault& one) { return one.code != errc::bad_size; });
  CHECK(unreadable == unknown);
  const trace_error at_end = whole != bytes.size() ? trace_error{errc::truncated, whole} : trace_error{};
  window_merger merger;
  const trace_error split = split_windows(bytes, [&](const window&, byte_view part) {
    CHECK(faults_of_final(part).empty());
    (void)merger.add(part);
  });
  if (split.code != errc::unsupported_type) CHECK(split == (first ? first : at_end));
  CHECK(faults_of_final(merger.finish()).empty());
  return expected.size();
}

std::size_t use_raw(byte_view bytes) {
  const std::vector<fault> expected = faults_of_raw(bytes);
  std::vector<fault> found;
  for_each_salvaging(
      raw_range(bytes), [](const auto& item) { visit(item, [](const auto&) {}); },
      [&](const fault& f) { found.push_back(f); });
  CHECK(found == expected);
  raw_counter counter;
  const trace_error in_feed = counter.feed(bytes), at_end = counter.finish();
  CHECK((in_feed ? in_feed : at_end) == first_of(expected, bytes.size() / 8 * 8));
  const auto head = read_raw_header(bytes);
  if (!head) return expected.size();
  std::size_t end = head->size;
  for (const raw_unit& unit : raw_units(bytes, *head)) {
    CHECK(unit.end > unit.begin);
    CHECK(unit.begin == end);
    end = unit.end;
  }
  CHECK(end == std::max(head->size, bytes.size() / 8 * 8));
  std::uint64_t at = head->size;
  for_each_raw_window(bytes, *head, [&](const window& one) {
    CHECK(one.begin == at);
    at = one.end;
  });
  CHECK(at == end);
  return expected.size();
}

/// A copy in memory of its own size, so that AddressSanitizer sees each byte read outside.
std::vector<std::byte> copy_of(byte_view bytes) { return {bytes.begin(), bytes.end()}; }

/// Uses that many copies with random damage; gives the number of those that have faults.
template <class Use>
std::size_t mutate(const std::vector<std::byte>& good, std::size_t count, std::uint64_t seed, Use&& use) {
  std::mt19937_64 random(seed);
  std::size_t damaged = 0;
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
          const std::size_t a = at / 4 * 4, b = random() % bytes.size() / 4 * 4,
                            size = std::min({std::size_t{12}, bytes.size() - a, bytes.size() - b});
          for (std::size_t k = 0; k < size; ++k) std::swap(bytes[a + k], bytes[b + k]);
        }
      }
    }
    if (random() % 16 == 0) bytes.resize(random() % bytes.size());
    damaged += use(byte_view(copy_of(bytes))) != 0;
  }
  return damaged;
}

}  // namespace

TEST_CASE("each truncation of small final traces ends with what is left, and says so") {
  for (const char* name : {"legacy/drmemtrace.small.x64.trace", "yield/drmemtrace.yield.24336.5587.trace.zip",
                           "legacy/mock_syscall_sequences.x64", "legacy/drmemtrace.allasm_x86_64.trace.zip"}) {
    const auto file = load_trace(name);
    for (std::size_t size = 0; size < file.size(); ++size) {
      const auto part = copy_of(byte_view(file).first(size));
      CHECK(use_final(part) == (size % 12 != 0 ? 1 : 0));
      CHECK(final_range(part).validate() ==
            (size % 12 != 0 ? trace_error{errc::truncated, size / 12 * 12} : trace_error{}));
      const auto trace = final_trace::open(part);
      if (!trace) continue;
      bool missing = false;
      trace_checker checker(*trace);
      checker.for_each_finding(
          [&](const check_result& one) { missing = missing || one.what == finding::missing_exit; });
      CHECK(missing);
    }
  }
}

TEST_CASE("each truncation of a small raw trace ends with what is left, and says so") {
  const auto file = load_trace("yield/drmemtrace.yield.24335.3353.raw");
  for (std::size_t size = 0; size < file.size(); size += size < 800 ? 1 : 61) {
    const auto part = copy_of(byte_view(file).first(size));
    CHECK(use_raw(part) == (size % 8 != 0 ? 1 : 0));
    CHECK(raw_range(part).validate() == (size % 8 != 0 ? trace_error{errc::truncated, size / 8 * 8} : trace_error{}));
  }
}

TEST_CASE(
    "final traces with random damage have the faults that a second reading finds, in all that is done with them") {
  const auto small = load_trace("legacy/drmemtrace.small.x64.trace");
  CHECK(mutate(small, 25000, 1, use_final) > 5000);
  const auto chunks = load_trace("legacy/drmemtrace.allasm_x86_64.trace.zip");
  CHECK(mutate(chunks, 15000, 2, use_final) > 3000);
  // A real trace with windows, cut down to its first 300 records and its last 50.
  auto windows = load_trace("yield/drmemtrace.yield.24337.8675.trace.zip");
  windows.erase(windows.begin() + 12 * 300, windows.end() - 12 * 50);
  CHECK(mutate(windows, 10000, 3, use_final) > 2000);
}

TEST_CASE("raw traces with random damage have the faults that a second reading finds") {
  auto file = load_trace("yield/drmemtrace.yield.24335.3353.raw");
  file.erase(file.begin() + 8 * 400, file.end() - 8 * 100);
  CHECK(mutate(file, 50000, 4, use_raw) > 1000);
}
