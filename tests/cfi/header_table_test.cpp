// SPDX-License-Identifier: Apache-2.0
#include <backsight/cfi/header_table.hpp>

#include <cstdint>
#include <vector>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "frame_builder.hpp"

using namespace backsight;
using test::bytes;

namespace {

constexpr std::uint64_t header_address = 0x800;
constexpr std::uint64_t section_address = 0xa00;

/// Three functions of 0x100 bytes of code from 0x1000 on, and their FDEs in the order of the section.
struct functions {
  test::frame_builder built;
  std::vector<std::uint64_t> fdes;

  functions() {
    built.fde(bytes<0x0e, 16>).fde(bytes<0x0e, 24>).fde(bytes<0x0e, 32>);
    for (const cfi::entry& e : section().entries()) {
      if (!e.is_cie) fdes.push_back(section_address + e.offset);
    }
  }
  [[nodiscard]] cfi::section<order::little> section() const {
    cfi::section_info info;
    info.address = section_address;
    return {built.view(), info};
  }
};

/// Numbers written in an encoding, one behind the other.
class header_writer {
 public:
  explicit header_writer(std::uint8_t pointer, std::uint8_t count, std::uint8_t table) {
    bytes_.u8(1).u8(pointer).u8(count).u8(table);
  }
  header_writer& put(std::uint8_t encoding, std::uint64_t value) {
    const std::uint64_t here = header_address + bytes_.size();
    const std::uint64_t stored = value - ((encoding & 0x70U) == 0x10   ? here
                                          : (encoding & 0x70U) == 0x30 ? header_address
                                                                       : 0);
    switch (encoding & 0x07U) {
      case 2: bytes_.u16(stored); break;
      case 3: bytes_.u32(stored); break;
      default: bytes_.u64(stored); break;
    }
    return *this;
  }
  [[nodiscard]] byte_view view() const { return bytes_.view(); }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }

 private:
  test::byte_builder bytes_;
};

header_writer header_of(const functions& f, std::uint8_t pointer, std::uint8_t count, std::uint8_t table) {
  header_writer h(pointer, count, table);
  h.put(pointer, section_address).put(count, 3);
  for (std::size_t i = 0; i < 3; ++i) h.put(table, 0x1000 + i * 0x100).put(table, f.fdes[i]);
  return h;
}

auto open(byte_view header, unsigned address_size = 8) {
  return cfi::header_table<order::little>::open(header, header_address, address_size);
}

}  // namespace

TEST_CASE("a header's table is read in every encoding whose numbers have one width") {
  const functions f;
  for (const unsigned application : {0x00U, 0x10U, 0x30U}) {
    for (const unsigned format : {0x0U, 0x2U, 0x3U, 0x4U, 0x8U, 0xaU, 0xbU, 0xcU}) {
      const auto encoding = static_cast<std::uint8_t>(application | format);
      INFO(int{encoding});
      const auto h = header_of(f, 0x1b, 0x03, encoding);
      const auto table = open(h.view());
      REQUIRE(table);
      CHECK(table->has_table());
      CHECK(table->eh_frame_address() == section_address);
      REQUIRE(table->size() == 3);
      CHECK_FALSE(table->check(f.section()));
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(table->location(i) == 0x1000 + i * 0x100);
        CHECK(table->fde_address(i) == f.fdes[i]);
        CHECK(table->find(0x1000 + i * 0x100) == i);
        CHECK(table->find(0x10ff + i * 0x100) == i);
      }
      CHECK(table->find(0xfff) == 3);
      CHECK(table->find(std::uint64_t{1} << 40) == 2);
    }
  }
}

TEST_CASE("the pointer and the count are read in their own encodings") {
  const functions f;
  for (const unsigned pointer : {0x00U, 0x03U, 0x04U, 0x0bU, 0x1bU, 0x1cU, 0x3bU}) {
    for (const unsigned count : {0x02U, 0x03U, 0x04U, 0x0bU}) {
      const auto h = header_of(f, static_cast<std::uint8_t>(pointer), static_cast<std::uint8_t>(count), 0x3b);
      const auto table = open(h.view());
      REQUIRE(table);
      CHECK(table->eh_frame_address() == section_address);
      CHECK(table->size() == 3);
      CHECK(table->find(0x1180) == 1);
    }
  }
}

TEST_CASE("functions below the header are found, and addresses of 32 bits wrap") {
  for (const unsigned address_size : {8U, 4U}) {
    header_writer h(0x1b, 0x03, 0x3b);
    h.put(0x1b, section_address).put(0x03, 2).put(0x3b, 0x100).put(0x3b, 0xa10).put(0x3b, 0x900).put(0x3b, 0xa20);
    const auto table = open(h.view(), address_size);
    REQUIRE(table);
    CHECK(table->location(0) == 0x100);
    CHECK(table->find(0x100) == 0);
    CHECK(table->find(0xff) == 2);
    CHECK(table->find(0x900) == 1);
  }
  header_writer h(0x1b, 0x03, 0x3b);
  h.put(0x1b, section_address).put(0x03, 1).put(0x3b, header_address - 0x1000).put(0x3b, 0xa10);
  CHECK(open(h.view(), 4)->location(0) == 0xfffff800);
}

TEST_CASE("a header without a table, or one that is not searched, says so and where .eh_frame is") {
  const functions f;
  const auto refused = [&](std::uint8_t count, std::uint8_t table) {
    header_writer h(0x1b, count, table);
    h.put(0x1b, section_address).put(0x03, 3);
    const auto opened = open(h.view());
    CHECK_FALSE(opened.partial().has_table());
    CHECK(opened.partial().size() == 0);
    CHECK(opened.partial().eh_frame_address() == section_address);
    return opened.error();
  };
  CHECK(refused(0xff, 0xff) == trace_error{errc::not_found, 8});
  CHECK(refused(0xff, 0x3b) == trace_error{errc::not_found, 8});
  CHECK(refused(0x03, 0xff) == trace_error{errc::not_found, 8});
  CHECK(refused(0x03, 0x31) == trace_error{errc::unsupported_type, 3});  // Numbers of several lengths.
  CHECK(refused(0x03, 0x39) == trace_error{errc::unsupported_type, 3});
  CHECK(refused(0x03, 0xbb) == trace_error{errc::unsupported_type, 3});  // Addresses of addresses.
  CHECK(refused(0x03, 0x4b) == trace_error{errc::unsupported_type, 3});  // Counted from a function.
  CHECK(refused(0x83, 0x3b) == trace_error{errc::unsupported_type, 2});
  CHECK(refused(0x03, 0x3b) == trace_error{errc::bad_size, 12});
}

TEST_CASE("a header is cut, of another version, or hides .eh_frame") {
  const functions f;
  const auto h = header_of(f, 0x1b, 0x03, 0x3b);
  for (std::size_t size = 0; size < h.size(); ++size) {
    const auto table = open(h.view().first(size));
    CHECK_FALSE(table);
    CHECK(table.error().code == (size < 12 ? errc::truncated : errc::bad_size));
  }
  CHECK(open(bytes<2, 0x1b, 3, 0x3b, 0, 0, 0, 0>).error() == trace_error{errc::unsupported_version, 0});
  CHECK(open(bytes<1, 0xff, 3, 0x3b, 0, 0, 0, 0>).error() == trace_error{errc::unsupported_type, 1});
  CHECK(open(bytes<1, 0x9b, 3, 0x3b, 0, 0, 0, 0>).error() == trace_error{errc::unsupported_type, 1});
}

TEST_CASE("a table that lies is noticed at the pair that does") {
  const functions f;
  const auto check = [&](std::uint64_t pointer, const std::vector<std::uint64_t>& numbers) {
    header_writer h(0x1b, 0x03, 0x3b);
    h.put(0x1b, pointer).put(0x03, numbers.size() / 2);
    for (const std::uint64_t n : numbers) h.put(0x3b, n);
    const auto table = open(h.view());
    REQUIRE(table);
    return table->check(f.section());
  };
  CHECK_FALSE(
      check(section_address, {0x1000, f.fdes[0], 0x1000, f.fdes[1], 0x1200, f.fdes[2]}));  // Equal starts may be.
  CHECK(check(section_address + 4, {0x1000, f.fdes[0]}) == trace_error{errc::out_of_range, 4});
  CHECK(check(section_address, {0x1000, f.fdes[0], 0x1100, f.fdes[1], 0x10ff, f.fdes[2]}) ==
        trace_error{errc::bad_transition, 28});
  const std::uint64_t end = section_address + f.built.view().size();
  CHECK(check(section_address, {0x1000, f.fdes[0], 0x1100, end}) == trace_error{errc::out_of_range, 20});
  CHECK(check(section_address, {0x1000, f.fdes[0], 0x1100, end - 3}) == trace_error{errc::out_of_range, 20});
  CHECK(check(section_address, {0x1000, section_address}) == trace_error{errc::out_of_range, 12});  // A CIE.
  // In another encoding pairs lie elsewhere.
  header_writer h(0x1b, 0x04, 0x04);
  h.put(0x1b, section_address).put(0x04, 2);
  for (const std::uint64_t n : {std::uint64_t{0x1000}, f.fdes[0], std::uint64_t{0x1100}, section_address})
    h.put(0x04, n);
  CHECK(open(h.view())->check(f.section()) == trace_error{errc::out_of_range, 32});
}

TEST_CASE("the end of .eh_frame is that of the last FDE listed, else the first terminator") {
  const functions f;
  test::byte_builder all;
  all.append(f.built.view()).u32(0).append(bytes<1, 2, 3, 4, 5, 6, 7, 8>);
  cfi::section_info info;
  info.address = section_address;
  const cfi::section<order::little> longer(all.view(), info);
  const auto h = header_of(f, 0x1b, 0x03, 0x3b);
  CHECK(cfi::eh_frame_extent(longer, *open(h.view())) == f.built.view().size());
  CHECK(cfi::eh_frame_extent(longer, cfi::header_table<order::little>{}) == f.built.view().size());
  // Damage before that: all of it, so that whoever reads it finds the damage.
  test::byte_builder damaged;
  damaged.append(f.built.view()).u32(0x1000).u32(0).u32(0);
  CHECK(cfi::eh_frame_extent(cfi::section<order::little>(damaged.view(), info), cfi::header_table<order::little>{}) ==
        damaged.size());
  // No terminator.
  CHECK(cfi::eh_frame_extent(f.section(), cfi::header_table<order::little>{}) == f.built.view().size());
}
