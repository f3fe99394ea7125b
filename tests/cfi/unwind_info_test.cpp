// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/apple/unwind_info.hpp>

#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
namespace apple = cfi::apple;

namespace {

constexpr std::uint64_t base = 0x100000000;
constexpr std::uint32_t pages_at = 100;

struct page_place {
  std::uint32_t function, page;
};
/// A section with two common encodings, these index entries, and behind them `pages`.
std::vector<std::byte> section_of(const std::vector<page_place>& index, byte_view pages) {
  test::byte_builder b;
  b.u32(1).u32(28).u32(2).u32(36).u32(0).u32(36).u32(index.size()).u32(0xa0).u32(0xa1);
  for (const page_place& one : index) b.u32(one.function).u32(one.page).u32(0);
  b.fill(pages_at - b.size());
  b.append(pages);
  return b.vector();
}
/// Two functions, each with its encoding: 24 bytes.
test::byte_builder regular() {
  test::byte_builder b;
  b.u32(2).u16(8).u16(2).u32(0x10).u32(0xb0).u32(0x20).u32(0xb1);
  return b;
}
/// Three functions by numbers of encodings, the last one the page's own: 28 bytes.
test::byte_builder compressed() {
  test::byte_builder b;
  b.u32(3).u16(12).u16(3).u16(24).u16(1).u32(0x00000000).u32(0x01000008).u32(0x02000018).u32(0xc0);
  return b;
}
struct told {
  std::vector<apple::unwind_entry> entries;
  std::vector<trace_error> errors;
};
told read(byte_view bytes) {
  told all;
  const auto opened = apple::unwind_info::open(bytes, base);
  if (!opened) {
    all.errors.push_back(opened.error());
    return all;
  }
  opened->for_each([&](const apple::unwind_entry& e) { all.entries.push_back(e); },
                   [&](const trace_error& e) { all.errors.push_back(e); });
  return all;
}

}  // namespace

TEST_CASE("entries of both kinds of pages have their functions and encodings") {
  test::byte_builder pages = regular();
  pages.append(compressed().view());
  const auto bytes = section_of({{0x10, pages_at}, {0x40, pages_at + 24}, {0x80, 0}}, pages.view());
  const told all = read(bytes);
  CHECK(all.errors.empty());
  REQUIRE(all.entries.size() == 5);
  const std::uint32_t begins[]{0x10, 0x20, 0x40, 0x48, 0x58}, ends[]{0x20, 0x40, 0x48, 0x58, 0x80};
  const std::uint32_t encodings[]{0xb0, 0xb1, 0xa0, 0xa1, 0xc0};
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(all.entries[i].begin == base + begins[i]);
    CHECK(all.entries[i].end == base + ends[i]);
    CHECK(all.entries[i].encoding == encodings[i]);
  }
  CHECK(all.entries[1].offset == pages_at + 16);
  CHECK(all.entries[2].offset == pages_at + 36);
}

TEST_CASE("functions that go back are told where they lie, and what is left ascends") {
  SECTION("in the index") {
    test::byte_builder pages = regular();
    pages.append(regular().view());
    // The second page's functions begin below the end of the first's.
    const told all = read(section_of({{0x10, pages_at}, {0x40, 0}, {0x08, pages_at + 24}, {0x50, 0}}, pages.view()));
    CHECK(all.entries.size() == 2);
    CHECK(all.errors == std::vector<trace_error>{{errc::out_of_range, 48}, {errc::out_of_range, 60}});
  }
  SECTION("in a page") {
    const told all = read(section_of({{0x18, pages_at}, {0x40, 0}}, regular().view()));
    REQUIRE(all.entries.size() == 1);
    CHECK(all.entries[0].begin == base + 0x20);
    CHECK(all.errors == std::vector<trace_error>{{errc::out_of_range, pages_at + 8}});
  }
}

TEST_CASE("pages that overlap end the walk, which would take more than linear time") {
  std::vector<page_place> index;
  for (std::uint32_t i = 0; i < 3; ++i) index.push_back({0x10 * (i + 1), pages_at});
  index.push_back({0x40, 0});
  test::byte_builder page;
  page.u32(2).u16(8).u16(200);
  for (std::uint32_t i = 0; i < 200; ++i) page.u32(0x10).u32(0xb0);
  const told all = read(section_of(index, page.view()));
  REQUIRE_FALSE(all.errors.empty());
  CHECK(all.errors.back() == trace_error{errc::capacity, pages_at});
}

TEST_CASE("what a broken section says is told with its offset") {
  CHECK(read({}).errors == std::vector<trace_error>{{errc::truncated, 0}});
  auto bytes = section_of({{0x10, pages_at}, {0x40, 0}}, regular().view());
  const auto with = [&](std::size_t at, unsigned value) {
    auto changed = bytes;
    changed[at] = static_cast<std::byte>(value);
    return read(changed).errors;
  };
  CHECK(with(0, 2) == std::vector<trace_error>{{errc::unsupported_version, 0}});
  CHECK(with(24, 200) == std::vector<trace_error>{{errc::truncated, 20}});
  CHECK(with(8, 200) == std::vector<trace_error>{{errc::truncated, 4}});
  CHECK(with(pages_at, 4) == std::vector<trace_error>{{errc::unknown_record, pages_at}});
  CHECK(with(40, 250) == std::vector<trace_error>{{errc::truncated, 40}});
  CHECK(with(pages_at + 6, 3) == std::vector<trace_error>{{errc::truncated, pages_at}});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    for (const trace_error& e : read(byte_view(bytes).first(size)).errors) CHECK(e.offset <= size);
  }
}
