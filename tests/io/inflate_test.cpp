// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/inflate.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "packed.hpp"

using namespace backsight;
using io::inflate_reader;
using test::drain;
using test::joined;
using test::noise;

namespace {

constexpr int gzip = 15 + 16, zlib = 15;

std::vector<std::byte> pack(const std::vector<std::byte>& content, int form) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, form, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::vector<std::byte> packed(deflateBound(&stream, content.size()));
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  const std::size_t size = stream.total_out;
  deflateEnd(&stream);
  return test::first_bytes(packed, size);
}

}  // namespace

TEST_CASE("gzip and zlib give back what was packed, in pieces of any size, and then nothing") {
  for (const int form : {gzip, zlib}) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{4095}, std::size_t{4096},
                                   std::size_t{4097}, std::size_t{70000}}) {
      const auto content = noise(size);
      const auto packed = pack(content, form);
      for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, std::size_t{4096}, size + 1}) {
        const auto got = drain(inflate_reader(packed), piece);
        REQUIRE(got);
        CHECK((*got == content));
      }
      inflate_reader reader(packed);
      std::vector<std::byte> room(size);
      const auto all = reader.read(room);
      REQUIRE(all);
      CHECK(*all == size);
      CHECK((room == content));
      room.resize(10);
      const auto none = reader.read(room);
      REQUIRE(none);
      CHECK(*none == 0);
    }
  }
}

TEST_CASE("members of a gzip file follow one another, empty ones too") {
  const auto first = noise(5000), second = noise(3000, 6);
  const auto three = joined(joined(pack(first, gzip), pack({}, gzip)), pack(second, gzip));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5000}, std::size_t{8000}, std::size_t{9000}}) {
    const auto got = drain(inflate_reader(three), piece);
    REQUIRE(got);
    CHECK((*got == joined(first, second)));
  }
}

TEST_CASE("a gzip or zlib file that is cut is truncated at its end, with what came before") {
  const auto content = noise(3000);
  for (const int form : {gzip, zlib}) {
    const auto packed = pack(content, form);
    for (std::size_t size = 0; size < packed.size(); ++size) {
      CAPTURE(form, size);
      const auto part = test::first_bytes(packed, size);
      const auto got = drain(inflate_reader(part), 700);
      CHECK(got.error() == trace_error{errc::truncated, size});
      CHECK(test::begins(content, got.partial()));
    }
    // Just the checksum is missing.
    CHECK((drain(inflate_reader(test::first_bytes(packed, packed.size() - 1))).partial() == content));
  }
  // In the second member, so that the offset counts from the beginning of the file.
  const auto packed = pack(content, gzip), twice = joined(packed, packed);
  const auto got = drain(inflate_reader(test::first_bytes(twice, twice.size() - 3)));
  CHECK(got.error() == trace_error{errc::truncated, twice.size() - 3});
  CHECK((got.partial() == joined(content, content)));
}

TEST_CASE("a wrong checksum of gzip or zlib is told from other damage") {
  const auto content = noise(2000);
  auto packed = pack(content, gzip);
  const auto good = packed;
  packed[packed.size() - 5] ^= std::byte{1};  // CRC-32
  CHECK(drain(inflate_reader(packed)).error().code == errc::checksum);
  packed = good;
  packed[packed.size() - 1] ^= std::byte{1};  // The size of the content.
  CHECK(drain(inflate_reader(packed)).error().code == errc::bad_value);
  packed = good;
  packed[2] = std::byte{7};  // A method that nobody defines.
  const auto got = drain(inflate_reader(packed));
  CHECK(got.error().code == errc::bad_value);
  CHECK(got.error().offset <= 10);
  CHECK(got.partial().empty());
  packed = pack(content, zlib);
  packed.back() ^= std::byte{1};  // Adler-32
  CHECK(drain(inflate_reader(packed)).error() == trace_error{errc::checksum, packed.size()});
}

TEST_CASE("what follows a gzip member and is none is an error behind the member") {
  const auto content = noise(2000);
  const auto member = pack(content, gzip);
  const auto got = drain(inflate_reader(joined(member, noise(100))));
  CHECK(got.error().code == errc::bad_value);
  CHECK(got.error().offset >= member.size());
  CHECK(got.error().offset <= member.size() + 100);
  CHECK((got.partial() == content));
}

TEST_CASE("an error of a gzip file is given again by each further read") {
  const auto packed = pack(noise(2000), gzip);
  const auto part = test::first_bytes(packed, 1000);
  inflate_reader reader(part);
  std::vector<std::byte> room(4000);
  CHECK(reader.read(room).error() == trace_error{errc::truncated, 1000});
  const auto again = reader.read(room);
  CHECK(again.partial() == 0);
  CHECK(again.error() == trace_error{errc::truncated, 1000});
}

TEST_CASE("gzip unfolds as much as its limit allows and no more") {
  const std::vector<std::byte> zeros(100000);
  const auto packed = pack(zeros, gzip);
  REQUIRE(packed.size() < 1000);
  const auto code = [&](io::expansion_limit limit) { return drain(inflate_reader(packed, limit)).error().code; };
  CHECK(code({.bytes = 100000}) == errc::ok);
  CHECK(code({.bytes = 99999}) == errc::expansion);
  CHECK(code({.ratio = 1, .free_bytes = 100000}) == errc::ok);
  CHECK(code({.ratio = 1, .free_bytes = 99999}) == errc::expansion);
  const std::uint64_t ratio = 100000 / packed.size();
  CHECK(code({.ratio = ratio / 2, .free_bytes = 0}) == errc::expansion);
  // Not far beyond the limit: the next piece is not unfolded.
  CHECK(drain(inflate_reader(packed, {.bytes = 10000}), 4096).partial().size() <= 10000 + 4096);
  // The members of a file count together.
  const auto twice = joined(packed, packed);
  CHECK(drain(inflate_reader(twice, {.bytes = 200000}))->size() == 200000);
  CHECK(drain(inflate_reader(twice, {.bytes = 199999})).error().code == errc::expansion);
}
