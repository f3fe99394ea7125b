// SPDX-License-Identifier: Apache-2.0
// Stands for memtrace/file_start.hpp
#include <type_traits>

#include <backsight/memtrace/trace.hpp>

#include "trace_builder.hpp"

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::bytes;
using test::raw_builder;
using test::trace_builder;

static_assert(std::is_trivially_copyable_v<trace>);

namespace {

/// A final file of the 32-bit layout, with or without its end.
std::vector<std::byte> narrow_trace(bool footer) {
  test::byte_builder built;
  const auto put = [&](trace_type type, std::uint16_t size, std::uint32_t value) {
    built.u16(static_cast<std::uint16_t>(type)).u16(size).u32(value);
  };
  put(trace_type::header, 0, 7);
  put(trace_type::marker, static_cast<std::uint16_t>(marker_type::filetype), 0x420);
  put(trace_type::thread, 4, 99);
  put(trace_type::instr, 3, 0x8048000);
  if (footer) put(trace_type::footer, 0, 0);
  return built.vector();
}

/// How many records a file has, and of how many bytes each kind's smallest one is.
std::pair<std::size_t, std::size_t> count(const trace& of) {
  return of.with_records([]<class F>(const record_range<F>& records) {
    std::size_t found = 0;
    CHECK_FALSE(for_each(records, [&](const auto&) { ++found; }));
    return std::pair(found, size_of<typename F::uniform>);
  });
}

}  // namespace

TEST_CASE("a memtrace is opened whatever its format and width") {
  trace_builder wide;
  wide.header(5).unit(10, 0).instruction(1, 1).exit(5);
  const auto of_wide = memtrace::open(wide.view());
  REQUIRE(of_wide);
  CHECK(of_wide->stage() == stage::final);
  CHECK(of_wide->start().tid == 5);
  CHECK(of_wide->start().first_time == 10);
  CHECK(of_wide->final_header().chunk_instr_count == 1000);
  CHECK(of_wide->bytes().data() == wide.view().data());
  CHECK(count(*of_wide) == std::pair<std::size_t, std::size_t>(14, 12));
  CHECK_FALSE(of_wide->validate());

  const auto narrow = narrow_trace(true);
  const auto of_narrow = memtrace::open(narrow);
  REQUIRE(of_narrow);
  CHECK(of_narrow->stage() == stage::final);
  CHECK(of_narrow->start().tid == 99);
  CHECK(of_narrow->final_header().address_size == 4);
  CHECK(count(*of_narrow) == std::pair<std::size_t, std::size_t>(5, 8));
  CHECK_FALSE(of_narrow->validate());

  raw_builder raw;
  raw.header(9).unit(20, 0).block(3).footer();
  const auto of_raw = memtrace::open(raw.view());
  REQUIRE(of_raw);
  CHECK(of_raw->stage() == stage::raw);
  CHECK(of_raw->start().tid == 9);
  CHECK(of_raw->start().first_time == 20);
  CHECK(of_raw->raw_header().size == 24);
  CHECK(count(*of_raw) == std::pair<std::size_t, std::size_t>(8, 8));
  CHECK_FALSE(of_raw->validate());
}

TEST_CASE("a memtrace that cannot be read tells its format as far as that is known") {
  const auto newer = memtrace::open(trace_builder{}.header(7, 8).view());
  CHECK(newer.error() == trace_error{errc::unsupported_version, 4});
  CHECK(newer.partial().stage() == stage::final);
  const auto newer_raw = memtrace::open(raw_builder{}.header(7, 0xc40, 9).view());
  CHECK(newer_raw.error() == trace_error{errc::unsupported_version, 6});
  CHECK(newer_raw.partial().stage() == stage::raw);
  const auto packed =
      memtrace::open(test::read_file(test::data_path("memtrace/single/drmemtrace.single.10508.3099.trace.zip")));
  CHECK(packed.error() == trace_error{errc::compressed, 0});
  CHECK(packed.partial().stage() == stage::final);
  CHECK(memtrace::open({}).error() == trace_error{errc::truncated, 0});
  CHECK(memtrace::open({}).partial().stage() == stage::unknown);
  CHECK(memtrace::open(bytes<0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0>).error() == trace_error{errc::bad_magic, 0});
  // The first entry of a raw file alone could be the beginning of anything.
  CHECK(memtrace::open(raw_builder{}.header().view().first(8)).partial().stage() == stage::unknown);
  CHECK(memtrace::open(raw_builder{}.header().view().first(16)).partial().stage() == stage::raw);
}

TEST_CASE("records of a memtrace are valid up to what ends them, and with a footer") {
  trace_builder damaged;
  damaged.header().instruction(1, 1);
  CHECK(memtrace::open(damaged.view())->validate() == trace_error{errc::bad_end, damaged.here()});
  const std::uint64_t place = damaged.here();
  damaged.put(static_cast<trace_type>(50), 0, 0).exit();
  CHECK(memtrace::open(damaged.view())->validate() == trace_error{errc::unknown_record, place});
  const auto narrow = narrow_trace(false);
  CHECK(memtrace::open(narrow)->validate() == trace_error{errc::bad_end, 32});
  raw_builder raw;
  raw.header(9).unit(20, 0);
  CHECK(memtrace::open(raw.view())->validate() == trace_error{errc::bad_end, raw.here()});
  raw.footer();
  CHECK_FALSE(memtrace::open(raw.view())->validate());
  CHECK(memtrace::open(raw.view().first(raw.here() - 3))->validate() == trace_error{errc::truncated, raw.here() - 8});
}
