// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/section.hpp>

#include <algorithm>
#include <iterator>
#include <vector>

#include <support/catch.hpp>

#include "frame_builder.hpp"

using namespace backsight;
using test::bytes;

using little_entries = cfi::section<order::little>::entry_range;
static_assert(std::forward_iterator<little_entries::iterator>);

TEST_CASE("entries come in order, terminators are left out") {
  auto built = test::frame_builder{}.fde(bytes<0>).fde(bytes<0>);
  test::byte_builder all;
  all.append(built.view()).u32(0);
  const cfi::section<order::little> section(all.view(), {});
  std::size_t cies = 0, fdes = 0;
  auto at = section.entries().begin();
  std::uint64_t before = 0;
  for (; at != std::default_sentinel; ++at) {
    CHECK((cies + fdes == 0 || at->offset > before));
    before = at->offset;
    ++(at->is_cie ? cies : fdes);
  }
  CHECK(cies == 1);
  CHECK(fdes == 2);
  CHECK_FALSE(at.error());
}

TEST_CASE("a bad length ends the walk and says where") {
  test::byte_builder all;
  all.append(test::frame_builder{}.view());
  const std::uint64_t offset = all.size();
  SECTION("past the end") {
    all.u32(100).u32(0);
    auto at = cfi::section<order::little>(all.view(), {}).entries().begin();
    while (at != std::default_sentinel) ++at;
    CHECK(at.error() == trace_error{errc::truncated, offset});
  }
  SECTION("reserved") {
    all.u32(0xfffffff1).u32(0);
    auto at = cfi::section<order::little>(all.view(), {}).entries().begin();
    while (at != std::default_sentinel) ++at;
    CHECK(at.error() == trace_error{errc::bad_size, offset});
  }
}

TEST_CASE("a CIE tells its factors, its augmentation and its encodings") {
  test::byte_builder b;
  test::byte_builder body;
  body.u8(1).text("zPLRSB").fill(1).u8(4).u8(0x7c).u8(30).u8(11).u8(0x00).u64(0x1234).u8(0x1b).u8(0x1b);
  b.u32(4 + body.size()).u32(0).append(body.view());
  const auto c = cfi::section<order::little>(b.view(), {}).cie_at(0);
  REQUIRE(c);
  CHECK(c->code_alignment == 4);
  CHECK(c->data_alignment == -4);
  CHECK(c->return_address_register == 30);
  CHECK(c->personality == 0x1234);
  CHECK(c->lsda_encoding.byte == 0x1b);
  CHECK(c->pointer_encoding.byte == 0x1b);
  CHECK(c->signal_frame);
  CHECK(c->b_key);
}

TEST_CASE("a CIE that cannot be read is refused with its place") {
  const auto refuse = [](const test::byte_builder& body) {
    test::byte_builder b;
    b.u32(4 + body.size()).u32(0).append(body.view());
    return cfi::section<order::little>(b.view(), {}).cie_at(0).error();
  };
  CHECK(refuse(test::byte_builder{}.u8(9).fill(8)) == trace_error{errc::unsupported_version, 8});
  CHECK(refuse(test::byte_builder{}.u8(1).text("Q").fill(8)) == trace_error{errc::unsupported_type, 9});
  CHECK(refuse(test::byte_builder{}.u8(1).text("zR").fill(1).u8(1).u8(1).u8(1).u8(9)).code == errc::truncated);
  CHECK(refuse(test::byte_builder{}.u8(4).fill(1).u8(3).u8(0).fill(4)) == trace_error{errc::bad_size, 10});
  CHECK(refuse(test::byte_builder{}.u8(1).text("zR")).code == errc::bad_string);
  const auto built = test::frame_builder{}.fde(bytes<0>);
  const auto section = built.section();
  auto at = section.entries().begin();
  ++at;
  CHECK(section.cie_at(at->offset).error() == trace_error{errc::unpaired_record, at->offset});
}

TEST_CASE("an FDE whose CIE pointer lies outside is reported, the next one is fine") {
  test::frame_builder built;
  built.entry(0x7fffffff, bytes<0, 0, 0, 0>).fde(bytes<0>);
  std::size_t bad = 0, good = 0;
  for (const cfi::entry& e : built.section().entries()) {
    if (e.is_cie) continue;
    ++(e.error == errc::out_of_range ? bad : good);
  }
  CHECK(bad == 1);
  CHECK(good == 1);
}

TEST_CASE("a section cut anywhere gives its whole entries and says where it is cut") {
  const auto built = test::frame_builder{}.fde(bytes<0x41, 0x0e, 16>).fde(bytes<0x41, 0x0e, 16>);
  std::vector<std::uint64_t> ends{0};
  for (const cfi::entry& e : built.section().entries()) ends.push_back(e.end);
  REQUIRE(ends.back() == built.view().size());
  for (std::size_t size = 0; size < built.view().size(); ++size) {
    const std::vector<std::byte> cut(built.view().begin(), built.view().begin() + static_cast<std::ptrdiff_t>(size));
    const cfi::section<order::little> section(cut, {});
    std::size_t entries = 0;
    auto at = section.entries().begin();
    for (; at != std::default_sentinel; ++at, ++entries) {
      if (at->is_cie) {
        CHECK(section.parse_cie(*at));
      } else {
        const auto c = section.cie_at(at->cie_offset);
        REQUIRE(c);
        CHECK(section.parse_fde(*at, *c));
      }
    }
    // The entries that are whole, and an error where the next one begins.
    const auto whole = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), size) - ends.begin()) - 1;
    CHECK(entries == whole);
    const std::uint64_t rest = size - ends[whole];
    CHECK(at.error() == (rest == 0   ? trace_error{}
                         : rest >= 4 ? trace_error{errc::truncated, ends[whole]}
                                     : trace_error{errc::trailing_bytes, ends[whole]}));
  }
}
