// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/file.hpp>

#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "varying_format.hpp"

using namespace varied;
using test::bytes;

namespace {

struct width_context {
  std::uint8_t width = 0;
};
struct value_record {
  static constexpr bool has_payload = true;
  static constexpr field<"tag", std::uint16_t> tag{};
  static constexpr layout fields{tag};
};
template <order O>
struct value_format {
  using records = record_list<value_record>;
  using context = width_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = 2;
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    return load<std::uint16_t, O>(at) == 1 ? records::template kind<value_record> : errc::unknown_record;
  }
  static constexpr payload_result payload_size(const record<value_record, O>&, const context& in) {
    return std::size_t{in.width};
  }
};
struct value_header {
  static constexpr must_be<"magic", std::uint32_t, 0xfeed1234> magic{};
  static constexpr must_be<"version", std::uint8_t, 2> version{};
  static constexpr field<"width", std::uint8_t> width{};
  static constexpr c_string<"title"> title{};
  static constexpr layout fields{magic, version, width, title};
};
/// A header tells the byte order and what the records depend on.
struct value_file {
  template <order O>
  using format = value_format<O>;
  using magic = magic_at<0, std::uint32_t, 0xfeed1234>;
  using header = value_header;
  template <order O>
  static constexpr width_context context_of(const record<value_header, O>& head) {
    return {head[value_header::width]};
  }
};
static_assert(file_format<value_file>);

std::vector<std::uint64_t> offsets_in(byte_view data, trace_error& error) {
  std::vector<std::uint64_t> offsets;
  error = for_each_in_file<value_file>(data, [&](auto item) { offsets.push_back(item.offset()); });
  return offsets;
}

constexpr auto little_file = bytes<0x34, 0x12, 0xed, 0xfe, 2, 3, 'a', 0, 1, 0, 9, 9, 9, 1, 0, 9, 9, 9>;
constexpr auto big_file = bytes<0xfe, 0xed, 0x12, 0x34, 2, 1, 0, 0, 1, 9>;

/// Sections that begin with a number that tells the byte order.
struct section_head {
  static constexpr field<"magic", std::uint16_t> magic{};
  static constexpr layout fields{magic};
};
struct number_record {
  static constexpr field<"value", std::uint16_t> value{};
  static constexpr layout fields{value};
};
template <order O>
struct number_format {
  using records = record_list<section_head, number_record>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = 2;
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    return load<std::uint16_t, O>(at) == 0xabcd ? records::template kind<section_head>
                                                : records::template kind<number_record>;
  }
};
struct sectioned_file {
  template <order O>
  using format = number_format<O>;
  using magic = magic_at<0, std::uint16_t, 0xabcd>;
  using section = magic;
};

/// Sections with a header each.
struct headed_sections : value_file {
  using section = magic;
};

}  // namespace

TEST_CASE("a file is opened in the byte order of its magic number, with the context of its header") {
  trace_error error;
  CHECK(offsets_in(little_file, error) == std::vector<std::uint64_t>{8, 13});
  CHECK_FALSE(error);
  CHECK(offsets_in(big_file, error) == std::vector<std::uint64_t>{7});
  CHECK_FALSE(error);
  const auto file = open_file<value_file>(big_file).value();
  CHECK(file.byte_order() == order::big);
  CHECK(file.header<order::big>()[value_header::width] == 1);
  CHECK(file.records<order::big>().base() == 7);
}

TEST_CASE("a file of another format, version or size is refused") {
  CHECK(open_file<value_file>(bytes<1, 2, 3, 4, 2, 3, 0>).error() == trace_error{errc::bad_magic, 0});
  CHECK(open_file<value_file>(bytes<0xfe, 0xed>).error() == trace_error{errc::truncated, 2});
  CHECK(open_file<value_file>(bytes<0xfe, 0xed, 0x12, 0x34, 1, 1, 0>).error() == trace_error{errc::bad_value, 0});
  for (std::size_t size = 0; size < 7; ++size) CHECK_FALSE(open_file<value_file>(byte_view(big_file).first(size)));
  trace_error error;
  (void)offsets_in(byte_view(little_file).first(17), error);
  CHECK(error == trace_error{errc::truncated, 13});
}

TEST_CASE("the byte order may change from section to section") {
  constexpr auto data = bytes<0xcd, 0xab, 1, 0, 2, 0, 0xab, 0xcd, 0, 3, 0xcd, 0xab, 0xcd, 0xab, 4, 0>;
  std::vector<std::uint64_t> values;
  std::size_t sections = 0;
  CHECK_FALSE(for_each_in_file<sectioned_file>(data, [&](auto item) {
    visit(item, overloaded{[&]<order O>(const record<section_head, O>&) { ++sections; },
                           [&]<order O>(const record<number_record, O>& number) {
                             values.push_back(item.offset() * 100 + number[number_record::value]);
                           }});
  }));
  CHECK(sections == 4);
  CHECK(values == std::vector<std::uint64_t>{201, 402, 803, 1404});
  trace_error error = for_each_in_file<sectioned_file>(byte_view(data).first(15), [](auto) {});
  CHECK(error == trace_error{errc::truncated, 14});
}

TEST_CASE("what is wrong with the header of a later section has its place in the file") {
  constexpr auto data = bytes<0xfe, 0xed, 0x12, 0x34, 2, 1, 0, 0, 1, 9, 0x34, 0x12, 0xed, 0xfe, 3, 1, 0>;
  std::size_t records = 0;
  CHECK(for_each_in_file<headed_sections>(data, [&](auto) { ++records; }) == trace_error{errc::bad_value, 10});
  CHECK(records == 1);
}
