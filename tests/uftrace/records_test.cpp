// SPDX-License-Identifier: Apache-2.0
// Stands for uftrace/schema.hpp
#include <array>
#include <ranges>
#include <vector>

#include <backsight/uftrace/records.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

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
  return item[head::time] == 0x10 && item[head::type] == record_type::entry && !item[head::more] &&
         item[head::magic] == 5 && item[head::depth] == 0 && item[head::address] == 0x5577948bb23d;
}

/// A record of 16 bytes.
std::vector<std::byte> plain(std::uint64_t time, unsigned type, unsigned depth, std::uint64_t address,
                             bool more = false) {
  std::vector<std::byte> raw(16);
  store<order::little>(raw.data(), time);
  store<order::little>(raw.data() + 8, (address << 16) + (std::uint64_t{depth} << 6) + 0x28 + type + (more ? 4U : 0U));
  return raw;
}
void append(std::vector<std::byte>& to, const std::vector<std::byte>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

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
  append(data, std::vector<std::byte>{std::byte{4}, std::byte{0}, std::byte{1}, std::byte{0}, std::byte{0},
                                      std::byte{0}, std::byte{9}, std::byte{9}});
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

namespace {

/// The place where reading goes on behind damage whose search begins at `from`.
std::size_t resync(const test::uftrace_records& records, std::size_t from) {
  value_sizes sizes;
  return task_format<order::little>::resync(records.view(), from, sizes);
}
constexpr std::uint64_t day = 86'400'000'000'000;

/// Four records that could follow each other, the first at `time`.
void add_run(test::uftrace_records& to, std::uint64_t time) {
  to.entry(time, 0, 0x400).entry(time, 1, 0x500).exit(time, 1, 0x500).exit(time + 1, 0, 0x400);
}

}  // namespace

TEST_CASE("reading goes on at the first aligned place where records follow each other") {
  test::uftrace_records data;
  data.fill(24, 0xff);
  add_run(data, 100);
  CHECK(resync(data, 1) == 24);
  CHECK(resync(data, 8) == 24);
  CHECK(resync(data, 17) == 24);
  CHECK(resync(data, 24) == 24);
  CHECK(resync(data, 25) == 40);  // the three that are left are enough at the end of a file
  CHECK(resync(data, data.size() - 16) == data.size() - 16);
  CHECK(resync(data, data.size() - 15) == data.size());
  test::uftrace_records odd;
  odd.fill(9, 0xff);
  add_run(odd, 100);
  CHECK(resync(odd, 1) == odd.size());  // what the recorder writes is aligned to 8 bytes
}

TEST_CASE("four records must follow each other, and a fifth need not") {
  test::uftrace_records three;
  three.fill(16, 0xff).entry(100, 0, 0x400).entry(101, 1, 0x400).entry(102, 2, 0x400).fill(32, 0xff);
  CHECK(resync(three, 1) == three.size());
  test::uftrace_records four;
  four.fill(16, 0xff).entry(100, 0, 0x400).entry(101, 1, 0x400).entry(102, 2, 0x400).exit(103, 2, 0x400).fill(32, 0xff);
  CHECK(resync(four, 1) == 16);
}

TEST_CASE("less than a record at the end is no place to go on") {
  for (const std::size_t rest : {0U, 1U, 8U, 15U}) {
    test::uftrace_records data;
    data.fill(16, 0xff).fill(rest, 0);
    CHECK(resync(data, 1) == data.size());
  }
  test::uftrace_records cut;
  cut.fill(16, 0xff).entry(100, 0, 0x400).fill(15, 0xee);
  CHECK(resync(cut, 1) == 16);  // a record, and one that is cut
}

TEST_CASE("equal times follow each other and earlier ones do not") {
  test::uftrace_records equal;
  equal.fill(16, 0xff).entry(100, 0, 0x400).entry(100, 1, 0x500).entry(100, 2, 0x500).entry(100, 3, 0x500);
  CHECK(resync(equal, 1) == 16);
  test::uftrace_records back;
  back.fill(16, 0xff)
      .entry(101, 0, 0x400)
      .entry(100, 1, 0x500)
      .entry(100, 2, 0x500)
      .entry(100, 3, 0x500)
      .entry(100, 4, 0x5);
  CHECK(resync(back, 1) == 32);
}

TEST_CASE("nothing behind the damage is earlier than the record before it") {
  // Two runs: one that could be old memory, and the one that follows.
  const auto at = [](std::uint64_t before, std::uint64_t first, std::uint64_t second) {
    test::uftrace_records data;
    data.entry(before, 0, 0x400).fill(16, 0xff);
    add_run(data, first);
    add_run(data, second);
    return resync(data, 17);
  };
  CHECK(at(1000, 500, 2000) == 96);
  CHECK(at(1000, 998, 2000) == 96);
  CHECK(at(1000, 1000, 2000) == 32);
  CHECK(at(1000, 1001, 2000) == 32);
  // A day later is more likely damage.
  CHECK(at(1000, 1000 + day, 2000 + day) == 32);
  CHECK(at(1000, 1001 + day, 2000) == 96);
}

TEST_CASE("a record before the damage tells a time only when it is a plain entry or exit") {
  const auto at = [](const test::uftrace_records& before) {
    test::uftrace_records data = before;
    const std::size_t size = data.size();
    data.fill(16, 0xff);
    add_run(data, 500);
    return resync(data, size + 1) - size;
  };
  CHECK(at(test::uftrace_records().exit(1000, 0, 0x400)) == 80);  // no run that fits
  CHECK(at(test::uftrace_records().entry(499, 0, 0x300).entry(1000, 0, 0x400)) == 80);
  CHECK(at(test::uftrace_records().event(1000, 1000000)) == 16);
  CHECK(at(test::uftrace_records().lost(5)) == 16);
  CHECK(at(test::uftrace_records()) == 16);
}

TEST_CASE("depths rise by one and fall by any number") {
  const auto follows = [](const test::uftrace_records& run) {
    test::uftrace_records data;
    data.fill(16, 0xff).fill(0, 0);
    const test::uftrace_records& items = run;
    std::vector<std::byte> all(data.view().begin(), data.view().end());
    all.insert(all.end(), items.view().begin(), items.view().end());
    value_sizes sizes;
    return task_format<order::little>::resync(all, 1, sizes) == 16;
  };
  const auto two = [&](unsigned type, std::uint64_t depth, unsigned next_type, std::uint64_t next) {
    test::uftrace_records run;
    type == 0 ? run.entry(100, depth, 0x400) : run.exit(100, depth, 0x400);
    next_type == 0 ? run.entry(101, next, 0x400) : run.exit(101, next, 0x400);
    return follows(run);
  };
  CHECK(two(0, 3, 0, 4));
  CHECK_FALSE(two(0, 3, 0, 5));
  CHECK(two(0, 3, 1, 3));
  CHECK_FALSE(two(0, 3, 1, 4));
  CHECK(two(1, 3, 1, 2));
  CHECK_FALSE(two(1, 3, 1, 3));
  CHECK(two(1, 3, 0, 3));
  CHECK_FALSE(two(1, 3, 0, 4));
  CHECK(two(0, 9, 0, 0));
  CHECK(two(1, 9, 1, 1));
  // Ten bits of the depth are stored: behind 1023 comes 0.
  CHECK(two(0, 1022, 0, 1023));
  CHECK(two(0, 1023, 0, 1024));
  CHECK(two(0, 1023, 1, 1023));
  CHECK(two(0, 1024, 0, 1025));
  CHECK(two(1, 1024, 1, 1023));
  CHECK_FALSE(two(0, 1023, 0, 1029));
  CHECK_FALSE(two(1, 1024, 0, 1025));
  CHECK(two(0, 1023, 1, 1022));
  CHECK(two(1, 1024, 0, 1023));
}

TEST_CASE("lost records and events may stand between those that follow each other") {
  test::uftrace_records lost;
  lost.fill(16, 0xff).entry(100, 0, 0x400).lost(3).entry(101, 7, 0x400).entry(102, 8, 0x400).entry(103, 30, 0x400);
  CHECK(resync(lost, 1) == 16);  // the fourth is the last that is looked at
  test::uftrace_records event;
  event.fill(16, 0xff).entry(100, 0, 0x400).event(101, 1000000).entry(102, 2, 0x400).entry(103, 3, 0x400);
  CHECK(resync(event, 1) == 32);  // the event does not hide that the depth rises by two
  test::uftrace_records data;
  const auto number = test::bytes<1, 0, 0, 0, 0, 0>;
  data.fill(16, 0xff).entry(100, 0, 0x400).event(101, watch_cpu, number).exit(102, 0, 0x400);
  CHECK(resync(data, 1) == 16);
  test::uftrace_records event_back;
  event_back.fill(16, 0xff).entry(100, 0, 0x400).event(99, 1000000).entry(102, 1, 0x400).entry(103, 2, 0x400);
  CHECK(resync(event_back, 1) == 32);
}

TEST_CASE("time 0 and address 0 are no records") {
  test::uftrace_records time;
  time.fill(16, 0xff).entry(0, 0, 0x400).entry(5, 1, 0x400);
  CHECK(resync(time, 1) == 32);
  test::uftrace_records address;
  address.fill(16, 0xff).exit(4, 3, 0).exit(5, 2, 0x400);
  CHECK(resync(address, 1) == 32);
  test::uftrace_records values;
  values.fill(16, 0xff).entry(4, 0, 0x400, test::bytes<1, 2, 3, 4>).entry(5, 1, 0x400);
  CHECK(resync(values, 1) == 40);  // without a specification nobody knows where its values end
}

TEST_CASE("sizes of scheduler events are checked") {
  const auto errors_of = [](const test::byte_builder& file) {
    return perf_records<order::little>(file.view()).validate();
  };
  test::uftrace_perf_records good;
  good.sched_in(5, 7).comm(6, 7, "name").other(9, 8).task(7, 8, 7);
  CHECK_FALSE(perf_records<order::little>(good.view()).validate());
  CHECK(errors_of(test::byte_builder().u32(9).u16(0).u16(7)) == trace_error{errc::bad_size, 0});
  CHECK(errors_of(test::byte_builder().u32(9).u16(0).u16(8)) == trace_error{});
  CHECK(errors_of(test::byte_builder().u32(14).u16(0).u16(23).fill(16)) == trace_error{errc::bad_size, 0});
  CHECK(errors_of(test::byte_builder().u32(14).u16(0).u16(25).fill(16)) == trace_error{errc::truncated, 0});
  CHECK(errors_of(test::byte_builder().u32(14).u16(0).u16(25).fill(17)) == trace_error{});
  CHECK(errors_of(test::byte_builder().u32(4).u16(0).u16(31).fill(30)) == trace_error{errc::bad_size, 0});
  CHECK(errors_of(test::byte_builder().u32(3).u16(0).u16(15).fill(30)) == trace_error{errc::bad_size, 0});
}

TEST_CASE("data of events is padded so that length and data fill words") {
  for (std::size_t length = 0; length < 24; ++length) {
    const std::vector<std::byte> data(length, std::byte{7});
    test::uftrace_records records;
    records.event(10, watch_cpu, data).exit(11, 0, 0x400);
    std::vector<std::uint64_t> offsets;
    CHECK_FALSE(for_each(little(records.view()), [&](const auto& item) {
      offsets.push_back(item.offset());
      if (item.template is<event_with_data<order::little>>())
        CHECK(event_data<order::little>(item.template as<event_with_data<order::little>>()).size() == length);
    }));
    CHECK(offsets == std::vector<std::uint64_t>{0, 16 + (length + 2 + 7) / 8 * 8});
  }
}
