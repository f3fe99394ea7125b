// SPDX-License-Identifier: Apache-2.0
// Stands for perf/jit_code.hpp
#include <string>
#include <vector>

#include <backsight/perf/jit_code.hpp>

#include <support/catch.hpp>
#include <support/files.hpp>

#include "perf_builder.hpp"

using namespace backsight;
using namespace backsight::perf::jitdump;
using test::byte_builder;

namespace {

byte_builder small_dump(order o) {
  byte_builder b(o);
  b.u32(0x4a695444).u32(1).u32(40).u32(62).u32(0).u32(77).u64(5).u64(1);
  b.u32(2).u32(16 + 16 + 16 + 4 + 16 + 2).u64(6).u64(0x1000).u64(2);
  b.u64(0x1000).u32(10).u32(0).text("a.c").u8(0).u64(0x1004).u32(11).u32(1).u8(0xff).u8(0);
  b.u32(4).u32(16 + 24 + 12).u64(6).u64(10).u64(4).u64(12).text("framesHDR!").fill(2);
  b.u32(0)
      .u32(16 + 40 + 4 + 3)
      .u64(7)
      .u32(77)
      .u32(78)
      .u64(0x1000)
      .u64(0x1000)
      .u64(3)
      .u64(9)
      .text("jit")
      .u8(0)
      .text("xyz");
  b.u32(1).u32(64).u64(8).u32(77).u32(78).u64(0x1000).u64(0x1000).u64(0x2000).u64(3).u64(9);
  b.u32(9).u32(20).u64(8).fill(4);
  b.u32(3).u32(16).u64(9);
  return b;
}

}  // namespace

TEST_CASE("a jitdump gives code, lines, unwinding information and moves in both byte orders") {
  for (const order o : {order::little, order::big}) {
    const auto bytes = small_dump(o);
    const auto opened = perf::jitdump::open(bytes.view());
    REQUIRE(opened);
    CHECK(opened->machine() == 62);
    CHECK(opened->pid() == 77);
    CHECK(opened->times_are_ticks());
    std::string seen;
    with_order(o, [&](auto c) {
      const auto records = opened->records<c()>();
      CHECK_FALSE(records.validate());
      for (const auto& item : records) {
        seen += std::to_string(item.kind());
        if (const auto load = get_if<code_load_record>(item)) {
          CHECK(name_of(load) == "jit");
          CHECK(perf::text_of(code_of(load)) == "xyz");
        } else if (const auto info = get_if<unwinding_info_record>(item)) {
          CHECK(perf::text_of(eh_frame_of(info)) == "frames");
          CHECK(perf::text_of(eh_frame_hdr_of(info)) == "HDR!");
        } else if (const auto lines = get_if<debug_info_record>(item)) {
          std::string all;
          CHECK_FALSE(for_each_line(lines, item.offset(), [&](const source_line& line) {
            all += std::string(line.file) + std::to_string(line.line) + ";";
          }));
          CHECK(all == "a.c10;a.c11;");
        }
      }
    });
    CHECK(seen == "240153");
  }
}

TEST_CASE("functions of a jitdump have their names and unwinding information, and keep them where they are moved") {
  for (const order o : {order::little, order::big}) {
    auto bytes = small_dump(o);
    // Code without unwinding information, code without bytes, code that wraps, and a move of what was never loaded.
    const auto load = [&](std::uint64_t at, std::uint64_t size, std::uint64_t number) {
      bytes.u32(0)
          .u32(16 + 40 + 2 + size)
          .u64(10)
          .u32(77)
          .u32(78)
          .u64(at)
          .u64(at)
          .u64(size)
          .u64(number)
          .text("f")
          .u8(0)
          .fill(size);
    };
    load(0x3000, 8, 10);
    load(0x4000, 0, 11);
    load(~std::uint64_t{0} - 9, 4, 12);
    bytes.u32(1).u32(64).u64(8).u32(77).u32(78).u64(0x1000).u64(0x1000).u64(0x5000).u64(3).u64(99);
    const auto opened = perf::jitdump::open(bytes.view());
    REQUIRE(opened);
    std::vector<function> all;
    with_order(o, [&](auto c) {
      for_each_function<c()>(
          *opened, [&](const function& one) { all.push_back(one); }, [](const fault&) { CHECK(false); });
    });
    REQUIRE(all.size() == 3);
    CHECK((all[0].time == 7 && all[0].pid == 77 && all[0].begin == 0x1000 && all[0].size == 3 && all[0].number == 9));
    CHECK(all[0].name == "jit");
    CHECK(perf::text_of(all[0].eh_frame) == "frames");
    CHECK(all[0].eh_frame_address() == 0x1008);
    CHECK((all[1].time == 8 && all[1].begin == 0x2000 && all[1].name == "jit" && all[1].eh_frame_address() == 0x2008));
    CHECK(all[1].eh_frame.data() == all[0].eh_frame.data());
    CHECK((all[2].begin == 0x3000 && all[2].name == "f" && all[2].eh_frame.empty() &&
           all[2].eh_frame_address() == 0x3008));
  }
}

TEST_CASE("each truncation of a jitdump ends at the last whole record") {
  const auto bytes = small_dump(order::little);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto opened = perf::jitdump::open(bytes.view().first(size));
    CHECK(opened.has_value() == (size >= 40));
    if (!opened) continue;
    const trace_error error = opened->records<order::little>().validate();
    CHECK((!error || (error.code == errc::truncated && error.offset <= size)));
  }
}

TEST_CASE("headers and sizes of a jitdump that cannot be are errors") {
  const auto with = [](std::size_t at, unsigned value) {
    auto bytes = small_dump(order::little);
    bytes.vector()[at] = static_cast<std::byte>(value);
    const auto opened = perf::jitdump::open(bytes.view());
    return opened ? opened->records<order::little>().validate() : opened.error();
  };
  CHECK(with(0, 1) == trace_error{errc::bad_magic, 0});
  CHECK(with(4, 2) == trace_error{errc::unsupported_version, 4});
  CHECK(with(8, 39) == trace_error{errc::bad_size, 8});
  CHECK(with(9, 9) == trace_error{errc::bad_size, 8});
  CHECK(with(44, 31) == trace_error{errc::bad_size, 40});
  // More unwinding data than the record has, and more of .eh_frame_hdr than of both.
  CHECK(with(110 + 16, 13) == trace_error{errc::bad_size, 110});
  CHECK(with(110 + 24, 11) == trace_error{errc::bad_size, 110});
}

TEST_CASE("the lines of a debug_info that counts too many are an error") {
  auto bytes = small_dump(order::little);
  bytes.vector()[40 + 24] = std::byte{3};
  const auto opened = perf::jitdump::open(bytes.view());
  const auto item = *opened->records<order::little>().begin();
  CHECK(for_each_line(item.as<debug_info_record>(), item.offset(), [](const source_line&) {}) ==
        trace_error{errc::truncated, 110});
}

TEST_CASE("a recorded jitdump is read to its close record") {
  const auto bytes = test::read_file(test::data_path("perf/jit/jit-19598.dump"));
  const auto opened = perf::jitdump::open(bytes);
  REQUIRE(opened);
  std::size_t loads = 0, moves = 0, closes = 0, infos = 0;
  CHECK_FALSE(for_each(opened->records<order::little>(), [&](const auto& item) {
    loads += item.template is<code_load_record>();
    moves += item.template is<code_move_record>();
    closes += item.template is<close_record>();
    infos += item.template is<unwinding_info_record>();
  }));
  CHECK(loads >= 2);
  CHECK(moves == 1);
  CHECK(closes == 1);
  CHECK(infos >= 1);
}
