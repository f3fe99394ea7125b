// SPDX-License-Identifier: Apache-2.0
// Reading final memtraces: per-window counts against a hand-written loop, typed records, finding windows, opening one
// by an index, and the packings against unpacking alone. Trace: the plain file that BACKSIGHT_MEMTRACE_FILE names, or
// one made in memory from a fixed seed (64 MB; 1 MB with BACKSIGHT_BENCH_SMALL).
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <backsight/io/inflate.hpp>
#include <backsight/io/mapped_file.hpp>
#include <backsight/io/zip.hpp>
#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/index.hpp>
#include <backsight/memtrace/windows.hpp>

#include "baseline/memtrace_counting_loop.hpp"

namespace {

using namespace backsight;
using namespace backsight::memtrace;

/// A trace of loops with loads and stores in windows of a million instructions.
std::vector<std::byte> make_trace(std::size_t size) {
  std::vector<std::byte> bytes;
  bytes.reserve(size + 4096);
  const auto put = [&](trace_type type, std::uint16_t length, std::uint64_t value) {
    owned_record<entry_record, order::little> item;
    item.set(entry_record::type, type).set(entry_record::size, length).set(entry_record::addr, value);
    bytes.insert(bytes.end(), item.bytes().begin(), item.bytes().end());
  };
  const auto marker = [&](marker_type type, std::uint64_t value) {
    put(trace_type::marker, static_cast<std::uint16_t>(type), value);
  };
  put(trace_type::header, 0, 7);
  marker(marker_type::version, 7);
  marker(marker_type::filetype, 0xc40);
  put(trace_type::thread, 4, 1);
  put(trace_type::pid, 4, 1);
  std::mt19937_64 random(42);
  std::uint64_t window = 0;
  while (bytes.size() < size) {
    marker(marker_type::timestamp, 1000000 * window);
    marker(marker_type::window_id, window++);
    marker(marker_type::cpu_id, 0);
    for (std::size_t instructions = 0; instructions < 1000000 && bytes.size() < size;) {
      const std::uint64_t base = 0x400000 + random() % 64 * 256, length = 4 + random() % 12,
                          rounds = 1 + random() % 200;
      for (std::uint64_t round = 0; round < rounds; ++round) {
        for (std::uint64_t i = 0; i < length; ++i) {
          put(i + 1 == length ? trace_type::instr_taken_jump : trace_type::instr, 4, base + i * 4);
          if (i % 3 == 1)
            put(i % 2 == 0 ? trace_type::read : trace_type::write, 8, 0x7f0000000000 + round * 64 + i * 8);
        }
        instructions += length;
      }
    }
  }
  put(trace_type::thread_exit, 4, 1);
  put(trace_type::footer, 0, 0);
  return bytes;
}

byte_view input() {
  static const auto file = [] {
    const char* path = std::getenv("BACKSIGHT_MEMTRACE_FILE");
    return path != nullptr ? io::mapped_file::open(path) : result<io::mapped_file>();
  }();
  if (file && !file->bytes().empty()) return file->bytes();
  static const auto made = make_trace(std::getenv("BACKSIGHT_BENCH_SMALL") != nullptr ? 1 << 20 : 64 << 20);
  return made;
}

std::vector<baseline::window_totals> by_hand(byte_view bytes) {
  return baseline::count_windows(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

void feed_in_pieces(final_counter& counter, byte_view bytes) {
  constexpr std::size_t piece = 12 * 65536;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (counter.feed(bytes.subspan(at, std::min(piece, bytes.size() - at)))) std::abort();
  }
  counter.finish();
}

/// Ends the program when our counts are not those of the loop.
void compare(byte_view bytes) {
  static bool done = false;
  if (done) return;
  done = true;
  final_counter counter;
  feed_in_pieces(counter, bytes);
  const auto hand = by_hand(bytes);
  bool same = hand.size() == counter.sections().size();
  for (std::size_t i = 0; same && i < hand.size(); ++i) {
    const record_counts& c = counter.sections()[i].counts;
    same = hand[i].instructions == c.instructions && hand[i].loads == c.loads && hand[i].stores == c.stores &&
           hand[i].non_fetched == c.non_fetched;
  }
  if (!same) {
    std::fputs("bench_memtrace: the counts differ from those of the hand-written loop\n", stderr);
    std::exit(1);
  }
}

void report(benchmark::State& state, byte_view bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(bytes.size()));
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(bytes.size() / 12));
}

void counts_by_hand(benchmark::State& state) {
  const byte_view bytes = input();
  compare(bytes);
  for (auto _ : state) benchmark::DoNotOptimize(by_hand(bytes));
  report(state, bytes);
}
BENCHMARK(counts_by_hand)->Unit(benchmark::kMillisecond);

void counts_per_window(benchmark::State& state) {
  const byte_view bytes = input();
  compare(bytes);
  for (auto _ : state) {
    final_counter counter;
    feed_in_pieces(counter, bytes);
    benchmark::DoNotOptimize(counter.sections().data());
  }
  report(state, bytes);
}
BENCHMARK(counts_per_window)->Unit(benchmark::kMillisecond);

void typed_records(benchmark::State& state) {
  const byte_view bytes = input();
  for (auto _ : state) {
    std::uint64_t instructions = 0, addresses = 0;
    for (const auto item : final_range(bytes)) {
      if (item.is<instruction_record>()) ++instructions;
      else if (item.is<memory_reference>()) addresses ^= item.as<memory_reference>()[memory_reference::address];
    }
    benchmark::DoNotOptimize(instructions);
    benchmark::DoNotOptimize(addresses);
  }
  report(state, bytes);
}
BENCHMARK(typed_records)->Unit(benchmark::kMillisecond);

void find_windows(benchmark::State& state) {
  const byte_view bytes = input();
  for (auto _ : state) {
    std::uint64_t instructions = 0;
    for (const window& one : window_range(bytes)) instructions += one.instructions;
    benchmark::DoNotOptimize(instructions);
  }
  report(state, bytes);
}
BENCHMARK(find_windows)->Unit(benchmark::kMillisecond);

/// Opening the index, finding the last window and reading its first record.
void open_window_by_index(benchmark::State& state) {
  const byte_view bytes = input();
  std::vector<indexed_window> all;
  for (const window& one : window_range(bytes)) all.push_back({0, one, false});
  const indexed_file file{"", "generated.trace", bytes.size(), backsight::checksum(bytes), 0};
  const auto saved = save_index(all, {&file, 1});
  for (auto _ : state) {
    const auto index = window_index::open(saved);
    const auto found = index->find(0, *all.back().what.ordinal, bytes.size());
    benchmark::DoNotOptimize((*part_of(bytes, *found).records().begin()).kind());
  }
}
BENCHMARK(open_window_by_index)->Unit(benchmark::kMicrosecond);

const std::vector<std::byte>& gzip_of_input() {
  static const auto made = [] {
    const byte_view bytes = input();
    z_stream stream{};
    if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
    std::vector<std::byte> packed(deflateBound(&stream, bytes.size()));
    stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
  }();
  return made;
}

template <class Use>
void unpack(benchmark::State& state, Use&& use) {
  const auto& packed = gzip_of_input();
  std::vector<std::byte> block(24 * 8192);
  for (auto _ : state) {
    io::inflate_reader reader(packed);
    final_counter counter;
    for (;;) {
      const auto got = reader.read(block);
      use(counter, byte_view(block).first(got.partial()));
      if (!got) std::abort();
      if (got.partial() < block.size()) break;
    }
    counter.finish();
    benchmark::DoNotOptimize(counter.records());
  }
  report(state, input());
}

void inflate_alone(benchmark::State& state) {
  unpack(state, [](final_counter&, byte_view bytes) { benchmark::DoNotOptimize(bytes.data()); });
}
BENCHMARK(inflate_alone)->Unit(benchmark::kMillisecond);

void inflate_and_count(benchmark::State& state) {
  unpack(state, [](final_counter& counter, byte_view bytes) {
    if (counter.feed(bytes)) std::abort();
  });
}
BENCHMARK(inflate_and_count)->Unit(benchmark::kMillisecond);

/// The zip file that BACKSIGHT_MEMTRACE_ZIP names; left out without it.
template <class Use>
void unzip(benchmark::State& state, Use&& use) {
  const char* path = std::getenv("BACKSIGHT_MEMTRACE_ZIP");
  const auto file = path != nullptr ? io::mapped_file::open(path) : result<io::mapped_file>(errc::not_found, 0);
  const auto archive = file ? io::zip_archive::open(file->bytes()) : result<io::zip_archive>(errc::not_found, 0);
  if (!archive) return state.SkipWithError("BACKSIGHT_MEMTRACE_ZIP names no zip file");
  std::vector<std::byte> block(24 * 8192);
  std::uint64_t size = 0;
  for (const auto& member : archive->members()) size += member.size;
  for (auto _ : state) {
    auto reader = archive->read_from(0);
    final_counter counter;
    for (;;) {
      const auto got = reader.read(block);
      use(counter, byte_view(block).first(got.partial()));
      if (!got) std::abort();
      if (got.partial() < block.size()) break;
    }
    counter.finish();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(size));
}

void unzip_alone(benchmark::State& state) {
  unzip(state, [](final_counter&, byte_view bytes) { benchmark::DoNotOptimize(bytes.data()); });
}
void unzip_and_count(benchmark::State& state) {
  unzip(state, [](final_counter& counter, byte_view bytes) {
    if (counter.feed(bytes)) std::abort();
  });
}
/// Registered only with a file, so that a run without one shows no errors.
const bool registered = [] {
  if (std::getenv("BACKSIGHT_MEMTRACE_ZIP") != nullptr) {
    benchmark::RegisterBenchmark("unzip_alone", unzip_alone)->Unit(benchmark::kMillisecond);
    benchmark::RegisterBenchmark("unzip_and_count", unzip_and_count)->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace

BENCHMARK_MAIN();
