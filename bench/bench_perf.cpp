// SPDX-License-Identifier: Apache-2.0
// A checked walk over the records of a perf.data stream with the members of its samples read, against loops written by
// hand.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include <backsight/perf/perf.hpp>

using namespace backsight;

namespace {

constexpr std::uint64_t of_chains =
    perf::mask_of(perf::sample_field::ip, perf::sample_field::tid, perf::sample_field::time, perf::sample_field::period,
                  perf::sample_field::callchain);
constexpr std::uint64_t of_stacks =
    of_chains | perf::mask_of(perf::sample_field::addr, perf::sample_field::data_src, perf::sample_field::regs_user,
                              perf::sample_field::stack_user);
constexpr std::uint64_t registers = 0xff0fff;
constexpr std::size_t register_count = 20, stack_size = 2048;

template <class T>
void append(std::vector<std::byte>& to, T value) {
  std::byte bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  to.insert(to.end(), bytes, bytes + sizeof(T));
}

/// Samples of `--call-graph fp`, or of `--call-graph dwarf`, with a mapping after every hundredth and a round after
/// every 500th.
std::vector<std::byte> make(bool stacks) {
  const std::size_t size =
      std::getenv("BACKSIGHT_BENCH_SMALL") != nullptr ? std::size_t{1} << 20 : std::size_t{64} << 20;
  std::vector<std::byte> out;
  out.reserve(size + 8192);
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; out.size() < size; ++i) {
    const std::uint64_t entries = 3 + random() % 24;
    const std::size_t members =
        8 * (4 + (stacks ? 1 : 0) + 1 + entries + (stacks ? 1 + register_count + 1 + stack_size / 8 + 1 + 1 : 0));
    append<std::uint32_t>(out, 9);
    append<std::uint16_t>(out, 2);
    append<std::uint16_t>(out, static_cast<std::uint16_t>(8 + members));
    append<std::uint64_t>(out, random());
    append<std::uint32_t>(out, 1000);
    append<std::uint32_t>(out, static_cast<std::uint32_t>(1000 + random() % 8));
    append<std::uint64_t>(out, i * 1000);
    if (stacks) append<std::uint64_t>(out, random());
    append<std::uint64_t>(out, 1 + random() % 1000);
    append<std::uint64_t>(out, entries);
    for (std::uint64_t k = 0; k < entries; ++k) append<std::uint64_t>(out, random());
    if (stacks) {
      append<std::uint64_t>(out, 2);
      for (std::size_t k = 0; k < register_count; ++k) append<std::uint64_t>(out, random());
      append<std::uint64_t>(out, stack_size);
      out.resize(out.size() + stack_size, static_cast<std::byte>(i));
      append<std::uint64_t>(out, stack_size - random() % 256 / 8 * 8);
      append<std::uint64_t>(out, random());
    }
    if (i % 100 == 99) {
      append<std::uint32_t>(out, 10);
      append<std::uint16_t>(out, 2);
      append<std::uint16_t>(out, 72 + 16);
      out.resize(out.size() + 64 + 16);
    }
    if (i % 500 == 499) append<std::uint32_t>(out, 68), append<std::uint16_t>(out, 0), append<std::uint16_t>(out, 8);
  }
  return out;
}
const std::vector<std::byte>& input(bool stacks) {
  static const std::vector<std::byte> both[]{make(false), make(true)};
  return both[stacks ? 1 : 0];
}

perf::sample_layout layout_of(bool stacks) {
  perf::sample_layout layout;
  layout.sample_type = stacks ? of_stacks : of_chains;
  layout.regs_user = registers;
  return layout;
}

struct answer {
  std::uint64_t samples = 0, members = 0, addresses = 0, registers = 0, stacks = 0;
  friend bool operator==(const answer&, const answer&) = default;
};

[[gnu::always_inline]] inline void add(answer& sum, const perf::sample& one) {
  ++sum.samples;
  sum.members += one.ip + one.pid + one.tid + one.time + one.addr + one.period + one.data_src;
  for (std::size_t i = 0; i < one.callchain.size(); ++i) sum.addresses += one.callchain[i];
  for (std::size_t i = 0; i < one.user_registers.values.size(); ++i) sum.registers += one.user_registers.values[i];
  if (!one.user_stack.empty()) sum.stacks += one.user_stack.size() + std::to_integer<unsigned>(one.user_stack.front());
}

answer with_range(bool stacks) {
  answer sum;
  perf::with_sample_reader<order::little>(layout_of(stacks), [&](const auto& reader) {
    answer all;
    for (const auto& item : perf::perf_records<order::little>(input(stacks))) {
      if (const auto sample = get_if<perf::sample_record>(item)) {
        perf::sample one;
        if (reader.read(sample, item.offset(), one)) std::abort();
        add(all, one);
      }
    }
    sum = all;
  });
  return sum;
}

template <class T>
[[gnu::always_inline]] inline T at(const std::byte* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  return value;
}

/// With pointers: every size and count is checked before it is used.
answer by_hand(bool stacks) {
  answer sum;
  const std::byte* record = input(stacks).data();
  const std::byte* const all_end = record + input(stacks).size();
  while (record != all_end) {
    if (all_end - record < 8) std::abort();
    const std::size_t size = at<std::uint16_t>(record + 6);
    if (size < 8 || size > static_cast<std::size_t>(all_end - record)) std::abort();
    if (at<std::uint32_t>(record) == 9) {
      const std::byte* place = record + 8;
      const std::byte* const end = record + size;
      const auto left = [&] { return static_cast<std::uint64_t>(end - place); };
      const auto word = [&] {
        const auto value = at<std::uint64_t>(place);
        place += 8;
        return value;
      };
      const auto list = [&](std::uint64_t count, std::uint64_t& to) {
        if (count > left() / 8) std::abort();
        for (std::uint64_t i = 0; i < count; ++i) to += at<std::uint64_t>(place + i * 8);
        place += count * 8;
      };
      if (left() < (stacks ? 48U : 40U)) std::abort();
      ++sum.samples;
      sum.members += word();
      sum.members += std::uint64_t{at<std::uint32_t>(place)} + at<std::uint32_t>(place + 4);
      place += 8;
      sum.members += word();
      if (stacks) sum.members += word();
      sum.members += word();
      list(word(), sum.addresses);
      if (stacks) {
        if (left() < 8) std::abort();
        if (word() != 0) list(register_count, sum.registers);
        if (left() < 8) std::abort();
        const std::uint64_t dump = word();
        if (dump != 0) {
          if (dump > left() || left() - dump < 8) std::abort();
          const auto copied = at<std::uint64_t>(place + dump);
          if (copied > dump) std::abort();
          if (copied != 0) sum.stacks += copied + std::to_integer<unsigned>(*place);
          place += dump + 8;
        }
        if (left() < 8) std::abort();
        sum.members += word();
      }
    }
    record += size;
  }
  return sum;
}

template <class F>
void run(benchmark::State& state, bool stacks, F&& f) {
  const answer all = by_hand(stacks);
  if (f(stacks) != all) return state.SkipWithError("another answer than the loop written by hand");
  for (auto _ : state) benchmark::DoNotOptimize(f(stacks));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(input(stacks).size()));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(all.samples));
}

void chains_range(benchmark::State& state) { run(state, false, with_range); }
void chains_by_hand(benchmark::State& state) { run(state, false, by_hand); }
void stacks_range(benchmark::State& state) { run(state, true, with_range); }
void stacks_by_hand(benchmark::State& state) { run(state, true, by_hand); }
BENCHMARK(chains_range);
BENCHMARK(chains_by_hand);
BENCHMARK(stacks_range);
BENCHMARK(stacks_by_hand);

}  // namespace

int main(int count, char** words) {
  for (const bool stacks : {false, true}) {
    if (with_range(stacks) == by_hand(stacks)) continue;
    std::fprintf(stderr, "bench_perf: the library and the loop written by hand disagree\n");
    return 1;
  }
  benchmark::Initialize(&count, words);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
