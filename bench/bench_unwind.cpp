// SPDX-License-Identifier: Apache-2.0
// Unwinding of stack samples and of the own process, beside GNU libunwind, elfutils libdw and libgcc.
// Samples: BACKSIGHT_STACKS names an unpacked sample file, BACKSIGHT_STACKS_ELF the folder of its ELF files; without
// them only the own process is measured. BACKSIGHT_STACKS_SOURCE keeps the samples of one program,
// BACKSIGHT_COMPILED names folders of compiled unwinders, BACKSIGHT_RUST_PEERS the library that bench/peers/build.sh
// makes of framehop and gimli. Before a way is timed, it is told in how many samples it is right. `warm` touches the
// bytes of a group of samples just before their walks are timed, `cold` does not.
#include <unwind.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <backsight/cfi/batch.hpp>
#include <backsight/cfi/in_process.hpp>
#include <backsight/cfi/lookup.hpp>
#include <backsight/cfi/unwind.hpp>

#include "../examples/cli/compiled_objects.hpp"
#include "../examples/cli/sample_corpus.hpp"
#include "unwind_peers.hpp"

#if defined(BACKSIGHT_HAS_LIBUNWIND)
#define UNW_LOCAL_ONLY
extern "C" int unw_backtrace(void**, int);
#endif

namespace {

using backsight::order;
using backsight::cli::sample_corpus;
using backsight::cli::snapshot_reader;
using backsight::cli::stack_samples;
namespace cfi = backsight::cfi;
using arch = sample_corpus::arch;

constexpr std::size_t room = 1024;

struct loaded {
  backsight::io::mapped_file file;
  std::vector<std::byte> bytes;
  sample_corpus corpus;
  std::string folder;
  std::size_t frames = 0;
};
std::unique_ptr<loaded> samples;

bool load_samples() {
  const char* const path = std::getenv("BACKSIGHT_STACKS");
  const char* const folder = std::getenv("BACKSIGHT_STACKS_ELF");
  if (path == nullptr || folder == nullptr) {
    std::fprintf(stderr, "BACKSIGHT_STACKS and BACKSIGHT_STACKS_ELF are not set: only the own process is measured\n");
    return false;
  }
  samples = std::make_unique<loaded>();
  samples->folder = folder;
  auto file = backsight::io::mapped_file::open(path);
  if (!file) return std::fprintf(stderr, "cannot open %s\n", path), false;
  samples->bytes.assign(file->bytes().begin(), file->bytes().end());
  auto opened = stack_samples::open(samples->bytes);
  if (!opened) return std::fprintf(stderr, "%s: %s\n", path, message(opened.error().code)), false;
  samples->corpus.samples = std::move(opened.value());
  if (std::getenv("BACKSIGHT_BENCH_SMALL") != nullptr) {
    auto& all = samples->corpus.samples.samples;
    all.resize(std::min<std::size_t>(all.size(), 200));
  }
  if (const char* const source = std::getenv("BACKSIGHT_STACKS_SOURCE")) {
    std::erase_if(samples->corpus.samples.samples,
                  [&](const stack_samples::sample& s) { return std::to_string(s.source) != source; });
  }
  samples->corpus.load(folder, [](const std::string&) {}, [](const std::string&, const backsight::trace_error&) {});
  for (const auto& s : samples->corpus.samples.samples) samples->frames += s.expected.front().size();
  return true;
}

double cpu_seconds() {
  std::timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

/// Runs `walk(sample, pcs)` over all samples, one after the other.
template <class Walk>
void run(benchmark::State& state, bool warm, Walk&& walk, bool may_err = false) {
  std::vector<std::uint64_t> pcs(room);
  const auto& all = samples->corpus.samples.samples;
  std::size_t right = 0;
  for (const auto& s : all) {
    const std::size_t count = walk(s, pcs.data());
    const bool same =
        count == s.expected.front().size() && std::equal(pcs.data(), pcs.data() + count, s.expected.front().begin());
    right += same ? std::size_t{1} : std::size_t{0};
    if (!same && !may_err) return state.SkipWithError("a sample's pcs differ from the expected ones");
  }
  state.counters["right"] = static_cast<double>(right) / static_cast<double>(all.size());
  std::uint64_t sink = 0;
  std::size_t frames = 0;
  for (auto _ : state) {
    double seconds = 0;
    if (warm) {
      // Groups of samples that fit the second-level cache: touched, then walked; so the clock is read seldom enough for
      // CPU time, which other programs disturb less than the wall clock.
      constexpr std::size_t group_bytes = 256 << 10;
      for (std::size_t first = 0; first < all.size();) {
        std::size_t bytes = 0, last = first;
        for (; last < all.size() && bytes < group_bytes; bytes += all[last++].stack.size()) {
          const auto& stack = all[last].stack;
          for (std::size_t i = 0; i < stack.size(); i += 64) sink += std::to_integer<std::uint64_t>(stack[i]);
        }
        const double begin = cpu_seconds();
        for (; first < last; ++first) frames += walk(all[first], pcs.data());
        seconds += cpu_seconds() - begin;
      }
    } else {
      const double begin = cpu_seconds();
      for (const auto& s : all) frames += walk(s, pcs.data());
      seconds = cpu_seconds() - begin;
    }
    state.SetIterationTime(seconds);
    benchmark::DoNotOptimize(sink);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(frames));
  state.SetBytesProcessed(static_cast<std::int64_t>(frames * 8));
  state.counters["ns/frame"] =
      benchmark::Counter(static_cast<double>(frames) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void table(benchmark::State& state, bool warm, bool cached) {
  const auto cache = std::make_unique<cfi::rule_cache<arch>>();
  run(state, warm, [&](const stack_samples::sample& s, std::uint64_t* pcs) {
    auto frame = sample_corpus::first_frame(s);
    const snapshot_reader memory = sample_corpus::memory_of(s);
    const auto& space = samples->corpus.spaces[s.map_set];
    return cached ? cfi::walk(frame, space, memory, std::span(pcs, room), *cache).count
                  : cfi::walk(frame, space, memory, std::span(pcs, room)).count;
  });
}

void interpreter(benchmark::State& state) {
  std::vector<cfi::fde_index<order::little>> indexes;
  for (const auto& image : samples->corpus.images) {
    cfi::fde_index<order::little> index;
    if (const auto found = cfi::find_frame_section(image, cfi::section_kind::eh_frame)) {
      const cfi::section<order::little> section(found->bytes, found->info);
      const auto header = cfi::find_frame_header(image);
      const auto listed =
          cfi::header_table<order::little>::open(header.partial().bytes, header.partial().info.address, 8);
      const bool sound = listed && !listed->check(section);
      index = sound ? cfi::fde_index<order::little>(section, *listed) : cfi::fde_index<order::little>::build(section);
    }
    indexes.push_back(std::move(index));
  }
  // A context for each object, which keeps its last CIE.
  using context = cfi::context<64, 16>;
  using unwinder = cfi::section_unwinder<arch, order::little, context>;
  std::vector<context> contexts(indexes.size());
  std::vector<unwinder> unwinders;
  for (std::size_t i = 0; i < indexes.size(); ++i) unwinders.emplace_back(indexes[i], contexts[i]);
  run(state, false, [&](const stack_samples::sample& s, std::uint64_t* pcs) {
    auto frame = sample_corpus::first_frame(s);
    const snapshot_reader memory = sample_corpus::memory_of(s);
    std::size_t count = 0;
    while (count < room) {
      pcs[count++] = frame.pc;
      const auto* object = samples->corpus.spaces[s.map_set].find(frame.lookup_address());
      if (object == nullptr) break;
      if (unwinders[object->id].step(frame, object->bias, memory) != cfi::stop::none) break;
    }
    return count;
  });
}

template <std::size_t Lanes>
void batch(benchmark::State& state, bool cached) {
  using item = cfi::batch_item<arch, snapshot_reader>;
  const auto& all = samples->corpus.samples.samples;
  constexpr std::size_t stride = room + 8;  // Lists that begin 4 KiB apart share their lines of the cache.
  std::vector<std::uint64_t> pcs(all.size() * stride);
  const auto cache = std::make_unique<cfi::rule_cache<arch>>();
  std::size_t frames = 0;
  bool checked = false;
  for (auto _ : state) {
    std::size_t next = 0;
    bool same = true;
    const double begin = cpu_seconds();
    const auto fill = [&](item& i) {
      if (next == all.size()) return false;
      const stack_samples::sample& s = all[next];
      i.start = sample_corpus::first_frame(s);
      i.space = &samples->corpus.spaces[s.map_set];
      i.memory = sample_corpus::memory_of(s);
      // The pcs of a few samples stay in the cache, as with a consumer that folds them.
      i.pcs = std::span(pcs).subspan((checked ? next % 64 : next) * stride, room);
      i.user = next++;
      return true;
    };
    const auto take = [&](item& i) {
      frames += i.result.count;
      if (checked) return;
      const auto& expected = all[i.user].expected.front();
      same = same && i.result.count == expected.size() && std::equal(expected.begin(), expected.end(), i.pcs.begin());
    };
    if (cached) cfi::walk_batch<Lanes, arch, snapshot_reader>(*cache, fill, take);
    else cfi::walk_batch<Lanes, arch, snapshot_reader>(cfi::no_cache{}, fill, take);
    state.SetIterationTime(cpu_seconds() - begin);
    if (!same) return state.SkipWithError("a sample's pcs differ from the expected ones");
    checked = true;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(frames));
  state.SetBytesProcessed(static_cast<std::int64_t>(frames * 8));
  state.counters["ns/frame"] =
      benchmark::Counter(static_cast<double>(frames) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

/// The .eh_frame of each object, and the functions that it covers.
struct covered {
  cfi::section<order::little> section;
  backsight::byte_view file;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> functions;
  std::size_t rows = 0;
};
const std::vector<covered>& covered_code() {
  static const std::vector<covered> all = [] {
    std::vector<covered> list;
    const auto memory = std::make_unique<cfi::context<>>();
    for (std::size_t i = 0; i < samples->corpus.images.size(); ++i) {
      const auto found = cfi::find_frame_section(samples->corpus.images[i], cfi::section_kind::eh_frame);
      // Several objects may have one file, which the first of them holds.
      if (!found || samples->corpus.files[i].bytes().empty()) continue;
      covered& one = list.emplace_back();
      one.section = cfi::section<order::little>(found->bytes, found->info);
      one.file = samples->corpus.files[i].bytes();
      cfi::row_machine<arch, order::little> machine(one.section, *memory);
      for (const cfi::entry& e : one.section.entries()) {
        if (e.is_cie || machine.load_cie(e.cie_offset)) continue;
        const auto f = one.section.parse_fde(e, machine.current_cie());
        if (!f) continue;
        one.functions.emplace_back(f->begin, f->end);
        machine.begin(*f);
        machine.for_each([&](const cfi::row& r) { one.rows += r.begin < r.end ? std::size_t{1} : std::size_t{0}; });
      }
    }
    return list;
  }();
  return all;
}

/// Per row of the sections, the same for all.
void count_rows(benchmark::State& state) {
  std::size_t rows = 0, bytes = 0;
  for (const covered& one : covered_code()) {
    rows += one.rows;
    bytes += one.section.bytes().size();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(rows) * static_cast<std::int64_t>(state.iterations()));
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * static_cast<std::int64_t>(state.iterations()));
  state.counters["ns/row"] = benchmark::Counter(
      static_cast<double>(rows) * 1e-9, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

/// Building the table of each object.
void build(benchmark::State& state) {
  std::size_t bytes = 0, sections = 0;
  for (auto _ : state) {
    bytes = sections = 0;
    const double begin = cpu_seconds();
    for (const covered& one : covered_code()) {
      const auto made = cfi::build_table<arch>(one.section);
      if (!made) return state.SkipWithError("cannot build a table");
      bytes += made->bytes().size();
      sections += one.section.bytes().size();
    }
    state.SetIterationTime(cpu_seconds() - begin);
  }
  count_rows(state);
  state.counters["of .eh_frame"] = static_cast<double>(bytes) / static_cast<double>(sections);
}

#if defined(BACKSIGHT_HAS_LIBDW)
/// libdw walking the same rows; before that, whether the tables say the same of the CFA.
void walk_by_libdw(benchmark::State& state) {
  std::vector<std::unique_ptr<peers::libdw_rows>> files;
  for (const covered& one : covered_code()) {
    const auto& file = *files.emplace_back(std::make_unique<peers::libdw_rows>(one.file));
    const auto made = cfi::build_table<arch>(one.section);
    if (!made) return state.SkipWithError("cannot build a table");
    std::size_t rows = 0, differ = 0;
    for (const auto& [first, behind] : one.functions) {
      file.walk(first, behind, [&](Dwarf_Frame* frame, std::uint64_t at) {
        ++rows;
        Dwarf_Op* ops = nullptr;
        std::size_t count = 0;
        const cfi::any_rule r = made->view().find(at);
        if (dwarf_frame_cfa(frame, &ops, &count) != 0 || !r) return void(++differ);
        if (count != 1 || ops[0].atom != DW_OP_bregx || r[cfi::unwind_rule::shape] != cfi::rule_shape::common) return;
        const bool same = ops[0].number == r[cfi::unwind_rule::cfa_register] &&
                          static_cast<std::int64_t>(ops[0].number2) == r[cfi::unwind_rule::cfa_offset];
        if (!same) ++differ;
      });
    }
    if (rows != one.rows || differ != 0) return state.SkipWithError("the rows differ from those of libdw");
  }
  for (auto _ : state) {
    const double begin = cpu_seconds();
    std::size_t rows = 0;
    for (std::size_t i = 0; i < files.size(); ++i) {
      for (const auto& [first, behind] : covered_code()[i].functions) {
        files[i]->walk(first, behind, [&](Dwarf_Frame*, std::uint64_t) { ++rows; });
      }
    }
    benchmark::DoNotOptimize(rows);
    state.SetIterationTime(cpu_seconds() - begin);
  }
  count_rows(state);
}
#endif

// The own process.
std::unique_ptr<cfi::own_process> process;
enum class way { cached, uncached, libunwind, libgcc };
constexpr std::size_t most_frames = 128;

[[gnu::noinline]] void at_the_bottom(benchmark::State& state, way which) {
  static cfi::rule_cache<cfi::native_arch> cache;
  std::uint64_t pcs[most_frames];
  void* others[most_frames];
  std::size_t frames = 0;
#if defined(BACKSIGHT_HAS_LIBUNWIND)
  const std::size_t ours = cfi::unwind_here(pcs, *process).count;
  const auto theirs = static_cast<std::size_t>(unw_backtrace(others, most_frames));
  // The first pcs are those of two instructions of this function.
  bool same = ours == theirs;
  for (std::size_t i = 1; same && i < ours; ++i) same = reinterpret_cast<std::uint64_t>(others[i]) == pcs[i];
  if (!same) return state.SkipWithError("the frames differ from those of libunwind");
#endif
  for (auto _ : state) {
    switch (which) {
      case way::cached: frames += cfi::unwind_here(pcs, *process, cache).count; break;
      case way::uncached: frames += cfi::unwind_here(pcs, *process).count; break;
      case way::libunwind:
#if defined(BACKSIGHT_HAS_LIBUNWIND)
        frames += static_cast<std::size_t>(unw_backtrace(others, most_frames));
#endif
        break;
      case way::libgcc: {
        struct list {
          void** pcs;
          std::size_t count;
        } found{others, 0};
        _Unwind_Backtrace(
            [](_Unwind_Context* context, void* to) {
              auto& l = *static_cast<list*>(to);
              if (l.count < most_frames) l.pcs[l.count++] = reinterpret_cast<void*>(_Unwind_GetIP(context));
              return _URC_NO_REASON;
            },
            &found);
        frames += found.count;
        break;
      }
    }
    benchmark::DoNotOptimize(pcs[0]);
    benchmark::DoNotOptimize(others[0]);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(frames));
  state.SetBytesProcessed(static_cast<std::int64_t>(frames * 8));
  state.counters["ns/frame"] =
      benchmark::Counter(static_cast<double>(frames) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
/// What frames lie above the function that unwinds.
enum class frames_above { usual, aligned, signal };
struct descent {
  benchmark::State* state;
  way which;
  frames_above kind;
};
const descent* in_signal = nullptr;

// NOLINTNEXTLINE: recursion is the point.
[[gnu::noinline]] std::uint64_t descend(const descent& to, unsigned depth) {
  volatile std::uint64_t local[8] = {depth};
  if (depth == 0) at_the_bottom(*to.state, to.which);
  else local[1] = descend(to, depth - 1);
  return local[0] + local[1];
}
/// Its frame is aligned to more than the ABI asks for and has room of a size that is known late: compilers keep the CFA
/// in memory then (DRAP).
[[gnu::noinline]] std::uint64_t descend_aligned(const descent& to, unsigned depth) {
  alignas(64) volatile std::uint64_t local[8] = {depth};
  volatile auto* const space = static_cast<volatile char*>(__builtin_alloca(depth + 16));
  space[depth] = 1;
  local[1] = descend(to, depth);
  return local[0] + local[1] + static_cast<std::uint64_t>(space[depth]);
}
/// Unwinds from a signal handler, through the frame that the kernel made.
[[gnu::noinline]] std::uint64_t descend_to_signal(const descent& to, unsigned depth) {
  volatile std::uint64_t local[8] = {depth};
  if (depth == 0) {
    in_signal = &to;
    (void)std::raise(SIGUSR1);
  } else {
    local[1] = descend_to_signal(to, depth - 1);
  }
  return local[0] + local[1];
}

/// Registers the ways of unwinding `frames` frames (about 13 of them are of the bench itself), one of another kind
/// among them.
void add_own(const std::string& name, frames_above kind, unsigned frames) {
  for (const auto& [word, which] : {std::pair{"backsight_cached", way::cached}, std::pair{"backsight", way::uncached},
#if defined(BACKSIGHT_HAS_LIBUNWIND)
                                    std::pair{"libunwind_unw_backtrace", way::libunwind},
#endif
                                    std::pair{"libgcc_Unwind_Backtrace", way::libgcc}}) {
    benchmark::RegisterBenchmark((name + "/" + word).c_str(), [=, kind_of = which](benchmark::State& state) {
      const descent to{&state, kind_of, kind};
      const unsigned depth = frames - 13;
      if (kind == frames_above::aligned) (void)descend_aligned(to, depth);
      else if (kind == frames_above::signal) (void)descend_to_signal(to, depth);
      else (void)descend(to, depth);
    });
  }
}

void add(const std::string& name, auto&& function) {
  benchmark::RegisterBenchmark(name.c_str(), function)->UseManualTime();
}

}  // namespace

int main(int count, char** words) {
  process = std::make_unique<cfi::own_process>();
  std::signal(SIGUSR1, [](int) { at_the_bottom(*in_signal->state, in_signal->which); });
  for (const unsigned frames : {20U, 40U, 100U}) {
    const std::string of = std::to_string(frames);
    add_own("own_process_" + of, frames_above::usual, frames);
    add_own("own_process_" + of + "_one_aligned", frames_above::aligned, frames);
    add_own("own_process_" + of + "_one_signal", frames_above::signal, frames);
  }
  if (load_samples()) {
#if defined(BACKSIGHT_HAS_LIBUNWIND)
    static peers::libunwind cached(samples->corpus, UNW_CACHE_GLOBAL), uncached(samples->corpus, UNW_CACHE_NONE);
    const auto walk_cached = [](const stack_samples::sample& s, std::uint64_t* pcs) {
      return cached.walk(s, pcs, room);
    };
    add("samples_cold/libunwind_cached", [=](benchmark::State& state) { run(state, false, walk_cached); });
    add("samples_warm/libunwind_cached", [=](benchmark::State& state) { run(state, true, walk_cached); });
    add("samples_cold/libunwind_uncached", [](benchmark::State& state) {
      run(state, false, [](const stack_samples::sample& s, std::uint64_t* pcs) { return uncached.walk(s, pcs, room); });
    });
#endif
#if defined(BACKSIGHT_HAS_LIBDW)
    static peers::libdw dw(samples->corpus, samples->folder);
    add("samples_cold/libdw", [](benchmark::State& state) {
      run(state, false, [](const stack_samples::sample& s, std::uint64_t* pcs) { return dw.walk(s, pcs, room); });
    });
#endif
    if (const char* const library = std::getenv("BACKSIGHT_RUST_PEERS")) {
      static peers::rust_peers rust(library, samples->corpus);
      if (!rust.loaded()) return std::fprintf(stderr, "cannot load %s\n", library), 1;
      for (const bool warm : {false, true}) {
        const std::string kind = warm ? "samples_warm/" : "samples_cold/";
        add(kind + "framehop", [warm](benchmark::State& state) {
          run(
              state, warm,
              [](const stack_samples::sample& s, std::uint64_t* pcs) { return rust.walk_framehop(s, pcs, room); },
              true);
        });
        add(kind + "gimli", [warm](benchmark::State& state) {
          run(
              state, warm,
              [](const stack_samples::sample& s, std::uint64_t* pcs) { return rust.walk_gimli(s, pcs, room); }, true);
        });
      }
    } else {
      std::fputs("BACKSIGHT_RUST_PEERS is not set: framehop and gimli are not measured\n", stderr);
    }
    add("samples_cold/backsight_interpreter", [](benchmark::State& state) { interpreter(state); });
    add("samples_cold/backsight", [](benchmark::State& state) { table(state, false, false); });
    add("samples_warm/backsight", [](benchmark::State& state) { table(state, true, false); });
    add("samples_cold/backsight_cached", [](benchmark::State& state) { table(state, false, true); });
    add("samples_warm/backsight_cached", [](benchmark::State& state) { table(state, true, true); });
    // Folders that `backsight cfi compile` wrote, one for each form; `name=folder` with blanks between.
    static std::vector<std::unique_ptr<backsight::cli::compiled_objects>> compiled;
    if (const char* const folders = std::getenv("BACKSIGHT_COMPILED")) {
      std::istringstream listed(folders);
      for (std::string word; listed >> word;) {
        const std::size_t at = word.find('=');
        if (at == std::string::npos) continue;
        auto& objects = *compiled.emplace_back(std::make_unique<backsight::cli::compiled_objects>());
        objects.load(word.substr(at + 1), samples->corpus, [](const std::string&, const std::string&) {});
        for (const bool warm : {false, true}) {
          add(std::string(warm ? "samples_warm/" : "samples_cold/") + "compiled_" + word.substr(0, at),
              [warm, &objects](benchmark::State& state) {
                run(state, warm, [&](const stack_samples::sample& s, std::uint64_t* pcs) {
                  return objects.walk(s, std::span(pcs, room)).count;
                });
              });
        }
      }
    } else {
      std::fputs("BACKSIGHT_COMPILED is not set: compiled unwinders are not measured\n", stderr);
    }
    add("samples_batch/backsight", [](benchmark::State& state) { batch<16>(state, false); });
    add("samples_batch/backsight_cached", [](benchmark::State& state) { batch<16>(state, true); });
    add("rows/backsight_build_table", [](benchmark::State& state) { build(state); });
#if defined(BACKSIGHT_HAS_LIBDW)
    add("rows/libdw_walk", [](benchmark::State& state) { walk_by_libdw(state); });
#endif
  }
  benchmark::Initialize(&count, words);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
