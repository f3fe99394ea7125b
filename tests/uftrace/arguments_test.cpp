// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/arguments.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

value_spec one(std::string_view text, std::size_t long_size = 8) {
  const auto spec = read_value_spec(text, long_size);
  REQUIRE(spec.has_value());
  return *spec;
}

/// A list as `index` and letter of each item; an S for a place of its own.
std::string text_of(const std::vector<value_spec>& list) {
  std::string text;
  for (const value_spec& item : list) text += std::to_string(item.index) + static_cast<char>(item.format) + ' ';
  return text;
}

std::string list_of(std::string_view text, bool returns = false) {
  const value_list list = read_value_list(text, 8, returns);
  return (list.good ? "" : "bad ") + text_of(list.values) + std::string(list.module);
}

}  // namespace

TEST_CASE("of two items for one place the exact name wins, else the later one") {
  struct part {
    bool exact;
    std::string_view values;
  };
  const auto merged = [](const std::vector<part>& all) {
    value_collection list;
    for (const part& item : all) list.add(read_value_list(item.values, 8, false).values, item.exact);
    return text_of(list.values());
  };
  CHECK(merged({{true, "arg1/i"}, {false, "arg1/x"}}) == "1i ");
  CHECK(merged({{false, "arg1/x"}, {true, "arg1/i"}}) == "1i ");
  CHECK(merged({{true, "arg1/i"}, {true, "arg1/u"}}) == "1u ");
  CHECK(merged({{false, "arg1/x"}, {false, "arg1/u"}}) == "1u ");
  CHECK(merged({{true, "arg1/i"}, {false, "arg2/u,arg1/x"}}) == "1i 2u ");
  CHECK(merged({{false, "arg2/u"}, {true, "arg1/i"}}) == "2u 1i ");
  CHECK(merged({{false, "arg1/u"}, {true, "arg1/i"}, {false, "arg1/x"}}) == "1i ");
  CHECK(merged({{false, "arg1/x"}, {false, "arg1/u"}, {false, "arg1/i"}}) == "1i ");
  // The second of two places is exact, the first is not.
  CHECK(merged({{false, "arg1/u"}, {true, "arg2/i"}, {false, "arg1/x,arg2/x"}}) == "1x 2i ");
  CHECK(merged({{true, "arg1/i,fparg1/32,arg1/u%stack+1"}}) == "1i 1f 1u ");
  // What takes the place of another keeps the number that the place had.
  CHECK(merged({{true, "arg1%stack+2"}, {true, "arg7/x%stack+2"}}) == "1x ");
}

TEST_CASE("items have the same place by their word of the stack, their register, or by kind and number") {
  CHECK_FALSE(one("arg1/i").same_place(one("arg1/x%rdi")));
  CHECK(one("arg1/i%RDI").same_place(one("arg2/x%rdi")));
  CHECK_FALSE(one("arg1/i%RDI").same_place(one("arg1/x%rsi")));
  CHECK_FALSE(one("arg1").same_place(one("arg2")));
  CHECK_FALSE(one("arg1").same_place(one("fparg1")));
  CHECK(one("arg1/f32").same_place(one("fparg1")));
  CHECK(one("arg1%stack+2").same_place(one("fparg3%stack+2")));
  CHECK(one("arg1%stack2").same_place(one("arg3%stack+2")));
  CHECK_FALSE(one("arg1%stack+2").same_place(one("arg1%stack+3")));
  CHECK_FALSE(one("arg1%stack+1").same_place(one("arg1")));
  CHECK(one("retval").same_place(one("retval/s")));
  CHECK_FALSE(one("retval").same_place(one("retval/f")));
}

TEST_CASE("each value takes its size, padded to 4 bytes") {
  const auto extent = [](std::string_view text, std::size_t available, std::size_t long_size = 8) {
    const std::vector<std::byte> rest(available);
    return value_extent<order::little>(one(text, long_size), rest);
  };
  CHECK(extent("arg1", 8).size == 8);
  CHECK(extent("arg1", 7).code == errc::truncated);
  CHECK(extent("arg1", 4, 4).size == 4);
  CHECK(extent("arg1/i8", 4).size == 4);
  CHECK(extent("arg1/i8", 3).code == errc::truncated);
  CHECK(extent("arg1/c", 4).size == 4);
  CHECK(extent("fparg1", 8).size == 8);
  CHECK(extent("fparg1/32", 4).size == 4);
  CHECK(extent("fparg1/80", 12).size == 12);
  CHECK(extent("fparg1/80", 11).code == errc::truncated);
  CHECK(extent("arg1/t5:pt", 8).size == 8);
  CHECK(extent("arg1/t0:pt", 0).code == errc::ok);
  CHECK(extent("arg1/t0:pt", 0).size == 0);
  CHECK(extent("arg1/t:pt", 0).size == 0);
  const auto text_extent = [](const test::byte_builder& text, order o) {
    return o == order::little ? value_extent<order::little>(one("arg1/s"), text.view())
                              : value_extent<order::big>(one("arg1/S"), text.view());
  };
  for (const order o : {order::little, order::big}) {
    for (std::size_t length = 0; length < 12; ++length) {
      const std::size_t whole = (2 + length + 3) / 4 * 4;
      CHECK(text_extent(test::byte_builder(o).u16(length).fill(whole - 2), o).size == whole);
      CHECK(text_extent(test::byte_builder(o).u16(length).fill(whole - 3), o).code == errc::truncated);
    }
    CHECK(text_extent(test::byte_builder(o).u8(0), o).code == errc::truncated);
    CHECK(text_extent(test::byte_builder(o), o).code == errc::truncated);
  }
}

TEST_CASE("values lie one behind the other") {
  const auto specs = read_value_list("arg1/i32,arg2/s,arg3", 8, false).values;
  test::byte_builder values;
  values.u32(7).u16(3).text("abc").fill(3).u64(9);
  CHECK(values_extent(specs, values.view(), order::little).size == 20);
  for (std::size_t size = 0; size < values.size(); ++size)
    CHECK(values_extent(specs, values.view().first(size), order::little).code == errc::truncated);
  CHECK(values_extent({}, values.view(), order::little).size == 0);
}

TEST_CASE("items give format, size and place") {
  CHECK(one("arg65535").index == 65535);
  CHECK(one("arg9999999").index == 9999999);  // no function has it; the recorder stores zeros
  CHECK(one("arg0x10").index == 16);
  CHECK(one("arg010").index == 8);
  CHECK(one("arg1%stack+32767").location == 32767);
  CHECK(one("arg1/t65535:x").size == 65535);
  CHECK(one("arg1/i64", 4).size == 8);
  CHECK(one("arg1", 4).size == 4);
  CHECK(one("arg1/e:color", 4).type_name == "color");
  CHECK(one("arg1/e:color", 4).size == 4);
  CHECK(one("arg3/t8:pt%RDI").type_name == "pt");
  CHECK(one("arg3/t16:pt%RDI+RSI").same_place(one("arg1%rsi")));
  CHECK(one("arg2/t16:two%stack+1").location == 1);
  CHECK(one("fparg2/80%stack+1").size == 10);
  CHECK(one("retval/f").size == 8);
  CHECK(one("retval/f32").size == 4);
  CHECK(one("retval").is_return());
  CHECK_FALSE(one("arg1").is_return());
  CHECK(one("fparg1").format == value_format::floating);
  CHECK(one("fparg1/80").size == 10);
  CHECK(one("arg1/d32").size == 4);
}

TEST_CASE("items that uftrace refuses are refused") {
  for (const char* const item :
       {"other1", "arg", "arg1/q", "arg1/", "arg1/i7", "arg1/i80", "arg1x", "arg1/e", "arg1/e:1", "arg1%rax", "arg08",
        "fparg", "fparg1/16x", "retvalx", "arg1/i32x", "ARG1", ""}) {
    INFO(item);
    CHECK_FALSE(read_value_spec(item, 8).has_value());
  }
}

TEST_CASE("lists take the arguments or the return values, and the name of an object") {
  CHECK(list_of("arg1/i32,fparg2/80,arg3/s") == "1i 2f 3s ");
  CHECK(list_of("arg1,retval/s") == "1d ");
  CHECK(list_of("arg1,retval/s,retval/x", true) == "0s 0x ");
  CHECK(list_of("arg1,arg2", true).empty());
  CHECK(list_of("libc.so,arg1") == "1d libc.so");
  CHECK(list_of("depth=3,hide,trace,clear,one,two") == "one");
  // One item that is refused ends it; what came before is kept for debug information, which goes on with it.
  CHECK(list_of("arg1,arg2/q,arg3") == "bad 1d ");
  CHECK(list_of("arg1,retval/q,arg3") == "1d 3d ");
  std::string many = "arg1";
  for (std::size_t i = 1; i < value_list::max_size; ++i) many += ",arg" + std::to_string(i + 1);
  CHECK(read_value_list(many, 8, false).good);
  CHECK_FALSE(read_value_list(many + ",arg5000", 8, false).good);
}
