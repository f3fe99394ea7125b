// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/packed_file.hpp>

#include <array>
#include <cstdint>
#include <utility>

#include <backsight/io/inflate.hpp>
#include <backsight/io/lz4_frame.hpp>
#include <backsight/io/snappy_frame.hpp>
#include <backsight/io/zip.hpp>

#include <support/catch.hpp>

#include "packed.hpp"
#include "zip_builder.hpp"

using namespace backsight;
using io::container;
using test::drain;
using test::noise;

namespace {

using any_packing =
    io::packed_file<io::inflate_reader, io::lz4_reader, io::snappy_reader, io::zip_reader, io::plain_reader>;
static_assert(io::packing_reader<io::inflate_reader> && io::packing_reader<io::lz4_reader> &&
              io::packing_reader<io::snappy_reader> && io::packing_reader<io::zip_reader>);

std::vector<std::byte> zlib_of(const std::vector<std::byte>& content) {
  uLongf size = ::compressBound(static_cast<uLong>(content.size()));
  std::vector<std::byte> packed(size);
  REQUIRE(::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(content.data()),
                     static_cast<uLong>(content.size())) == Z_OK);
  packed.resize(size);
  return packed;
}
std::vector<std::byte> lz4_of(const std::vector<std::byte>& content) {
  std::vector<std::byte> packed(LZ4F_compressFrameBound(content.size(), nullptr));
  packed.resize(LZ4F_compressFrame(packed.data(), packed.size(), content.data(), content.size(), nullptr));
  return packed;
}

}  // namespace

TEST_CASE("a file gives its bytes, whatever its packing is") {
  const auto content = noise(100'000);
  const std::pair<container, std::vector<std::byte>> files[]{{container::plain, content},
                                                             {container::zlib, zlib_of(content)},
                                                             {container::lz4, lz4_of(content)},
                                                             {container::zip, test::zip_of({content})}};
  for (const auto& [kind, bytes] : files) {
    CAPTURE(enumerator_name(kind));
    any_packing file(bytes);
    CHECK(file.kind() == kind);
    CHECK(file.readable());
    any_packing moved = std::move(file);
    const auto got = drain(std::move(moved), 1000);
    REQUIRE(got);
    CHECK((*got == content));
  }
  any_packing empty({});
  CHECK(empty.kind() == container::plain);
  CHECK(drain(std::move(empty), 10)->empty());
}

TEST_CASE("a packing without a reader is told, not read as if it were plain") {
  const auto packed = zlib_of(noise(100));
  io::packed_file<io::lz4_reader, io::plain_reader> file(packed);
  CHECK(file.kind() == container::zlib);
  CHECK_FALSE(file.readable());
  std::array<std::byte, 16> room{};
  CHECK(file.read(room).error() == trace_error{errc::compressed, 0});
  CHECK(file.read(room).partial() == 0);
}

TEST_CASE("what is no archive although it begins as one gives its error at each read") {
  auto archive = test::zip_of({noise(1000)});
  archive.resize(archive.size() / 2);
  any_packing file(archive);
  CHECK(file.kind() == container::zip);
  std::array<std::byte, 16> room{};
  for (int i = 0; i < 2; ++i) CHECK(file.read(room).error() == trace_error{errc::bad_value, 0});
}

TEST_CASE("a limit of expansion counts for every packing") {
  const std::vector<std::byte> zeros(1'000'000);
  for (const auto& bytes : {zlib_of(zeros), lz4_of(zeros), test::zip_of({zeros})}) {
    const auto got = drain(any_packing(bytes, {.ratio = 2, .free_bytes = 1000}), 4096);
    CHECK(got.error().code == errc::expansion);
  }
}

TEST_CASE("blocks hold all bytes in order, and errors have their offset in all of them") {
  const auto content = noise(2500);
  std::vector<std::byte> buffer(1000), all;
  std::vector<std::uint64_t> offsets;
  io::plain_reader reader(content);
  CHECK_FALSE(io::for_each_block(reader, buffer, [&](byte_view block, std::uint64_t offset) {
    offsets.push_back(offset);
    all.insert(all.end(), block.begin(), block.end());
    return trace_error{};
  }));
  CHECK((all == content));
  CHECK(offsets == std::vector<std::uint64_t>{0, 1000, 2000});
  io::plain_reader again(content);
  CHECK(io::for_each_block(again, buffer, [](byte_view, std::uint64_t offset) {
          return offset == 1000 ? trace_error{errc::bad_value, 7} : trace_error{};
        }) == trace_error{errc::bad_value, 1007});
  io::plain_reader whole(byte_view(content).first(2000));
  int blocks = 0;
  CHECK_FALSE(io::for_each_block(whole, buffer, [&](byte_view, std::uint64_t) { return ++blocks, trace_error{}; }));
  CHECK(blocks == 2);
}

TEST_CASE("that the packed file is cut comes before the cut record that follows from it") {
  const auto content = noise(5000);
  auto packed = zlib_of(content);
  packed.resize(packed.size() - 100);
  std::vector<std::byte> buffer(10'000);
  const auto error_with = [&](trace_error of_block) {
    any_packing file(packed);
    return io::for_each_block(file, buffer, [&](byte_view, std::uint64_t) { return of_block; });
  };
  CHECK(error_with({}) == trace_error{errc::truncated, packed.size()});
  CHECK(error_with({errc::truncated, 3}) == trace_error{errc::truncated, packed.size()});
  CHECK(error_with({errc::bad_value, 3}) == trace_error{errc::bad_value, 3});
}
