// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/files/kernel_header.hpp>

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
    CHECK(header.faults.empty() == (header.pages.page_size == size));
    return header.pages.page_size;
  };
  CHECK(page_size(31) == 4096);
  CHECK(page_size(32) == 32);
  CHECK(page_size(1 << 24) == 1 << 24);
  CHECK(page_size((1 << 24) + 1) == 4096);
  const auto long_size = [](std::string_view text) { return read_kernel_header(view_of(text)).pages.long_size; };
  CHECK(long_size("LONG_SIZE: 4\n") == 4);
  CHECK(long_size("LONG_SIZE: 8\n") == 8);
  CHECK(long_size("LONG_SIZE: 5\n") == 8);
  CHECK(read_kernel_header(view_of("LONG_SIZE: 4\n")).pages.data_offset == 12);
  CHECK(read_kernel_header(view_of("ENDIAN: BE\n")).pages.byte_order == order::big);
  CHECK(read_kernel_header(view_of("ENDIAN: LE\n")).pages.byte_order == order::little);
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

TEST_CASE("a header_page whose data lies where the time is counts for nothing") {
  const auto offset = [](std::string_view data) {
    const std::string field = "field: char data; offset:" + std::string(data) + "; size:4080;\n";
    const std::string text =
        "PAGE_SIZE: 4096\nTRACEFS: events/header_page: " + std::to_string(field.size()) + "\n" + field;
    const kernel_header header = read_kernel_header(view_of(text));
    CHECK(header.faults.empty() == (std::to_string(header.pages.data_offset) == data));
    return header.pages.data_offset;
  };
  CHECK(offset("8") == 8);
  CHECK(offset("24") == 24);
  CHECK(offset("7") == 16);
  CHECK(offset("0") == 16);
}
