// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/apple/mach_o.hpp>

#include <string>
#include <string_view>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
namespace apple = cfi::apple;

namespace {

test::byte_builder& name(test::byte_builder& b, std::string_view text) { return b.text(text).fill(16 - text.size()); }

/// A file with a segment __TEXT at 0x100000000, which holds a section __const of four bytes at its end.
std::vector<std::byte> file() {
  test::byte_builder b;
  const std::size_t end = 32 + 72 + 80 + 8;
  b.u32(0xfeedfacf).u32(0x0100000c).u32(0).u32(6).u32(2).u32(72 + 80 + 8).u32(0).u32(0);
  b.u32(0x19).u32(72 + 80);
  name(b, "__TEXT").u64(0x100000000).u64(0x1000).u64(0).u64(end + 4).u32(5).u32(5).u32(1).u32(0);
  name(b, "__const"), name(b, "__TEXT");
  b.u64(0x100000000 + end).u64(4).u32(end).fill(28);
  b.u32(0x1b).u32(8);
  b.u32(0x44332211);
  return b.vector();
}

}  // namespace

TEST_CASE("segments and sections of a Mach-O file are found by name and address") {
  const auto bytes = file();
  const auto opened = apple::mach_o::open(bytes);
  REQUIRE(opened);
  CHECK(opened->machine() == apple::cpu::arm64);
  CHECK(opened->base() == 0x100000000);
  const auto found = opened->section("__TEXT", "__const");
  REQUIRE(found);
  CHECK(found->bytes.size() == 4);
  CHECK(found->address == 0x100000000 + bytes.size() - 4);
  CHECK(opened->offset_in_file(found->bytes.data()) == bytes.size() - 4);
  CHECK_FALSE(opened->section("__TEXT", "__cons"));
  CHECK_FALSE(opened->section("__DATA", "__const"));
  CHECK(opened->bytes_from(0x100000000 + bytes.size() - 1).size() == 1);
  CHECK(opened->bytes_from(0x100000000 + bytes.size()).empty());
  CHECK(opened->bytes_from(0xffffffff).empty());
}

TEST_CASE("files that are no Mach-O file of a known machine are refused where they say so") {
  const auto bytes = file();
  const auto with = [&](std::size_t at, unsigned value) {
    auto changed = bytes;
    changed[at] = static_cast<std::byte>(value);
    return apple::mach_o::open(changed).error();
  };
  CHECK(with(0, 0xce) == trace_error{errc::bad_magic, 0});
  CHECK(with(4, 1) == trace_error{errc::unsupported_type, 4});
  CHECK(with(36, 7) == trace_error{errc::bad_size, 36});
  CHECK(with(38, 1) == trace_error{errc::truncated, bytes.size()});
  for (std::size_t size = 0; size < bytes.size() - 4; ++size) {
    CHECK(apple::mach_o::open(byte_view(bytes).first(size)).error() == trace_error{errc::truncated, size});
  }
  // Without its last bytes, the section is not in the file.
  const auto cut = apple::mach_o::open(byte_view(bytes).first(bytes.size() - 1));
  REQUIRE(cut);
  CHECK_FALSE(cut->section("__TEXT", "__const"));
}
