// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/snappy_frame.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "packed.hpp"

using namespace backsight;
using io::snappy_reader;
using test::bytes;
using test::drain;
using test::joined;
using test::noise;

namespace {

/// framing_format.txt, "Checksum format": CRC-32C bit by bit, rotated and offset.
std::uint32_t masked_checksum(const std::vector<std::byte>& content) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : content) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? crc >> 1 ^ 0x82f63b78U : crc >> 1;
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

/// A file, chunk by chunk.
class frames {
 public:
  frames() { chunk(0xff, bytes<'s', 'N', 'a', 'P', 'p', 'Y'>); }
  frames& chunk(unsigned type, byte_view body) {
    built_.u8(type).u8(body.size() & 0xffU).u8(body.size() >> 8 & 0xffU).u8(body.size() >> 16).append(body);
    return *this;
  }
  /// Content in a chunk of type 0 to 3: packed or not, with a checksum or without.
  frames& content(unsigned type, const std::vector<std::byte>& content) {
    test::byte_builder body;
    if (type < 2) body.u32(masked_checksum(content));
    if (type % 2 == 1) {
      body.append(content);
    } else {
      std::size_t size = snappy_max_compressed_length(content.size());
      std::vector<char> packed(size);
      REQUIRE(snappy_compress(reinterpret_cast<const char*>(content.data()), content.size(), packed.data(), &size) ==
              SNAPPY_OK);
      body.append({reinterpret_cast<const std::byte*>(packed.data()), size});
    }
    return chunk(type, body.view());
  }
  [[nodiscard]] std::size_t size() const { return built_.size(); }
  [[nodiscard]] byte_view view() const { return built_.view(); }
  [[nodiscard]] std::vector<std::byte>& vector() { return built_.vector(); }

 private:
  test::byte_builder built_;
};

auto read_all(const frames& file, io::expansion_limit limit = {}, std::size_t piece = 4096) {
  return drain(snappy_reader(file.view(), limit), piece);
}

}  // namespace

TEST_CASE("chunks of snappy give their content, packed or not, with a checksum or without") {
  const auto one = noise(5000), two = noise(1, 6), three = noise(65536, 7), four = noise(300, 8);
  frames file;
  file.content(0, one).content(1, two).content(2, three).content(3, four).content(1, {});
  const auto all = joined(joined(joined(one, two), three), four);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{4096}, all.size(), all.size() + 1}) {
    const auto got = read_all(file, {}, piece);
    REQUIRE(got);
    CHECK(*got == all);
  }
}

TEST_CASE("chunks of up to 65536 bytes are taken, larger ones refused at their place") {
  for (const unsigned type : {0U, 1U, 2U, 3U}) {
    CAPTURE(type);
    for (const std::size_t size : {std::size_t{65535}, std::size_t{65536}}) {
      const auto content = noise(size);
      const auto got = read_all(frames().content(type, content));
      REQUIRE(got);
      CHECK((*got == content));
    }
    frames file;
    file.content(type, noise(100));
    const std::size_t before = file.size();
    file.content(type, noise(65537));
    const auto got = read_all(file);
    CHECK(got.error() == trace_error{errc::bad_size, before});
    CHECK((got.partial() == noise(100)));
  }
}

TEST_CASE("a snappy file begins with its name, which may come again") {
  CHECK(read_all(frames())->empty());
  CHECK(drain(snappy_reader({}))->empty());
  CHECK(
      (*read_all(frames().content(3, noise(5)).chunk(0xff, bytes<'s', 'N', 'a', 'P', 'p', 'Y'>).content(3, noise(5))) ==
       joined(noise(5), noise(5))));
  frames other;
  other.vector()[9] = std::byte{'y'};
  CHECK(read_all(other).error() == trace_error{errc::bad_magic, 0});
  frames again;
  again.content(3, noise(5)).chunk(0xff, bytes<'s', 'N', 'a', 'P', 'p'>);
  CHECK(read_all(again).error() == trace_error{errc::bad_magic, 19});
  CHECK(drain(snappy_reader(bytes<0xff, 7, 0, 0, 's', 'N', 'a', 'P', 'p', 'Y', '!'>)).error() ==
        trace_error{errc::bad_magic, 0});
  // Even a chunk that could be passed over may not come first.
  CHECK(drain(snappy_reader(bytes<0x80, 0, 0, 0>)).error() == trace_error{errc::bad_magic, 0});
  CHECK(drain(snappy_reader(bytes<0, 0, 0, 0>)).error() == trace_error{errc::bad_magic, 0});
}

TEST_CASE("chunks of types 4 to 127 are refused, those from 128 on passed over") {
  for (unsigned type = 4; type < 0xff; ++type) {
    CAPTURE(type);
    const auto got = read_all(frames().content(3, noise(7)).chunk(type, noise(9)).content(3, noise(8)));
    if (type < 0x80) {
      CHECK(got.error() == trace_error{errc::unsupported_type, 21});
      CHECK((got.partial() == noise(7)));
    } else {
      REQUIRE(got);
      CHECK((*got == joined(noise(7), noise(8))));
    }
  }
}

TEST_CASE("a snappy file cut inside a chunk is truncated there, and one cut between two is whole") {
  frames file;
  const auto content = noise(50);
  std::vector<std::size_t> borders{0, 10};
  for (const unsigned type : {0U, 1U, 2U, 3U, 0x90U}) {
    type < 4 ? file.content(type, content) : file.chunk(type, content);
    borders.push_back(file.size());
  }
  std::size_t last = 0, whole = 0;
  for (std::size_t size = 0; size <= file.size(); ++size) {
    CAPTURE(size);
    if (whole < borders.size() && borders[whole] == size) last = borders[whole++];
    const auto got = drain(snappy_reader(file.view().first(size)));
    CHECK(got.error() == (size == last ? trace_error{} : trace_error{errc::truncated, last}));
    CHECK(got.partial().size() == 50 * (last < 11 ? 0 : whole == borders.size() ? 4 : whole - 2));
  }
}

TEST_CASE("checksums of snappy's chunks are checked where they are") {
  for (const unsigned type : {0U, 1U}) {
    frames file;
    file.content(type, noise(40));
    const std::size_t before = file.size();
    file.content(type, noise(50));
    for (std::size_t i = 0; i < 4; ++i) {
      auto damaged = file;
      damaged.vector()[before + 4 + i] ^= std::byte{0x10};
      const auto got = read_all(damaged);
      CHECK(got.error() == trace_error{errc::checksum, before});
      CHECK((got.partial() == noise(40)));
    }
    // No room for the checksum, and just room.
    CHECK(read_all(frames().chunk(type, bytes<1, 2, 3>)).error() == trace_error{errc::bad_size, 10});
  }
  CHECK(read_all(frames().chunk(1, bytes<0xd8, 0xea, 0x82, 0xa2>))->empty());  // That of nothing.
  CHECK(read_all(frames().chunk(1, bytes<0xd9, 0xea, 0x82, 0xa2>)).error() == trace_error{errc::checksum, 10});
}

TEST_CASE("packed chunks that are damaged are errors at their place") {
  CHECK(read_all(frames().chunk(2, {})).error() == trace_error{errc::bad_value, 10});
  CHECK(read_all(frames().chunk(2, bytes<5, 0x10, 'a'>)).error() == trace_error{errc::bad_value, 10});
  // An error is given again by each further read.
  const auto file = frames().content(3, noise(5)).chunk(2, bytes<0xff>);
  snappy_reader reader(file.view());
  std::vector<std::byte> room(100);
  const auto first = reader.read(room), again = reader.read(room);
  CHECK(first.partial() == 5);
  CHECK(first.error() == trace_error{errc::bad_value, 19});
  CHECK(again.partial() == 0);
  CHECK(again.error() == first.error());
}

TEST_CASE("snappy unfolds as much as its limit allows and no more") {
  const std::vector<std::byte> zeros(60000);
  const auto file = frames().content(2, zeros).content(0, zeros).content(2, zeros);
  const auto error = [&](io::expansion_limit limit) { return read_all(file, limit).error(); };
  CHECK_FALSE(error({.bytes = 180000}));
  // The offset is that of the chunk that is too much.
  const std::size_t second = frames().content(2, zeros).size(),
                    third = frames().content(2, zeros).content(0, zeros).size();
  CHECK(error({.bytes = 179999}) == trace_error{errc::expansion, third});
  CHECK(error({.bytes = 120000}) == trace_error{errc::expansion, third});
  CHECK(error({.bytes = 119999}) == trace_error{errc::expansion, second});
  CHECK_FALSE(error({.ratio = 1, .free_bytes = 180000}));
  CHECK(error({.ratio = 1, .free_bytes = 179999}) == trace_error{errc::expansion, third});
  CHECK(error({.ratio = 180000 / file.size() / 2, .free_bytes = 0}).code == errc::expansion);
  CHECK_FALSE(error({.ratio = 60000, .free_bytes = 0}));
  CHECK(read_all(file, {.bytes = 120000}).partial().size() == 120000);
}
