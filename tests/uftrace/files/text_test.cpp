// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <string_view>
#include <vector>

#include <backsight/uftrace/enumerations.hpp>
#include <backsight/uftrace/files/debug_file.hpp>
#include <backsight/uftrace/files/info.hpp>
#include <backsight/uftrace/files/memory_map.hpp>
#include <backsight/uftrace/files/symbols.hpp>
#include <backsight/uftrace/files/task_list.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;

TEST_CASE("info gives the header and every line") {
  const auto bytes = test::read_file(test::data_path("uftrace/single-pg/uftrace.data/info"));
  const auto read = read_info(bytes);
  REQUIRE(read);
  CHECK(read->version == 4);
  CHECK(read->is_64);
  CHECK(read->max_stack == 1024);
  CHECK(read->has(feature::perf_event));
  CHECK(read->value("cpuinfo", "desc") == "AMD EPYC");
  CHECK(read->value("usageinfo", "ctxsw") == "2 / 0 (voluntary / involuntary)");
  CHECK(read->tids() == std::vector<std::uint32_t>{16767});
  CHECK(read->elapsed_ns() == 9687851);
  const auto big = test::read_file(test::data_path("uftrace/bigendian-derived/uftrace.data/info"));
  CHECK(read_info(big)->feat_mask == 0x1263);
}

TEST_CASE("info tells what is wrong and where") {
  auto bytes = test::read_file(test::data_path("uftrace/single-pg/uftrace.data/info"));
  for (std::size_t size = 0; size < 40; ++size)
    CHECK(read_info(byte_view(bytes).first(size)).error() == trace_error{errc::truncated, size});
  for (std::size_t size = 40; size < bytes.size(); ++size) (void)read_info(byte_view(bytes).first(size));
  CHECK(read_info(byte_view(bytes).first(40)).error() == trace_error{errc::bad_text, 40});
  bytes[8] = std::byte{9};
  CHECK(read_info(bytes).error() == trace_error{errc::unsupported_version, 8});
  bytes[14] = std::byte{3};
  CHECK(read_info(bytes).error() == trace_error{errc::bad_value, 14});
  bytes[2] = std::byte{'x'};
  CHECK(read_info(bytes).error() == trace_error{errc::bad_magic, 2});
}

TEST_CASE("task.txt gives its lines and names those that it cannot read") {
  const std::string_view text =
      "SESS timestamp=752.558306252 pid=16800 sid=59f78b1edbef9b90 exename=\"/opt/a \"b\" c\"\n"
      "TASK timestamp=752.558445519 tid=16801 pid=16800\n"
      "FORK timestamp=752.558726685 pid=16802 ppid=16800\n"
      "NEWS timestamp=1.0\n"
      "DLOP timestamp=752.669198085 tid=16819 sid=75e60b06076e5063 base=7feae0231000 libname=\"./libpluga.so\"\n"
      "SESS timestamp=752.5 tid=7 sid=59f78b1edbef9b90 exename=\"x\"\n"
      "TASK timestamp=752\n";
  const task_list list = read_task_text(test::view_of(text));
  REQUIRE(list.events.size() == 5);
  CHECK(list.events[0].name == "/opt/a \"b\" c");
  CHECK(list.events[0].time == 752558306252);
  CHECK(list.events[1].tid == 16801);
  CHECK(list.events[2].parent == 16800);
  CHECK(list.events[3].base == 0x7feae0231000);
  CHECK(list.events[4].pid == 7);
  CHECK(list.events[4].time == 752500000000);
  REQUIRE(list.faults.size() == 2);
  CHECK(list.faults[0].code == errc::unknown_record);
  CHECK(list.faults[1].code == errc::bad_text);
  CHECK(text.substr(static_cast<std::size_t>(list.faults[1].offset)) == "TASK timestamp=752\n");
}

TEST_CASE("a map gives files with their build-ids and leaves special mappings out") {
  const memory_map map = read_memory_map(
      test::view_of("55e1dd205000-55e1dd20a000 r-xp 00000000 00:00 0      /opt/app with blank/dl-pg build-id:44b7\n"
                    "7ffe0d922000-7ffe0d943000 rw-p 00000000 00:00 0      [stack]\n"
                    "nonsense\n"
                    "7feae028a000-7feae02bf000 r-xp 00000000 00:00 0      /lib/ld.so\n"));
  REQUIRE(map.mappings.size() == 2);
  CHECK(map.mappings[0].path == "/opt/app with blank/dl-pg");
  CHECK(map.mappings[0].build_id == "44b7");
  CHECK(map.mappings[1].build_id.empty());
  CHECK(map.kernel_base == 0xffff800000000000);
  CHECK(map.faults.size() == 1);
}

TEST_CASE("symbols have sizes of their own or up to the next line") {
  const symbol_table with =
      read_symbols(test::view_of("# path name: /a\n# build-id: 12\n"
                                 "0000000000000010 00000008 T first\n0000000000000010 00000004 T second\n"
                                 "0000000000000020 00000010 P third\n"));
  CHECK(with.path() == "/a");
  CHECK(with.build_id() == "12");
  REQUIRE(with.symbols().size() == 2);
  CHECK(with.find(0x17) == 0);
  CHECK(with.find(0x18) == symbol_table::none);
  CHECK(with.find(0x2f) == 1);
  CHECK(with.find(0xf) == symbol_table::none);
  const symbol_table without =
      read_symbols(test::view_of("0000000000000010 P first\n0000000000000020 ? __dynsym_end\n"
                                 "0000000000000040 t second\n0000000000000050 T __sym_end\nrubbish\n"));
  REQUIRE(without.symbols().size() == 2);
  CHECK(without.find(0x1f) == 0);
  CHECK(without.find(0x20) == symbol_table::none);
  CHECK(without.find(0x4f) == 1);
  CHECK(without.faults().size() == 1);
}

TEST_CASE("a .dbg file gives functions, values and lines") {
  const debug_file file =
      read_debug_file(test::view_of("# path name: /a\nE: enum color {RED,GREEN=2,BLUE=4}\nF: 20 g\nL: 11 args.c\n"
                                    "F: 10 f\nA: @arg1,arg2/s\nR: @retval\n"));
  REQUIRE(file.functions.size() == 2);
  CHECK(file.find(0x10)->arguments == "@arg1,arg2/s");
  CHECK(file.find(0x20)->line == 11);
  CHECK(file.find(0x11) == nullptr);
  CHECK(file.enumerations.size() == 1);
}

TEST_CASE("enumerations print names, sums of names and what is left") {
  std::vector<enumeration> all;
  read_enumerations("enum color {RED,GREEN=2,BLUE=4};enum other { A = 0x10, B, N = -1, };", all);
  REQUIRE(all.size() == 2);
  const auto text = [&](std::size_t i, std::int64_t value) {
    std::string out;
    all[i].text_of(value, out);
    return out;
  };
  CHECK(text(0, 0) == "RED");
  CHECK(text(0, 6) == "BLUE|GREEN");
  CHECK(text(0, 7) == "BLUE|GREEN+0x1");
  CHECK(text(0, 1).empty());
  CHECK(text(1, 17) == "B");
  CHECK(text(1, -1) == "N");
}
