// SPDX-License-Identifier: Apache-2.0
// Stands for io/zstd_records.hpp
#include <backsight/io/zstd_records.hpp>

#include <support/catch.hpp>

#include "perf_builder.hpp"

using namespace backsight;
using namespace backsight::perf;
using test::byte_builder;
using test::record_bytes;

namespace {

constexpr std::uint64_t timed = mask_of(sample_field::time);

std::vector<std::byte> sample_at(std::uint64_t time) {
  return record_bytes(order::little, 9, 0, byte_builder().u64(time));
}

/// Packs pieces as perf does: one stream, flushed after each piece and never ended.
class packer {
 public:
  std::vector<std::byte> add(byte_view piece) {
    std::vector<std::byte> out(ZSTD_compressBound(piece.size()) + 64);
    ZSTD_inBuffer from{piece.data(), piece.size(), 0};
    ZSTD_outBuffer to{out.data(), out.size(), 0};
    while (from.pos != from.size) ZSTD_compressStream(stream_, &to, &from);
    REQUIRE(ZSTD_flushStream(stream_, &to) == 0);
    out.resize(to.pos);
    return out;
  }
  packer() { ZSTD_initCStream(stream_, 1); }
  ~packer() { ZSTD_freeCStream(stream_); }
  packer(const packer&) = delete;
  packer& operator=(const packer&) = delete;

 private:
  ZSTD_CStream* stream_ = ZSTD_createCStream();
};

std::vector<std::byte> compressed(byte_view data) {
  return record_bytes(order::little, 81, 0, byte_builder().append(data));
}
std::vector<std::byte> compressed2(byte_view data) {
  const std::size_t padding = (8 - data.size() % 8) % 8;
  return record_bytes(order::little, 83, 0, byte_builder().u64(data.size()).append(data).fill(padding));
}

struct seen {
  std::vector<std::uint64_t> times;
  std::vector<fault> faults;
};

seen unfold(const std::vector<std::byte>& records, io::expansion_limit limit = {}) {
  const auto bytes = test::file_bytes(order::little, {test::attribute_bytes(order::little, timed)}, records);
  const auto opened = perf::open(bytes);
  REQUIRE(opened);
  seen found;
  io::for_each_unfolded(
      *opened, {}, [&](const merged_record& item) { found.times.push_back(item.time); },
      [&](const fault& one) { found.faults.push_back(one); }, limit);
  return found;
}

using times = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("records inside of compressed ones come out, wherever they are cut") {
  const auto plain = test::joined({sample_at(3), sample_at(1), sample_at(2)});
  for (std::size_t cut = 0; cut <= plain.size(); ++cut) {
    for (const bool second : {false, true}) {
      packer pack;
      const auto a = pack.add(byte_view(plain).first(cut)), b = pack.add(byte_view(plain).subspan(cut));
      const auto found = second ? unfold(test::joined({compressed2(a), compressed2(b), sample_at(9)}))
                                : unfold(test::joined({compressed(a), compressed(b), sample_at(9)}));
      CHECK(found.times == times{1, 2, 3, 9});
      CHECK(found.faults.empty());
    }
  }
}

TEST_CASE("a record that unfolds to more than a block comes out whole") {
  std::vector<std::vector<std::byte>> samples;
  for (std::uint64_t i = 1; i <= 100000; ++i) samples.push_back(sample_at(i));
  packer pack;
  // A size of 0, as if it had wrapped: the data says how much it is.
  const auto packed = pack.add(test::joined(samples));
  const auto found = unfold(byte_builder().u32(83).u16(0).u16(0).u64(packed.size()).append(packed).vector());
  CHECK(found.faults.empty());
  CHECK(found.times.size() == 100000);
}

TEST_CASE("the pieces of a compressed2 record whose size wrapped are joined") {
  // Data that does not shrink: 100,000 bytes of it are two pieces.
  std::vector<std::vector<std::byte>> samples;
  std::uint64_t state = 1;
  for (int i = 0; i < 200; ++i) {
    byte_builder body;
    body.u64(static_cast<std::uint64_t>(i) + 1);
    for (int word = 0; word < 60; ++word) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      body.u64(state ^ state >> 29);
    }
    samples.push_back(record_bytes(order::little, 9, 0, body));
  }
  packer pack;
  const auto packed = pack.add(test::joined(samples));
  constexpr std::size_t full = 65535 - 16;
  REQUIRE(packed.size() > full);
  const std::size_t rest = packed.size() - full;
  byte_builder out;
  out.u32(83).u16(0).u16((packed.size() + 16 + 7) / 8 * 8 % 65536).u64(packed.size() + 16);
  out.append(byte_view(packed).first(full))
      .u32(83)
      .u16(0)
      .u16(rest + 16)
      .u64(0)
      .append(byte_view(packed).subspan(full));
  const auto found = unfold(test::joined({out.vector(), sample_at(500)}));
  CHECK(found.times.size() == 201);
  CHECK(found.faults.empty());
}

TEST_CASE("damage to the stream is told once, and what is behind it in the open is still read") {
  packer pack;
  auto a = pack.add(sample_at(1)), b = pack.add(sample_at(2));
  a[0] = std::byte{0};
  const auto found = unfold(test::joined({sample_at(7), compressed(a), compressed(b), sample_at(8)}));
  REQUIRE(found.faults.size() == 1);
  CHECK(found.faults[0].code == errc::bad_value);
  CHECK(found.times == times{0, 7, 8});
}

TEST_CASE("a record that never ends is an error at the last compressed record") {
  packer pack;
  const auto part = sample_at(1);
  const auto found = unfold(compressed(pack.add(byte_view(part).first(12))));
  REQUIRE(found.faults.size() == 1);
  CHECK(found.faults[0].code == errc::truncated);
}

TEST_CASE("bytes that unfold to more than is allowed are an error") {
  packer pack;
  const auto many = record_bytes(order::little, 90, 0, byte_builder().fill(60000));
  const auto found = unfold(compressed(pack.add(many)), {.ratio = 10, .free_bytes = 100});
  REQUIRE(found.faults.size() == 1);
  CHECK(found.faults[0].code == errc::expansion);
}

TEST_CASE("a record inside that says more stands behind it than a record holds is an error") {
  packer pack;
  byte_builder inner;
  inner.append(record_bytes(order::little, 71, 0, byte_builder().u64(1U << 30).fill(32))).fill(66000);
  const auto found = unfold(compressed(pack.add(inner.view())));
  REQUIRE(found.faults.size() == 1);
  CHECK(found.faults[0].code == errc::truncated);
}
