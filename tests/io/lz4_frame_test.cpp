// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/lz4_frame.hpp>

#include <support/catch.hpp>

#include "packed.hpp"

using namespace backsight;
using io::lz4_reader;
using test::drain;
using test::joined;
using test::noise;

namespace {

std::vector<std::byte> pack(const std::vector<std::byte>& content, bool checksum = false) {
  LZ4F_preferences_t how{};
  how.frameInfo.contentChecksumFlag = checksum ? LZ4F_contentChecksumEnabled : LZ4F_noContentChecksum;
  std::vector<std::byte> packed(LZ4F_compressFrameBound(content.size(), &how));
  const std::size_t size = LZ4F_compressFrame(packed.data(), packed.size(), content.data(), content.size(), &how);
  REQUIRE(LZ4F_isError(size) == 0);
  packed.resize(size);
  return packed;
}

}  // namespace

TEST_CASE("LZ4 gives back what was packed, in pieces of any size, and then nothing") {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{4096}, std::size_t{65536}, std::size_t{70000}}) {
    const auto content = noise(size);
    const auto packed = pack(content);
    for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, std::size_t{4096}, size + 1}) {
      const auto got = drain(lz4_reader(packed), piece);
      REQUIRE(got);
      CHECK((*got == content));
    }
    lz4_reader reader(packed);
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

TEST_CASE("frames of an LZ4 file follow one another, empty ones too") {
  const auto first = noise(5000), second = noise(3000, 6);
  const auto three = joined(joined(pack(first), pack({})), pack(second));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{5000}, std::size_t{8000}, std::size_t{9000}}) {
    const auto got = drain(lz4_reader(three), piece);
    REQUIRE(got);
    CHECK((*got == joined(first, second)));
  }
}

TEST_CASE("an LZ4 file that is cut is truncated at its end, with what came before") {
  const auto content = noise(3000);
  const auto packed = pack(content, true);
  for (std::size_t size = 1; size < packed.size(); ++size) {
    CAPTURE(size);
    const auto part = test::first_bytes(packed, size);
    const auto got = drain(lz4_reader(part), 700);
    CHECK(got.error() == trace_error{errc::truncated, size});
    CHECK(test::begins(content, got.partial()));
  }
}

TEST_CASE("damage of an LZ4 file is an error where it cannot be read on") {
  const auto content = noise(3000);
  auto packed = pack(content, true);
  packed.back() ^= std::byte{1};
  const auto sum = drain(lz4_reader(packed));
  CHECK(sum.error().code == errc::bad_value);
  CHECK(test::begins(content, sum.partial()));
  // Behind a frame, what is none is refused at its beginning.
  const auto frame = pack(content);
  const auto got = drain(lz4_reader(joined(frame, noise(100))));
  CHECK(got.error() == trace_error{errc::bad_value, frame.size()});
  CHECK((got.partial() == content));
  // An error is given again by each further read.
  lz4_reader reader(packed);
  std::vector<std::byte> room(9000);
  const auto first = reader.read(room), again = reader.read(room);
  CHECK(first.error().code == errc::bad_value);
  CHECK(again.partial() == 0);
  CHECK(again.error() == first.error());
}

TEST_CASE("LZ4 unfolds as much as its limit allows and no more, whatever the size of the pieces") {
  const std::vector<std::byte> zeros(100000);
  const auto packed = pack(zeros);
  REQUIRE(packed.size() < 1000);
  for (const std::size_t piece : {std::size_t{4096}, std::size_t{100000}, std::size_t{200000}}) {
    CAPTURE(piece);
    const auto code = [&](io::expansion_limit limit) { return drain(lz4_reader(packed, limit), piece).error().code; };
    CHECK(code({.bytes = 100000}) == errc::ok);
    CHECK(code({.bytes = 99999}) == errc::expansion);
    CHECK(code({.ratio = 1, .free_bytes = 100000}) == errc::ok);
    CHECK(code({.ratio = 1, .free_bytes = 99999}) == errc::expansion);
    CHECK(code({.ratio = 100000 / packed.size() / 2, .free_bytes = 0}) == errc::expansion);
  }
  CHECK(drain(lz4_reader(packed, {.bytes = 10000}), 4096).partial().size() <= 10000 + 4096);
  const auto twice = joined(packed, packed);
  CHECK(drain(lz4_reader(twice, {.bytes = 200000}))->size() == 200000);
  CHECK(drain(lz4_reader(twice, {.bytes = 199999})).error().code == errc::expansion);
}
