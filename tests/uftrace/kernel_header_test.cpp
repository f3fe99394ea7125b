// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/kernel_header.hpp>

#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using test::view_of;

TEST_CASE("sizes of kernel_header are taken within their limits") {
  const auto page_size = [](std::size_t size) {
    const std::string text = "PAGE_SIZE: " + std::to_string(size) + "\n";
    const kernel_header header = read_kernel_header(view_of(text));
    CHECK(header.faults.empty() == (header.page_size == size));
    return header.page_size;
  };
  CHECK(page_size(31) == 4096);
  CHECK(page_size(32) == 32);
  CHECK(page_size(1 << 24) == 1 << 24);
  CHECK(page_size((1 << 24) + 1) == 4096);
  const auto long_size = [](std::string_view text) { return read_kernel_header(view_of(text)).long_size; };
  CHECK(long_size("LONG_SIZE: 4\n") == 4);
  CHECK(long_size("LONG_SIZE: 8\n") == 8);
  CHECK(long_size("LONG_SIZE: 5\n") == 8);
  CHECK(read_kernel_header(view_of("LONG_SIZE: 4\n")).data_offset == 12);
  CHECK(read_kernel_header(view_of("ENDIAN: BE\n")).byte_order == order::big);
  CHECK(read_kernel_header(view_of("ENDIAN: LE\n")).byte_order == order::little);
}

TEST_CASE("faults of kernel_header have their places and sizes") {
  const auto faults = [](const std::string& text) {
    const std::string whole = "PAGE_SIZE: 4096\n" + text;  // 16 bytes
    return read_kernel_header(view_of(whole)).faults;
  };
  CHECK(faults("ENDIAN: LE\nPAGE_SIZE: 1x\n") == std::vector<fault>{{errc::bad_text, 27, 14}});
  CHECK(faults("ENDIAN: LE\nTRACEFS: events/a/b/format\n") == std::vector<fault>{{errc::bad_text, 27, 27}});
  CHECK(faults("TRACEFS: events/a/b/format: 8\nname: b\n").empty());
  CHECK(faults("TRACEFS: events/a/b/format: 9\nname: b\n") == std::vector<fault>{{errc::truncated, 54, 0}});
  CHECK(faults("TRACEFS: events/a/b/format: 13\nfield:int bad") == std::vector<fault>{{errc::bad_text, 47, 14}});
}

TEST_CASE("a description ends where its size says") {
  const kernel_header header = read_kernel_header(
      view_of("PAGE_SIZE: 4096\nTRACEFS: events/a/b/format: 14\nname: b\nID: 5\nID: 6\nTRACEFS: other: 6\nID: 7\n"
              "TRACEFS: events/c/d/format: 14\nname: d\nID: 9\n"));
  REQUIRE(header.events.size() == 2);
  CHECK((header.events[0].id == 5 && header.events[0].system == "a" && header.events[0].name == "b"));
  CHECK((header.events[1].id == 9 && header.events[1].system == "c"));
  CHECK(header.faults.empty());
}

TEST_CASE("a member has its bytes and its value as long as the data holds it") {
  const auto data = test::bytes<1, 2, 3, 4, 5, 6, 7, 0x88>;
  const auto value = [&](std::size_t offset, std::size_t size, order o) {
    kernel_field field;
    field.offset = offset;
    field.size = size;
    return field.value(data, o);
  };
  CHECK(value(0, 1, order::little) == 1);
  CHECK(value(1, 2, order::little) == 0x0302);
  CHECK(value(1, 2, order::big) == 0x0203);
  CHECK(value(4, 4, order::little) == 0x88070605);
  CHECK(value(0, 8, order::big) == 0x0102030405060788);
  CHECK(value(5, 4, order::little) == std::nullopt);
  CHECK(value(7, 1, order::little) == 0x88);
  CHECK(value(8, 1, order::little) == std::nullopt);
  CHECK(value(9, 1, order::little) == std::nullopt);
  CHECK(value(0, 3, order::little) == std::nullopt);
  CHECK(value(0, 0, order::little) == std::nullopt);
}
