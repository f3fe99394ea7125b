// SPDX-License-Identifier: Apache-2.0
// Stands for perf/round_queue.hpp
// merged_records.hpp, round_queue.hpp
#include <support/catch.hpp>

#include "perf_builder.hpp"

using namespace backsight;
using namespace backsight::perf;
using test::byte_builder;
using test::record_bytes;

namespace {

constexpr std::uint64_t timed = mask_of(sample_field::ip, sample_field::time);

std::vector<std::byte> sample_at(std::uint64_t time) {
  return record_bytes(order::little, 9, 0, byte_builder().u64(time).u64(time));
}
std::vector<std::byte> comm_at(std::uint64_t time) {
  return record_bytes(order::little, 3, 0, byte_builder().u32(1).u32(1).u64(0).u64(time));
}
std::vector<std::byte> round_end() { return record_bytes(order::little, 68, 0, byte_builder()); }

/// The order of delivery: times, and for records without one their negative type.
std::vector<long long> order_of(const std::vector<std::byte>& records, std::uint64_t type = timed,
                                merge_counts* counts = nullptr,
                                const std::vector<std::vector<std::byte>>& others = {}) {
  const auto bytes = test::file_bytes(order::little, {test::attribute_bytes(order::little, type)}, records);
  const auto opened = perf::open(bytes);
  REQUIRE(opened);
  std::vector<long long> found;
  const std::vector<byte_view> views(others.begin(), others.end());
  const merge_counts seen = for_each_merged(
      *opened, views,
      [&](const merged_record& item) {
        found.push_back(item.time != 0 ? static_cast<long long>(item.time) : -static_cast<long long>(item.record.type));
      },
      [](const fault&) {});
  if (counts != nullptr) *counts = seen;
  CHECK(seen.records == found.size());
  return found;
}

using times = std::vector<long long>;

}  // namespace

TEST_CASE("a round gives what is not later than the greatest time of the round before") {
  const auto bytes = test::joined({sample_at(30), sample_at(10), round_end(), sample_at(40), sample_at(20), round_end(),
                                   sample_at(35), sample_at(50), round_end()});
  CHECK(order_of(bytes) == times{-68, -68, 10, 20, 30, -68, 35, 40, 50});
}

TEST_CASE("records without a time are given where they stand") {
  const auto bytes = test::joined({sample_at(30), comm_at(0), comm_at(~std::uint64_t{0}), sample_at(10)});
  const auto found = order_of(bytes);
  REQUIRE(found.size() == 4);
  CHECK(found[0] == -3);
  CHECK(found[1] == -1);
  CHECK(found[2] == 10);
  CHECK(found[3] == 30);
}

TEST_CASE("equal times keep the order of the file") {
  const auto bytes = test::joined({sample_at(7), comm_at(7), sample_at(5), comm_at(7)});
  const auto file = test::file_bytes(order::little, {test::attribute_bytes(order::little, timed)}, bytes);
  const auto opened = perf::open(file);
  std::vector<std::uint64_t> offsets;
  for_each_merged(
      *opened, [&](const merged_record& item) { offsets.push_back(item.record.offset - opened->data_offset()); },
      [](const fault&) {});
  CHECK(offsets == std::vector<std::uint64_t>{56, 0, 24, 80});
}

TEST_CASE("a late record is put in its place behind what was given") {
  const auto bytes = test::joined({sample_at(10), round_end(), sample_at(20), round_end(), sample_at(5), sample_at(30),
                                   round_end(), sample_at(40)});
  CHECK(order_of(bytes) == times{-68, -68, 10, -68, 5, 20, 30, 40});
}

TEST_CASE("without times in the events the order is that of the file") {
  const auto bytes = test::joined({sample_at(30), sample_at(10)});
  CHECK(order_of(bytes, mask_of(sample_field::ip, sample_field::addr)) == times{-9, -9});
}

TEST_CASE("memory is that of two rounds") {
  std::vector<std::vector<std::byte>> parts;
  for (std::uint64_t round = 1; round <= 100; ++round) {
    for (std::uint64_t i = 0; i < 10; ++i) parts.push_back(sample_at(round * 100 + 9 - i));
    parts.push_back(round_end());
  }
  merge_counts counts;
  CHECK(order_of(test::joined(parts), timed, &counts).size() == 1100);
  CHECK(counts.most_waiting == 20);
}

TEST_CASE("the streams of a directory are merged by time with the offsets of their files") {
  const auto found =
      order_of(comm_at(15), timed, nullptr,
               {test::joined({sample_at(10), sample_at(30)}), test::joined({sample_at(20), sample_at(5)})});
  CHECK(found == times{5, 10, 15, 20, 30});
}

TEST_CASE("unknown, compressed and damaged records are counted and passed over") {
  const auto bytes = test::joined({record_bytes(order::little, 90, 0, byte_builder().fill(5)),
                                   record_bytes(order::little, 40, 0, byte_builder().u64(0).u64(3)),
                                   record_bytes(order::little, 81, 0, byte_builder().fill(7)),
                                   record_bytes(order::little, 3, 0, byte_builder()), sample_at(2),
                                   byte_builder().u32(9).u32(0).vector()});
  merge_counts counts;
  CHECK(order_of(bytes, timed, &counts) == times{-90, -81, 2, 3});
  CHECK(counts.unknown == 2);
  CHECK(counts.compressed == 1);
  CHECK(counts.faults == 2);
}
