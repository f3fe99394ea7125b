// SPDX-License-Identifier: Apache-2.0
// The ten functions of a uftrace directory that spent most time in themselves:   uftrace_top_functions DIRECTORY
#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <vector>

#include <backsight/analysis/call_stack.hpp>
#include <backsight/io/uftrace_directory.hpp>
#include <backsight/uftrace/events.hpp>

using namespace backsight;

int main(int count, char** words) {
  if (count != 2) return 2;
  // [top]
  const auto directory = io::uftrace_directory::open(words[1]);
  if (!directory) {
    std::fprintf(stderr, "%s/info:%" PRIu64 ": %s\n", words[1], directory.error().offset,
                 message(directory.error().code));
    return 1;
  }
  uftrace::resolver names(directory->recording());
  std::map<std::uint64_t, analysis::call_stack> stacks;  // by thread
  std::map<std::uint64_t, std::uint64_t> self_times;     // nanoseconds by function
  const auto faults = uftrace::for_each_call(names, [&](const uftrace::call_event& event) {
    stacks[event.thread].on(
        event, [](auto&, std::size_t) {},
        [&](const analysis::finished_call& call, const auto&) { self_times[call.function] += call.self; });
  });
  // [top]
  std::vector<std::pair<std::uint64_t, std::uint64_t>> sorted;
  for (const auto& [function, self] : self_times) sorted.emplace_back(self, function);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  sorted.resize(std::min<std::size_t>(sorted.size(), 10));
  for (const auto& [self, function] : sorted) {
    std::printf("%10" PRIu64 " ns  %s\n", self, names.name(static_cast<std::uint32_t>(function)).c_str());
  }
  for (const auto& [index, fault] : faults) {
    std::fprintf(stderr, "%s:%" PRIu64 ": %s\n", directory->recording().data[index].file.c_str(), fault.offset,
                 message(fault.code));
  }
  return 0;
}
