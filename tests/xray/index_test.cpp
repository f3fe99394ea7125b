// SPDX-License-Identifier: Apache-2.0
#include <backsight/xray/index.hpp>

#include <vector>

#include <support/catch.hpp>
#include <support/xray_builder.hpp>

using namespace backsight;
using namespace backsight::xray;
using test::xray_builder;

namespace {

struct place {
  std::int32_t process, thread;
  std::uint64_t seconds;
  std::uint32_t microseconds;
  std::uint64_t tsc;
};

xray_builder log_of(order o, const std::vector<place>& places) {
  auto file = xray_builder(o).header();
  for (const place& p : places) {
    file.block(
        xray_builder(o).preamble(p.thread, p.process, p.seconds, p.microseconds).cpu(0, p.tsc).function(0, 1, 1));
  }
  return file;
}

/// The place in the file of each block, in sorted order.
std::vector<std::size_t> sorted(order o, const std::vector<place>& places) {
  const auto file = log_of(o, places);
  const auto opened = xray::open(file.view());
  auto index = index_blocks(*opened);
  REQUIRE(index);
  const auto size = index->empty() ? 1 : index->front().where.bytes.size();
  sort_by_thread(*index);
  std::vector<std::size_t> numbers;
  for (const auto& info : *index) numbers.push_back(static_cast<std::size_t>(info.where.offset - 32) / size);
  return numbers;
}

}  // namespace

TEST_CASE("blocks are sorted by process, thread, wall clock and tsc") {
  for (const order o : {order::little, order::big}) {
    CHECK(sorted(o, {{2, 1, 0, 0, 0}, {1, 2, 0, 0, 0}, {1, 1, 0, 0, 0}}) == std::vector<std::size_t>{2, 1, 0});
    CHECK(sorted(o, {{1, 1, 5, 10, 9}, {1, 1, 4, 999999, 99}}) == std::vector<std::size_t>{1, 0});
    CHECK(sorted(o, {{1, 1, 5, 10, 9}, {1, 1, 5, 9, 10}}) == std::vector<std::size_t>{1, 0});
    CHECK(sorted(o, {{1, 1, 5, 10, 9}, {1, 1, 5, 10, 8}}) == std::vector<std::size_t>{1, 0});
    CHECK(sorted(o, {{1, 1, 5, 10, 9}, {1, 1, 5, 10, 9}}) == std::vector<std::size_t>{0, 1});
    CHECK(sorted(o, {{-1, 1, 0, 0, 0}, {-2, 1, 0, 0, 0}, {-2, -5, 0, 0, 0}}) == std::vector<std::size_t>{2, 1, 0});
  }
}

TEST_CASE("more than sixteen blocks of one second keep their order in time") {
  std::vector<place> places;
  std::vector<std::size_t> expected;
  for (std::uint32_t i = 0; i < 40; ++i) {
    places.push_back({1, 1, 5, 1000 - i, 1000000 - i});
    expected.push_back(39 - i);
  }
  CHECK(sorted(order::little, places) == expected);
}

TEST_CASE("the index keeps the blocks in front of what begins no block") {
  auto file = log_of(order::little, {{1, 1, 0, 0, 0}, {1, 2, 0, 0, 0}});
  const std::size_t end = file.size();
  file.fill(5);
  const auto index = index_blocks(*xray::open(file.view()));
  CHECK(index.error() == trace_error{errc::trailing_bytes, end});
  CHECK(index.partial().size() == 2);
}
