// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/frame_sections.hpp>

#include <algorithm>
#include <vector>

#include <support/catch.hpp>
#include <support/files.hpp>

#include "../elf/elf_builder.hpp"
#include "fixtures.hpp"
#include "frame_builder.hpp"

using namespace backsight;
using test::bytes;

namespace {

/// Takes the section headers away, as sstrip does.
std::vector<std::byte> without_sections(std::vector<std::byte> file) {
  for (std::size_t at = 40; at < 48; ++at) file[at] = std::byte{0};
  for (std::size_t at = 60; at < 64; ++at) file[at] = std::byte{0};
  return file;
}

/// A file with no sections: a segment at 0x10000 that holds .eh_frame_hdr, .eh_frame, a terminator and other bytes.
struct bare_file {
  test::frame_builder frames;
  std::size_t hdr_size = 0;
  std::vector<std::byte> bytes;

  explicit bare_file(byte_view header_behind_pointer, std::uint8_t count_encoding = 0xff,
                     std::uint8_t table_encoding = 0xff, std::uint64_t eh_frame = 0) {
    frames.fde(test::bytes<0x0e, 16>).fde(test::bytes<0x0e, 24>);
    hdr_size = 8 + header_behind_pointer.size();
    test::byte_builder b;
    b.u8(0x7f).text("ELF").u8(2).u8(1).u8(1).fill(9).u16(3).u16(62).u32(1).u64(0).u64(64).u64(0).u32(0);
    b.u16(64).u16(56).u16(2).u16(0).u16(0).u16(0);
    const std::size_t start = 64 + 2 * 56;
    const std::size_t size = hdr_size + frames.view().size() + 4 + 12;
    b.u32(1).u32(5).u64(0).u64(0x10000).u64(0x10000).u64(start + size).u64(start + size).u64(0x1000);
    b.u32(elf::segment_eh_frame)
        .u32(4)
        .u64(start)
        .u64(0x10000 + start)
        .u64(0x10000 + start)
        .u64(hdr_size)
        .u64(hdr_size)
        .u64(4);
    b.u8(1).u8(0x1b).u8(count_encoding).u8(table_encoding).u32(eh_frame != 0 ? eh_frame : hdr_size - 4);
    b.append(header_behind_pointer).append(frames.view()).u32(0).fill(12, 0xee);
    bytes = b.vector();
  }
};

}  // namespace

TEST_CASE("without section headers .eh_frame is found through PT_GNU_EH_FRAME, with the same bytes") {
  for (const auto* name : {"gcc-O2", "gxx-O2", "gcc-O2-lld"}) {
    INFO(name);
    const auto whole = test::read_file(test::data_path(std::string("cfi/elf/") + name));
    const auto bare = without_sections(whole);
    const auto expected = cfi::find_frame_section(*elf::open(whole), cfi::section_kind::eh_frame);
    const auto found = cfi::find_frame_section(*elf::open(bare), cfi::section_kind::eh_frame);
    REQUIRE(expected);
    REQUIRE(found);
    CHECK(found->info.address == expected->info.address);
    // All but the terminator.
    REQUIRE(found->bytes.size() + 4 == expected->bytes.size());
    CHECK(std::equal(found->bytes.begin(), found->bytes.end(), expected->bytes.begin()));
    CHECK(cfi::find_frame_section(*elf::open(bare), cfi::section_kind::debug_frame).error().code ==
          errc::missing_section);
  }
}

TEST_CASE("without section headers and search table .eh_frame ends at its terminator") {
  const bare_file file({});
  const auto found = cfi::find_frame_section(*elf::open(file.bytes), cfi::section_kind::eh_frame);
  REQUIRE(found);
  CHECK(found->info.address == 0x10000 + 64 + 112 + 8);
  CHECK(std::equal(found->bytes.begin(), found->bytes.end(), file.frames.view().begin(), file.frames.view().end()));
}

TEST_CASE("a header that leads nowhere is an error at its place in the file") {
  const bare_file outside({}, 0xff, 0xff, 0x10000);
  CHECK(cfi::find_frame_section(*elf::open(outside.bytes), cfi::section_kind::eh_frame).error() ==
        trace_error{errc::out_of_range, 64 + 112 + 4});
  bare_file version({});
  version.bytes[64 + 112] = std::byte{2};
  CHECK(cfi::find_frame_section(*elf::open(version.bytes), cfi::section_kind::eh_frame).error() ==
        trace_error{errc::unsupported_version, 64 + 112});
  // A table that is too long for its header is not used; the section is there.
  const bare_file cut(bytes<9, 0, 0, 0>, 0x03, 0x3b);
  const auto found = cfi::find_frame_section(*elf::open(cut.bytes), cfi::section_kind::eh_frame);
  REQUIRE(found);
  CHECK(found->bytes.size() == cut.frames.view().size());
}

TEST_CASE("a file that was cut before its section headers tells so") {
  const auto whole = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  CHECK_FALSE(elf::open(whole)->lacks_section_headers());
  CHECK_FALSE(elf::open(without_sections(whole))->lacks_section_headers());
  for (const std::size_t lost : {std::size_t{1}, std::size_t{64}, std::size_t{64 * 20}, whole.size() / 2}) {
    const byte_view cut = byte_view(whole).first(whole.size() - lost);
    CHECK(elf::open(cut)->lacks_section_headers());
  }
}
