// SPDX-License-Identifier: Apache-2.0
// Reads an LLVM XRay log and counts the calls of each function id:   read_xray_log LOG
#include <cstdio>
#include <map>

#include <backsight/io/mapped_file.hpp>
#include <backsight/xray/xray.hpp>

namespace xray = backsight::xray;

int main(int count, char** words) {
  if (count != 2) return 2;
  // [count]
  const auto file = backsight::io::mapped_file::open(words[1]);
  const auto log = xray::open(file.partial().bytes());
  if (!log) {
    std::fprintf(stderr, "%s:%llu: %s\n", words[1], static_cast<unsigned long long>(log.error().offset),
                 message(log.error().code));
    return 1;
  }
  std::map<std::uint32_t, unsigned> calls;
  xray::for_each_event(
      *log,
      [&](const xray::event& event) {
        if (event.kind == backsight::event_kind::enter) ++calls[event.function];
      },
      [](const backsight::fault& fault) {
        std::printf("skipped %llu bytes\n", static_cast<unsigned long long>(fault.skipped));
      });
  for (const auto& [function, times] : calls) std::printf("function %u: %u calls\n", function, times);
  // [count]
  return 0;
}
