// SPDX-License-Identifier: Apache-2.0
#include <backsight/memtrace/records.hpp>

#include "trace_builder.hpp"

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::trace_builder;

TEST_CASE("a final trace is one from its first whole record on") {
  trace_builder built;
  built.header();
  for (std::size_t size = 0; size < 40; ++size) {
    CAPTURE(size);
    const auto head = read_final_header(built.view().first(size));
    if (size == 0) {
      CHECK(head.error() == trace_error{errc::truncated, 0});
    } else if (size < 8) {
      CHECK(head.error() == trace_error{errc::bad_magic, 0});
    } else if (size < 12) {
      CHECK(head.error() == trace_error{errc::truncated, size});
    } else {
      REQUIRE(head);
      CHECK(head->version == 7);
      CHECK(head->address_size == 8);
      CHECK(head->size == size / 12 * 12);
    }
  }
}

TEST_CASE("final traces have versions 1 to 7") {
  for (std::uint64_t version = 0; version < 10; ++version) {
    CAPTURE(version);
    const auto head = read_final_header(trace_builder{}.header(7, version).view());
    if (version >= 1 && version <= 7) {
      CHECK(head);
    } else {
      CHECK(head.error() == trace_error{errc::unsupported_version, 4});
      CHECK(head.partial().version == version);
    }
  }
  // The VERSION marker says the same as the HEADER.
  trace_builder other;
  other.put(trace_type::header, 0, 7).marker(marker_type::version, 6);
  CHECK(read_final_header(other.view()).error() == trace_error{errc::bad_value, 12});
}

TEST_CASE(
    "the header of a final trace ends with the first record that is no part of it, and the first time is behind") {
  trace_builder built;
  built.header(9);
  const std::size_t size = built.view().size();
  built.marker(marker_type::vector_length, 16).marker(marker_type::window_id, 3).unit(1234, 3).unit(5678, 4);
  const auto head = read_final_header(built.view());
  REQUIRE(head);
  CHECK(head->size == size + 12);
  CHECK(head->tid == 9);
  CHECK(head->pid == 9);
  CHECK(head->cache_line_size == 64);
  CHECK(head->chunk_instr_count == 1000);
  CHECK(head->page_size == 4096);
  CHECK(head->file_type == 0xe40);
  CHECK(head->has_file_type);
  CHECK(head->first_time == 1234);
  // A record of another sort in front of the first time: none is stated.
  trace_builder early;
  early.header().instruction(0x1000, 4).unit(1234, 3);
  CHECK(read_final_header(early.view())->first_time == 0);
}

TEST_CASE("encodings and bundles of a final trace have up to eight bytes, or four in the narrow layout") {
  for (std::uint16_t size = 0; size < 12; ++size) {
    CAPTURE(size);
    for (const trace_type type : {trace_type::encoding, trace_type::instr_bundle}) {
      trace_builder built;
      built.put(trace_type::instr, 4, 0x1000).put(type, size, 0);
      CHECK(final_range(built.view()).validate() == (size > 8 ? trace_error{errc::bad_size, 12} : trace_error{}));
      test::byte_builder narrow;
      narrow.u16(static_cast<unsigned>(type)).u16(size).u32(0);
      CHECK(final_range32(narrow.view()).validate() == (size > 4 ? trace_error{errc::bad_size, 0} : trace_error{}));
    }
  }
}

TEST_CASE("types of records from the count on are unknown") {
  for (const unsigned type : {trace_type_count - 1U, trace_type_count + 0U, trace_type_count + 1U, 0xffffU}) {
    CAPTURE(type);
    test::byte_builder built;
    built.u16(10).u16(4).u64(0x1000).u16(type).u16(0).u64(0);
    CHECK(final_range(built.view()).validate() ==
          (type < trace_type_count ? trace_error{} : trace_error{errc::unknown_record, 12}));
  }
}
