// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/kernel_source.hpp>

#include <string>
#include <unordered_set>
#include <vector>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using records = test::uftrace_records;
using kernel = test::uftrace_kernel_records;
using uftrace::kernel_source;

namespace {

/// `7 in 100, 7 lost 5`: what a file of kernel data gives. Tasks 7 and 8 have files, 9 has none.
std::string read(const kernel& data, merge_options options = {}, std::vector<fault>* faults = nullptr) {
  test::uftrace_builder directory;
  directory.data(7, records()).data(8, records()).no_data(9).kernel(data);
  const recording from = directory.open();
  std::unordered_set<std::uint64_t> entered;
  kernel_source source(from, from.kernel.files.at(0).bytes, options, entered);
  std::string text;
  while (source.next()) {
    const merged_record& r = source.current();
    CHECK(r.source == record_source::kernel_file);
    if (!text.empty()) text += ", ";
    text += std::to_string(from.data[r.data_index].tid) + ' ';
    switch (r.type) {
      case record_type::entry: text += "in "; break;
      case record_type::exit: text += "out "; break;
      case record_type::event: text += "event "; break;
      case record_type::lost:
        text += "lost " + std::to_string(r.address) + " before ";
        CHECK((r.time == 0 && !r.more));
        break;
    }
    text += std::to_string(source.time());
    if (r.type != record_type::lost) CHECK(source.time() == r.time);
  }
  if (faults != nullptr) *faults = source.faults();
  return text;
}

}  // namespace

TEST_CASE("kernel data gives functions and events of the recorded tasks") {
  kernel data;
  data.entry(100, 7, 0, kernel::k0)
      .entry(110, 8, 0, kernel::k1)
      .wake(115, 7, 3)
      .entry(116, 6, 0, kernel::k1)
      .exit(117, 6, 0, kernel::k1);
  data.entry(118, 9, 0, kernel::k1).exit(119, 9, 0, kernel::k1).exit(120, 8, 0, kernel::k1).exit(130, 7, 0, kernel::k0);
  CHECK(read(data) == "7 in 100, 8 in 110, 7 event 115, 8 out 120, 7 out 130");
}

TEST_CASE("an exit of a function that was entered nowhere is left out") {
  kernel data;
  data.exit(90, 7, 0, kernel::k1)
      .entry(100, 7, 0, kernel::k0)
      .exit(110, 7, 1, kernel::k2)
      .exit(120, 7, 0, kernel::k0)
      .exit(130, 7, 0, kernel::k0);
  CHECK(read(data) == "7 in 100, 7 out 120, 7 out 130");
}

TEST_CASE("a function of the kernel exactly as long as the time filter stays, a shorter one goes with its events") {
  kernel data;
  data.entry(100, 7, 0, kernel::k0).entry(110, 7, 1, kernel::k1).wake(111, 7, 1).exit(209, 7, 1, kernel::k1);
  data.entry(300, 7, 1, kernel::k2).exit(400, 7, 1, kernel::k2).exit(500, 7, 0, kernel::k0);
  CHECK(read(data, {.shorter_than = 100}) == "7 in 100, 7 in 300, 7 out 400, 7 out 500");
  CHECK(read(data, {.shorter_than = 101}) == "7 in 100, 7 out 500");
  CHECK(read(data, {.shorter_than = 99}).find("7 event 111, 7 out 209") != std::string::npos);
}

TEST_CASE("kernel records lie between two times, both included") {
  kernel data;
  data.entry(100, 7, 0, kernel::k0)
      .entry(110, 7, 1, kernel::k1)
      .exit(120, 7, 1, kernel::k1)
      .exit(130, 7, 0, kernel::k0);
  CHECK(read(data, {.from = 110, .until = 120}) == "7 in 110, 7 out 120");
  CHECK(read(data, {.from = 111, .until = 119}).empty());
}

TEST_CASE("lost events of the kernel come before the record behind them, once") {
  kernel data;
  data.entry(100, 7, 0, kernel::k0)
      .exit(110, 7, 0, kernel::k0)
      .next_page(12)
      .entry(200, 8, 0, kernel::k1)
      .exit(210, 8, 0, kernel::k1);
  CHECK(read(data) == "7 in 100, 7 out 110, 8 lost 12 before 200, 8 in 200, 8 out 210");
}

TEST_CASE("an unknown event ends a file of kernel data, or is passed over, with its place and size") {
  kernel data;
  data.wake(100, 7, 1).wake(110, 7, 2, 99).wake(120, 7, 3).next_page().wake(200, 7, 4);
  std::vector<fault> faults;
  CHECK(read(data, {}, &faults) == "7 event 100");
  CHECK(faults == std::vector<fault>{{errc::unknown_record, 32, 12}});
  CHECK(read(data, {.salvage = true}, &faults) == "7 event 100, 7 event 120, 7 event 200");
  CHECK(faults == std::vector<fault>{{errc::unknown_record, 32, 12}});
}

TEST_CASE("addresses of the kernel keep 48 bits and get its base, depths ten") {
  test::uftrace_builder directory;
  kernel data;
  data.entry(100, 7, 1025, 0x1234ffff80001010).wake(110, 7, 5);
  directory.data(7, records()).kernel(data);
  const recording from = directory.open();
  uftrace::kernel_events events(from, from.kernel.files[0].bytes, false);
  REQUIRE(events.next());
  CHECK(events.current().address == (0xffff80001010 | kernel::base));
  CHECK(events.current().depth == 1);
  CHECK((events.tid() == 7 && events.current().offset == 16 && events.lost() == 0));
  REQUIRE(events.next());
  CHECK((events.current().address == 7 && events.current().more && events.current().payload.size() == 12));
  CHECK(events.current().offset == 16 + 4 + 20);
  CHECK_FALSE(events.next());
  // A kernel of 32 bits, whose base does not hold the upper 16 bits.
  test::uftrace_builder narrow;
  kernel more;
  more.entry(100, 7, 1023, 0x12340000c0001010).exit(110, 7, 1024, 0xffff000000001010);
  narrow.map = "400000-500000 r-xp 00000000 00:00 0 /bin/prog\nbef00000-bef21000 rw-p 00000000 00:00 0 [stack]\n";
  narrow.data(7, records()).kernel(more);
  const recording from_narrow = narrow.open();
  uftrace::kernel_events narrow_events(from_narrow, from_narrow.kernel.files[0].bytes, false);
  REQUIRE(narrow_events.next());
  CHECK((narrow_events.current().address == 0xc0001010 && narrow_events.current().depth == 1023));
  REQUIRE(narrow_events.next());
  CHECK((narrow_events.current().address == 0xc0001010 && narrow_events.current().depth == 0));
}
