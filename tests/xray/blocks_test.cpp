// SPDX-License-Identifier: Apache-2.0
#include <backsight/xray/blocks.hpp>

#include <algorithm>
#include <ranges>
#include <tuple>
#include <vector>

#include <support/catch.hpp>
#include <support/xray_builder.hpp>

using namespace backsight;
using namespace backsight::xray;
using test::xray_builder;

static_assert(std::ranges::forward_range<fdr_blocks<order::little>>);
static_assert(std::ranges::view<fdr_blocks<order::big>>);
static_assert(std::ranges::borrowed_range<fdr_blocks<order::big>>);
static_assert(std::is_trivially_copyable_v<block>);

namespace {

/// Offset, size, bytes skipped before and bytes missing of each block, and the error at the end.
struct found_blocks {
  std::vector<std::tuple<std::uint64_t, std::size_t, std::uint64_t, std::uint64_t>> blocks;
  trace_error error;
};

found_blocks find(byte_view file) {
  const auto opened = xray::open(file);
  REQUIRE(opened);
  return with_order(opened->byte_order(), [&](auto o) {
    found_blocks found;
    const fdr_blocks<o()> blocks(*opened);
    auto it = blocks.begin();
    for (; it != blocks.end(); ++it) found.blocks.emplace_back(it->offset, it->bytes.size(), it->skipped, it->missing);
    found.error = it.error();
    return found;
  });
}
found_blocks find(const xray_builder& file) { return find(file.view()); }

xray_builder good(order o, unsigned version) {
  return xray_builder(o, version).preamble(11, 10, 1, 2).cpu(7, 1000).function(0, 1, 1).function(1, 1, 4);
}
using list = decltype(found_blocks::blocks);

}  // namespace

TEST_CASE("version 1 has a buffer at every multiple of the buffer size") {
  for (const order o : {order::little, order::big}) {
    auto file = xray_builder(o, 1).header(512);
    for (int i = 0; i < 3; ++i) file.block(good(o, 1), 512, 0x0f);
    CHECK(find(file).blocks == list{{32, 512, 0, 0}, {544, 512, 0, 0}, {1056, 512, 0, 0}});
    CHECK_FALSE(find(file).error);
    // The last buffer may be cut short.
    CHECK(find(file.view().first(1100)).blocks == list{{32, 512, 0, 0}, {544, 512, 0, 0}, {1056, 44, 0, 0}});
  }
}

TEST_CASE("version 1 without a usable buffer size is read up to each EndOfBuffer or NewBuffer") {
  for (const order o : {order::little, order::big}) {
    auto file = xray_builder(o, 1).header(0);
    const std::size_t size = good(o, 1).size() + 16;
    file.block(good(o, 1), size).block(good(o, 1), size);
    const auto found = find(file);
    CHECK(found.blocks == list{{32, size, 0, 0}, {32 + size, size, 0, 0}});
    CHECK_FALSE(found.error);
  }
}

TEST_CASE("later versions have the blocks that their BufferExtents count") {
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 2; version <= 5; ++version) {
      auto file = xray_builder(o, version).header();
      const std::size_t size = good(o, version).size() + 16;
      file.block(good(o, version)).block(good(o, version));
      CHECK(find(file).blocks == list{{32, size, 0, 0}, {32 + size, size, 0, 0}});
      CHECK_FALSE(find(file).error);
    }
  }
}

TEST_CASE("rubbish between blocks is skipped and counted") {
  for (const order o : {order::little, order::big}) {
    auto file = xray_builder(o).header().block(good(o, 5)).fill(41).fill(3, 0xff).block(good(o, 5));
    const std::size_t size = good(o, 5).size() + 16;
    CHECK(find(file).blocks == list{{32, size, 0, 0}, {32 + size + 44, size, 44, 0}});
  }
}

TEST_CASE("a BufferExtents of zero is a block of its own") {
  for (const order o : {order::little, order::big}) {
    const auto file = xray_builder(o).header().extents(0).block(good(o, 5)).extents(0).block(good(o, 5));
    const std::size_t size = good(o, 5).size() + 16;
    CHECK(find(file).blocks == list{{32, 16, 0, 0}, {48, size, 0, 0}, {48 + size, 16, 0, 0}, {64 + size, size, 0, 0}});
    CHECK_FALSE(find(file).error);
  }
}

TEST_CASE("bytes behind the last block that begin none are reported") {
  for (const order o : {order::little, order::big}) {
    const std::size_t end = 32 + 16 + good(o, 5).size();
    CHECK(find(xray_builder(o).header().block(good(o, 5)).fill(9)).error == trace_error{errc::trailing_bytes, end});
    const auto half = xray_builder(o).header().block(good(o, 5)).extents(5);
    CHECK(find(half.view().first(end + 7)).error == trace_error{errc::truncated, end});
    CHECK(find(half.view().first(end + 7)).blocks.size() == 1);
  }
}

TEST_CASE("a count beyond the end of the log gives what is there, and how much is missing") {
  for (const order o : {order::little, order::big}) {
    const std::size_t size = good(o, 5).size();
    const auto file = xray_builder(o).header().extents(size + 24).append(good(o, 5).view());
    CHECK(find(file).blocks == list{{32, size + 16, 0, 24}});
    const auto huge = xray_builder(o).header().extents(~std::uint64_t{0}).append(good(o, 5).view());
    CHECK(find(huge).blocks == list{{32, size + 16, 0, ~std::uint64_t{0} - size}});
  }
}

TEST_CASE("a block without BufferExtents ends where the next one begins") {
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 2; version <= 5; ++version) {
      const auto body = good(o, version);
      const std::size_t size = body.size();
      const auto file = xray_builder(o, version).header().append(body.view()).append(body.view()).block(body);
      CHECK(find(file).blocks == list{{32, size, 0, 0}, {32 + size, size, 0, 0}, {32 + 2 * size, size + 16, 0, 0}});
      CHECK_FALSE(find(file).error);
    }
  }
}

TEST_CASE("a log of nothing but a header has no blocks and no error") {
  for (unsigned version = 1; version <= 5; ++version) {
    CHECK(find(xray_builder(order::big, version).header()).blocks.empty());
    CHECK_FALSE(find(xray_builder(order::little, version).header()).error);
  }
}

TEST_CASE("typed events that the recorder forgot to count leave a block cut off and the next one intact") {
  for (const order o : {order::little, order::big}) {
    const auto body = xray_builder(o).preamble().cpu(0, 1).function(0, 1, 1).typed("typed", 3, 1).function(1, 1, 1);
    // The recorder counts a typed event without its own 16 bytes, and writes no more than it counts.
    const std::size_t counted = body.size() - 16;
    const auto file = xray_builder(o).header().extents(counted).append(body.view().first(counted)).block(good(o, 5));
    const auto found = find(file);
    REQUIRE(found.blocks.size() == 2);
    CHECK(std::get<0>(found.blocks[1]) == 32 + 16 + counted);
    const auto opened = xray::open(file.view());
    with_order(o, [&](auto byte_order) {
      const auto first = *fdr_blocks<byte_order()>(*opened).begin();
      std::size_t count = 0;
      const auto error = for_each(first.template records<byte_order()>(5), [&](const auto&) { ++count; });
      CHECK(count == 6);
      CHECK(error == trace_error{errc::truncated, 48 + 64 + 8});
    });
  }
}

TEST_CASE("a block's first records tell whose it is and when it was begun") {
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 1; version <= 5; ++version) {
      auto file = xray_builder(o, version).header(512).block(good(o, version), 512);
      const auto opened = xray::open(file.view());
      with_order(o, [&](auto byte_order) {
        const auto info = read_block_info<byte_order()>(*fdr_blocks<byte_order()>(*opened).begin(), opened->version());
        CHECK(info.complete);
        CHECK(info.thread_id == 11);
        CHECK(info.process_id == (version == 1 ? 0 : version == 2 ? 11 : 10));
        CHECK(info.seconds == 1);
        CHECK(info.microseconds == 2);
        CHECK(info.cpu_id == 7);
        CHECK(info.first_tsc == 1000);
      });
    }
  }
}

TEST_CASE("a block that is cut off tells what its records tell") {
  const auto file = xray_builder(order::little).header().block(good(order::little, 5));
  for (std::size_t size = 48; size < 32 + 16 + 64; ++size) {
    const auto opened = xray::open(file.view().first(size));
    const auto info = read_block_info<order::little>(*fdr_blocks<order::little>(*opened).begin(), 5);
    CHECK_FALSE(info.complete);
    CHECK(info.thread_id == (size >= 64 ? 11 : 0));
    CHECK(info.seconds == (size >= 80 ? 1U : 0U));
    CHECK(info.process_id == (size >= 96 ? 10 : 0));
  }
}

TEST_CASE("a buffer size of one record is one that can be used, a smaller one is none") {
  for (const order o : {order::little, order::big}) {
    const auto body = good(o, 1);
    const std::size_t size = body.size() + 16;
    for (const std::uint64_t declared : {std::uint64_t{15}, std::uint64_t{16}, std::uint64_t{17}}) {
      auto file = xray_builder(o, 1).header(declared).append(body.view()).end_of_buffer();
      list wanted;
      if (declared < 16) wanted = {{32, size, 0, 0}};
      for (std::size_t at = 0; declared >= 16 && at < size; at += declared) {
        wanted.emplace_back(32 + at, std::min<std::size_t>(declared, size - at), 0, 0);
      }
      CHECK(find(file).blocks == wanted);
    }
  }
}

TEST_CASE("rubbish behind the last block is reported from its first byte, whatever a part of it looks like") {
  for (const order o : {order::little, order::big}) {
    const std::size_t end = 32 + 16 + good(o, 5).size();
    // What would be the head of a block, were there more behind it.
    const auto file = xray_builder(o).header().block(good(o, 5)).fill(5).extents(64);
    for (std::size_t size = end + 1; size <= file.size(); ++size) {
      CAPTURE(size);
      CHECK(find(file.view().first(size)).error == trace_error{errc::trailing_bytes, end});
    }
    // A NewBuffer or BufferExtents right behind the block, whole and cut.
    for (const bool extents : {false, true}) {
      const auto half = extents ? xray_builder(o).header().block(good(o, 5)).extents(5)
                                : xray_builder(o).header().block(good(o, 5)).new_buffer(1);
      for (std::size_t size = end + 1; size < end + 16; ++size) {
        CHECK(find(half.view().first(size)).error == trace_error{errc::truncated, end});
        CHECK(find(half.view().first(size)).blocks.size() == 1);
      }
      CHECK_FALSE(find(half.view().first(end + 16)).error);
      CHECK(find(half.view().first(end + 16)).blocks.size() == 2);
    }
  }
}
