// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/values.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

std::vector<value_spec> specs_of(std::string_view text) { return read_value_list(text, 8, false).values; }

/// `1=4 2=8`: the numbers of arguments and how many bytes each has.
std::string values_of(std::string_view specs, byte_view payload, order o = order::little) {
  std::string out;
  for_each_value(specs_of(specs), payload, o, [&](const value_spec& spec, byte_view bytes) {
    if (!out.empty()) out += ' ';
    out += std::to_string(spec.index) + '=' + std::to_string(bytes.size());
  });
  return out;
}

}  // namespace

TEST_CASE("the values of a record follow each other, padded to words, up to one that is cut") {
  test::byte_builder payload;
  payload.u8(1).fill(3).u64(2).u16(5).text("hello").fill(1).u32(7);
  CHECK(values_of("arg1/i8,arg2,arg3/s,arg4/i32", payload.view()) == "1=1 2=8 3=8 4=4");
  CHECK(values_of("arg1/i8,arg2,arg3/s,arg4/i32", payload.view().first(23)) == "1=1 2=8 3=8");
  CHECK(values_of("arg1/i8,arg2", payload.view().first(11)) == "1=1");
  CHECK(values_of("arg1/i8", {}).empty());
  test::byte_builder big(order::big);
  big.u16(2).text("ab").u32(7);
  CHECK(values_of("arg1/s,arg2/i32", big.view(), order::big) == "1=4 2=4");
}

TEST_CASE("numbers are read in either byte order, with as many bytes as there are") {
  constexpr auto data = test::bytes<1, 2, 3, 4, 5, 6, 7, 8, 9>;
  CHECK(unsigned_of(byte_view(data).first(3), order::little) == 0x030201);
  CHECK(unsigned_of(byte_view(data).first(3), order::big) == 0x010203);
  CHECK(unsigned_of(data, order::little) == 0x0807060504030201);
  CHECK(unsigned_of({}, order::big) == 0);
  CHECK(signed_of(0xff, 1) == -1);
  CHECK(signed_of(0x7f, 1) == 127);
  CHECK(signed_of(0x8000, 2) == -32768);
  CHECK(signed_of(0xffff, 4) == 0xffff);
  CHECK(signed_of(~std::uint64_t{0}, 8) == -1);
  CHECK(signed_of(5, 0) == 5);
}

TEST_CASE("a text ends at its length, at a NUL or where the record does") {
  CHECK(string_of(test::bytes<2, 0, 'a', 'b', 'c'>, order::little) == "ab");
  CHECK(string_of(test::bytes<0, 3, 'a', 0, 'c'>, order::big) == "a");
  CHECK(string_of(test::bytes<9, 0, 'a'>, order::little) == "a");
  CHECK(string_of(test::bytes<1>, order::little).empty());
  CHECK(is_old_null(test::bytes<4, 0, 0xff, 0xff, 0xff, 0xff>));
  CHECK_FALSE(is_old_null(test::bytes<4, 0, 0xff, 0xff, 0xff, 'a'>));
  CHECK_FALSE(is_old_null(test::bytes<3, 0, 0xff, 0xff, 0xff>));
}
