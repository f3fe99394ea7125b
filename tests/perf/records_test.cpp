// SPDX-License-Identifier: Apache-2.0
#include <iterator>

#include <support/catch.hpp>

#include "perf_builder.hpp"

using namespace backsight;
using namespace backsight::perf;
using test::byte_builder;
using test::record_bytes;

namespace {

template <class S, order O>
record<S, O> only(const std::vector<std::byte>& bytes) {
  const auto it = perf_records<O>(bytes).begin();
  REQUIRE_FALSE(it == std::default_sentinel);
  REQUIRE((*it).bytes().size() == bytes.size());
  REQUIRE((*it).template is<S>());
  return (*it).template as<S>();
}

}  // namespace

TEST_CASE("a mapping has its name behind the members") {
  const auto bytes =
      record_bytes(order::big, 1, 2,
                   byte_builder(order::big).u32(0xffffffff).u32(0).u64(0x1000).u64(0x20).u64(7).text("[k]").fill(5));
  const auto item = only<mmap_record, order::big>(bytes);
  CHECK(item[mmap_record::pid] == -1);
  CHECK(item[mmap_record::addr] == 0x1000);
  CHECK(item[mmap_record::len] == 0x20);
  CHECK(item[mmap_record::pgoff] == 7);
  CHECK(text_of(item.payload()) == "[k]");
  CHECK(cpu_mode_of(item[mmap_record::misc]) == cpu_mode::user);
}

TEST_CASE("misc tells whether a mapping has a build id or an inode") {
  const auto body =
      byte_builder().u32(5).u32(6).u64(1).u64(2).u64(3).u8(20).fill(3).fill(20, 0xab).u32(5).u32(2).text("f").fill(7);
  const auto with_id = record_bytes(order::little, 10, 0x4002, body);
  const auto item = only<mmap2_build_id_record, order::little>(with_id);
  CHECK(item[mmap2_build_id_record::build_id_size] == 20);
  CHECK(item[mmap2_build_id_record::build_id][19] == std::byte{0xab});
  CHECK(item[mmap2_build_id_record::prot] == 5);
  const auto with_inode = record_bytes(order::little, 10, 2, body);
  CHECK(only<mmap2_record, order::little>(with_inode)[mmap2_record::ino] == 0xabababababababab);
}

TEST_CASE("every type leads to its kind, and every other type to other_record") {
  for (unsigned type = 0; type < 200; ++type) {
    const auto bytes = record_bytes(order::little, type, 0, byte_builder().fill(120));
    const perf_records<order::little> records(bytes);
    const auto it = records.begin();
    REQUIRE_FALSE(it == std::default_sentinel);
    CHECK((*it).bytes().size() == bytes.size());
    const bool known = enumerator_name(static_cast<record_type>(type)) != nullptr && type < 84;
    CHECK((*it).is<perf::other_record>() == !known);
  }
}

TEST_CASE("a record smaller than its members is a fault, and reading goes on behind it") {
  const auto small = record_bytes(order::little, 3, 0, byte_builder().u32(1)),
             good = record_bytes(order::little, 68, 0, byte_builder());
  const auto bytes = test::joined({good, small, good});
  std::size_t count = 0;
  std::vector<fault> faults;
  for_each_salvaging(
      perf_records<order::little>(bytes, {}, 1000), [&](const auto&) { ++count; },
      [&](const fault& one) { faults.push_back(one); });
  CHECK(count == 2);
  CHECK(faults == std::vector<fault>{{errc::bad_size, 1008, 12}});
}

TEST_CASE("a size of less than the head ends the stream") {
  for (unsigned size = 0; size < 8; ++size) {
    byte_builder bytes;
    bytes.u32(3).u16(0).u16(size).fill(40);
    CHECK(perf_records<order::little>(bytes.view()).validate() == trace_error{errc::bad_size, 0});
  }
}

TEST_CASE("each truncation stops at the last whole record") {
  const auto bytes = test::joined({record_bytes(order::little, 3, 0, byte_builder().u32(1).u32(2).text("name").fill(4)),
                                   record_bytes(order::little, 90, 0, byte_builder().fill(3))});
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const perf_records<order::little> records(byte_view(bytes).first(size));
    std::size_t count = 0;
    const trace_error error = for_each(records, [&](const auto&) { ++count; });
    CHECK(count == (size == bytes.size() ? 2U : size >= 24 ? 1U : 0U));
    CHECK(static_cast<bool>(error) == (size != 0 && size != 24 && size != bytes.size()));
    if (error) CHECK((error.code == errc::truncated && error.offset == (size < 24 ? 0U : 24U)));
  }
}

TEST_CASE("what stands behind a record belongs to it") {
  const auto tracing = test::joined({record_bytes(order::little, 66, 0, byte_builder().u32(5).u32(0)),
                                     byte_builder().text("abcde").fill(3).vector()});
  const auto it = perf_records<order::little>(tracing).begin();
  CHECK((*it).bytes().size() == 24);
  CHECK(text_of(data_behind(stored_record(*it))) == "abcde");
  const auto aux = test::joined(
      {record_bytes(order::big, 71, 0, byte_builder(order::big).u64(3).fill(32)), byte_builder().text("xyz").vector()});
  const auto it2 = perf_records<order::big>(aux).begin();
  CHECK((*it2).bytes().size() == 51);
  CHECK(text_of(data_behind(stored_record(*it2))) == "xyz");
  // More than there is, up to what overflows.
  for (const std::uint64_t size : {std::uint64_t{4}, std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    const auto huge = record_bytes(order::little, 71, 0, byte_builder().u64(size).fill(32));
    CHECK(perf_records<order::little>(huge).validate());
  }
}

TEST_CASE("a compressed2 record whose size wrapped is as long as its data") {
  byte_builder bytes;
  bytes.u32(83).u16(0).u16(24).u64(5).text("abcde").fill(3);
  CHECK(perf_records<order::little>(bytes.view()).validate() == trace_error{});
  byte_builder wrapped;
  wrapped.u32(83).u16(0).u16(0).u64(70000).fill(70000).u32(68).u16(0).u16(8);
  std::vector<std::size_t> sizes;
  for (const auto& item : perf_records<order::little>(wrapped.view())) sizes.push_back(item.bytes().size());
  CHECK(sizes == std::vector<std::size_t>{70016, 8});
  byte_builder huge;
  huge.u32(83).u16(0).u16(16).u64(~std::uint64_t{0});
  CHECK(perf_records<order::little>(huge.view()).validate() == trace_error{errc::bad_size, 0});
}
