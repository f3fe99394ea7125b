// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "trace_builder.hpp"

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;
using test::data_path;
using test::drain;
using test::read_file;
using test::unpack;

namespace {

std::vector<std::byte> packed(const std::string& name) { return read_file(data_path("memtrace/" + name)); }

const std::vector<std::string> files{
    "single/drmemtrace.single.10508.3099.trace.gz",    "single/drmemtrace.single.10508.3099.trace.lz4",
    "single/drmemtrace.single.10508.3099.trace.zip",   "rawz/zlib/drmemtrace.single.19205.4240.raw.zlib",
    "rawz/snappy/drmemtrace.single.19318.1957.raw.sz", "rawz/snappy_nocrc/drmemtrace.single.19435.3514.raw.sz",
    "legacy/drmemtrace.allasm_x86_64.trace.zip"};

/// A zip archive of one member with that content.
std::vector<std::byte> zip_of(const std::vector<std::byte>& content) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* const archive = zip_source_buffer_create(nullptr, 0, 0, &error);
  REQUIRE(archive != nullptr);
  zip_source_keep(archive);
  zip_t* const zip = zip_open_from_source(archive, ZIP_TRUNCATE, &error);
  REQUIRE(zip != nullptr);
  REQUIRE(zip_file_add(zip, "chunk.00000000", zip_source_buffer(zip, content.data(), content.size(), 0), 0) >= 0);
  REQUIRE(zip_close(zip) == 0);
  REQUIRE(zip_source_open(archive) == 0);
  std::vector<std::byte> bytes(1 << 16);
  const zip_int64_t size = zip_source_read(archive, bytes.data(), bytes.size());
  REQUIRE(size > 0);
  bytes.resize(static_cast<std::size_t>(size));
  zip_source_close(archive);
  zip_source_free(archive);
  return bytes;
}

}  // namespace

TEST_CASE("the packing of a file is told from its first bytes") {
  using enum io::container;
  const std::vector<io::container> kinds{gzip, lz4, zip, zlib, snappy, snappy, zip};
  for (std::size_t i = 0; i < files.size(); ++i) CHECK(io::container_of(packed(files[i])) == kinds[i]);
  CHECK(io::container_of({}) == plain);
  CHECK(io::container_of(bytes<0x78, 0x00>) == plain);
  CHECK(io::container_of(packed("legacy/drmemtrace.small.x64.trace")) == plain);
}

TEST_CASE("the same trace comes out of gzip and LZ4, whatever the size of the pieces") {
  const auto gzip = unpack(packed(files[0]));
  REQUIRE(gzip);
  CHECK(gzip->size() == 570564);
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{65536}, std::size_t{1} << 20}) {
    CHECK(*unpack(packed(files[0]), piece) == *gzip);
    CHECK(*unpack(packed(files[1]), piece) == *gzip);
    CHECK(unpack(packed(files[2]), piece)->size() == 574080);
  }
}

TEST_CASE("several gzip members and several LZ4 frames follow one another") {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    auto twice = packed(files[i]);
    const auto once = *unpack(twice);
    twice.insert(twice.end(), twice.begin(), twice.begin() + static_cast<std::ptrdiff_t>(packed(files[i]).size()));
    const auto both = unpack(twice);
    REQUIRE(both);
    REQUIRE(both->size() == 2 * once.size());
    CHECK(std::equal(once.begin(), once.end(), both->begin() + static_cast<std::ptrdiff_t>(once.size())));
  }
}

TEST_CASE("the members of a zip archive have names, sizes and places, and each can be read alone") {
  const auto bytes_of = packed(files[6]);
  const auto archive = io::zip_archive::open(bytes_of);
  REQUIRE(archive);
  REQUIRE(archive->members().size() == 7);
  CHECK(archive->members()[0].name == "chunk.0000");
  CHECK(archive->members()[0].size == 636);
  CHECK(archive->members()[2].offset == 636 + 600);
  const auto all = *drain(archive->read_from(0));
  for (std::size_t i = 0; i < 7; ++i) {
    const auto alone = drain(archive->read_from(i, 1));
    REQUIRE(alone);
    REQUIRE(alone->size() == archive->members()[i].size);
    CHECK(std::equal(alone->begin(), alone->end(),
                     all.begin() + static_cast<std::ptrdiff_t>(archive->members()[i].offset)));
  }
}

TEST_CASE("truncated files give an error and what came before it") {
  for (const std::string& name : files) {
    CAPTURE(name);
    const auto whole = packed(name);
    const auto good = *unpack(whole);
    std::size_t step = whole.size() / 150 + 1;
    for (std::size_t size = 16; size < whole.size(); size += step) {
      const std::vector<std::byte> part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const auto got = unpack(part);
      // The snappy framing has no end: a file cut between two chunks is a whole one.
      if (io::container_of(whole) != io::container::snappy) CHECK_FALSE(got);
      REQUIRE(got.partial().size() <= good.size());
      CHECK(std::equal(got.partial().begin(), got.partial().end(), good.begin()));
    }
  }
}

TEST_CASE("random damage ends cleanly in every packing") {
  std::mt19937_64 random(11);
  for (const std::string& name : files) {
    const auto whole = packed(name);
    std::size_t errors = 0;
    for (int i = 0; i < 300; ++i) {
      auto bytes_of = whole;
      for (int k = 0; k < 3; ++k) bytes_of[random() % bytes_of.size()] ^= static_cast<std::byte>(1U << random() % 8);
      errors += !unpack(bytes_of).has_value();
    }
    CAPTURE(name);
    CHECK(errors > 0);
  }
}

TEST_CASE("wrong checksums are told apart") {
  auto gzip = packed(files[0]);
  gzip[gzip.size() - 6] ^= std::byte{1};
  CHECK(unpack(gzip).error().code == errc::checksum);
  auto snappy = packed(files[4]);
  snappy[14] ^= std::byte{1};
  CHECK(unpack(snappy).error() == trace_error{errc::checksum, 10});
}

TEST_CASE("bombs give an error before they unfold") {
  const std::vector<std::byte> zeros(8 << 20);
  const auto zip = zip_of(zeros);
  const io::expansion_limit small{.ratio = 500, .free_bytes = 1 << 20};
  CHECK(io::zip_archive::open(zip, small).error().code == errc::expansion);
  CHECK(io::zip_archive::open(zip));
  std::vector<std::byte> gzip(1 << 16);
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(zeros.data()));
  stream.avail_in = static_cast<uInt>(zeros.size());
  stream.next_out = reinterpret_cast<Bytef*>(gzip.data());
  stream.avail_out = static_cast<uInt>(gzip.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  gzip.resize(gzip.size() - stream.avail_out);
  deflateEnd(&stream);
  CHECK(drain(io::inflate_reader(gzip, small)).error().code == errc::expansion);
  CHECK(drain(io::inflate_reader(gzip, {.bytes = 1000})).error().code == errc::expansion);
  CHECK(drain(io::inflate_reader(gzip))->size() == zeros.size());
}

TEST_CASE("snappy chunks that are too large, of unknown type or before the start are errors") {
  const auto start = [] {
    test::byte_builder built;
    built.u8(0xff).u8(6).u8(0).u8(0).text("sNaPpY");
    return built;
  };
  CHECK(drain(io::snappy_reader(start().u8(0x03).u8(2).u8(0).u8(0).text("ab").view()))->size() == 2);
  CHECK(drain(io::snappy_reader(start().u8(0x80).u8(2).u8(0).u8(0).text("ab").view()))->empty());
  CHECK(drain(io::snappy_reader(start().u8(0x7f).u8(0).u8(0).u8(0).view())).error() ==
        trace_error{errc::unsupported_type, 10});
  CHECK(drain(io::snappy_reader(start().u8(0x02).u8(5).u8(0).u8(0).u8(0xff).u8(0xff).u8(0xff).u8(0x7f).u8(0).view()))
            .error() == trace_error{errc::bad_size, 10});
  CHECK(drain(io::snappy_reader(bytes<3, 1, 0, 0, 'a'>)).error() == trace_error{errc::bad_magic, 0});
}
