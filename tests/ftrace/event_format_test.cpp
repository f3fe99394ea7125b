// SPDX-License-Identifier: Apache-2.0
#include <backsight/ftrace/event_format.hpp>

#include <string_view>
#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::ftrace;

TEST_CASE("a member has its bytes and its value as long as the data holds it") {
  const auto data = test::bytes<1, 2, 3, 4, 5, 6, 7, 0x88>;
  const auto value = [&](std::size_t offset, std::size_t size, order o) {
    event_field field;
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

TEST_CASE("a description gives the event's name, id, members and print format") {
  constexpr std::string_view text =
      "before\nname: switch\nID: 314\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
      "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:1;\n\tfield:struct a *p;\toffset:24;\tsize:8;\n"
      "\tfield:bad;\tsize:1;\n\nprint fmt: \"%s\", REC->prev_comm\nname: behind\n";
  std::vector<fault> faults;
  const event_format event = read_event_format(text, 7, text.find("name: behind"), faults);
  CHECK((event.name == "switch" && event.id == 314 && event.system.empty()));
  CHECK(event.print_format == "\"%s\", REC->prev_comm");
  REQUIRE(event.fields.size() == 3);
  CHECK((event.fields[0].name == "common_type" && event.fields[0].type == "unsigned short " &&
         !event.fields[0].is_signed));
  CHECK((event.fields[1].name == "prev_comm" && event.fields[1].is_array && event.fields[1].is_signed));
  CHECK((event.fields[1].offset == 8 && event.fields[1].size == 16));
  CHECK((event.fields[2].name == "p" && !event.fields[2].is_array && !event.fields[2].is_signed));
  CHECK(event.find("p") == &event.fields[2]);
  CHECK(event.find("q") == nullptr);
  CHECK(faults == std::vector<fault>{{errc::bad_text, text.find("\tfield:bad"), 20}});
}
