// SPDX-License-Identifier: Apache-2.0
// Walks what temporary results hold, in the loop that gave them. Built with -O3 and with AddressSanitizer: a loop over
// something that has gone sees nothing in the one and is an error in the other.
#include <cstdio>
#include <vector>

#include <backsight/xray/index.hpp>
#include <backsight/xray/xray.hpp>

#include <support/byte_builder.hpp>
#include <support/xray_builder.hpp>

#include "tick_format.hpp"

namespace {

using namespace backsight;

constexpr auto ticks_bytes = test::bytes<3, 2, 'h', 'i', 4, 0, 6, 0, 3, 0, 8, 1, 5>;

result<record_range<ticks::format>> open_ticks(byte_view bytes) {
  if (bytes.empty()) return {errc::truncated, 0};
  return record_range<ticks::format>(bytes);
}
result<std::vector<int>> numbers(int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(i);
  return {all, trace_error{errc::truncated, 7}};
}

int failures = 0;

void check(const char* what, std::size_t found, std::size_t expected) {
  if (found == expected) return;
  std::printf("%s: %zu, not %zu\n", what, found, expected);
  ++failures;
}

}  // namespace

int main() {
  std::size_t count = 0;
  for (const auto item : open_ticks(ticks_bytes).value()) count += item.offset() < ticks_bytes.size() ? 1U : 0U;
  check("records of value()", count, 6);
  count = 0;
  for (const auto item : *open_ticks(ticks_bytes)) count += item.offset() < ticks_bytes.size() ? 1U : 0U;
  check("records of operator*", count, 6);
  count = 0;
  for (const auto item : open_ticks(ticks_bytes).partial()) count += item.offset() < ticks_bytes.size() ? 1U : 0U;
  check("records of partial()", count, 6);
  count = 0;
  for (const int one : numbers(1000).partial()) count += static_cast<std::size_t>(one);
  check("numbers of partial()", count, 499500);

  const test::xray_builder file = test::xray_builder(order::little, 5).header(64);
  count = 1;
  for (const auto& info : xray::index_blocks(xray::open(file.view()).value()).value())
    count += static_cast<std::size_t>(info.thread_id);
  check("blocks of a log without any", count, 1);
  return failures == 0 ? 0 : 1;
}
