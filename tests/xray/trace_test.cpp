// SPDX-License-Identifier: Apache-2.0
#include <backsight/xray/trace.hpp>

#include <support/catch.hpp>
#include <support/xray_builder.hpp>

using namespace backsight;
using namespace backsight::xray;
using test::xray_builder;

namespace {

constexpr bool check_open() {
  for (const order o : {order::little, order::big}) {
    for (unsigned version = 1; version <= 5; ++version) {
      const xray_builder file = xray_builder(o, version).header(8192, 1, 2500000000);
      const auto opened = xray::open(file.view());
      if (!opened || opened->version() != version || opened->type() != log_type::fdr || opened->byte_order() != o)
        return false;
      if (!opened->constant_tsc() || !opened->nonstop_tsc() || opened->ticks_per_second() != 2500000000) return false;
      if (opened->buffer_size() != 8192 || !opened->body().empty() || opened->bytes().size() != 32) return false;
      const auto basic = xray::open(xray_builder(o, version).header(0, 0).view());
      if (basic.has_value() != (version <= 3)) return false;
      if (version > 3 && basic.error() != trace_error{errc::unsupported_version, 0}) return false;
    }
  }
  return true;
}
static_assert(check_open());

}  // namespace

TEST_CASE("a log of any version, type and byte order is opened, also in a constant expression") { CHECK(check_open()); }

TEST_CASE("fewer than 32 bytes are a truncated header") {
  const xray_builder file = xray_builder(order::little).header();
  for (std::size_t size = 0; size < 32; ++size) {
    CHECK(xray::open(file.view().first(size)).error() == trace_error{errc::truncated, 0});
  }
}

TEST_CASE("an unknown type is reported where the type is, an unknown version where the version is") {
  for (const order o : {order::little, order::big}) {
    CHECK(xray::open(xray_builder(o).header(0, 2).view()).error() == trace_error{errc::unsupported_type, 2});
    CHECK(xray::open(xray_builder(o, 0).header().view()).error() == trace_error{errc::unsupported_version, 0});
    CHECK(xray::open(xray_builder(o, 6).header().view()).error() == trace_error{errc::unsupported_version, 0});
    CHECK(xray::open(xray_builder(o, 0).header(0, 0).view()).error() == trace_error{errc::unsupported_version, 0});
    CHECK(xray::open(xray_builder(o, 4).header(0, 0).view()).error() == trace_error{errc::unsupported_version, 0});
  }
}

TEST_CASE("flags other than the two that have a meaning are ignored") {
  auto file = xray_builder(order::little).header();
  std::vector<std::byte> bytes(file.view().begin(), file.view().end());
  bytes[4] = std::byte{0xe1};
  bytes[5] = bytes[6] = bytes[7] = std::byte{0xde};
  const auto opened = xray::open(bytes);
  REQUIRE(opened);
  CHECK(opened->constant_tsc());
  CHECK_FALSE(opened->nonstop_tsc());
}

TEST_CASE("ticks become nanoseconds exactly, for any frequency") {
  const auto log_of = [](std::uint64_t frequency) {
    return *xray::open(xray_builder(order::little).header(0, 1, frequency).view());
  };
  // The views above are gone, but to_ns reads only decoded members.
  CHECK(log_of(0).to_ns(12345) == 12345);
  CHECK(log_of(1000000000).to_ns(1800000000000000001) == 1800000000000000001);
  CHECK(log_of(2500000000).to_ns(5) == 2);
  CHECK(log_of(3000000000).to_ns(3000000000000000001) == 1000000000000000000);
  CHECK(log_of(1).to_ns(3) == 3000000000);
  CHECK(log_of(18446744073).to_ns(18446744073ULL * 1000 + 1) == 1000000000000);
  CHECK(log_of(0xffffffffffffffff).to_ns(0xffffffffffffffff) == 1000000000);
  // Where the rest times a second would not fit 64 bits, just below and above the frequency at which it can.
  CHECK(log_of(18446744073).to_ns(18446744072) == 999999999);
  CHECK(log_of(18446744074).to_ns(18446744073) == 1024819115);
  CHECK(log_of(40000000000).to_ns(40000000000ULL * 7 + 39999999999ULL) == 7999999999);
  CHECK(log_of(40000000000).to_ns(39) == 0);
  CHECK(log_of(40000000000).to_ns(40) == 1);
}

TEST_CASE("a clock that is finer than a nanosecond by far keeps its time") {
  const auto log_of = [](std::uint64_t frequency) {
    return *xray::open(xray_builder(order::little).header(0, 1, frequency).view());
  };
  // Half a second, and the ticks just below a second: times 10^9 these rests would not fit 64 bits.
  CHECK(log_of(std::uint64_t{1} << 63).to_ns(std::uint64_t{1} << 62) == 500000000);
  CHECK(log_of(18446744074).to_ns(18446744073) == 1024819115);
  CHECK(log_of(20000000000).to_ns(19999999999) == 999999999);
  CHECK(log_of(20000000000).to_ns(3 * std::uint64_t{20000000000} + 10000000000) == 3500000000);
}
