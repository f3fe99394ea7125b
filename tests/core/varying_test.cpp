// SPDX-License-Identifier: Apache-2.0
// Stands for core/varying_record.hpp
#include <backsight/core/varying.hpp>

#include <string>
#include <vector>

#include <backsight/core/hex_dump.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "varying_format.hpp"

using namespace varied;
using test::bytes;

namespace {

constexpr auto full = bytes<7, 2, 0x7f, 'h', 'i', 0, 1, 2, 0x05, 9, 0, 0, 0, 0x03, 0, 0, 1, 0, 2, 0>;
constexpr auto full_big = bytes<7, 2, 0x7f, 'h', 'i', 0, 1, 2, 0x82, 0, 0, 0, 9, 0x03, 0, 0, 0, 1, 0, 2>;
constexpr auto without_extra = bytes<7, 0, 0, 0, 0x02, 0, 0, 0, 7, 0>;

template <order O>
constexpr bool reads_every_member(byte_view data) {
  const record_range<everything_format<O>> range(data);
  auto it = range.begin();
  const auto item = (*it).template as<everything>();
  ++it;
  return it == std::default_sentinel && !it.error() && item[everything::kind] == 7 && item[everything::count] == 2 &&
         everything::delta(item) == -1 && item[everything::text].size() == 2 &&
         item[everything::text][1] == std::byte{'i'} && item[everything::data].size() == 2 &&
         item[everything::data][1] == std::byte{2} && item[everything::flag] && item[everything::values_count] == 2 &&
         item[everything::extra] == 9 && item.has(everything::extra) && item[everything::more] == -2 &&
         item[everything::values].size() == 2 && everything::values(item)[1] == 2 &&
         item.bytes().size() == data.size() && item.offset() == 0;
}

constexpr bool leaves_out_what_its_condition_denies() {
  const record<everything, order::little> item(without_extra.data(), without_extra.size());
  return !item.has(everything::extra) && !item.has(everything::more) && item[everything::extra] == 0 &&
         item[everything::more] == 0 && item.has(everything::kind) && item[everything::values].size() == 1 &&
         item[everything::values][0] == 7;
}

std::string text_of(auto print_it) {
  std::string text;
  print_it(std::back_inserter(text));
  return text;
}

trace_error walked(byte_view data) { return record_range<everything_format<order::little>>(data).validate(); }

}  // namespace

TEST_CASE("a schema with members of varying size reads them all, in both byte orders") {
  STATIC_REQUIRE(reads_every_member<order::little>(full));
  STATIC_REQUIRE(reads_every_member<order::big>(full_big));
  CHECK(reads_every_member<order::little>(full));
  CHECK(reads_every_member<order::big>(full_big));
  STATIC_REQUIRE(std::is_trivially_copyable_v<record<everything, order::little>>);
}

TEST_CASE("a member whose condition does not hold is not there") {
  STATIC_REQUIRE(leaves_out_what_its_condition_denies());
  CHECK(leaves_out_what_its_condition_denies());
}

TEST_CASE("every truncation of a record of varying size is an error at its start") {
  for (std::size_t size = 1; size < full.size(); ++size) {
    CAPTURE(size);
    const trace_error error = walked(byte_view(full).first(size));
    CHECK(error.offset == 0);
    CHECK((error.code == errc::truncated || error.code == errc::bad_string));
  }
  CHECK_FALSE(walked(full));
}

TEST_CASE("numbers that do not fit their type, and counts beyond the end, are refused") {
  CHECK(walked(bytes<7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0, 0, 0, 0>).code ==
        errc::truncated);
  CHECK(walked(bytes<7, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0, 0, 0, 0>).code ==
        errc::number_too_large);
  const auto get = [](byte_view data) {
    std::uint64_t value = 0;
    errc code = errc::ok;
    (void)uleb<"value", std::uint8_t>::pass(0, data.data(), data.data() + data.size(), value, code);
    return code;
  };
  CHECK(get(bytes<0xff, 0x01>) == errc::ok);
  CHECK(get(bytes<0x80, 0x02>) == errc::number_too_large);
  const auto get_signed = [](byte_view data) {
    std::uint64_t value = 0;
    errc code = errc::ok;
    (void)sleb<"value", std::int8_t>::pass(0, data.data(), data.data() + data.size(), value, code);
    return code;
  };
  CHECK(get_signed(bytes<0x80, 0x7f>) == errc::ok);
  CHECK(get_signed(bytes<0xff, 0x7e>) == errc::number_too_large);
}

TEST_CASE("text, CSV, JSON and the dump of a record follow from the declaration") {
  const record<everything, order::little> item(full.data(), full.size());
  const record<everything, order::little> other(without_extra.data(), without_extra.size());
  CHECK(text_of([&](auto out) { print(out, item); }) ==
        "everything kind=7 count=2 delta=-1 text=\"hi\" data=\"\\u0001\\u0002\" flag=1 values_count=2 extra=9 more=-2 "
        "values=[1,2]");
  CHECK(text_of([&](auto out) { print(out, other); }) ==
        "everything kind=7 count=0 delta=0 text=\"\" data=\"\" flag=0 values_count=1 values=[7]");
  CHECK(text_of([&](auto out) { csv_header<everything>(out); }) ==
        "kind,count,delta,text,data,flag,values_count,extra,more,values");
  CHECK(text_of([&](auto out) { csv_line(out, item); }) == "7,2,-1,hi,0102,1,2,9,-2,1 2");
  CHECK(text_of([&](auto out) { csv_line(out, other); }) == "7,0,0,,,0,1,,,7");
  CHECK(text_of([&](auto out) { json_line(out, item, 5); }) ==
        "{\"record\":\"everything\",\"offset\":5,\"kind\":7,\"count\":2,\"delta\":-1,\"text\":\"hi\",\"data\":"
        "\"\\u0001\\u0002\","
        "\"flag\":1,\"values_count\":2,\"extra\":9,\"more\":-2,\"values\":[1,2]}");
  const std::string dump = text_of([&](auto out) { hex_dump(out, item, 16); });
  CHECK(dump == R"(00000010  -- 20 bytes: everything
00000010  07                                   kind = 7
00000011  02                                   count = 2
00000012  7f                                   delta = -1
00000013  686900                               text = "hi"
00000016  0102                                 data = "\u0001\u0002"
00000018  05                                   flag (bits 0..0) = 1
00000018  05                                   values_count (bits 1..7) = 2
00000019  09000000                             extra = 9
0000001d  03                                   more = -2
0000001e  0000                                 (padding)
00000020  01000200                             values = [1,2]
)");
}

TEST_CASE("the size of a record can be told by a member, in words and without its head") {
  const record_range<format_of_one<order::little, note>> notes(bytes<2, 'a', 0, 8, 9, 1, 'b', 0>);
  std::vector<std::size_t> sizes, payloads;
  CHECK_FALSE(for_each(notes, [&](auto any) {
    const auto item = any.template as<note>();
    sizes.push_back(item.bytes().size());
    payloads.push_back(item.payload().size());
  }));
  CHECK(sizes == std::vector<std::size_t>{5, 3});
  CHECK(payloads == std::vector<std::size_t>{2, 0});
  const auto error = [](byte_view data) { return record_range<format_of_one<order::little, note>>(data).validate(); };
  // The text does not end within the record; the record is smaller than its members; it does not fit the bytes.
  CHECK(error(bytes<1, 'a', 'b', 0>) == trace_error{errc::bad_string, 0});
  CHECK(error(bytes<0, 0>) == trace_error{errc::bad_size, 0});
  CHECK(error(bytes<2, 'a', 0, 8>) == trace_error{errc::truncated, 0});
}

namespace {

/// Nothing but a member that may be missing.
struct hollow {
  static constexpr counted_bytes<"nothing", [](const auto&) { return 0; }> nothing{};
  static constexpr layout fields{nothing};
};

}  // namespace

TEST_CASE("a record of no bytes ends the walk") {
  CHECK(record_range<format_of_one<order::little, hollow>>(bytes<1, 2>).validate() == trace_error{errc::bad_size, 0});
}
