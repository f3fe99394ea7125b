// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/xz.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <support/catch.hpp>

#include "packed.hpp"

using namespace backsight;

namespace {

std::vector<std::byte> pack(const std::vector<std::byte>& bytes) {
  std::vector<std::byte> out(lzma_stream_buffer_bound(bytes.size()));
  std::size_t size = 0;
  REQUIRE(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                  bytes.size(), reinterpret_cast<std::uint8_t*>(out.data()), &size,
                                  out.size()) == LZMA_OK);
  out.resize(size);
  return out;
}

}  // namespace

TEST_CASE("what was packed by xz is unpacked, several streams too") {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{1000}, (std::size_t{1} << 18) - 1,
                                 std::size_t{1} << 18, std::size_t{700000}}) {
    const auto content = test::noise(size);
    const auto packed = pack(content);
    const auto one = io::unpack_xz(packed);
    REQUIRE(one);
    CHECK(*one == content);
    const auto two = io::unpack_xz(test::joined(packed, packed));
    REQUIRE(two);
    CHECK(*two == test::joined(content, content));
  }
}

TEST_CASE("an xz file that is cut is truncated at its end, wherever it is cut") {
  const auto packed = pack(test::noise(3000));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    const auto cut = io::unpack_xz(byte_view(packed).first(size));
    CHECK(cut.error() == trace_error{errc::truncated, size});
  }
}

TEST_CASE("damage of an xz file and what is none are told with their place") {
  const auto content = test::noise(3000);
  const auto packed = pack(content);
  std::size_t told = 0, same = 0;
  for (std::size_t i = 0; i < packed.size(); ++i) {
    auto damaged = packed;
    damaged[i] ^= std::byte{0x55};
    const auto out = io::unpack_xz(damaged);
    if (out) same += *out == content;
    else
      told += out.error().offset <= packed.size() &&
              (out.error().code == errc::bad_value || out.error().code == errc::truncated);
  }
  CHECK(told + same == packed.size());
  CHECK(told > packed.size() * 9 / 10);
  CHECK(io::unpack_xz(std::vector<std::byte>(100)).error().code == errc::bad_value);
  CHECK(io::unpack_xz(test::joined(packed, std::vector<std::byte>(64, std::byte{1}))).error().code == errc::bad_value);
}

TEST_CASE("an xz file that unpacks to more than is allowed is refused") {
  const auto packed = pack(std::vector<std::byte>(std::size_t{4} << 20));
  CHECK(io::unpack_xz(packed));
  CHECK(io::unpack_xz(packed, {.ratio = 100, .free_bytes = 1000}).error().code == errc::expansion);
  CHECK(io::unpack_xz(packed, {.bytes = 1 << 20}).error().code == errc::expansion);
}
