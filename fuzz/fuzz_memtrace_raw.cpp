// SPDX-License-Identifier: Apache-2.0
// Raw memtraces: header, entries, units, windows and counts.
#include <cstdint>
#include <cstdlib>

#include <backsight/memtrace/memtrace.hpp>
#include <backsight/memtrace/raw_counts.hpp>

using namespace backsight;
using namespace backsight::memtrace;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  std::uint64_t sum = 0, last = 0;
  bool first = true;
  for_each_salvaging(
      raw_range(bytes),
      [&](const auto& item) {
        if (!first && item.offset() <= last) std::abort();
        first = false;
        last = item.offset();
        visit(item, [&](const auto& typed) {
          for_each_member<typename std::remove_cvref_t<decltype(typed)>::schema_type>(
              [&](auto, auto index) { sum += sizeof(typed.template member_at<index>()); });
        });
      },
      [](const fault&) {});
  raw_counter counter;
  sum += counter.feed(bytes).offset;
  counter.finish();
  const auto head = read_raw_header(bytes);
  if (!head) return static_cast<int>(sum & 0U);
  std::size_t end = head->size;
  for (const raw_unit& unit : raw_units(bytes, *head)) {
    if (unit.begin != end || unit.end <= unit.begin || unit.end > size) std::abort();
    end = unit.end;
  }
  for_each_raw_window(bytes, *head, [&](const window& one) { sum += one.instructions; });
  return static_cast<int>(sum & 0U);
}
