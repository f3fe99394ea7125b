// SPDX-License-Identifier: Apache-2.0
// Stands for ftrace/schema.hpp
#include <backsight/ftrace/pages.hpp>

#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::ftrace;

namespace {

constexpr std::uint32_t head(std::uint32_t type_len, std::uint32_t delta) { return type_len | delta << 5; }

/// A page of 64 bytes: time 1000, 48 bytes of room for events.
page_layout small_pages() {
  page_layout layout;
  layout.page_size = 64;
  return layout;
}
std::vector<std::byte> page_of(const test::byte_builder& events, std::uint64_t used, std::uint64_t flags = 0) {
  test::byte_builder page;
  page.u64(1000).u64(used | flags).append(events.view());
  return page.fill(64 - page.size(), 0).vector();
}

}  // namespace

TEST_CASE("as many bytes of a page count as it says, and no more than it has") {
  test::byte_builder events;
  for (unsigned i = 0; i < 6; ++i) events.u32(head(1, 1)).u32(i);
  for (const std::uint64_t used : {0U, 8U, 40U, 48U}) {
    const page one = read_page(small_pages(), page_of(events, used), 0);
    CHECK_FALSE(one.error);
    CHECK(one.events.size() == used / 8);
    CHECK(one.time == 1000);
  }
  CHECK(read_page(small_pages(), page_of(events, 49), 0).events.size() == 6);
  CHECK(read_page(small_pages(), page_of(events, 0x7ffffff), 0).events.size() == 6);
  CHECK(read_page(small_pages(), page_of(events, 0x8000008), 0).events.size() == 1);  // 27 bits count
  const page cut = read_page(small_pages(), page_of(events, 44), 0);
  CHECK(cut.events.size() == 5);
  CHECK(cut.error == trace_error{errc::truncated, 16 + 40});
}

TEST_CASE("a page behind another one tells offsets in the file") {
  test::byte_builder events;
  events.u32(head(1, 5)).u32(7).u32(head(2, 3)).u32(1);
  auto file = page_of(events, 16);
  const auto second = page_of(events, 16);
  file.insert(file.end(), second.begin(), second.end());
  const page one = read_page(small_pages(), file, 64);
  REQUIRE(one.events.size() == 1);
  CHECK((one.events[0].offset == 80 && one.events[0].time == 1005 && one.events[0].data.size() == 4));
  CHECK(one.error == trace_error{errc::truncated, 88});
  file.resize(64 + 15);
  CHECK(read_page(small_pages(), file, 64).error == trace_error{errc::truncated, 79});
  file.resize(64 + 16);
  CHECK_FALSE(read_page(small_pages(), file, 64).error);
  CHECK(read_page(small_pages(), file, 64).events.empty());
}

TEST_CASE("the number of lost events is behind the page's events where there is room for it") {
  test::byte_builder events;
  for (unsigned i = 0; i < 5; ++i) events.u32(head(1, 1)).u32(i);
  events.u64(77);
  const std::uint64_t lost = std::uint64_t{1} << 31, counted = std::uint64_t{1} << 30;
  const page fits = read_page(small_pages(), page_of(events, 40, lost | counted), 0);
  CHECK((fits.has_lost && fits.lost == 77 && fits.events.size() == 5));
  test::byte_builder more;
  for (unsigned i = 0; i < 6; ++i) more.u32(head(1, 1)).u32(i);
  const page full = read_page(small_pages(), page_of(more, 48, lost | counted), 0);
  CHECK((full.has_lost && full.lost == -1 && full.events.size() == 6));
  const page uncounted = read_page(small_pages(), page_of(events, 40, lost), 0);
  CHECK((uncounted.has_lost && uncounted.lost == -1));
  const page none = read_page(small_pages(), page_of(events, 40, counted), 0);
  CHECK((!none.has_lost && none.lost == 0));
}

TEST_CASE("deltas add up, also those of what is no event") {
  test::byte_builder events;
  events.u32(head(30, 6)).u32(1).u32(head(1, 4)).u32(0);  // (1 << 27 | 6) + 4
  events.u32(head(29, 9)).u32(4).u32(head(0, 2)).u32(4);  // discarded, then an event with no data
  const page one = read_page(small_pages(), page_of(events, 32), 0);
  CHECK_FALSE(one.error);
  REQUIRE(one.events.size() == 2);
  const std::uint64_t first = 1000 + (1U << 27) + 10;
  CHECK(one.events[0].time == first);
  CHECK((one.events[1].time == first + 11 && one.events[1].data.empty()));
  CHECK(one.begins_extended);
  test::byte_builder later;
  later.u32(head(1, 0)).u32(0).u32(head(30, 6)).u32(0).u32(head(1, 0)).u32(0);
  const page behind = read_page(small_pages(), page_of(later, 24), 0);
  CHECK_FALSE(behind.begins_extended);
  CHECK(behind.events.at(1).time == 1006);
}

TEST_CASE("a time stamp that equals the time so far does not wrap") {
  test::byte_builder events;
  events.u32(head(31, 1000)).u32(0).u32(head(1, 0)).u32(0);
  CHECK(read_page(small_pages(), page_of(events, 16), 0).events.at(0).time == 1000);
  test::byte_builder before;
  before.u32(head(31, 999)).u32(0).u32(head(1, 0)).u32(0);
  CHECK(read_page(small_pages(), page_of(before, 16), 0).events.at(0).time == (std::uint64_t{1} << 59) + 999);
}

TEST_CASE("a page begins with its time, and layouts that say otherwise are not usable") {
  CHECK(page_layout{}.usable());
  CHECK(small_pages().usable());
  const auto with = [](auto change) {
    page_layout layout;
    change(layout);
    return layout.usable();
  };
  CHECK_FALSE(with([](page_layout& l) { l.page_size = 31; }));
  CHECK_FALSE(with([](page_layout& l) { l.page_size = (1 << 24) + 1; }));
  CHECK_FALSE(with([](page_layout& l) { l.long_size = 5; }));
  CHECK(with([](page_layout& l) { l.long_size = 4; }));
  CHECK(with([](page_layout& l) { l.data_offset = 4095; }));
  CHECK_FALSE(with([](page_layout& l) { l.data_offset = 4096; }));
  CHECK(with([](page_layout& l) { l.data_offset = 8; }));
  CHECK_FALSE(with([](page_layout& l) { l.data_offset = 7; }));
  CHECK(with([](page_layout& l) { l.commit_offset = 4088; }));
  CHECK_FALSE(with([](page_layout& l) { l.commit_offset = 4089; }));
}
