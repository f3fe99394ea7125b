// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/perf_source.hpp>

#include <string>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using uftrace::perf_source;

namespace {

/// `7 in 100+0`: task, kind, time and offset of each record.
std::string read(const test::uftrace_perf_records& data, std::uint64_t first = 0,
                 std::uint64_t last = ~std::uint64_t{0}, order o = order::little) {
  test::uftrace_builder directory;
  directory.byte_order = o;
  directory.data(7, test::uftrace_records(o)).data(8, test::uftrace_records(o)).no_data(9);
  const recording from = directory.open();
  perf_source source(from, data.view(), first, last);
  std::string text;
  while (source.next()) {
    const merged_record& r = source.current();
    CHECK((r.source == record_source::perf_file && r.is_event() && r.depth == 0));
    CHECK(from.data[r.data_index].tid == source.tid());
    const char* const kind = r.address == sched_in              ? "in"
                             : r.address == sched_out           ? "out"
                             : r.address == sched_out_preempted ? "pre-empted"
                             : r.address == task_new            ? "new"
                             : r.address == task_exit           ? "exit"
                                                                : "name";
    if (!text.empty()) text += ", ";
    text += std::to_string(source.tid()) + ' ' + kind + ' ' + std::to_string(r.time) + '+' + std::to_string(r.offset);
    CHECK(r.more == (r.address == task_name));
    if (r.more) text += ' ' + std::string(text::as_text(r.payload));
  }
  CHECK_FALSE(source.error());
  return text;
}

}  // namespace

TEST_CASE("scheduler files give switches, tasks and names, in both byte orders") {
  for (const order o : {order::little, order::big}) {
    test::uftrace_perf_records data(o);
    data.sched_out(100, 7).preempted(110, 8).sched_in(120, 7).task(130, 8, 7).task(140, 7, 4).comm(150, 7, "new name");
    data.comm(160, 8, "seven_7").other(10, 40).sched_in(170, 8);
    CHECK(read(data, 0, ~std::uint64_t{0}, o) ==
          "7 out 100+0, 8 pre-empted 110+24, 7 in 120+48, 8 new 130+72, 7 exit 140+120, 7 name 150+168 new name, "
          "8 name 160+216 seven_7, 8 in 170+296");
  }
}

TEST_CASE("scheduler events of other tasks and other times are left out") {
  test::uftrace_perf_records data;
  data.sched_out(100, 6).sched_out(101, 7).sched_out(102, 9).sched_in(103, 7).comm(104, 7, "x").sched_in(105, 8);
  CHECK(read(data) == "7 out 101+24, 7 in 103+72, 7 name 104+96 x, 8 in 105+136");
  CHECK(read(data, 103, 104) == "7 in 103+72, 7 name 104+96 x");
  CHECK(read(data, 101, 103) == "7 out 101+24, 7 in 103+72");
  CHECK(read(data, 106) == "");
}

TEST_CASE("a name that is too short for its sample is no record") {
  test::uftrace_builder directory;
  directory.data(7, test::uftrace_records());
  const recording from = directory.open();
  const auto count = [&](std::size_t rest) {
    test::byte_builder bytes;
    bytes.u32(3).u16(0).u16(16 + rest).u32(1).u32(7).fill(rest, 0);
    perf_source source(from, bytes.view());
    int all = 0;
    while (source.next()) ++all;
    return all;
  };
  CHECK(count(15) == 0);
  CHECK(count(16) == 1);
}
