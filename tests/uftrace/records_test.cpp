// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <ranges>
#include <vector>

#include <backsight/uftrace/detail/winner_tree.hpp>
#include <backsight/uftrace/events.hpp>
#include <backsight/uftrace/records.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using test::bytes;

namespace {

using head = record_head;
using little = task_records<order::little>;
static_assert(std::ranges::forward_range<little>);
static_assert(std::ranges::view<little>);
static_assert(std::ranges::borrowed_range<little>);

// Time 0x10, entry of 0x5577948bb23d at depth 0: word 1 is address << 16 | depth << 6 | 5 << 3 | type.
constexpr auto entry = bytes<0x10, 0, 0, 0, 0, 0, 0, 0, 0x28, 0, 0x3d, 0xb2, 0x8b, 0x94, 0x77, 0x55>;
constexpr auto entry_big = bytes<0, 0, 0, 0, 0, 0, 0, 0x10, 0x55, 0x77, 0x94, 0x8b, 0xb2, 0x3d, 0, 0x28>;

template <order O>
constexpr bool reads_entry(const std::byte* at) {
  const record<function_record<O>, O> item(at);
  return item[head::time] == 0x10 && item[head::type] == record_type::entry && !item[head::more] && item[head::magic] == 5 &&
         item[head::depth] == 0 && item[head::address] == 0x5577948bb23d;
}

/// A record of 16 bytes.
std::vector<std::byte> plain(std::uint64_t time, unsigned type, unsigned depth, std::uint64_t address, bool more = false) {
  std::vector<std::byte> raw(16);
  store<order::little>(raw.data(), time);
  store<order::little>(raw.data() + 8, (address << 16) + (std::uint64_t{depth} << 6) + 0x28 + type + (more ? 4U : 0U));
  return raw;
}
void append(std::vector<std::byte>& to, const std::vector<std::byte>& more) { to.insert(to.end(), more.begin(), more.end()); }

}  // namespace

TEST_CASE("one record reads the same in both byte orders, also in a constant expression") {
  static_assert(reads_entry<order::little>(entry.data()));
  static_assert(reads_entry<order::big>(entry_big.data()));
  CHECK(reads_entry<order::little>(entry.data()));
  CHECK(reads_entry<order::big>(entry_big.data()));
  CHECK_FALSE(task_records<order::big>(entry_big).validate());
}

TEST_CASE("every kind of record has its size") {
  std::vector<std::byte> data = plain(10, 0, 0, 0x400);
  append(data, plain(0, 2, 5, 77));
  append(data, plain(11, 3, 0, 1000000));
  append(data, plain(12, 3, 0, watch_cpu, true));
  append(data, std::vector<std::byte>{std::byte{4}, std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{9}, std::byte{9}});
  append(data, plain(13, 1, 0, 0x400));
  std::vector<std::uint64_t> offsets;
  CHECK_FALSE(for_each(little(data), [&](const auto& item) { offsets.push_back(item.offset()); }));
  CHECK(offsets == std::vector<std::uint64_t>{0, 16, 32, 48, 72});
  auto it = little(data).begin();
  ++it;
  CHECK((*it).is<lost_record<order::little>>());
  ++it;
  ++it;
  const auto event = get_if<event_with_data<order::little>>(*it);
  CHECK(event_data<order::little>(event).size() == 4);
}

TEST_CASE("every truncation of a file ends at the record that is cut") {
  std::vector<std::byte> data = plain(10, 0, 0, 0x400);
  append(data, plain(12, 3, 0, watch_cpu, true));
  append(data, std::vector<std::byte>(8));
  data[32] = std::byte{4};
  append(data, plain(13, 1, 0, 0x400));
  for (std::size_t size = 0; size <= data.size(); ++size) {
    const std::vector<std::byte> cut(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size));
    const trace_error error = little(cut).validate();
    const std::size_t whole = size < 16 ? 0 : size < 40 ? 16 : size < 56 ? 40 : 56;
    CAPTURE(size);
    CHECK(error == (size == whole ? trace_error{} : trace_error{errc::truncated, whole}));
  }
}

TEST_CASE("values without a specification end the walk where they are") {
  const auto data = plain(10, 0, 0, 0x400, true);
  CHECK(little(data).validate() == trace_error{errc::not_found, 0});
}

TEST_CASE("behind a zeroed word reading goes on at the next record") {
  std::vector<std::byte> data;
  for (unsigned i = 0; i < 4; ++i) append(data, plain(100 + i, 0, i, 0x400));
  for (unsigned i = 4; i-- != 0;) append(data, plain(200 - i, 1, i, 0x400));
  for (std::size_t i = 40; i < 48; ++i) data[i] = std::byte{0};
  CHECK(little(data).validate() == trace_error{errc::bad_value, 32});
  std::size_t seen = 0;
  std::vector<fault> faults;
  (void)for_each_salvaging(little(data), [&](const auto&) { ++seen; }, [&](const fault& f) { faults.push_back(f); });
  CHECK(seen == 7);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0] == fault{errc::bad_value, 32, 16});
}

TEST_CASE("depth and address beyond 1023 levels come back") {
  depth_repair repair;
  constexpr std::uint64_t address = 0x5500000;
  for (std::uint64_t depth = 0; depth < 3000; ++depth) {
    const std::uint64_t word = (address << 16) + (depth << 6);
    const auto item = repair(record_type::entry, static_cast<std::uint16_t>(word >> 6 & 0x3ff), word >> 16);
    REQUIRE(item.depth == depth);
    REQUIRE(item.address == address);
  }
  for (std::uint64_t depth = 3000; depth-- != 0;) {
    const std::uint64_t word = (address << 16) + (depth << 6);
    const auto item = repair(record_type::exit, static_cast<std::uint16_t>(word >> 6 & 0x3ff), word >> 16);
    REQUIRE(item.depth == depth);
    REQUIRE(item.address == address);
  }
}

TEST_CASE("the tree of sources gives the earliest, the lower one on ties") {
  for (std::size_t count = 1; count < 20; ++count) {
    uftrace::detail::winner_tree tree(count);
    std::vector<std::vector<std::uint64_t>> times(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::uint64_t k = 0; k < 5; ++k) times[i].push_back(k * 7 * (i % 3 + 1));
      tree.set(i, times[i].front());
    }
    for (std::size_t left = count * 5; left != 0; --left) {
      REQUIRE_FALSE(tree.empty());
      std::size_t best = count;
      for (std::size_t i = 0; i < count; ++i) {
        if (!times[i].empty() && (best == count || times[i].front() < times[best].front())) best = i;
      }
      REQUIRE(tree.winner() == best);
      std::size_t second = count;
      for (std::size_t i = 0; i < count; ++i) {
        if (i != best && !times[i].empty() && (second == count || times[i].front() < times[second].front())) second = i;
      }
      REQUIRE(tree.runner_up() == second);
      times[best].erase(times[best].begin());
      if (times[best].empty()) tree.end(best);
      else tree.set(best, times[best].front());
    }
    CHECK(tree.empty());
  }
}
