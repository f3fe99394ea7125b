// SPDX-License-Identifier: Apache-2.0
#include <backsight/perf/tracing_data.hpp>

#include <string>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

namespace perf = backsight::perf;
using backsight::errc;
using backsight::order;
using backsight::test::byte_builder;

namespace {

byte_builder sized(order o, const std::string& text) {
  byte_builder out(o);
  return out.u64(text.size()).text(text);
}

byte_builder formats(order o) {
  byte_builder out(o);
  out.u8(0x17).u8(8).u8(0x44).text("tracing").text("0.6").u8(0).u8(o == order::little ? 0 : 1).u8(8).u32(4096);
  out.text("header_page")
      .u8(0)
      .append(sized(o, "page").view())
      .text("header_event")
      .u8(0)
      .append(sized(o, "event").view());
  out.u32(0).u32(2);
  out.text("sched").u8(0).u32(1).append(sized(o, "name: sched_switch\nID: 314\nprint fmt: \"x\"\n").view());
  out.text("irq").u8(0).u32(2).append(sized(o, "name: a\nID: 5\n").view()).append(sized(o, "name: b\nID: 6\n").view());
  return out;
}

}  // namespace

TEST_CASE("formats of tracepoints are read in both byte orders") {
  for (const order o : {order::little, order::big}) {
    const byte_builder bytes = formats(o);
    const auto read = perf::read_tracing_data(bytes.view());
    REQUIRE(read);
    CHECK(read->byte_order == o);
    CHECK(read->long_size == 8);
    CHECK(read->page_size == 4096);
    REQUIRE(read->events.size() == 3);
    REQUIRE(read->find(314) != nullptr);
    CHECK(read->find(314)->system == "sched");
    CHECK(read->find(314)->name == "sched_switch");
    CHECK(read->find(6)->system == "irq");
    CHECK(read->find(7) == nullptr);
  }
}

TEST_CASE("formats of tracepoints that are cut off or of another kind are told") {
  const byte_builder bytes = formats(order::little);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto read = perf::read_tracing_data(bytes.view().first(size), 100);
    CHECK_FALSE(read);
    CHECK(read.error().offset >= 100);
    CHECK(read.error().offset <= 100 + size);
  }
  byte_builder old(order::little);
  old.u8(0x17).u8(8).u8(0x44).text("tracing").text("0.4").fill(40);
  CHECK(perf::read_tracing_data(old.view()).error().code == errc::unsupported_version);
  byte_builder other = formats(order::little);
  other.vector()[20] ^= std::byte{1};
  CHECK(perf::read_tracing_data(other.view()).error().code == errc::bad_magic);
}
