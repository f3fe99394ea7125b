// SPDX-License-Identifier: Apache-2.0
// Stands for perf/attributes.hpp
// trace.hpp, attributes.hpp, perf.hpp
#include <support/catch.hpp>

#include "perf_builder.hpp"

using namespace backsight;
using namespace backsight::perf;
using test::byte_builder;
using test::record_bytes;

namespace {

constexpr std::uint64_t plain_type = mask_of(sample_field::ip, sample_field::time, sample_field::identifier);

std::vector<std::byte> sample_of(order o, std::uint64_t id, std::uint64_t time) {
  return record_bytes(o, 9, 0, byte_builder(o).u64(id).u64(0x1000).u64(time));
}

std::vector<std::byte> small_file(order o) {
  return test::file_bytes(o, {test::attribute_bytes(o, plain_type), test::attribute_bytes(o, plain_type)},
                          test::joined({sample_of(o, 100, 5), sample_of(o, 101, 6), sample_of(o, 7, 6)}));
}

template <class F>
void change(std::vector<std::byte>& bytes, F field, std::uint64_t value) {
  mutable_record<file_header, order::little>(bytes.data()).set(field, value);
}

}  // namespace

TEST_CASE("a file gives its events, records and features in both byte orders") {
  for (const order o : {order::little, order::big}) {
    const auto bytes = small_file(o);
    const auto opened = perf::open(bytes);
    REQUIRE(opened);
    CHECK(opened->byte_order() == o);
    CHECK_FALSE(opened->is_pipe());
    CHECK_FALSE(opened->is_interrupted());
    CHECK(opened->missing() == 0);
    REQUIRE(opened->events().size() == 2);
    CHECK(opened->events()[0].name == "cpu-clock");
    CHECK(opened->events()[1].layout.sample_type == plain_type);
    CHECK(opened->table().find(101) == 1);
    CHECK(opened->table().find(102) == no_event);
    std::vector<std::uint32_t> events;
    with_order(o, [&](auto c) {
      for (const auto& item : opened->records<c()>()) events.push_back(opened->event_of(stored_record(item)));
    });
    CHECK(events == std::vector<std::uint32_t>{0, 1, no_event});
    const auto host = opened->find(feature::hostname);
    REQUIRE(host);
    CHECK(read_text(*host, o).value() == "host");
    CHECK_FALSE(opened->find(feature::cmdline));
    CHECK_FALSE(opened->feature_error());
  }
}

TEST_CASE("an attribute is as long as it says, as there is room, and never unread") {
  for (const std::size_t size : {64U, 72U, 96U, 128U, 144U, 200U}) {
    const auto bytes = test::file_bytes(order::little, {test::attribute_bytes(order::little, 1, size, 3, 0x55)}, {});
    const auto opened = perf::open(bytes);
    REQUIRE(opened);
    CHECK(opened->events()[0].attr[attribute_record::read_format] == 3);
    CHECK(opened->events()[0].layout.regs_user == (size > 80 ? 0x55 : 0));
  }
  // It states less than there is room for; the rest is not its own.
  auto attribute = test::attribute_bytes(order::little, 1, 128, 0, 0x55);
  for (const unsigned stated : {0U, 64U, 80U}) {
    attribute[4] = static_cast<std::byte>(stated);
    const auto opened = perf::open(test::file_bytes(order::little, {attribute}, {}));
    REQUIRE(opened);
    CHECK(opened->events()[0].layout.regs_user == 0);
  }
  attribute[4] = std::byte{63};
  CHECK(perf::open(test::file_bytes(order::little, {attribute}, {})).error() == trace_error{errc::bad_size, 112});
}

TEST_CASE("a killed recorder leaves records to the end of the file and no features") {
  const auto bytes =
      test::file_bytes(order::little, {test::attribute_bytes(order::little, plain_type)},
                       test::joined({sample_of(order::little, 100, 5), sample_of(order::little, 100, 6)}), true, true);
  const auto opened = perf::open(byte_view(bytes).first(bytes.size() - 3));
  REQUIRE(opened);
  CHECK(opened->is_interrupted());
  CHECK(opened->features().empty());
  CHECK(opened->records<order::little>().validate().code == errc::truncated);
  CHECK(opened->data().size() == 2 * 32 - 3);
}

TEST_CASE("headers that cannot be are errors with their place") {
  const auto good = small_file(order::little);
  const auto with = [&](auto field, std::uint64_t value) {
    auto bytes = good;
    change(bytes, field, value);
    return perf::open(bytes).error();
  };
  CHECK(with(file_header::magic, 5) == trace_error{errc::bad_magic, 0});
  CHECK(with(file_header::magic, 0x454c494646524550) == trace_error{errc::unsupported_version, 0});
  CHECK(with(file_header::size, 105) == trace_error{errc::bad_size, 8});
  CHECK(with(file_header::attr_size, 79) == trace_error{errc::bad_size, 16});
  CHECK(with(file_header::attr_size, 0) == trace_error{errc::bad_size, 16});
  CHECK(with(file_header::attrs_size, 145) == trace_error{errc::bad_size, 32});
  CHECK(with(file_header::attrs_size, std::uint64_t{144} << 40) == trace_error{errc::truncated, good.size()});
  CHECK(with(file_header::attrs_offset, ~std::uint64_t{0}) == trace_error{errc::truncated, good.size()});
  CHECK(with(file_header::data_offset, good.size() + 1) == trace_error{errc::truncated, good.size()});
}

TEST_CASE("ids outside of the file, and more of them than the file has words, are errors") {
  auto bytes = small_file(order::little);
  const std::size_t section = 104 + 16 + 128;
  store<order::little>(bytes.data() + section, std::uint64_t{1} << 63);
  CHECK(perf::open(bytes).error() == trace_error{errc::out_of_range, section});
  bytes = small_file(order::little);
  // Both sections are the whole file.
  for (const std::size_t at : {section, section + 144}) {
    store<order::little>(bytes.data() + at, std::uint64_t{0});
    store<order::little>(bytes.data() + at + 8, std::uint64_t{bytes.size()});
  }
  CHECK(perf::open(bytes).error() == trace_error{errc::bad_size, section + 144});
}

TEST_CASE("features that cannot be read do not keep records from being read") {
  auto bytes = small_file(order::little);
  const auto opened = perf::open(bytes);
  const std::size_t table = static_cast<std::size_t>(opened->data_offset()) + opened->data().size();
  store<order::little>(bytes.data() + table, std::uint64_t{1} << 40);
  const auto again = perf::open(bytes);
  REQUIRE(again);
  CHECK(again->feature_error() == trace_error{errc::out_of_range, table});
  change(bytes, file_header::features3, ~std::uint64_t{0});
  CHECK(perf::open(bytes)->feature_error());
}

TEST_CASE("each truncation of a file opens as far as it is there, or says where it ends") {
  for (const order o : {order::little, order::big}) {
    const auto bytes = small_file(o);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto opened = perf::open(byte_view(bytes).first(size));
      if (!opened) {
        CHECK((opened.error().offset <= size && opened.error().code != errc::ok));
        continue;
      }
      CHECK(opened->events().size() == 2);
      CHECK((opened->missing() != 0 || opened->feature_error() ||
             read_text(*opened->find(feature::hostname), o).error()));
      std::size_t given = 0;
      const merge_counts counts = for_each_merged(*opened, [&](const merged_record&) { ++given; }, [](const fault&) {});
      CHECK(given == (opened->data().size() / 32));
      CHECK(counts.faults == (opened->data().size() % 32 != 0 ? 1U : 0U));
    }
  }
}

TEST_CASE("a pipe has attributes, features and names among its records, however late") {
  for (const order o : {order::little, order::big}) {
    const auto attr = test::attribute_bytes(o, plain_type);
    const auto header_attr = record_bytes(o, 64, 0, byte_builder(o).append(attr).u64(100).u64(101));
    const auto hostname = record_bytes(o, 80, 0, byte_builder(o).u64(3).u32(3).text("me").fill(1));
    const auto name = record_bytes(o, 78, 0, byte_builder(o).u64(2).u64(101).text("mine").fill(4));
    const auto bytes =
        test::pipe_bytes(o, test::joined({name, sample_of(o, 101, 4), hostname, header_attr, sample_of(o, 7, 4)}));
    const auto opened = perf::open(bytes);
    REQUIRE(opened);
    CHECK(opened->is_pipe());
    REQUIRE(opened->events().size() == 1);
    CHECK(opened->events()[0].name == "mine");
    CHECK(opened->table().find(101) == 0);
    CHECK(read_text(*opened->find(feature::hostname), o).value() == "me");
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto part = perf::open(byte_view(bytes).first(size));
      CHECK(part.has_value() == (size >= 16));
    }
  }
}

TEST_CASE("an attribute in a pipe that states more than its record is told, and left out") {
  auto attr = test::attribute_bytes(order::little, plain_type);
  attr[4] = std::byte{200};
  const auto bytes =
      test::pipe_bytes(order::little, record_bytes(order::little, 64, 0, byte_builder().append(attr).u64(100)));
  const auto opened = perf::open(bytes);
  REQUIRE(opened);
  CHECK(opened->events().empty());
  CHECK(opened->feature_error() == trace_error{errc::bad_size, 24});
}

TEST_CASE("the feature event_desc names the events") {
  const auto attr = test::attribute_bytes(order::little, plain_type);
  byte_builder desc;
  desc.u64(12).u32(2).u32(attr.size());
  for (const char* name : {"first", "other"}) desc.append(attr).u32(1).u32(8).text(name).fill(3).u64(100);
  const auto header_attr = record_bytes(order::little, 64, 0, byte_builder().append(attr).u64(100));
  const auto bytes = test::pipe_bytes(
      order::little, test::joined({header_attr, header_attr, record_bytes(order::little, 80, 0, desc)}));
  const auto opened = perf::open(bytes);
  REQUIRE(opened);
  REQUIRE(opened->events().size() == 2);
  CHECK(opened->events()[0].name == "first");
  CHECK(opened->events()[1].name == "other");
  // Of equal ids the first counts.
  CHECK(opened->table().find(100) == 0);
}
