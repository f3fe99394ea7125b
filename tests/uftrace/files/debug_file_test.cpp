// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/files/debug_file.hpp>

#include <string_view>
#include <vector>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using test::view_of;

TEST_CASE("the lines of a .dbg file belong to the function before them") {
  const debug_file file =
      read_debug_file(view_of("# path name: /a\nE: enum e {A}\nF: 20 second\nA: @arg1\nR: @retval/s\nL: 11 a b.c\n"
                              "F: 10 first\nL: 7 x.c\nE: enum f {B}\nF: 1f third one\n"));
  CHECK(file.faults.empty());
  REQUIRE(file.functions.size() == 3);
  const debug_function& first = file.functions[0];
  CHECK((first.offset == 0x10 && first.name == "first" && first.arguments.empty() && first.return_value.empty()));
  CHECK((first.line == 7 && first.file == "x.c"));
  const debug_function& second = file.functions[2];
  CHECK((second.offset == 0x20 && second.name == "second" && second.arguments == "@arg1" &&
         second.return_value == "@retval/s"));
  CHECK((second.line == 11 && second.file == "a b.c"));
  CHECK(file.functions[1].name == "third one");
  CHECK(file.enumerations == std::vector<std::string_view>{"enum e {A}", "enum f {B}"});
  CHECK(file.find(0x10) == &file.functions[0]);
  CHECK(file.find(0x1f) == &file.functions[1]);
  CHECK(file.find(0x20) == &file.functions[2]);
  for (const std::uint64_t other : {0x0U, 0xfU, 0x11U, 0x1eU, 0x21U}) CHECK(file.find(other) == nullptr);
}

TEST_CASE("of two functions at one offset the first in the file is found") {
  const debug_file file = read_debug_file(view_of("F: 20 a\nF: 10 b\nF: 10 c\nF: 10 d\n"));
  REQUIRE(file.functions.size() == 4);
  CHECK(file.find(0x10)->name == "b");
  CHECK(file.functions[1].name == "c");
  CHECK(file.functions[2].name == "d");
}

TEST_CASE("lines of a .dbg file that say nothing are listed with place and size") {
  const std::string_view text =
      "A: @arg1\nF: 10 f\nX: what\nF: zz g\nF: 20\nA @arg1\nnothing\n\nL: x y.c\nR: @retval\n";
  const debug_file file = read_debug_file(view_of(text));
  REQUIRE(file.functions.size() == 1);
  CHECK(file.functions[0].return_value == "@retval");
  CHECK(file.functions[0].arguments.empty());
  CHECK(file.functions[0].line == 0);
  std::vector<std::string_view> bad;
  for (const fault& f : file.faults) {
    CHECK(f.code == errc::bad_text);
    bad.push_back(text.substr(f.offset, f.skipped));
  }
  CHECK(bad ==
        std::vector<std::string_view>{"A: @arg1\n", "X: what\n", "F: zz g\n", "F: 20\n", "A @arg1\n", "nothing\n"});
}

TEST_CASE("a .dbg file that ends inside a line says so") {
  CHECK(read_debug_file(view_of("F: 10 f\nA: @arg")).faults == std::vector<fault>{{errc::truncated, 15, 0}});
  CHECK(read_debug_file(view_of("")).faults.empty());
}
