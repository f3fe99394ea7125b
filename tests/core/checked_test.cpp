// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/checked.hpp>

#include <vector>

#include <backsight/core/builder.hpp>
#include <backsight/core/part.hpp>
#include <backsight/core/tagged_format.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;

namespace {

/// A chunk of a PNG image.
struct chunk {
  static constexpr field<"length", std::uint32_t> length{};
  static constexpr field<"type", std::array<std::byte, 4>> type{};
  static constexpr counted_bytes<"data", length> data{};
  static constexpr checksum_over<"crc", std::uint32_t, crc32, type, data> crc{};
  static constexpr layout fields{length, type, data, crc};
};
template <order O>
using chunks = tagged_format<O, chunk>;

constexpr std::uint8_t sum_of(byte_view data) {
  unsigned sum = 0;
  for (const std::byte one : data) sum += std::to_integer<unsigned>(one);
  return static_cast<std::uint8_t>(sum);
}
/// All members have fixed places, and the checksum stands in front.
struct summed {
  static constexpr field<"a", std::uint16_t> a{};
  static constexpr field<"b", std::uint8_t> b{};
  static constexpr checksum_over<"sum", std::uint8_t, sum_of, a, b> sum{};
  static constexpr layout fields{sum, a, b};
};
/// Chunks in a record.
struct picture {
  static constexpr must_be<"kind", std::uint8_t, 7> kind{};
  static constexpr field<"size", std::uint8_t> size{};
  using extent = sized_by<size>;
  static constexpr part<"chunks", chunks> list{};
  static constexpr layout fields{kind, size, list};
};

// The last chunk of every PNG image.
constexpr auto end_chunk = bytes<0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82>;

}  // namespace

TEST_CASE("CRC-32 and Adler-32 are those of zlib") {
  constexpr auto digits = bytes<'1', '2', '3', '4', '5', '6', '7', '8', '9'>;
  STATIC_REQUIRE(crc32(digits) == 0xcbf43926U);
  STATIC_REQUIRE(crc32({}) == 0);
  STATIC_REQUIRE(adler32(digits) == 0x091e01deU);
  STATIC_REQUIRE(adler32({}) == 1);
  CHECK(crc32(digits) == 0xcbf43926U);
  const std::vector<std::byte> many(1'000'000, std::byte{0xff});
  CHECK(adler32(many) == 0x3843e1beU);
}

TEST_CASE("a record whose checksum differs is refused, wherever a bit changed") {
  auto data = end_chunk;
  const auto error_of = [&] { return record_range<chunks<order::big>>(data).validate(); };
  CHECK_FALSE(error_of());
  for (std::size_t byte = 4; byte < data.size(); ++byte) {
    for (int bit = 0; bit < 8; ++bit) {
      data[byte] ^= static_cast<std::byte>(1 << bit);
      CHECK(error_of() == trace_error{errc::bad_value, 0});
      data[byte] ^= static_cast<std::byte>(1 << bit);
    }
  }
}

TEST_CASE("a checksum over members of fixed places is checked, and covers nothing else") {
  STATIC_REQUIRE(!record_range<tagged_format<order::little, summed>>(bytes<6, 1, 2, 3, 0, 0, 0, 0>).validate());
  CHECK_FALSE(record_range<tagged_format<order::little, summed>>(bytes<6, 1, 2, 3>).validate());
  CHECK(record_range<tagged_format<order::little, summed>>(bytes<6, 1, 2, 3, 5, 1, 2, 3>).validate() ==
        trace_error{errc::bad_value, 4});
}

TEST_CASE("a builder fills in checksums") {
  std::vector<std::byte> out{std::byte{1}};
  CHECK(record_builder<chunk, order::big>{}.set(chunk::type, bytes<'I', 'E', 'N', 'D'>).append_to(out) == errc::ok);
  CHECK(std::vector<std::byte>(out.begin() + 1, out.end()) ==
        std::vector<std::byte>(end_chunk.begin(), end_chunk.end()));
  out.clear();
  CHECK(record_builder<summed, order::big>{}
            .set(summed::a, std::uint16_t{0x203})
            .set(summed::b, std::uint8_t{4})
            .append_to(out) == errc::ok);
  CHECK(out == std::vector<std::byte>{std::byte{9}, std::byte{2}, std::byte{3}, std::byte{4}});
}

TEST_CASE("a checksum that differs inside of a part is told with its place in the whole") {
  std::vector<std::byte> file;
  auto bad = end_chunk;
  bad[11] ^= std::byte{1};
  std::vector<std::byte> list(end_chunk.begin(), end_chunk.end());
  list.insert(list.end(), bad.begin(), bad.end());
  CHECK(record_builder<picture, order::big>{}.set(picture::list, list).append_to(file) == errc::ok);
  CHECK(record_builder<picture, order::big>{}.set(picture::list, list).append_to(file) == errc::ok);
  const record_range<tagged_format<order::big, picture>> range(file, {}, 100);
  CHECK_FALSE(range.validate());
  CHECK(validate_with_parts(range) == trace_error{errc::bad_value, 100 + 2 + 12});
}
