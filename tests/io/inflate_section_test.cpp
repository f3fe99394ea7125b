// SPDX-License-Identifier: Apache-2.0
#include <backsight/io/inflate_section.hpp>

#include <zlib.h>

#include <support/catch.hpp>

#include "../elf/elf_builder.hpp"
#include "packed.hpp"

using namespace backsight;

namespace {

std::vector<std::byte> with_zlib(const std::vector<std::byte>& bytes) {
  uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::vector<std::byte> packed(size);
  REQUIRE(::compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
                     static_cast<uLong>(bytes.size())) == Z_OK);
  packed.resize(size);
  return packed;
}

/// What comes of a section of that kind, told size and packed bytes, and where it lies.
std::pair<result<std::vector<std::byte>>, std::uint64_t> inflated(order o, bool wide, std::uint32_t kind,
                                                                  std::uint64_t told,
                                                                  const std::vector<std::byte>& packed) {
  test::elf_builder built(o, wide);
  auto section = built.bytes();
  section.u32(kind);
  if (wide) section.u32(0);
  built.word(built.word(section, told), 1);
  section.append(packed);
  built.sections.push_back({".z", 1, elf::section_compressed, 0, section.vector(), 0, 0, 1, 0, 0});
  const auto bytes = built.file();
  const auto file = elf::open(bytes);
  REQUIRE(file);
  const auto header = file->find_section(".z");
  REQUIRE(header);
  return {io::inflate_section(*file, *header), header->offset};
}

}  // namespace

TEST_CASE("a section that is packed with zlib has the bytes and the size that its header tells, or is an error") {
  const auto bytes = test::noise(5000);
  const auto packed = with_zlib(bytes);
  for (const bool wide : {false, true}) {
    const order o = wide ? order::big : order::little;
    const auto [good, at] = inflated(o, wide, 1, bytes.size(), packed);
    REQUIRE(good);
    CHECK(*good == bytes);
    for (const std::size_t told : {bytes.size() - 1, bytes.size() + 1}) {
      const auto [other, offset] = inflated(o, wide, 1, told, packed);
      CHECK(other.error() == trace_error{errc::bad_value, offset});
    }
    const auto [cut, of_cut] = inflated(o, wide, 1, bytes.size(), test::first_bytes(packed, packed.size() / 2));
    CHECK(cut.error() == trace_error{errc::bad_value, of_cut});
    const auto [zstd, of_zstd] = inflated(o, wide, 2, bytes.size(), packed);
    CHECK(zstd.error() == trace_error{errc::unsupported_type, of_zstd});
  }
}

TEST_CASE("a section that tells more than zlib can make of its bytes is refused before memory is taken") {
  const auto packed = with_zlib(std::vector<std::byte>(1'000'000));
  const std::uint64_t most = 1100 * packed.size();
  const auto [all, at] = inflated(order::little, true, 1, 1'000'000, packed);
  REQUIRE(all);
  CHECK(all->size() == 1'000'000);
  for (const std::uint64_t told : {most + 1100, (std::uint64_t{1} << 32) + 1, ~std::uint64_t{0}}) {
    const auto [none, offset] = inflated(order::little, true, 1, told, packed);
    CHECK(none.error() == trace_error{errc::unsupported_type, offset});
  }
}

TEST_CASE("a section that is not packed is not inflated") {
  test::elf_builder built(order::little, true);
  built.sections.push_back({".p", 1, 0, 0, test::noise(10), 0, 0, 1, 0, 0});
  const auto bytes = built.file();
  const auto file = elf::open(bytes);
  REQUIRE(file);
  CHECK(io::inflate_section(*file, *file->find_section(".p")).error().code == errc::not_found);
}
