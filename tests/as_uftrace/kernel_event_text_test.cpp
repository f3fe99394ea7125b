// SPDX-License-Identifier: Apache-2.0
#include "as/uftrace/kernel_event_text.hpp"

#include <string>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;

namespace {

std::string event_format(std::string_view path, std::string_view name, int id, std::string_view fields,
                         std::string_view print_format) {
  std::string text = "name: " + std::string(name) + "\nID: " + std::to_string(id) +
                     "\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                     "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" +
                     std::string(fields) + "\nprint fmt: " + std::string(print_format) + "\n";
  return "TRACEFS: " + std::string(path) + ": " + std::to_string(text.size()) + "\n" + text;
}

/// The text of an event with the members a (int, -3), b (u64, 300), c (char[8], "name") and d (u16[2]).
std::string text_of(const std::string& print_format, std::size_t size = 32) {
  const std::string text =
      "name: e\nID: 4\nformat:\n\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
      "\tfield:int a;\toffset:4;\tsize:4;\tsigned:1;\n\tfield:u64 b;\toffset:8;\tsize:8;\tsigned:0;\n"
      "\tfield:char c[8];\toffset:16;\tsize:8;\tsigned:1;\n\tfield:u16 d[2];\toffset:24;\tsize:4;\tsigned:0;\nprint "
      "fmt: " +
      print_format + "\n";
  const std::string file = "TRACEFS: events/s/e/format: " + std::to_string(text.size()) + "\n" + text;
  const kernel_header header = read_kernel_header(test::view_of(file));
  test::byte_builder data;
  data.u32(4).u32(0xfffffffd).u64(300).text("name").fill(4).u16(0x1234).u16(0xabcd).fill(4);
  std::string out = ">";
  add_kernel_event_text(out, header, 4, data.view().first(size));
  return out;
}

}  // namespace

TEST_CASE("conversions of kernel events print members by their own sizes") {
  CHECK(text_of("\"%d %i %u\", REC->a, REC->a, REC->a") == ">-3 -3 4294967293");
  CHECK(text_of("\"%x %X %o %#llx\", REC->b, REC->b, REC->b, REC->b") == ">12c 12C 454 0x12c");
  CHECK(text_of("\"%p|%6d|%-6d|%06d\", REC->b, REC->a, REC->a, REC->a") == ">0x12c|    -3|-3    |-00003");
  CHECK(text_of("\"%s|%6s|%.2s|%c\", REC->c, REC->c, REC->c, REC->b") == ">name|  name|na|,");
  CHECK(text_of("\"a\\tb\\\\%%\\n\"") == ">a\tb\\%\n");
  CHECK(text_of("\"%zu %hd\", REC->b, REC->a") == ">300 -3");
}

TEST_CASE("what a format cannot tell is printed member by member") {
  const std::string members = ">a=-3 b=300 c=name d=34 12 cd ab";
  CHECK(text_of("\"%f\", REC->a").substr(0, 13) == members.substr(0, 13));
  CHECK(text_of("\"%d\", REC->none") == text_of("none"));
  CHECK(text_of("\"%d\"") == text_of("none"));
  CHECK(text_of("\"%s\", REC->a") == text_of("none"));
  CHECK(text_of("\"%d\", REC->a + 1") == text_of("none"));
  CHECK(text_of("\"%") == text_of("none"));
  CHECK(text_of("\"\\\"") == text_of("none"));
  CHECK(text_of("none").starts_with(">a=-3 b=300 c=name d="));
}

TEST_CASE("members that the data does not hold have no value") {
  CHECK(text_of("\"%d %u\", REC->a, REC->b", 15).starts_with(">a=-3 b="));
  CHECK(text_of("\"%d\", REC->a", 8) == ">-3");
  CHECK(text_of("\"%d\", REC->a", 7).starts_with(">a= "));
}

TEST_CASE("kernel events are named by system and name, others by their number") {
  kernel_header header;
  ftrace::event_format format;
  format.system = "sched";
  format.name = "switch";
  format.id = 9;
  header.events.push_back(format);
  std::string out;
  add_kernel_event_name(out, header, 9);
  add_kernel_event_name(out, header, 8);
  CHECK(out == "sched:switchkernel_event:8");
  std::string none = "x";
  add_kernel_event_text(none, header, 8, {});
  CHECK(none == "x");
}

TEST_CASE("data of kernel events is printed by its format, or member by member") {
  const std::string fields =
      "\tfield:char comm[8];\toffset:8;\tsize:8;\tsigned:1;\n\tfield:int foo;\toffset:16;\tsize:4;\tsigned:1;\n"
      "\tfield:u8 flag;\toffset:20;\tsize:1;\tsigned:0;\n\tfield:__data_loc char[] "
      "path;\toffset:24;\tsize:4;\tsigned:1;\n";
  test::byte_builder data;
  data.u16(1).u16(0).u32(5).text("abc").fill(5).u32(0xfffffffb).u8(200).fill(3).u32(28 | 4 << 16).text("/x").fill(2);
  const auto text_of = [&](const std::string& print_format) {
    const std::string text = event_format("events/a/b/format", "b", 1, fields, print_format);
    const kernel_header header = read_kernel_header(test::view_of(text));
    std::string out;
    add_kernel_event_text(out, header, 1, data.view());
    return out;
  };
  CHECK(text_of("\"%s|%5d|%u|%#x|%c%%\", REC->comm, REC->foo, REC->flag, (unsigned long)REC->flag, REC->flag") ==
        "abc|   -5|200|0xc8|\xc8%");
  CHECK(text_of("\"path=\\\"%s\\\"\", __get_str(path)") == "path=\"/x\"");
  CHECK(text_of("\"%lld\", ((long long)REC->foo)") == "-5");
  const std::string members = "comm=abc foo=-5 flag=200 path=/x";
  CHECK(text_of("\"%s\", __print_flags(REC->flag, \"|\", {1, \"A\"})") == members);
  CHECK(text_of("\"%d %d\", REC->foo") == members);
  CHECK(text_of("\"%d\", REC->foo, REC->flag") == members);
  CHECK(text_of("no text") == members);
  const kernel_header none;
  std::string name;
  add_kernel_event_name(name, none, 12);
  CHECK(name == "kernel_event:12");
}
