// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/task_source.hpp>

#include <cstdint>
#include <optional>
#include <ostream>
#include <vector>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
namespace fn = test::fn;
using uftrace::task_source;

namespace {

/// A record as a source gives it.
struct seen {
  record_type type = record_type::entry;
  std::uint64_t time = 0, offset = 0;
  friend bool operator==(const seen&, const seen&) = default;
};
std::ostream& operator<<(std::ostream& out, const seen& s) {
  return out << enumerator_name(s.type) << "@" << s.time << "+" << s.offset;
}
constexpr auto in = record_type::entry, out = record_type::exit, gone = record_type::lost, note = record_type::event;

/// All that a source says of one file.
struct whole {
  std::vector<seen> records;
  std::vector<fault> faults;
  std::optional<std::uint64_t> damaged_time;
  std::vector<std::byte> last_payload;
};

whole read(byte_view bytes, merge_options options, order o = order::little) {
  test::uftrace_builder directory;
  directory.byte_order = o;
  directory.with(feature::argument);
  directory.info_lines = {{10, "argspec:lines=1\nargspec:c@arg1/i32,arg2/i32;b@arg1/s\n"}};
  directory.data(7, bytes);
  const recording from = directory.open();
  resolver names(from);
  task_source source(names, 0, options);
  whole all;
  for (; source.has(); source.next()) {
    const merged_record& r = source.current();
    all.records.push_back({r.type, r.time, r.offset});
    all.last_payload.assign(r.payload.begin(), r.payload.end());
  }
  all.faults = source.faults();
  all.damaged_time = source.damaged_time();
  return all;
}
whole read(const test::uftrace_records& records, merge_options options, order o = order::little) {
  return read(records.view(), options, o);
}

/// The times of what a filter of 100 ns leaves.
std::vector<std::uint64_t> filtered(const test::uftrace_records& records) {
  std::vector<std::uint64_t> times;
  for (const seen& s : read(records, {.shorter_than = 100}).records) times.push_back(s.time);
  return times;
}
using times = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("damage in a task file ends it, or reading goes on right behind it") {
  test::uftrace_records data;
  data.entry(100, 0, fn::main).u64(1).u64(2).entry(120, 1, fn::a).exit(130, 1, fn::a).exit(140, 0, fn::main);
  const whole stops = read(data, {});
  CHECK(stops.records == std::vector<seen>{{in, 100, 0}});
  CHECK(stops.faults == std::vector<fault>{{errc::bad_value, 16, 64}});
  const whole goes_on = read(data, {.salvage = true});
  CHECK(goes_on.records == std::vector<seen>{{in, 100, 0}, {in, 120, 32}, {out, 130, 48}, {out, 140, 64}});
  CHECK(goes_on.faults == std::vector<fault>{{errc::bad_value, 16, 16}});
}

TEST_CASE("every damage of a task file is listed with its place and size") {
  test::uftrace_records data;
  data.fill(24, 0xff);
  data.entry(100, 0, fn::main).entry(110, 1, fn::a).exit(120, 1, fn::a).exit(130, 0, fn::main);
  data.u64(7);
  data.entry(200, 0, fn::main).entry(210, 1, fn::a).exit(220, 1, fn::a).exit(230, 0, fn::main);
  data.fill(40, 0xdd).fill(3, 0);
  const whole all = read(data, {.salvage = true});
  CHECK(all.records == std::vector<seen>{{in, 100, 24},
                                         {in, 110, 40},
                                         {out, 120, 56},
                                         {out, 130, 72},
                                         {in, 200, 96},
                                         {in, 210, 112},
                                         {out, 220, 128},
                                         {out, 230, 144}});
  CHECK(all.faults ==
        std::vector<fault>{{errc::bad_value, 0, 24}, {errc::bad_value, 88, 8}, {errc::bad_value, 160, 43}});
  CHECK(read(data, {}).records.empty());
  CHECK(read(data, {}).faults == std::vector<fault>{{errc::bad_value, 0, 203}});
}

TEST_CASE("a task file that is cut ends at its last whole record, with a fault for the rest") {
  test::uftrace_records data;
  data.entry(100, 0, fn::main).exit(130, 0, fn::main);
  for (const bool salvage : {false, true}) {
    for (std::size_t size = 0; size <= 32; ++size) {
      const whole all = read(data.view().first(size), {.salvage = salvage});
      CHECK(all.records.size() == size / 16);
      CHECK(all.faults.size() == (size % 16 != 0));
      if (size % 16 != 0) CHECK(all.faults[0] == fault{errc::truncated, size / 16 * 16, size % 16});
    }
  }
}

TEST_CASE("of values that are cut those that are there are given") {
  const auto values = test::bytes<1, 0, 0, 0, 2, 0, 0, 0>;
  test::uftrace_records data;
  data.entry(100, 0, fn::main).entry(110, 1, fn::c, values);
  for (const bool salvage : {false, true}) {
    for (std::size_t size = 32; size < 40; ++size) {
      CAPTURE(size);
      const whole all = read(data.view().first(size), {.salvage = salvage});
      // Not a single byte of a value: then the record is lost.
      if (size == 32) CHECK(all.records == std::vector<seen>{{in, 100, 0}});
      else CHECK(all.records == std::vector<seen>{{in, 100, 0}, {in, 110, 16}});
      if (size != 32)
        CHECK(all.last_payload ==
              std::vector<std::byte>(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(size - 32)));
      CHECK(all.faults == std::vector<fault>{{errc::truncated, 16, size - 16}});
    }
    const whole all = read(data, {.salvage = salvage});
    CHECK(all.last_payload.size() == 8);
    CHECK(all.faults.empty());
  }
  // Data of an event has a length: what is cut is not given.
  test::uftrace_records event;
  event.entry(100, 0, fn::main).event(110, watch_cpu, test::bytes<1, 0, 0, 0, 0, 0>);
  CHECK(read(event.view().first(38), {}).records.size() == 1);
}

TEST_CASE("what looks like records in values that are cut is none") {
  test::uftrace_records data;
  data.entry(100, 0, fn::main).entry(110, 1, fn::b, test::bytes<0, 9, 'a', 'b', 'c', 'd', 'e', 'f'>);
  data.entry(120, 2, fn::a).exit(130, 2, fn::a).entry(140, 2, fn::a).exit(150, 2, fn::a);
  for (const bool salvage : {false, true}) {
    const whole all = read(data, {.salvage = salvage});
    CHECK(all.records == std::vector<seen>{{in, 100, 0}, {in, 110, 16}});
    CHECK(all.last_payload.size() == 72);
    CHECK(all.faults == std::vector<fault>{{errc::truncated, 16, 88}});
  }
}

TEST_CASE("uftrace takes what is at the damage for the time of the record before, where that ended something") {
  const auto damaged_time = [](const test::uftrace_records& data, order o = order::little) {
    return read(data, {}, o).damaged_time;
  };
  using records = test::uftrace_records;
  CHECK(damaged_time(records().entry(100, 0, fn::main).exit(130, 0, fn::main).u64(99).u64(0)) == 99);
  CHECK(damaged_time(records().lost(4).u64(98).u64(0)) == 98);
  CHECK(damaged_time(records().entry(100, 0, fn::main).u64(99).u64(0)) == std::nullopt);
  CHECK(damaged_time(records().event(100, 1000000).u64(99).u64(0)) == std::nullopt);
  CHECK(damaged_time(records().exit(100, 0, fn::main)) == std::nullopt);
  // Of a cut record those bytes that are there.
  CHECK(damaged_time(records().exit(0x1122334455667788, 0, fn::main).fill(3, 0xaa)) == 0x1122334455aaaaaa);
  CHECK(damaged_time(records().exit(0x1122334455667788, 0, fn::main).fill(8, 0xaa)) == 0xaaaaaaaaaaaaaaaa);
  CHECK(damaged_time(records().exit(0x1122334455667788, 0, fn::main).fill(9, 0xaa)) == 0xaaaaaaaaaaaaaaaa);
  CHECK(damaged_time(records().lost(1).fill(1, 5)) == 5);
  CHECK(damaged_time(records(order::big).exit(0x1122334455667788, 0, fn::main).fill(3, 0xaa), order::big) ==
        0xaaaaaa4455667788);
  CHECK(damaged_time(records(order::big).exit(100, 0, fn::main).u64(99).u64(0), order::big) == 99);
}

TEST_CASE("the time filter leaves out calls that took less, with what they hold") {
  using records = test::uftrace_records;
  // Exactly as long as the filter is long enough.
  CHECK(filtered(records().entry(1000, 0, fn::main).exit(1100, 0, fn::main)) == times{1000, 1100});
  CHECK(filtered(records().entry(1000, 0, fn::main).exit(1099, 0, fn::main)).empty());
  records nested;
  nested.entry(1000, 0, fn::main).entry(1010, 1, fn::a).exit(1109, 1, fn::a).entry(1200, 1, fn::b).exit(1300, 1, fn::b);
  nested.exit(1400, 0, fn::main);
  CHECK(filtered(nested) == times{1000, 1200, 1300, 1400});
  records inner;
  inner.entry(1000, 0, fn::main)
      .event(1001, watch_cpu)
      .entry(1010, 1, fn::a)
      .event(1020, watch_cpu)
      .exit(1030, 1, fn::a);
  inner.exit(1200, 0, fn::main);
  CHECK(filtered(inner) == times{1000, 1001, 1200});
  records all_short;
  all_short.entry(1000, 0, fn::main).entry(1010, 1, fn::a).exit(1020, 1, fn::a).exit(1030, 0, fn::main);
  CHECK(filtered(all_short).empty());
  CHECK(filtered(records()).empty());
}

TEST_CASE("the time filter lets through what is not known to be short") {
  using records = test::uftrace_records;
  CHECK(filtered(records().exit(1000, 1, fn::a).entry(1010, 1, fn::b)) == times{1000, 1010});
  CHECK(filtered(records().entry(1000, 0, fn::main).entry(1001, 1, fn::a)) == times{1000, 1001});
  // A loss and an event of the user release what is held; another event does not.
  CHECK(filtered(records().entry(1000, 0, fn::main).lost(2).exit(1010, 0, fn::main)) == times{1000, 0, 1010});
  CHECK(filtered(records().entry(1000, 0, fn::main).event(1005, 1000000).exit(1010, 0, fn::main)) ==
        times{1000, 1005, 1010});
  CHECK(filtered(records().entry(1000, 0, fn::main).event(1005, 999999).exit(1010, 0, fn::main)).empty());
  // What came through once does not open the way for the next one.
  records again;
  again.entry(1000, 0, fn::main).exit(1200, 0, fn::main).entry(1300, 0, fn::main).exit(1310, 0, fn::main);
  CHECK(filtered(again) == times{1000, 1200});
}

TEST_CASE("a source gives what lies between two times, both included") {
  test::uftrace_records data;
  data.entry(100, 0, fn::main).entry(200, 1, fn::a).exit(300, 1, fn::a).exit(400, 0, fn::main);
  const auto between = [&](std::uint64_t from, std::uint64_t until) {
    times all;
    for (const seen& s : read(data, {.from = from, .until = until}).records) all.push_back(s.time);
    return all;
  };
  CHECK(between(200, 300) == times{200, 300});
  CHECK(between(201, 299).empty());
  CHECK(between(199, 301) == times{200, 300});
  CHECK(between(100, 400) == times{100, 200, 300, 400});
  CHECK(between(400, 1000) == times{400});
  CHECK(between(401, 1000).empty());
  CHECK(between(0, 99).empty());
  CHECK(between(0, 100) == times{100});
}

TEST_CASE("a run of plain records ends at its bound, at another kind, or where the taker wants no more") {
  test::uftrace_records data;
  data.entry(100, 0, fn::main)
      .entry(200, 1, fn::a)
      .exit(200, 1, fn::a)
      .exit(300, 0, fn::main)
      .event(310, 1000000)
      .exit(320, 0, fn::a);
  const auto run = [&](std::uint64_t bound, bool inclusive, std::size_t wanted = 99, merge_options options = {}) {
    test::uftrace_builder directory;
    directory.data(7, data);
    const recording from = directory.open();
    resolver names(from);
    task_source source(names, 0, options);
    times given;
    const std::size_t taken = source.take_run<order::little>(bound, inclusive, [&](const auto& item) {
      if (given.size() == wanted) return false;
      given.push_back(item[record_head::time]);
      return true;
    });
    CHECK(taken == given.size());
    const std::uint64_t next[] = {100, 200, 200, 300, 310};
    if (source.has()) CHECK(source.current().time == next[taken]);
    if (source.has()) CHECK(source.current().offset == taken * 16);
    return given;
  };
  CHECK(run(200, true) == times{100, 200, 200});
  CHECK(run(200, false) == times{100});
  CHECK(run(201, false) == times{100, 200, 200});
  CHECK(run(99, true).empty());
  CHECK(run(100, false).empty());
  CHECK(run(0, false).empty());
  CHECK(run(~std::uint64_t{0}, true) == times{100, 200, 200, 300});
  CHECK(run(~std::uint64_t{0}, true, 0).empty());
  CHECK(run(~std::uint64_t{0}, true, 1) == times{100});
  CHECK(run(~std::uint64_t{0}, true, 3) == times{100, 200, 200});
  CHECK(run(~std::uint64_t{0}, true, 99, {.until = 200}) == times{100, 200, 200});
}

TEST_CASE("both byte orders give the same records") {
  for (const order o : {order::little, order::big}) {
    test::uftrace_records data(o);
    data.entry(100, 0, fn::main)
        .entry(110, 1, fn::c, test::bytes<1, 2, 3, 4, 5, 6, 7, 8>)
        .lost(3)
        .exit(120, 1023, fn::a);
    const whole all = read(data, {}, o);
    CHECK(all.records == std::vector<seen>{{in, 100, 0}, {in, 110, 16}, {gone, 0, 40}, {out, 120, 56}});
    CHECK(all.faults.empty());
    test::uftrace_records with_event(o);
    with_event.event(5, watch_cpu, test::bytes<9, 8, 7>);
    const whole event = read(with_event, {}, o);
    CHECK(event.records == std::vector<seen>{{note, 5, 0}});
    CHECK(event.last_payload == std::vector<std::byte>{std::byte{9}, std::byte{8}, std::byte{7}});
  }
}
