// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/detail/external_records.hpp>

#include <string>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

std::string external_lines(std::string_view text, std::uint64_t first = 0, std::uint64_t last = ~std::uint64_t{0}) {
  std::string all;
  for (const merged_record& r : uftrace::detail::read_external(test::view_of(text), first, last)) {
    CHECK((r.address == external_data && r.is_event() && r.source == record_source::external_file && r.more));
    all += std::to_string(r.time) + '+' + std::to_string(r.offset) + ':' + std::string(text::as_text(r.payload)) + '|';
  }
  return all;
}

}  // namespace

TEST_CASE("lines of extern.dat are times with messages") {
  CHECK(
      external_lines(
          "0.000000005 one\n# 0.1 no\n\n0.000000006\t two words \nno time\n0.000000007\n0.000000008  \n0.000000009x") ==
      "5+0:one|6+26:two words |9+84:x|");
  CHECK(external_lines("").empty());
}

TEST_CASE("records of extern.dat lie between two times, both included") {
  constexpr std::string_view text = "0.000000005 a\n0.000000006 b\n0.000000007 c\n";
  CHECK(external_lines(text, 6, 6) == "6+14:b|");
  CHECK(external_lines(text, 6) == "6+14:b|7+28:c|");
  CHECK(external_lines(text, 0, 6) == "5+0:a|6+14:b|");
}

TEST_CASE("messages of extern.dat have at most 1023 bytes") {
  for (const std::size_t size : {1U, 1022U, 1023U, 1024U, 5000U}) {
    const std::string text = "0.5 " + std::string(size, 'x');
    const auto all = uftrace::detail::read_external(test::view_of(text), 0, ~std::uint64_t{0});
    REQUIRE(all.size() == 1);
    CHECK(all[0].payload.size() == std::min<std::size_t>(size, 1023));
  }
}
