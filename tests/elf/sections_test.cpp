// SPDX-License-Identifier: Apache-2.0
#include <backsight/elf/sections.hpp>

#include <string>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/files.hpp>

using namespace backsight;

namespace {

/// A file with one section `.x` at 0x1000 and the string table, in any class and byte order.
std::vector<std::byte> small_file(order o, bool wide) {
  test::byte_builder b(o);
  const auto word = [&](std::uint64_t value) { wide ? b.u64(value) : b.u32(value); };
  const std::size_t header = wide ? 64 : 52, stride = wide ? 64 : 40;
  b.u8(0x7f).text("ELF").u8(wide ? 2 : 1).u8(o == order::little ? 1 : 2).u8(1).fill(9);
  b.u16(3).u16(62).u32(1);
  word(0x1234), word(0), word(header + 16);
  b.u32(0).u16(header).u16(wide ? 56 : 32).u16(0).u16(stride).u16(3).u16(2);
  b.text("abcdefgh").fill(1).text(".x").fill(1).text("s").fill(3);
  const auto section = [&](std::uint32_t name, std::uint32_t type, std::uint64_t address, std::uint64_t offset,
                           std::uint64_t size) {
    b.u32(name).u32(type);
    word(2), word(address), word(offset), word(size);
    b.u32(0).u32(0);
    word(1), word(0);
  };
  section(0, 0, 0, 0, 0);
  section(1, 1, 0x1000, header, 8);
  section(4, 3, 0, header + 8, 8);
  return b.vector();
}

}  // namespace

TEST_CASE("sections of either class and byte order are found by name") {
  for (const order o : {order::little, order::big}) {
    for (const bool wide : {false, true}) {
      const auto bytes = small_file(o, wide);
      const auto file = elf::open(bytes);
      REQUIRE(file);
      CHECK(file->byte_order() == o);
      CHECK(file->address_size() == (wide ? 8 : 4));
      CHECK(file->entry() == 0x1234);
      CHECK(file->machine() == elf::machine::x86_64);
      REQUIRE(file->sections().size() == 3);
      const auto x = file->find_section(".x");
      REQUIRE(x);
      CHECK(x->address == 0x1000);
      const auto data = file->section_bytes(*x);
      REQUIRE(data);
      CHECK(data->size() == 8);
      CHECK((*data)[0] == std::byte{'a'});
      CHECK_FALSE(file->find_section(".y"));
    }
  }
}

TEST_CASE("a file cut anywhere gives an error or fewer sections") {
  const auto bytes = small_file(order::little, true);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto file = elf::open(byte_view(bytes).first(size));
    if (!file) {
      CHECK(file.error().code == errc::truncated);
      CHECK(file.error().offset <= size);
      continue;
    }
    for (const elf::section s : file->sections()) (void)file->section_bytes(s);
    CHECK(file->sections().size() < 3);
  }
}

TEST_CASE("what is no ELF file is refused with its place") {
  CHECK(elf::open(test::bytes<0x7f, 'E', 'L', 'G'>).error() == trace_error{errc::bad_magic, 3});
  auto bytes = small_file(order::little, true);
  bytes[4] = std::byte{3};
  CHECK(elf::open(bytes).error() == trace_error{errc::unsupported_type, 4});
  bytes[4] = std::byte{2}, bytes[5] = std::byte{0};
  CHECK(elf::open(bytes).error() == trace_error{errc::unsupported_type, 5});
}

TEST_CASE("a compressed section is reported, and what it holds") {
  const auto bytes = test::read_file(test::data_path("cfi/elf/dbgframe-v4-zlib"));
  const auto file = elf::open(bytes);
  REQUIRE(file);
  const auto section = file->find_section(".debug_frame");
  REQUIRE(section);
  CHECK(file->section_bytes(*section).error() == trace_error{errc::compressed, section->offset});
  const auto packed = file->compression_of(*section);
  REQUIRE(packed);
  CHECK(packed->type == 1);
  CHECK(packed->size > packed->data.size());
}

TEST_CASE("segments give bytes by address and the build-id") {
  const auto bytes = test::read_file(test::data_path("cfi/elf/gcc-O2"));
  const auto file = elf::open(bytes);
  REQUIRE(file);
  CHECK(file->build_id().size() == 20);
  const auto text = file->find_section(".text");
  REQUIRE(text);
  const auto by_address = file->bytes_at(text->address, text->size);
  REQUIRE(by_address);
  CHECK(by_address->data() == file->section_bytes(*text)->data());
  CHECK_FALSE(file->bytes_at(~std::uint64_t{0}, 1));
  CHECK_FALSE(file->bytes_at(text->address, std::uint64_t{1} << 40));
}
