// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/part.hpp>

#include <string>
#include <vector>

#include <backsight/core/hex_dump.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "varying_format.hpp"

using namespace varied;
using test::bytes;

namespace {

constexpr auto one =
    bytes<28, 0, 0, 0, 0x34, 0x12, 0, 1, 5, 6, 0, 0, 1, 2, 'a', 'b', 7, 1, 'x', 0, 9, 0, 0, 0, 28, 0, 0, 0>;
// The second option says that it is longer than what is left.
constexpr auto broken_option =
    bytes<24, 0, 0, 0, 0x34, 0x12, 0, 0, 1, 2, 'a', 'b', 7, 9, 'x', 0, 0, 0, 0, 0, 24, 0, 0, 0>;

constexpr bool reads_parts() {
  const blocks<order::little> range(one, {}, 100);
  auto it = range.begin();
  const auto item = (*it).as<block>();
  std::size_t options = 0, last = 0;
  for (const auto option_item : item[block::options]) {
    ++options;
    last = static_cast<std::size_t>(option_item.offset());
  }
  const auto pairs = item[block::pairs];
  return options == 3 && last == 120 && pairs.size() == 1 && pairs[0][pair::b] == 6 && item[block::again] == 28 &&
         !validate_with_parts(range) && block::options(item).base() == 112;
}

}  // namespace

TEST_CASE("parts of a record are ranges whose offsets count as those around them") {
  STATIC_REQUIRE(reads_parts());
  CHECK(reads_parts());
}

TEST_CASE("a fault inside of a part is told with its place") {
  const blocks<order::little> range(broken_option, {}, 50);
  CHECK_FALSE(range.validate());
  CHECK(validate_with_parts(range) == trace_error{errc::truncated, 62});
}

TEST_CASE("members behind a part are checked against the one that they repeat, and constants against theirs") {
  auto data = one;
  data[24] = std::byte{27};
  CHECK(blocks<order::little>(data).validate() == trace_error{errc::bad_value, 0});
  data = one;
  data[4] = std::byte{0};
  CHECK(blocks<order::little>(data).validate() == trace_error{errc::bad_value, 0});
}

TEST_CASE("more records than a block holds are refused") {
  auto data = one;
  data[7] = std::byte{200};
  CHECK(blocks<order::little>(data).validate() == trace_error{errc::bad_size, 0});
}

TEST_CASE("every truncation and every size of a record with parts ends cleanly") {
  for (std::size_t size = 0; size < one.size(); ++size) {
    CAPTURE(size);
    CHECK(blocks<order::little>(byte_view(one).first(size)).validate().code ==
          (size == 0 ? errc::ok : errc::truncated));
  }
  for (unsigned size = 0; size < 256; ++size) {
    auto data = one;
    data[0] = data[24] = static_cast<std::byte>(size);
    const blocks<order::little> range(data);
    CHECK((size == 28) == !range.validate());
    (void)validate_with_parts(range);
  }
}

TEST_CASE("dumps and JSON show parts as trees") {
  std::string text;
  for (const auto item : blocks<order::little>(broken_option)) hex_dump(std::back_inserter(text), item);
  CHECK(text == R"(00000000  -- 24 bytes: block
00000000  18000000                             length = 24
00000004  3412                                 magic = 4660
00000006  0000                                 pair_count = 0
00000008  >> 12 bytes: options
00000008  -- 4 bytes: option
00000008  01                                   code = 1
00000009  02                                   length = 2
0000000a  6162                                 value = "ab"
0000000c  !! unexpected end of the data
0000000c  07097800 00000000                    (not read)
00000014  18000000                             length_again = 24
)");
  text.clear();
  for (const auto item : blocks<order::little>(one)) json_line(std::back_inserter(text), item);
  CHECK(text ==
        "{\"record\":\"block\",\"offset\":0,\"length\":28,\"magic\":4660,\"pair_count\":1,\"pairs\":[{\"record\":"
        "\"pair\",\"a\":5,\"b\":6}],"
        "\"options\":[{\"record\":\"option\",\"offset\":12,\"code\":1,\"length\":2,\"value\":\"ab\"},"
        "{\"record\":\"option\",\"offset\":16,\"code\":7,\"length\":1,\"value\":\"x\"},"
        "{\"record\":\"option\",\"offset\":20,\"code\":9,\"length\":0,\"value\":\"\"}],\"length_again\":28}");
}

TEST_CASE("what takes the rest leaves what stands behind it, or the record is cut") {
  for (const unsigned size : {12U, 13U, 14U, 15U}) {
    std::vector<std::byte> data(16);
    std::size_t i = 0;
    for (const unsigned value : {size, 0U, 0U, 0U, 0x34U, 0x12U, 0U, 1U, 5U, 6U, 0U})
      data[i++] = static_cast<std::byte>(value);
    const trace_error error = blocks<order::little>(byte_view(data).first(size)).validate();
    CHECK(error.code == errc::bad_size);
    CHECK(error.offset == 0);
  }
}
