// SPDX-License-Identifier: Apache-2.0
// Something to record, see docs/recording.md: two threads that call functions of known names.
#include <cstdio>
#include <thread>

#ifdef FLIGHT_RECORDER
#include <xray/xray_interface.h>
#include <xray/xray_log_interface.h>
#endif

// [functions]
[[gnu::noinline]] unsigned mix(unsigned value, unsigned rounds) {
  for (unsigned round = 0; round < rounds; ++round) value = value * 1664525u + 1013904223u;
  return value;
}

[[gnu::noinline]] unsigned fib(unsigned n) { return n < 2 ? mix(n, 1000) : fib(n - 1) + fib(n - 2); }

[[gnu::noinline]] void work(unsigned seed) {
  for (unsigned round = 0; round < 8; ++round) seed += fib(10) + mix(seed, 2'000'000);
  std::printf("%u\n", seed);
}
// [functions]

int main() {
#ifdef FLIGHT_RECORDER
  // [start]
  __xray_log_select_mode("xray-fdr");
  __xray_log_init_mode("xray-fdr", "func_duration_threshold_us=0");
  __xray_patch();
  // [start]
#endif
  std::thread other(work, 1u);
  work(2u);
  other.join();
#ifdef FLIGHT_RECORDER
  // [flush]
  __xray_log_finalize();
  __xray_log_flushLog();
  // [flush]
#endif
}
