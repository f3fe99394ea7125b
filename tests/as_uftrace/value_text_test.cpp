// SPDX-License-Identifier: Apache-2.0
#include "as/uftrace/value_text.hpp"

#include <bit>
#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;
namespace fn = test::fn;

namespace {

using builder = test::byte_builder;

/// A call of the function a whose values have these specifications.
struct call {
  std::string specs;
  bool is_return = false;

  template <class F>
  std::string with(const builder& payload, F&& write) const {
    test::uftrace_builder directory;
    directory.with(feature::argument).data(7, test::uftrace_records());
    directory.info_lines = {{10, std::string("argspec:lines=2\n") + (is_return ? "retspec:a@" : "argspec:a@") + specs +
                                     "\nenumauto:enum color {RED,GREEN=2,BLUE=4}\n"}};
    const recording from = directory.open();
    resolver names(from);
    value_writer writer(names);
    merged_record r;
    r.time = 100;
    r.address = fn::a;
    r.type = is_return ? record_type::exit : record_type::entry;
    r.payload = payload.view();
    r.more = true;
    std::string out;
    write(writer, out, r);
    return out;
  }
  std::string replay(const builder& payload) const {
    return with(payload, [](value_writer& w, std::string& out, const merged_record& r) {
      w.values(out, r, text_style::replay);
    });
  }
  std::string chrome(const builder& payload) const {
    return with(payload, [](value_writer& w, std::string& out, const merged_record& r) {
      w.values(out, r, text_style::chrome);
    });
  }
  std::string raw(const builder& payload) const {
    return with(payload, [](value_writer& w, std::string& out, const merged_record& r) { w.raw_lines(out, r); });
  }
};
builder u64(std::uint64_t value) { return builder().u64(value); }
builder u32(std::uint64_t value) { return builder().u32(value).u32(0); }
builder with_length(std::string_view characters) {
  builder made;
  made.u16(characters.size()).text(characters);
  return made.fill((8 - made.size() % 8) % 8, 0xaa);
}

std::string event(std::uint64_t id, const builder& data, bool replay, bool is_64 = true) {
  test::uftrace_builder directory;
  directory.is_64 = is_64;
  directory.data(7, test::uftrace_records());
  const recording from = directory.open();
  resolver names(from);
  value_writer writer(names);
  merged_record r;
  r.time = 100;
  r.address = id;
  r.type = record_type::event;
  r.payload = data.view();
  std::string out;
  writer.event_text(out, r, replay);
  return out;
}

}  // namespace

TEST_CASE("automatic values are decimal up to 100000, hexadecimal beyond, and small negative ones of 32 bits signed") {
  const call one{"arg1"};
  CHECK(one.replay(u64(0)) == "0");
  CHECK(one.replay(u64(100000)) == "100000");
  CHECK(one.replay(u64(100001)) == "0x186a1");
  CHECK(one.replay(u64(0 - std::uint64_t{100000})) == "-100000");
  CHECK(one.replay(u64(0 - std::uint64_t{100001})) == "0xfffffffffffe795f");
  CHECK(one.replay(u64(0xffff0000)) == "0xffff0000");
  CHECK(one.replay(u64(0xffff0001)) == "-65535");
  CHECK(one.replay(u64(0xffffffff)) == "-1");
  CHECK(one.replay(u64(0x100000000)) == "0x100000000");
}

TEST_CASE("integers are written by their letters and sizes") {
  CHECK(call{"arg1/i32"}.replay(u32(0xfffffffe)) == "-2");
  CHECK(call{"arg1/i8"}.replay(builder().u8(0x80).fill(7)) == "-128");
  CHECK(call{"arg1/i64"}.replay(u64(0 - std::uint64_t{200000})) == "-200000");
  CHECK(call{"arg1/u32"}.replay(u32(100000)) == "100000");
  CHECK(call{"arg1/u32"}.replay(u32(100001)) == "0x186a1");
  CHECK(call{"arg1/x"}.replay(u64(31)) == "0x1f");
  CHECK(call{"arg1/x"}.replay(u64(0)) == "0");
  CHECK(call{"arg1/o"}.replay(u64(15)) == "017");
  CHECK(call{"arg1/o"}.replay(u64(0)) == "0");
  CHECK(call{"arg1/i32,arg2/i32"}.replay(builder().u32(1).u32(2)) == "1, 2");
}

TEST_CASE("only the first value of a return is written, but all of a call") {
  const call back{"retval/i32,retval/u32%stack+1", true};
  CHECK(back.replay(builder().u32(1).u32(2)) == "1");
  CHECK(back.raw(builder().u32(1).u32(2)) == "  retval i32: 0x00000001\n  retval u32: 0x00000002\n");
  CHECK(call{"arg1/i32,arg2/i32"}.raw(builder().u32(1).u32(2)) ==
        "  args[0] i32: 0x00000001\n  args[1] i32: 0x00000002\n");
}

TEST_CASE("values that are cut end the text") {
  CHECK(call{"arg1/i32,arg2"}.replay(builder().u32(1).u32(2)) == "1");
  CHECK(call{"arg1/i32,arg2"}.replay(builder().u32(1).u64(2)) == "1, 2");
}

TEST_CASE("texts are quoted, with two escapes where they are plain characters") {
  const call s{"arg1/s"};
  CHECK(s.replay(with_length("ab\"\\\t")) == "\"ab\"\\\t\"");
  CHECK(s.replay(with_length("a\nb\b")) == "\"a\\nb\\b\"");
  CHECK(s.replay(with_length("a\n\x7f")) == "\"a\\n\x7f\"");
  CHECK(s.replay(with_length("a\n\x80")) == "\"a\n\x80\"");
  CHECK(s.replay(with_length("")) == "\"\"");
  CHECK(s.replay(with_length(std::string_view("a\0b", 3))) == "\"a\"");
  CHECK(s.replay(with_length("NULL")) == "\"NULL\"");
  CHECK(s.replay(with_length("\xff\xff\xff\xff")) == "NULL");
  CHECK(s.replay(with_length("\xff\xff\xff")) != "NULL");
  CHECK(call{"arg1/S"}.replay(with_length("x")) == "\"x\"s");
  CHECK(s.chrome(with_length("a\n\t\\\"\x1f\x20\x7e\x7f")) == "\\\"a\\\\n\\\\t\\\\\\\"\\\\x1f ~\\\\x7f\\\"");
  CHECK(s.raw(with_length("ab")) == "  args[0] str: ab\n");
  CHECK(call{"arg1/S"}.raw(with_length("\xff\xff\xff\xff")) == "  args[0] std::string: NULL\n");
}

TEST_CASE("characters, numbers with a point, pointers and structures") {
  const call c{"arg1/c"};
  CHECK(c.replay(builder().u8('a').fill(7)) == "'a'");
  CHECK(c.replay(builder().u8(0).fill(7)) == "'\\0'");
  CHECK(c.replay(builder().u8('\n').fill(7)) == "'\\n'");
  CHECK(c.replay(builder().u8('\b').fill(7)) == "'\\b'");
  CHECK(c.replay(builder().u8('\t').fill(7)) == "'\t'");
  CHECK(c.chrome(builder().u8(0).fill(7)) == "'\\\\x00'");
  CHECK(call{"fparg1"}.replay(u64(std::bit_cast<std::uint64_t>(-0.5))) == "-0.500000");
  CHECK(call{"fparg1/32"}.replay(u32(std::bit_cast<std::uint32_t>(1.25F))) == "1.250000");
  // 80 bits: sign and exponent, then 64 bits with the one before the point.
  CHECK(call{"fparg1/80"}.replay(builder().u64(0xc000000000000000).u16(0x4000).fill(6)) == "3.000000");
  CHECK(call{"fparg1/80"}.replay(builder().u64(0x8000000000000000).u16(0xbffe).fill(6)) == "-0.500000");
  CHECK(call{"fparg1/80"}.replay(builder().u64(0x8000000000000000).u16(0x7fff).fill(6)) == "inf");
  CHECK(call{"fparg1/80"}.replay(builder().u64(0x8000000000000001).u16(0xffff).fill(6)) == "-nan");
  const call p{"arg1/p"};
  CHECK(p.replay(u64(fn::b + 15)) == "&b");
  CHECK(p.replay(u64(fn::c + 16)) == "0x401040");
  CHECK(p.replay(u64(0)) == "0");
  CHECK(p.raw(u64(fn::b)) == "  args[0] p: 401020 (&b)\n");
  CHECK(p.raw(u64(0)) == "  args[0] p: 0\n");
  CHECK(call{"retval/p", true}.raw(u64(0)) == "  retval p: (nil)\n");
  CHECK(call{"arg1/t8:pair"}.replay(u64(1)) == "pair{...}");
  CHECK(call{"arg1/t0:nothing,arg2/i32"}.replay(u32(5)) == "nothing{}, 5");
  CHECK(call{"arg1/t8:<lambda()>"}.replay(u64(1)) == "{...}");
}

TEST_CASE("structures are dumped byte by byte, sixteen in a line") {
  builder data;
  for (unsigned i = 0; i < 20; ++i) data.u8(i);
  CHECK(call{"arg1/t17:s"}.raw(data) ==
        "  args[0] struct s:\n\t00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f  \n\t10 \n");
}

TEST_CASE("values of enumerations are their names, decimal up to 100000 without one") {
  const call e{"arg1/e:color"};
  CHECK(e.replay(u32(2)) == "GREEN");
  CHECK(call{"arg1/e:unknown"}.replay(u32(100000)) == "100000");
  CHECK(call{"arg1/e:unknown"}.replay(u32(100001)) == "0x186a1");
  CHECK(call{"arg1/e:unknown"}.replay(u32(0 - std::uint64_t{100000})) == "-100000");
  CHECK(call{"arg1/e:unknown"}.replay(u32(0 - std::uint64_t{100001})) == "0xfffffffffffe795f");
  CHECK(e.raw(u32(4)) == "  args[0] enum color: BLUE (4)\n");
  CHECK(call{"retval/e:color", true}.raw(u32(4)) == "  retval e64: 0x0000000000000004\n");
}

TEST_CASE("data of events is written by the event") {
  const builder three = builder().u64(10).u64(20).u64(30);
  CHECK(event(read_statm, three, true) == "vmsize=10KB vmrss=20KB shared=30KB");
  CHECK(event(diff_statm, three, true) == "vmsize=+10KB vmrss=+20KB shared=+30KB");
  CHECK(event(diff_statm, three, false) == "vmsize=10KB vmrss=20KB shared=30KB");
  CHECK(event(read_page_fault, three, true) == "major=10 minor=20");
  CHECK(event(diff_page_fault, three, true) == "major=+10 minor=+20");
  CHECK(event(read_cycles, three, true) == "cycles=10 instructions=20");
  CHECK(event(diff_cycles, three, true) == "cycles=+10 instructions=+20 IPC=2.00");
  CHECK(event(diff_cycles, three, false) == "cycles=10 instructions=20");
  CHECK(event(read_cache, three, true) == "refers=10 misses=20");
  CHECK(event(diff_cache, builder().u64(40).u64(10), true) == "refers=+40 misses=+10 hit=75.00%");
  CHECK(event(read_branch, three, true) == "branch=10 misses=20");
  CHECK(event(diff_branch, builder().u64(8).u64(1), true) == "branch=+8 misses=+1 predict=87.50%");
  CHECK(event(watch_cpu, builder().u32(3), true) == "cpu=3");
  CHECK(event(watch_cpu, builder().u32(0xffffffff), true) == "cpu=-1");
  CHECK(event(callsite, builder().u64(0x401015), true) == "callsite=0x401015");
  CHECK(event(watch_variable, builder().u64(fn::b).u32(0x1f), true) == "b=1f");
  CHECK(event(watch_variable, builder().u64(fn::b), true) == "b=0");
  CHECK(event(watch_variable, builder().u64(0x10).u8(7), true) == "[0x10]=7");
  CHECK(event(watch_variable, builder().u32(fn::b).u16(5), true, false) == "b=5");
  CHECK(event(watch_variable, builder().u32(fn::b), true) == "");
  CHECK(event(task_name, builder().text("new"), true) == "comm=\"new\"");
  CHECK(event(task_name, builder(), true) == "comm=\"\"");
  CHECK(event(external_data, builder().text("hello"), true) == "hello");
  CHECK(event(read_statm, builder(), true) == "");
  CHECK(event(77, three, true) == "");
}

TEST_CASE("events have names, unknown ones by what they belong to") {
  test::uftrace_builder directory;
  directory.file("events.txt", std::string_view("EVENT: 1000001 app:step\n")).data(7, test::uftrace_records());
  const recording from = directory.open();
  resolver names(from);
  const value_writer writer(names);
  const auto name = [&](std::uint64_t id) {
    std::string out;
    writer.event_name(out, id);
    return out;
  };
  CHECK(name(1000001) == "app:step");
  CHECK(name(1000000) == "user_event:1000000");
  CHECK(name(999999) == "linux:unknown");
  CHECK(name(sched_in) == "linux:sched-in");
  CHECK(name(200009) == "linux:unknown");
  CHECK(name(200000) == "builtin_event:200000");
  CHECK(name(1) == "builtin_event:1");
  CHECK(name(external_data) == "external-data");
  const std::pair<std::uint64_t, const char*> all[] = {{read_statm, "read:proc/statm"},
                                                       {read_page_fault, "read:page-fault"},
                                                       {diff_statm, "diff:proc/statm"},
                                                       {diff_page_fault, "diff:page-fault"},
                                                       {read_cycles, "read:pmu-cycle"},
                                                       {diff_cycles, "diff:pmu-cycle"},
                                                       {read_cache, "read:pmu-cache"},
                                                       {diff_cache, "diff:pmu-cache"},
                                                       {read_branch, "read:pmu-branch"},
                                                       {diff_branch, "diff:pmu-branch"},
                                                       {watch_cpu, "watch:cpu"},
                                                       {watch_variable, "watch:var"},
                                                       {callsite, "callsite"},
                                                       {sched_out, "linux:sched-out"},
                                                       {sched_both, "linux:schedule"},
                                                       {task_new, "linux:task-new"},
                                                       {task_exit, "linux:task-exit"},
                                                       {task_name, "linux:task-name"},
                                                       {sched_out_preempted, "linux:sched-out (pre-empted)"},
                                                       {sched_both_preempted, "linux:schedule (pre-empted)"}};
  for (const auto& [id, expected] : all) CHECK(name(id) == expected);
}
