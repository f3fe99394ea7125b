// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include <backsight/core/text.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/sink.hpp>

using namespace backsight;
using test::bytes;
using test::writes;

namespace {

constexpr bool writes_decimal_numbers() {
  return writes([](char* out) { return text::decimal(out, 0); }, "0") &&
         writes([](char* out) { return text::decimal(out, std::numeric_limits<std::int64_t>::min()); },
                "-9223372036854775808") &&
         writes([](char* out) { return text::decimal(out, std::numeric_limits<std::uint64_t>::max()); },
                "18446744073709551615") &&
         writes([](char* out) { return text::decimal(out, std::int8_t{-128}); }, "-128") &&
         writes([](char* out) { return text::decimal(out, 42, 6); }, "000042") &&
         writes([](char* out) { return text::decimal(out, 123456, 2); }, "123456") &&
         writes([](char* out) { return text::decimal(out, true); }, "1");
}

constexpr bool writes_hexadecimal_numbers() {
  return writes([](char* out) { return text::hexadecimal(out, 0); }, "0") &&
         writes([](char* out) { return text::hexadecimal(out, 0xabc, 5); }, "00abc") &&
         writes([](char* out) { return text::hexadecimal(out, ~std::uint64_t{0}, 3); }, "ffffffffffffffff") &&
         writes([](char* out) { return text::hexadecimal(out, 1, 18); }, "000000000000000001") &&
         writes([](char* out) { return text::hex_bytes(out, bytes<0, 0x7f, 0xe>); }, "007f0e");
}

constexpr bool widths_at_the_border() {
  return writes([](char* out) { return text::decimal(out, 123, 3); }, "123") &&
         writes([](char* out) { return text::decimal(out, 123, 4); }, "0123") &&
         writes([](char* out) { return text::decimal(out, -12, 3); }, "-012") &&
         writes([](char* out) { return text::decimal(out, 10); }, "10") &&
         writes([](char* out) { return text::hexadecimal(out, 0xf); }, "f") &&
         writes([](char* out) { return text::hexadecimal(out, 0x10); }, "10") &&
         writes([](char* out) { return text::hexadecimal(out, 0x100, 3); }, "100") &&
         writes([](char* out) { return text::hexadecimal(out, std::uint64_t{1} << 60); }, "1000000000000000") &&
         writes([](char* out) { return text::hexadecimal(out, (std::uint64_t{1} << 60) - 1); }, "fffffffffffffff");
}

}  // namespace

TEST_CASE("integers are written in decimal, with zeros up to the width") {
  STATIC_REQUIRE(writes_decimal_numbers());
  CHECK(writes_decimal_numbers());
}

TEST_CASE("integers and bytes are written in hexadecimal") {
  STATIC_REQUIRE(writes_hexadecimal_numbers());
  CHECK(writes_hexadecimal_numbers());
}

TEST_CASE("numbers of just the width that is asked for get no zeros") {
  STATIC_REQUIRE(widths_at_the_border());
  CHECK(widths_at_the_border());
}
