// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/hex_dump.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/sink.hpp>

#include "tick_format.hpp"

using namespace ticks;
using test::bytes;
using test::writes;

namespace {

constexpr auto note_bytes = bytes<3, 2, 'h', 'i'>;
constexpr any_record<format> a_note(note_bytes.data(), 4, 1, 70);

constexpr bool shows_every_member_with_its_bytes() {
  return writes([](char* out) { return hex_dump(out, a_note); },
                "00000046  -- 4 bytes: note\n"
                "00000046  03                                   is_meta (bits 0..0) = 1\n"
                "00000046  03                                   kind (bits 1..7) = 1\n"
                "00000047  02                                   length = 2\n"
                "00000048  6869                                 payload\n");
}

struct long_record {
  static constexpr const char* name = "long";
  static constexpr field<"id", std::array<std::byte, 18>> id{};
  static constexpr layout fields{id, padding<16>{}};
};
constexpr auto long_bytes = bytes<0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19>;

struct twelve_bytes {
  static constexpr const char* name = "twelve";
  static constexpr field<"id", std::array<std::byte, 12>> id{};
  static constexpr field<"next", std::uint64_t> next{};
  static constexpr layout fields{id, next};
};

constexpr bool shows_no_more_than_the_member() {
  return writes([](char* out) { return hex_dump(out, record<twelve_bytes, order::big>(long_bytes.data()), 0); },
                "00000000  -- 20 bytes: twelve\n"
                "00000000  00010203 04050607 08090a0b           id = 000102030405060708090a0b\n"
                "0000000c  0c0d0e0f 10111213                    next = 868365761009226259\n") &&
         writes([](char* out) { return hex_dump(out, byte_view(long_bytes).first(16), 0, "x"); },
                "00000000  00010203 04050607 08090a0b 0c0d0e0f  x\n") &&
         writes([](char* out) { return hex_dump(out, byte_view(long_bytes).first(15), 0, "x"); },
                "00000000  00010203 04050607 08090a0b 0c0d0e    x\n");
}

constexpr bool breaks_lines_after_sixteen_bytes() {
  return writes([](char* out) { return hex_dump(out, record<long_record, order::big>(long_bytes.data()), 0x100); },
                "00000100  -- 20 bytes: long\n"
                "00000100  00010203 04050607 08090a0b 0c0d0e0f  id = 000102030405060708090a0b0c0d0e0f1011\n"
                "00000110  1011                                 \n"
                "00000112  1213                                 (padding)\n") &&
         writes([](char* out) { return hex_dump(out, long_bytes, 5, "rubbish"); },
                "00000005  00010203 04050607 08090a0b 0c0d0e0f  rubbish\n"
                "00000015  10111213                             rubbish\n") &&
         writes([](char* out) { return hex_dump(out, byte_view{}, 5, "nothing"); }, "");
}

}  // namespace

TEST_CASE("an annotated hex dump shows offset, bytes, name and value of every member") {
  STATIC_REQUIRE(shows_every_member_with_its_bytes());
  CHECK(shows_every_member_with_its_bytes());
}

TEST_CASE("lines of a hex dump hold sixteen bytes") {
  STATIC_REQUIRE(breaks_lines_after_sixteen_bytes());
  CHECK(breaks_lines_after_sixteen_bytes());
}

TEST_CASE("a line of a hex dump holds the bytes of one member") {
  STATIC_REQUIRE(shows_no_more_than_the_member());
  CHECK(shows_no_more_than_the_member());
}
