// SPDX-License-Identifier: Apache-2.0
// A checked walk over the records of a uftrace task file, against a loop written by hand and against summing the bytes.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include <backsight/uftrace/records.hpp>

using namespace backsight;
using head = uftrace::record_head;

namespace {

/// Entries and exits of a random walk, 16 bytes each; larger than the caches where the machine is not only tried out.
const std::vector<std::byte>& input() {
  static const std::vector<std::byte> data = [] {
    const std::size_t records = std::getenv("BACKSIGHT_BENCH_SMALL") != nullptr ? 100'000 : 8'000'000;
    std::vector<std::byte> made(records * 16);
    std::mt19937_64 random(1);
    std::uint64_t time = 1'000'000'000, depth = 0;
    for (std::size_t i = 0; i < records; ++i) {
      const bool enter = depth == 0 || (depth < 60 && random() % 2 == 0);
      if (!enter) --depth;
      time += random() % 200;
      const std::uint64_t word =
          (0x555555550000 + random() % 170 * 64) << 16 | depth << 6 | 5U << 3 | (enter ? 0U : 1U);
      store<order::little>(made.data() + i * 16, time);
      store<order::little>(made.data() + i * 16 + 8, word);
      if (enter) ++depth;
    }
    return made;
  }();
  return data;
}

struct answer {
  std::uint64_t calls = 0, depths = 0, addresses = 0;
  friend bool operator==(const answer&, const answer&) = default;
};

answer with_library(byte_view bytes) {
  answer sum;
  const trace_error error = for_each(uftrace::task_records<order::little>(bytes), [&](const auto& item) {
    if (item.kind() != 0) return;
    const auto record = item.template as<uftrace::function_record<order::little>>();
    sum.calls += record[head::type] == uftrace::record_type::entry;
    sum.depths += record[head::depth];
    sum.addresses ^= record[head::address];
  });
  if (error) std::abort();
  return sum;
}

/// The same with pointers: the end and the magic of every record are checked, other kinds end the walk.
answer by_hand(byte_view bytes) {
  answer sum;
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  while (at != end) {
    if (end - at < 16) std::abort();
    std::uint64_t word;
    std::memcpy(&word, at + 8, 8);
    if ((word >> 3 & 7) != 5) std::abort();
    if ((word & 6) != 0) std::abort();
    sum.calls += (word & 3) == 0;
    sum.depths += word >> 6 & 0x3ff;
    sum.addresses ^= word >> 16;
    at += 16;
  }
  return sum;
}

std::uint64_t sum_of_bytes(byte_view bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) sum += load<std::uint64_t, order::little>(bytes.data() + i);
  return sum;
}

template <class F>
void run(benchmark::State& state, F&& f) {
  for (auto _ : state) benchmark::DoNotOptimize(f(byte_view(input())));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(input().size()));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(input().size() / 16));
}

void walk_library(benchmark::State& state) { run(state, with_library); }
void walk_by_hand(benchmark::State& state) { run(state, by_hand); }
void sum_bytes(benchmark::State& state) { run(state, sum_of_bytes); }
BENCHMARK(walk_library);
BENCHMARK(walk_by_hand);
BENCHMARK(sum_bytes);

}  // namespace

int main(int count, char** words) {
  if (with_library(input()) != by_hand(input())) {
    std::fprintf(stderr, "bench_uftrace: the library and the loop written by hand disagree\n");
    return 1;
  }
  benchmark::Initialize(&count, words);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
