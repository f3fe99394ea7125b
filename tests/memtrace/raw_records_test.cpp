// SPDX-License-Identifier: Apache-2.0
// Stands for memtrace/raw_schema.hpp, memtrace/schema.hpp, memtrace/types.hpp
#include <algorithm>
#include <filesystem>
#include <ranges>

#include <backsight/core/print.hpp>
#include <backsight/memtrace/memtrace.hpp>

#include "trace_builder.hpp"

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::bytes;
using test::load_trace;
using test::trace_builder;

static_assert(std::ranges::forward_range<final_range> && std::ranges::view<final_range>);
static_assert(std::ranges::forward_range<raw_range> && std::ranges::borrowed_range<raw_range>);
static_assert(std::ranges::random_access_range<entry_span>);

namespace {

constexpr auto one_instruction = bytes<10, 0, 4, 0, 0x78, 0xc3, 0x43, 0, 0, 0, 0, 0>;

constexpr bool reads_an_instruction() {
  const auto item = *final_range(one_instruction).begin();
  const auto typed = item.as<instruction_record>();
  return item.is<instruction_record>() && typed[instruction_record::type] == trace_type::instr &&
         typed[instruction_record::size] == 4 && instruction_record::pc(typed) == 0x43c378;
}
static_assert(reads_an_instruction());

constexpr auto one_block = bytes<0xc3, 0x90, 0, 0, 2, 0, 0x0a, 0xa0>;
constexpr bool reads_a_block() {
  const auto item = *raw_range(one_block).begin();
  const auto typed = item.as<raw_block>();
  return typed[raw_block::modoffs] == 0x90c3 && typed[raw_block::modidx] == 1 && typed[raw_block::instr_count] == 5 &&
         typed[raw_block::type] == raw_type::pc_top_bit_or_iflush;
}
static_assert(reads_a_block());

/// Every sample file of tests/data/memtrace.
std::vector<std::string> samples() {
  std::vector<std::string> names;
  const std::string root = test::data_path("memtrace");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && (name.rfind("drmemtrace.", 0) == 0 || name.rfind("mock_", 0) == 0)) {
      names.push_back(std::filesystem::relative(entry.path(), root).string());
    }
  }
  std::ranges::sort(names);
  return names;
}

template <class Range>
std::vector<std::byte> encode_again(const Range& range, trace_error& error) {
  std::vector<std::byte> written;
  error = for_each(range, [&](const auto& item) {
    visit(item, [&](const auto& typed) {
      const std::size_t at = written.size();
      written.resize(at + typed.bytes().size());
      encode<order::little>(typed, written.data() + at);
    });
  });
  return written;
}

}  // namespace

TEST_CASE("records of both formats read in a constant expression and at run time") {
  CHECK(reads_an_instruction());
  CHECK(reads_a_block());
}

TEST_CASE("every sample decodes to its end and encodes to the same bytes") {
  std::size_t raws = 0, finals = 0;
  for (const std::string& name : samples()) {
    CAPTURE(name);
    const auto file = load_trace(name);
    trace_error error;
    std::vector<std::byte> written;
    if (const auto head = read_raw_header(file)) {
      written = encode_again(raw_range(file, head->context()), error);
      ++raws;
    } else {
      REQUIRE(read_final_header(file));
      written = encode_again(final_range(file), error);
      ++finals;
    }
    CHECK_FALSE(error);
    CHECK(written == file);
  }
  CHECK(raws == 13);
  CHECK(finals >= 14);
}

TEST_CASE("the header of a final trace says what the file states") {
  const auto head = read_final_header(load_trace("single/drmemtrace.single.10508.3099.trace.gz"));
  REQUIRE(head);
  CHECK(head->version == 7);
  CHECK(head->file_type == 0xe40);
  CHECK(head->tid == 10508);
  CHECK(head->page_size == 4096);
  CHECK(head->size == 96);
  CHECK(head->first_time == 13439698064458987);
  const auto old = read_final_header(load_trace("legacy/drmemtrace.small.x64.trace"));
  REQUIRE(old);
  CHECK(old->version == 1);
  CHECK_FALSE(old->has_file_type);
}

TEST_CASE("unknown versions and file types of final traces are errors with their place") {
  trace_builder good;
  good.header();
  CHECK(read_final_header(good.view()));
  CHECK(read_final_header(trace_builder{}.header(7, 8).view()).error() == trace_error{errc::unsupported_version, 4});
  CHECK(read_final_header(trace_builder{}.header(7, 0).view()).error() == trace_error{errc::unsupported_version, 4});
  CHECK(read_final_header(trace_builder{}.header(7, 7, 0x80e40).view()).error() ==
        trace_error{errc::unsupported_type, 24});
  // A 32-bit architecture in records of 12 bytes.
  CHECK(read_final_header(trace_builder{}.header(7, 7, 0xe20).view()).error() ==
        trace_error{errc::unsupported_type, 24});
  CHECK(read_final_header(test::read_file(test::data_path("memtrace/single/drmemtrace.single.10508.3099.trace.zip")))
            .error() == trace_error{errc::compressed, 0});
  CHECK(read_final_header(bytes<0x7f, 'E', 'L', 'F', 2, 1, 1, 0, 0, 0, 0, 0>).error() ==
        trace_error{errc::bad_magic, 0});
  CHECK(read_final_header({}).error() == trace_error{errc::truncated, 0});
}

TEST_CASE("unknown versions, file types and foreign files of raw traces are errors with their place") {
  const auto header = [](std::uint64_t version, std::uint64_t type) {
    test::byte_builder built;
    built.u64(type | version << 48 | std::uint64_t{4} << 56 | std::uint64_t{6} << 61);
    return built.vector();
  };
  CHECK(read_raw_header(header(8, 0xc40)));
  CHECK(read_raw_header(header(5, 0xc40)));
  CHECK(read_raw_header(header(9, 0xc40)).error() == trace_error{errc::unsupported_version, 6});
  CHECK(read_raw_header(header(4, 0xc40)).error() == trace_error{errc::unsupported_version, 6});
  CHECK(read_raw_header(header(8, 0x80000)).error() == trace_error{errc::unsupported_type, 0});
  CHECK(read_raw_header(bytes<1, 2, 3, 4, 5, 6, 7, 8>).error() == trace_error{errc::bad_magic, 0});
  const auto old = load_trace("legacy/drmemtrace.threadsig.16275.7075.raw.gz");
  const auto head = read_raw_header(old);
  REQUIRE(head);
  CHECK(head->version == 3);
  CHECK(head->file_type == file_type::aarch64);
}

TEST_CASE("the 32-bit layout is told from the 64-bit one and has records of eight bytes") {
  test::byte_builder built;
  const auto put = [&](trace_type type, std::uint16_t size, std::uint32_t value) {
    built.u16(static_cast<std::uint16_t>(type)).u16(size).u32(value);
  };
  put(trace_type::header, 0, 7);
  put(trace_type::marker, 12, 7);
  put(trace_type::marker, 9, 0x420);
  put(trace_type::thread, 4, 99);
  put(trace_type::pid, 4, 98);
  put(trace_type::marker, 2, 5);
  put(trace_type::instr, 3, 0x8048000);
  put(trace_type::footer, 0, 0);
  const auto head = read_final_header(built.view());
  REQUIRE(head);
  CHECK(head->address_size == 4);
  CHECK(head->tid == 99);
  std::size_t count = 0;
  CHECK_FALSE(for_each(final_range32(built.view()), [&](auto) { ++count; }));
  CHECK(count == 8);
}

TEST_CASE("a record of unknown type stops the range, and salvage goes on behind it") {
  trace_builder built;
  built.instruction(1, 2).put(static_cast<trace_type>(50), 0, 0).instruction(3, 4);
  CHECK(final_range(built.view()).validate() == trace_error{errc::unknown_record, 12});
  std::vector<fault> faults;
  std::size_t count = 0;
  for_each_salvaging(final_range(built.view()), [&](auto) { ++count; }, [&](const fault& f) { faults.push_back(f); });
  CHECK(count == 2);
  CHECK(faults == std::vector<fault>{{errc::unknown_record, 12, 12}});
}

TEST_CASE("an encoding longer than its bytes is a bad size") {
  trace_builder built;
  built.put(trace_type::encoding, 9, 0);
  CHECK(final_range(built.view()).validate() == trace_error{errc::bad_size, 0});
}

TEST_CASE("a marker value in two halves is one record") {
  test::byte_builder built;
  const auto marker = [](std::uint64_t type, std::uint64_t value) {
    return value | type << 48 | std::uint64_t{2} << 56 | std::uint64_t{6} << 61;
  };
  built.u64(marker(8, 0x12345678)).u64(marker(0, 0x9abcdef0)).u64(marker(3, 1));
  const raw_range range(built.view());
  auto it = range.begin();
  REQUIRE((*it).is<raw_split_marker>());
  CHECK(value_of((*it).as<raw_split_marker>()) == 0x123456789abcdef0);
  CHECK((*it).as<raw_split_marker>()[raw_split_marker::marker_type] == marker_type::kernel_event);
  ++it;
  CHECK((*it).as<raw_marker>()[raw_marker::marker_type] == marker_type::cpu_id);
  test::byte_builder torn;
  torn.u64(marker(8, 1)).u64(0);
  CHECK(raw_range(torn.view()).validate() == trace_error{errc::unpaired_record, 0});
}

TEST_CASE("type 5 is a flushed range of code on 32-bit ARM only") {
  test::byte_builder built;
  built.u64(std::uint64_t{5} << 61 | 0x1000).u64(std::uint64_t{5} << 61 | 0x1040);
  std::size_t blocks = 0, flushes = 0;
  for (const auto item : raw_range(built.view())) blocks += item.is<raw_block>();
  for (const auto item : raw_range(built.view(), raw_context{true})) flushes += item.is<raw_iflush>();
  CHECK(blocks == 2);
  CHECK(flushes == 1);
}

TEST_CASE("all types and markers have names") {
  for (std::uint16_t i = 0; i < trace_type_count; ++i) CHECK(enumerator_name(static_cast<trace_type>(i)) != nullptr);
  for (std::uint16_t i = 0; i < marker_type_count; ++i) CHECK(enumerator_name(static_cast<marker_type>(i)) != nullptr);
  CHECK(enumerator_name(trace_type::instr_untaken_jump) == std::string("instr_untaken_jump"));
  CHECK(enumerator_name(marker_type::skipped_memref) == std::string("skipped_memref"));
  CHECK(enumerator_name(static_cast<trace_type>(50)) == nullptr);
  CHECK(static_cast<int>(trace_type::prefetch_write_l3_nt) == 46);
  CHECK(static_cast<int>(marker_type::vector_length) == 36);
}
