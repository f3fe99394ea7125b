// SPDX-License-Identifier: Apache-2.0
// Stands for ftrace/print_expression.hpp, ftrace/expression_value.hpp
#include <backsight/ftrace/event_text.hpp>

#include <string>
#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

namespace ftrace = backsight::ftrace;
using backsight::order;
using backsight::test::byte_builder;

namespace {

/// An event with a signed and an unsigned number, a text, an array and a text elsewhere, printed by `print`.
struct event {
  std::string description;
  ftrace::event_format format;
  byte_builder data{order::little};

  explicit event(const std::string& print) {
    description =
        "name: tried\nID: 7\nformat:\n"
        "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
        "\tfield:int number;\toffset:4;\tsize:4;\tsigned:1;\n"
        "\tfield:unsigned long flags;\toffset:8;\tsize:8;\tsigned:0;\n"
        "\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;\n"
        "\tfield:unsigned long args[2];\toffset:24;\tsize:16;\tsigned:0;\n"
        "\tfield:__data_loc char[] name;\toffset:40;\tsize:4;\tsigned:0;\n\n"
        "print fmt: " +
        print + "\n";
    std::vector<backsight::fault> faults;
    format = ftrace::read_event_format(description, 0, description.size(), faults);
    CHECK(faults.empty());
    data.u16(7)
        .u16(0)
        .u32(0xfffffffeU)
        .u64(5)
        .text("sh")
        .fill(6)
        .u64(0x1234)
        .u64(~std::uint64_t{0})
        .u32(44 | 6 << 16)
        .text("file1")
        .u8(0);
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    return ftrace::append_event_text(out, format, data.view(), order::little) ? out : "(unknown)" + out;
  }
};

std::string text_of(const std::string& print) { return event(print).text(); }

}  // namespace

TEST_CASE("print formats of events give members as printf does") {
  CHECK(text_of("\"n=%d u=%u x=%x l=%ld\", REC->number, REC->number, REC->number, REC->number") ==
        "n=-2 u=4294967294 x=fffffffe l=-2");
  CHECK(text_of("\"[%5d] [%-5d] [%05d] [%+d] [%#x] [%.4u]\", REC->number, REC->number, REC->number, 3, 255, 7") ==
        "[   -2] [-2   ] [-0002] [+3] [0xff] [0007]");
  CHECK(text_of("\"%s|%8s|%-4s|%.1s|%s\", REC->comm, REC->comm, REC->comm, REC->comm, __get_str(name)") ==
        "sh|      sh|sh  |s|file1");
  CHECK(text_of("\"(%lx, %lx) %c %% %p\\n\", REC->args[0], REC->args[1], 65, REC->flags") ==
        "(1234, ffffffffffffffff) A % 0x5\n");
  CHECK(text_of("\"nothing\"") == "nothing");
}

TEST_CASE("arguments of print formats are expressions of C") {
  CHECK(text_of("\"%d\", 1 + 2 * 3 - (4 >> 1)") == "5");
  CHECK(text_of("\"%d %d %d\", -7 / 2, -7 % 2, ~0") == "-3 -1 -1");
  CHECK(text_of("\"%d%d%d%d\", 1 < 2, 2 <= 1, 1 == 1 && 0 != 0, 0 || !0") == "1001");
  CHECK(text_of("\"%s\", REC->number > 0 ? \"plus\" : REC->number == 0 ? \"none\" : \"minus\"") == "minus");
  CHECK(text_of("\"%u\", (unsigned char)(REC->number)") == "254");
  CHECK(text_of("\"%d\", (s8)200") == "-56");
  CHECK(text_of("\"%lx\", (unsigned long)1UL << 40 | 0x10U ^ 1 & 3") == "10000000011");
  CHECK(text_of("\"%d\", __get_dynamic_array_len(name)") == "6");
}

TEST_CASE("tables of print formats name bits and numbers") {
  const std::string bits = ", \"|\", { 1, \"A\" }, { 0x2, \"B\" }, { 1UL << 2, \"C\" })";
  CHECK(text_of("\"%s\", __print_flags(REC->flags" + bits) == "A|C");
  CHECK(text_of("\"%s\", __print_flags(REC->flags | 0x18" + bits) == "A|C|0x18");
  CHECK(text_of("\"%s\", __print_flags(0, \"|\", { 0, \"none\" }, { 1, \"A\" })") == "none");
  CHECK(text_of("\"%s\", __print_symbolic(REC->flags, { 4, \"four\" }, { 5, \"five\" })") == "five");
  CHECK(text_of("\"%s\", __print_symbolic(REC->flags, { 4, \"four\" })") == "0x5");
}

TEST_CASE("print formats that hold what is not known give nothing") {
  for (const char* const print :
       {"\"%d\"", "\"%d\", REC->missing", "\"%d\", REC->comm", "\"%s\", REC->number", "\"%pS\", REC->flags",
        "\"%d\", 1 / 0", "\"%d\", f(1)", "\"%d\", (1", "\"%d\", 1, 2", "\"open", "no text", "\"%",
        "\"%d\", REC->args[2]", "\"%d\", __print_hex(1, 2)", "\"%y\", 1", "\"%s\", \"open"}) {
    INFO(print);
    CHECK(text_of(print) == "(unknown)");
  }
  // Deep nesting ends.
  CHECK(text_of("\"%d\", " + std::string(100000, '(') + "1") == "(unknown)");
  CHECK(text_of("\"%d\", " + std::string(100000, '-') + "1") == "(unknown)");
  std::string chain = "1";
  for (int i = 0; i < 20000; ++i) chain += "+1";
  CHECK(text_of("\"%d\", " + chain) == "20001");
}

TEST_CASE("members of an event follow each other where its format is not known") {
  const event one("\"%pS\", REC->flags");
  std::string out;
  ftrace::append_event_members(out, one.format, one.data.view(), order::little);
  CHECK(out.starts_with("number=-2 flags=5 comm=7368000000000000 args="));
  std::string cut;
  ftrace::append_event_members(cut, one.format, one.data.view().first(6), order::little);
  CHECK(cut.starts_with("number= flags= comm="));
}
