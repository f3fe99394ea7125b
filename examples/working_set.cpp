// SPDX-License-Identifier: Apache-2.0
// The working set of each window of a final memtrace: the cache lines of data and code that it touches, window by
// window in parallel, and those of all windows together.    working_set TRACE [LINE_SIZE]
#include <cstdio>
#include <cstdlib>

#include <backsight/io/mapped_file.hpp>
#include <backsight/memtrace/analyzers.hpp>

using namespace backsight;

int main(int count, char** words) {
  if (count < 2) return std::fprintf(stderr, "usage: working_set TRACE [LINE_SIZE]\n"), 2;
  const auto file = io::mapped_file::open(words[1]);
  if (!file) return std::perror(words[1]), 1;
  const std::uint64_t line = count > 2 ? std::strtoull(words[2], nullptr, 10) : 64;

  // [working_set]
  const auto trace = memtrace::final_trace::open(file->bytes());
  if (!trace) return std::fprintf(stderr, "%s: %s\n", words[1], message(trace.error().code)), 1;
  const auto windows = memtrace::tasks_of({*trace});
  // A fresh analyzer for each window, on two threads; the results come in the order of the windows.
  const auto sets = memtrace::run_each_window(windows, [line] { return memtrace::working_set(line); }, 2);
  memtrace::working_set all(line);
  std::printf("%6s %12s %10s %10s %10s\n", "window", "instructions", "data KiB", "code KiB", "idle us");
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const memtrace::window& which = windows[i].which;
    std::printf(
        "%6llu %12llu %10.2f %10.2f %10llu\n", static_cast<unsigned long long>(which.ordinal.value_or(0)),
        static_cast<unsigned long long>(which.instructions), static_cast<double>(sets[i].data_lines() * line) / 1024,
        static_cast<double>(sets[i].code_lines() * line) / 1024, static_cast<unsigned long long>(which.idle_time));
    all.merge(sets[i]);
  }
  // [working_set]
  std::printf("%6s %12s %10.2f %10.2f\n", "all", "", static_cast<double>(all.data_lines() * line) / 1024,
              static_cast<double>(all.code_lines() * line) / 1024);
  return 0;
}
