// SPDX-License-Identifier: Apache-2.0
// Shows the frames of the own thread, as a crash handler or a profiler would: example_unwind_here
#include <array>
#include <cstdint>
#include <cstdio>

#include <backsight/cfi/in_process.hpp>

using namespace backsight;

// [unwind]
// Tables for all loaded objects: built once, before they are needed.
static const cfi::own_process process;

[[gnu::noinline]] static void where_am_i(int depth) {
  std::array<std::uint64_t, 64> pcs{};
  const cfi::walk_result walked = cfi::unwind_here(pcs, process);  // No allocation, no lock: fit for a signal handler.
  int own = 0;
  for (std::size_t i = 0; i + 1 < walked.count; ++i) own += process.space().find(pcs[i]) != nullptr ? 1 : 0;
  std::printf("asked at depth %d; %s; frames in known objects: %s\n", depth, message(walked.why),
              own + 1 == static_cast<int>(walked.count) ? "all" : "some");
}
// [unwind]

// NOLINTNEXTLINE: recursion is the point.
[[gnu::noinline]] static int descend(int depth) {
  if (depth == 3) where_am_i(depth);
  else return descend(depth + 1) + 1;
  return 0;
}

int main() { return descend(0) == 3 ? 0 : 1; }
