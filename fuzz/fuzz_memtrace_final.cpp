// SPDX-License-Identifier: Apache-2.0
// Final memtraces: header, records, windows, counts, splitting and merging, and the checks.
#include <cstdint>
#include <cstdlib>

#include <backsight/memtrace/analyzers.hpp>
#include <backsight/memtrace/check.hpp>
#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/index.hpp>
#include <backsight/memtrace/split.hpp>

using namespace backsight;
using namespace backsight::memtrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  std::uint64_t sum = 0, last = 0;
  bool first = true;
  const auto touch = [&](const auto& item) {
    // Offsets grow.
    if (!first && item.offset() <= last) std::abort();
    first = false;
    last = item.offset();
    visit(item, [&](const auto& typed) {
      for_each_member<typename std::remove_cvref_t<decltype(typed)>::schema_type>([&](auto, auto index) {
        const auto value = typed.template member_at<index>();
        sum += sizeof value;
      });
    });
  };
  for_each_salvaging(final_range(bytes), touch, [](const fault&) {});
  first = true;
  for_each_salvaging(final_range32(bytes), touch, [](const fault&) {});
  final_counter counter;
  sum += counter.feed(bytes).offset;
  counter.finish();
  (void)window_index::open(bytes);
  const auto trace = final_trace::open(bytes);
  if (!trace) return static_cast<int>(sum & 0U);
  std::vector<indexed_window> all;
  for (const window& one : trace->windows()) {
    if (one.end > size || one.begin > one.end) std::abort();
    sum += part_of(bytes, one).split_at(3).first.bytes.size();
    all.push_back({0, one, false});
  }
  const indexed_file file{"", "input", size, 0, 0};
  if (const auto saved = save_index(all, {&file, 1}); window_index::open(saved)->size() != all.size()) std::abort();
  working_set touched;
  (void)run_phases(*trace, touched);
  sum += touched.code_lines();
  trace_checker checker(*trace);
  checker.for_each_finding([&](const check_result& one) { sum += one.offset; });
  window_merger merger;
  (void)split_windows(bytes, [&](const window&, byte_view part) { (void)merger.add(part); });
  return static_cast<int>((sum + merger.finish().size()) & 0U);
}
