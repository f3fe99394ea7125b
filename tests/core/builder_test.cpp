// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/builder.hpp>

#include <string>
#include <vector>

#include <backsight/core/print.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "varying_format.hpp"

using namespace varied;
using test::bytes;

namespace {

template <class T>
std::vector<std::byte> copy_of(const T& data) {
  return {data.begin(), data.end()};
}

/// Its size counts words behind more bytes than it may have.
struct late_size {
  static constexpr field<"words", std::uint8_t> words{};
  static constexpr c_string<"text"> text{};
  using extent = sized_by<words, 4, 2>;
  static constexpr layout fields{words, text};
};
struct many {
  static constexpr uleb<"count"> count{};
  static constexpr counted<"values", std::uint16_t, count> values{};
  static constexpr layout fields{count, values};
};

}  // namespace

TEST_CASE("a builder writes every kind of member, and counts them") {
  const std::uint16_t values[] = {1, 2};
  std::vector<std::byte> out;
  record_builder<everything, order::big> builder;
  builder.set(everything::kind, 7)
      .set(everything::delta, -1)
      .set(everything::text, bytes<'h', 'i'>)
      .set(everything::data, bytes<1, 2>)
      .set(everything::flag, true)
      .set(everything::extra, 9)
      .set(everything::more, -2)
      .set(everything::values, std::span<const std::uint16_t>(values));
  CHECK(builder.append_to(out) == errc::ok);
  CHECK(out == copy_of(bytes<7, 2, 0x7f, 'h', 'i', 0, 1, 2, 0x82, 0, 0, 0, 9, 0x03, 0, 0, 0, 1, 0, 2>));
  out.clear();
  CHECK(builder.set(everything::flag, false).append_to(out) == errc::ok);
  CHECK(out == copy_of(bytes<7, 2, 0x7f, 'h', 'i', 0, 1, 2, 0x02, 0, 0, 0, 0, 1, 0, 2>));
}

TEST_CASE("the size of a record, constants and repeated members follow from the rest") {
  std::vector<std::byte> options, out;
  CHECK(
      record_builder<option, order::little>{}.set(option::code, 7).set(option::value, bytes<'x'>).append_to(options) ==
      errc::ok);
  CHECK(record_builder<block, order::little>{}
            .set(block::pairs, bytes<5, 6, 0>)
            .set(block::options, options)
            .append_to(out) == errc::ok);
  CHECK(out == copy_of(bytes<20, 0, 0, 0, 0x34, 0x12, 0, 1, 5, 6, 0, 0, 7, 1, 'x', 0, 20, 0, 0, 0>));
  CHECK_FALSE(validate_with_parts(blocks<order::little>(out)));
  out.clear();
  CHECK(record_builder<note, order::little>{}.set(note::text, bytes<'a'>).payload(bytes<8, 9>).append_to(out) ==
        errc::ok);
  CHECK(out == copy_of(bytes<2, 'a', 0, 8, 9>));
}

TEST_CASE("a record that is there can be written with another payload") {
  constexpr auto data = bytes<2, 'a', 0, 8, 9>;
  const record<note, order::little> item(data.data(), data.size());
  std::vector<std::byte> out;
  CHECK(record_builder<note, order::little>(item).append_to(out) == errc::ok);
  CHECK(out == copy_of(data));
  out.clear();
  CHECK(record_builder<note, order::little>(item).payload({}).append_to(out) == errc::ok);
  CHECK(out == copy_of(bytes<1, 'a', 0>));
}

TEST_CASE("what does not fit is refused, and nothing is written") {
  std::vector<std::byte> out(1), large(300);
  CHECK(record_builder<option, order::little>{}.set(option::value, large).append_to(out) == errc::number_too_large);
  CHECK(record_builder<note, order::little>{}.set(note::text, bytes<'a', 'b'>).append_to(out) == errc::bad_size);
  CHECK(record_builder<note, order::little>{}.set(note::text, bytes<'a', 0, 'c'>).append_to(out) == errc::bad_string);
  CHECK(record_builder<option, order::little>{}.set(option::value, bytes<1>).set(option::length, 2).append_to(out) ==
        errc::bad_size);
  CHECK(record_builder<late_size, order::little>{}.append_to(out) == errc::bad_size);
  // A count whose bytes wrap around to none.
  CHECK(record_builder<many, order::little>{}.set(many::count, std::uint64_t{1} << 63).append_to(out) ==
        errc::bad_size);
  CHECK(out.size() == 1);
}

TEST_CASE("padding counts from the start of the record, wherever that is written") {
  std::vector<std::byte> out(1);
  CHECK(record_builder<option, order::little>{}.set(option::code, 7).append_to(out) == errc::ok);
  CHECK(out == copy_of(bytes<0, 7, 0, 0, 0>));
}
