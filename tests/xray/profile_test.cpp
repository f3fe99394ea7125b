// SPDX-License-Identifier: Apache-2.0
// Stands for xray/profile_schema.hpp
#include <string>
#include <vector>

#include <backsight/xray/profile.hpp>

#include <support/catch.hpp>
#include <support/xray_profile_builder.hpp>

using namespace backsight;
using test::xray_profile_builder;

namespace {

/// A path as text, the outermost function first, and its sums.
std::string text_of(const xray::profile_path& path) {
  std::string text = std::to_string(path.thread) + ":";
  for (std::size_t level = path.size(); level-- != 0;) text += " " + std::to_string(path.function(level));
  return text + " x" + std::to_string(path.calls) + " =" + std::to_string(path.self_ticks) + " @" +
         std::to_string(path.offset);
}

struct walked {
  std::vector<std::string> paths;
  std::vector<fault> faults;

  explicit walked(byte_view bytes) {
    const auto opened = xray::open_profile(bytes);
    REQUIRE(opened);
    xray::for_each_path(
        *opened, [&](const xray::profile_path& path) { paths.push_back(text_of(path)); },
        [&](const fault& f) { faults.push_back(f); });
  }
};

xray_profile_builder sample(order o) {
  return xray_profile_builder(o)
      .header(1700000000000000000, 4711)
      .block(7, {{{1}, 1, 100}, {{2, 1}, 20, 3000}, {{3, 2, 1}, 400, 50000}})
      .block(8, {{{0x0fffffff, 1}, 0xffffffffffff, 0xfffffffffffffff0}});
}

constexpr std::size_t header_size = 32, block_size = 16;

}  // namespace

TEST_CASE("a profile of either byte order gives its paths, the innermost function first") {
  for (const order o : {order::little, order::big}) {
    const auto file = sample(o);
    const auto opened = xray::open_profile(file.view());
    REQUIRE(opened);
    CHECK(opened->byte_order() == o);
    CHECK(opened->timestamp_ns() == 1700000000000000000);
    CHECK(opened->process() == 4711);
    const walked all(file.view());
    CHECK(all.paths == std::vector<std::string>{"7: 1 x1 =100 @48", "7: 1 2 x20 =3000 @72", "7: 1 2 3 x400 =50000 @100",
                                                "8: 1 268435455 x281474976710655 =18446744073709551600 @148"});
    CHECK(all.faults.empty());
  }
}

TEST_CASE("a profile of nothing but a header is an empty one") {
  const auto file = xray_profile_builder(order::little).header(1, 2);
  const walked all(file.view());
  CHECK(all.paths.empty());
  CHECK(all.faults.empty());
  // So is a block without paths.
  const auto empty = xray_profile_builder(order::little).header(1, 2).block(3, {});
  CHECK(walked(empty.view()).paths.empty());
  CHECK(walked(empty.view()).faults.empty());
}

TEST_CASE("what is no profile, or of another version, is said where it is") {
  const auto file = sample(order::little);
  for (std::size_t size = 0; size < header_size; ++size) {
    CHECK(xray::open_profile(file.view().first(size)).error() == trace_error{errc::truncated, 0});
    CHECK(xray::is_profile(file.view().first(size)) == (size >= 8));
  }
  auto other = sample(order::big).bytes();
  other[0] = std::byte{1};
  CHECK(xray::open_profile(other).error() == trace_error{errc::bad_magic, 0});
  CHECK_FALSE(xray::is_profile(other));
  for (const order o : {order::little, order::big}) {
    auto newer = sample(o).bytes();
    newer[o == order::little ? 8 : 15] ^= std::byte{1};
    CHECK(xray::open_profile(newer).error() == trace_error{errc::unsupported_version, 8});
  }
}

TEST_CASE("a profile that is cut at any place gives the paths before the cut and says where") {
  for (const order o : {order::little, order::big}) {
    const auto file = sample(o);
    const std::vector<std::size_t> ends{72, 100, 132, 176};  // of the paths
    for (std::size_t size = header_size; size < file.view().size(); ++size) {
      const walked cut(file.view().first(size));
      std::size_t whole = 0;
      while (whole < ends.size() && ends[whole] <= size) ++whole;
      CAPTURE(size);
      CHECK(cut.paths.size() == whole);
      if (size == header_size || size == 132) {  // Between blocks.
        CHECK(cut.faults.empty());
        continue;
      }
      REQUIRE(cut.faults.size() == 1);
      CHECK(cut.faults[0].code == errc::truncated);
      // The fault is where the path, or the head of the block, begins that is not whole.
      std::size_t begin = size;
      if (size < 48) begin = 32;
      else if (size < 132) begin = size < 72 ? 48 : size < 100 ? 72 : 100;
      else begin = size < 148 ? 132 : 148;
      // A block that ends behind its head, with no path of it there, is cut at the end.
      if (size == 48 || size == 148) begin = size;
      CHECK(cut.faults[0].offset == begin);
      CHECK(cut.faults[0].skipped == size - begin);
    }
  }
}

TEST_CASE("a damaged path takes the rest of its block with it, and no more") {
  const auto with_id = [](std::size_t at, std::int32_t id) {
    auto bytes = sample(order::little).bytes();
    store<order::little>(bytes.data() + at, id);
    return walked(bytes);
  };
  // A negative function, and a path without functions.
  for (const auto& [id, code] : {std::pair{-1, errc::bad_value}, std::pair{0, errc::bad_value}}) {
    const walked damaged = with_id(72, id);
    CHECK(damaged.paths.size() == 2);
    CHECK(damaged.faults == std::vector<fault>{{code, 72, 60}});
  }
  // No end of the path: the numbers behind it are taken for functions, up to one that cannot be or to the end of the
  // block.
  auto bytes = sample(order::little).bytes();
  for (std::size_t at = 112; at < 132; at += 4) store<order::little>(bytes.data() + at, std::int32_t{5});
  const walked endless(bytes);
  CHECK(endless.paths.size() == 3);
  CHECK(endless.faults == std::vector<fault>{{errc::record_crosses_block, 100, 32}});
}

TEST_CASE("the size of a block is where the next one begins") {
  const auto with_size = [](std::uint32_t size) {
    auto bytes = sample(order::little).bytes();
    store<order::little>(bytes.data() + header_size, size);
    return walked(bytes);
  };
  // Without a size that can be, nothing behind it can be found.
  for (std::uint32_t size = 0; size < block_size; ++size) {
    CHECK(with_size(size).paths.empty());
    CHECK(with_size(size).faults == std::vector<fault>{{errc::bad_size, 32, 144}});
  }
  // The third path does not end inside.
  const walked shorter = with_size(96);
  CHECK(shorter.paths.size() == 2);
  REQUIRE(!shorter.faults.empty());
  CHECK(shorter.faults[0] == fault{errc::record_crosses_block, 100, 28});
  const walked larger = with_size(0xffffffff);
  CHECK(larger.paths.size() == 4);  // The head of the next block reads as a path here, and ends as one.
}
