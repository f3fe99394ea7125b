// SPDX-License-Identifier: Apache-2.0
// TID.dat and perf-cpuN.dat: records, values and recovery from damage, in both byte orders. The first byte chooses.
#include <cstdint>
#include <cstdlib>
#include <type_traits>

#include <backsight/uftrace/records.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

/// Values as long as their first byte tells.
payload_result any_size(const void*, std::uint32_t, std::uint64_t, std::uint64_t, bool, byte_view rest) noexcept {
  if (rest.empty()) return errc::truncated;
  return std::to_integer<std::size_t>(rest.front());
}

template <class Range>
std::uint64_t walk(const Range& range) {
  std::uint64_t sum = 0, last = 0;
  bool first = true;
  (void)for_each_salvaging(
      range,
      [&](const auto& item) {
        if (!first && item.offset() <= last) std::abort();
        first = false;
        last = item.offset();
        visit(item, [&](const auto& typed) {
          using schema_type = typename std::remove_cvref_t<decltype(typed)>::schema_type;
          for_each_member<schema_type>([&](auto, auto index) { sum += sizeof(typed.template member_at<index>()); });
          for (const std::byte byte : typed.bytes()) sum += std::to_integer<std::uint64_t>(byte);
        });
      },
      [&](const fault& f) { sum += f.skipped; });
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const byte_view bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const value_sizes sizes{nullptr, &any_size, 0};
  std::uint64_t sum = 0;
  switch (data[0] & 3) {
    case 0: sum = walk(task_records<order::little>(bytes, sizes)); break;
    case 1: sum = walk(task_records<order::big>(bytes, sizes)); break;
    case 2: sum = walk(perf_records<order::little>(bytes)); break;
    default: sum = walk(perf_records<order::big>(bytes)); break;
  }
  return sum == ~std::uint64_t{0} ? 1 : 0;
}
