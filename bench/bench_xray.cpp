// SPDX-License-Identifier: Apache-2.0
// Reading XRay FDR logs: by hand, by our range, visit, runs, events and blocks in parallel, against adding up the same
// bytes as 64-bit words. Logs: made in memory from a fixed seed (256 MB; 1 MB with BACKSIGHT_BENCH_SMALL), one with few
// metadata records and one with many; and the file that BACKSIGHT_XRAY_FILE names.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <backsight/analysis/parallel.hpp>
#include <backsight/core/record_span.hpp>
#include <backsight/io/mapped_file.hpp>
#include <backsight/xray/xray.hpp>

#include "baseline/xray_pointer_loop.hpp"

namespace {

using namespace backsight;
using baseline::totals;
using records = xray::fdr_records<order::little>;
using format = xray::fdr_format<order::little>;
using function = xray::function_record;

/// Appends to a log in memory.
class log_writer {
 public:
  explicit log_writer(std::vector<std::byte>& to) : to_(to) {}
  template <class S>
  void put(const owned_record<S, order::little>& item) {
    to_.insert(to_.end(), item.bytes().begin(), item.bytes().end());
  }
  template <class S>
  [[nodiscard]] static owned_record<S, order::little> metadata(xray::metadata_kind kind) {
    owned_record<S, order::little> item;
    item.set(S::discriminant, true).set(S::record_kind, kind);
    return item;
  }

 private:
  std::vector<std::byte>& to_;
};

/// A version 5 log of about `size` bytes in buffers of 256 kB; one record in `metadata_every` is metadata.
std::vector<std::byte> make_log(std::size_t size, unsigned metadata_every) {
  using namespace xray;
  std::vector<std::byte> bytes;
  bytes.reserve(size + (1U << 20));
  log_writer writer(bytes);
  std::mt19937 random(20240607);
  writer.put(owned_record<file_header, order::little>{}
                 .set(file_header::version, 5)
                 .set(file_header::type, log_type::fdr)
                 .set(file_header::constant_tsc, true)
                 .set(file_header::nonstop_tsc, true)
                 .set(file_header::cycle_frequency, 2600000000)
                 .set(file_header::buffer_size, 1U << 18));
  std::uint64_t tsc = 1000000000;
  for (std::int32_t buffer = 0; bytes.size() < size; ++buffer) {
    const std::size_t extents_at = bytes.size();
    writer.put(log_writer::metadata<buffer_extents_record>(metadata_kind::buffer_extents));
    writer.put(log_writer::metadata<new_buffer_record>(metadata_kind::new_buffer)
                   .set(new_buffer_record::thread_id, 100 + buffer % 4));
    writer.put(log_writer::metadata<wall_clock_time_record>(metadata_kind::wall_clock_time)
                   .set(wall_clock_time_record::seconds, static_cast<std::uint64_t>(buffer)));
    writer.put(log_writer::metadata<pid_record>(metadata_kind::pid).set(pid_record::pid, 100));
    writer.put(
        log_writer::metadata<new_cpu_id_record>(metadata_kind::new_cpu_id).set(new_cpu_id_record::absolute_tsc, tsc));
    std::vector<std::uint32_t> stack;
    while (bytes.size() - extents_at < (1U << 18) - 400) {
      const auto roll = static_cast<std::uint32_t>(random());
      if (roll % metadata_every == 0) {
        tsc += 1000;
        if ((roll >> 16) % 2 == 0) {
          writer.put(
              log_writer::metadata<tsc_wrap_record>(metadata_kind::tsc_wrap).set(tsc_wrap_record::absolute_tsc, tsc));
        } else {
          writer.put(log_writer::metadata<custom_event_record_v5>(metadata_kind::custom_event)
                         .set(custom_event_record_v5::event_size, 24)
                         .set(custom_event_record_v5::tsc_delta, 3));
          bytes.insert(bytes.end(), 24, std::byte{'x'});
        }
        continue;
      }
      owned_record<function_record, order::little> item;
      item.set(function_record::tsc_delta, roll >> 20);
      tsc += roll >> 20;
      if (stack.empty() || (stack.size() < 30 && (roll & 0x10000U) != 0)) {
        stack.push_back(static_cast<std::uint32_t>(random() % 1000 + 1));
        item.set(function_record::action, function_action::enter).set(function_record::function_id, stack.back());
      } else {
        item.set(function_record::action, function_action::exit).set(function_record::function_id, stack.back());
        stack.pop_back();
      }
      writer.put(item);
    }
    mutable_record<buffer_extents_record, order::little>(bytes.data() + extents_at)
        .set(buffer_extents_record::extents, bytes.size() - extents_at - 16);
  }
  return bytes;
}

/// A log of the benches, with what every way to read it must find.
struct input {
  std::vector<std::byte> made;
  io::mapped_file file;
  byte_view bytes;
  totals expected;

  [[nodiscard]] xray::log log() const { return xray::open(bytes).value(); }
  [[nodiscard]] byte_view body() const { return log().body(); }
};

const unsigned char* characters(byte_view bytes) { return reinterpret_cast<const unsigned char*>(bytes.data()); }

totals by_hand(byte_view body) { return baseline::xray_pointer_loop(characters(body), characters(body) + body.size()); }

/// One record at a time, strict: a loop over the iterators.
totals by_range_for(const records& block) {
  totals out;
  auto it = block.begin();
  for (; it != block.end(); ++it) {
    const auto item = *it;
    if (const auto typed = get_if<function>(item)) {
      ++out.functions;
      out.delta_sum += typed[function::tsc_delta];
    } else {
      ++out.others;
    }
  }
  out.good = !it.error();
  return out;
}

totals by_for_each(const records& block) {
  totals out;
  out.good = !for_each(block, [&](const any_record<format>& item) {
    if (const auto typed = get_if<function>(item)) {
      ++out.functions;
      out.delta_sum += typed[function::tsc_delta];
    } else {
      ++out.others;
    }
  });
  return out;
}

totals by_visit(const records& block) {
  totals out;
  out.good = !for_each(block, [&](const any_record<format>& item) {
    visit(item, overloaded{
                    [&](const record<function, order::little>& typed) {
                      ++out.functions;
                      out.delta_sum += typed[function::tsc_delta];
                    },
                    [&](const auto&) { ++out.others; },
                });
  });
  return out;
}

totals by_runs(const records& block) {
  totals out;
  out.good = !for_each_run(
      block,
      [&](const record_span<function, order::little>& run) {
        out.functions += run.size();
        std::uint64_t sum = 0;
        for (const auto item : run) sum += item[function::tsc_delta];
        out.delta_sum += sum;
      },
      [&](const any_record<format>&) { ++out.others; });
  return out;
}

/// The totals of all blocks of a log, each walked by `walk`.
template <class Walk>
totals over_blocks(const xray::log& opened, Walk walk) {
  totals out;
  for (const xray::block& block : xray::fdr_blocks<order::little>(opened))
    out += walk(block.records<order::little>(opened.version()));
  return out;
}

totals by_parallel_blocks(const xray::log& opened, unsigned threads) {
  std::vector<xray::block> blocks;
  for (const xray::block& block : xray::fdr_blocks<order::little>(opened)) blocks.push_back(block);
  totals out;
  for (const totals& part :
       analysis::for_each_part<totals>(blocks.size(), threads, [&](totals& sum, std::size_t index) {
         sum += by_range_for(blocks[index].records<order::little>(opened.version()));
       })) {
    out += part;
  }
  return out;
}

/// Events: functions, last time of each block added up; marks.
struct event_totals {
  std::uint64_t calls = 0, marks = 0, time_sum = 0, arguments = 0;
  friend bool operator==(const event_totals&, const event_totals&) = default;
};

event_totals events_by_library(const xray::log& opened) {
  event_totals out;
  for (const xray::block& block : xray::fdr_blocks<order::little>(opened)) {
    for (const xray::event& event : xray::events_of<order::little>(block, opened.version())) {
      out.time_sum += event.time;
      if (event.mark == xray::mark_kind::none) ++out.calls;
      else ++out.marks;
      out.arguments += event.arguments.size();
    }
  }
  return out;
}

/// The same by the function that calls back for each event and each fault.
event_totals events_by_callback(const xray::log& opened) {
  event_totals out;
  xray::for_each_event(
      opened,
      [&](const xray::event& event) {
        out.time_sum += event.time;
        if (event.mark == xray::mark_kind::none) ++out.calls;
        else ++out.marks;
        out.arguments += event.arguments.size();
      },
      [](const fault&) {});
  return out;
}

/// The same by hand, for logs that by_hand finds good.
event_totals events_by_hand(byte_view body) {
  event_totals out;
  std::uint64_t time = 0;
  const unsigned char* at = characters(body);
  const unsigned char* const end = at + body.size();
  while (at != end) {
    std::uint64_t wide = 0;
    std::uint32_t delta = 0;
    if ((*at & 1) == 0) {
      std::memcpy(&delta, at + 4, 4);
      time += delta;
      out.time_sum += time;
      ++out.calls;
      at += 8;
      continue;
    }
    const unsigned kind = *at >> 1;
    std::size_t size = 16;
    if (kind == 2 || kind == 3) {
      std::memcpy(&wide, at + (kind == 2 ? 3 : 1), 8);
      time = wide;
    } else if (kind == 5 || kind == 8) {
      std::memcpy(&delta, at + 5, 4);
      time += static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(delta)));
      out.time_sum += time;
      ++out.marks;
      std::memcpy(&delta, at + 1, 4);
      size += delta;
    } else if (kind == 6) {
      ++out.arguments;
    }
    at += size;
  }
  return out;
}

void require(bool equal, const char* what) {
  if (equal) return;
  std::fprintf(stderr, "bench_xray: %s gives another answer than the loop written by hand\n", what);
  std::exit(1);
}

/// Every way must give the same answer before anything is timed.
void check(input& in) {
  in.expected = by_hand(in.body());
  require(in.expected.good, "the log is bad: it");
  require(over_blocks(in.log(), by_range_for) == in.expected, "the range");
  require(over_blocks(in.log(), by_for_each) == in.expected, "for_each");
  require(over_blocks(in.log(), by_visit) == in.expected, "visit");
  require(over_blocks(in.log(), by_runs) == in.expected, "for_each_run");
  for (const unsigned threads : {1U, 2U, 4U})
    require(by_parallel_blocks(in.log(), threads) == in.expected, "the parallel walk");
  require(events_by_library(in.log()) == events_by_hand(in.body()), "the events");
  require(events_by_callback(in.log()) == events_by_hand(in.body()), "for_each_event");
}

void count(benchmark::State& state, const input& in) {
  const auto rounds = static_cast<std::int64_t>(state.iterations());
  state.SetBytesProcessed(rounds * static_cast<std::int64_t>(in.body().size()));
  state.SetItemsProcessed(rounds * static_cast<std::int64_t>(in.expected.functions + in.expected.others));
}

template <class F>
void add(const std::string& name, const input& in, F work) {
  benchmark::RegisterBenchmark(name.c_str(), [&in, work](benchmark::State& state) {
    for (auto _ : state) benchmark::DoNotOptimize(work(in));
    count(state, in);
  });
}

void add_all(const std::string& log, const input& in) {
  add(log + "/word_sum", in,
      [](const input& it) { return baseline::word_sum(characters(it.body()), it.body().size()); });
  add(log + "/pointer_loop", in, [](const input& it) { return by_hand(it.body()); });
  add(log + "/range_for", in, [](const input& it) { return over_blocks(it.log(), by_range_for); });
  add(log + "/for_each", in, [](const input& it) { return over_blocks(it.log(), by_for_each); });
  add(log + "/visit", in, [](const input& it) { return over_blocks(it.log(), by_visit); });
  add(log + "/runs", in, [](const input& it) { return over_blocks(it.log(), by_runs); });
  add(log + "/events_pointer_loop", in, [](const input& it) { return events_by_hand(it.body()); });
  add(log + "/events", in, [](const input& it) { return events_by_library(it.log()); });
  add(log + "/for_each_event", in, [](const input& it) { return events_by_callback(it.log()); });
  for (const unsigned threads : {1U, 2U, 4U}) {
    benchmark::RegisterBenchmark((log + "/parallel_blocks/" + std::to_string(threads)).c_str(),
                                 [&in, threads](benchmark::State& state) {
                                   for (auto _ : state) benchmark::DoNotOptimize(by_parallel_blocks(in.log(), threads));
                                   count(state, in);
                                 })
        ->UseRealTime();
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  const std::size_t size =
      std::getenv("BACKSIGHT_BENCH_SMALL") != nullptr ? std::size_t{1} << 20 : std::size_t{1} << 28;
  input few, many, file;
  few.made = make_log(size, 10000);
  few.bytes = few.made;
  check(few);
  add_all("few_metadata", few);
  many.made = make_log(size / 4, 16);
  many.bytes = many.made;
  check(many);
  add_all("many_metadata", many);
  if (const char* path = std::getenv("BACKSIGHT_XRAY_FILE")) {
    auto opened = io::mapped_file::open(path);
    if (!opened) {
      std::fprintf(stderr, "bench_xray: cannot read %s\n", path);
      return 1;
    }
    file.file = std::move(opened).value();
    file.bytes = file.file.bytes();
    if (!xray::open(file.bytes) || file.log().type() != xray::log_type::fdr || file.log().version() != 5) {
      std::fprintf(stderr, "bench_xray: %s is not an FDR log of version 5\n", path);
      return 1;
    }
    check(file);
    add_all("file", file);
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
