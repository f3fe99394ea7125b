// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/tagged_format.hpp>

#include <vector>

#include <backsight/core/record_range.hpp>
#include <backsight/core/varying.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;

namespace {

struct by_member {
  static constexpr field<"pad", std::uint8_t> pad{};
  static constexpr field<"kind", std::uint16_t> kind{};
  static constexpr auto told_by = is(kind, 0x0102);
  static constexpr layout fields{pad, kind};
};
struct by_bits {
  static constexpr field<"low", std::uint8_t, 3> low{};
  static constexpr field<"high", std::uint8_t, 5> high{};
  static constexpr auto told_by = is(low, 5);
  static constexpr layout fields{word<8>(low, high), padding<16>{}};
};
struct by_function {
  static constexpr uleb<"value", std::uint16_t> value{};
  static constexpr auto told_by = [](const std::byte* at) { return *at == std::byte{9}; };
  static constexpr layout fields{value, padding<16>{}};
};
template <order O>
using kinds = tagged_format<O, by_member, by_bits, by_function>;
static_assert(kinds<order::little>::head_bytes == 3 && kinds<order::big>::byte_order == order::big);

template <order O>
constexpr bool tells_kinds(byte_view data) {
  std::size_t seen = 0;
  const trace_error error =
      for_each(record_range<kinds<O>>(data), [&](auto item) { seen = seen * 10 + item.kind() + 1; });
  return seen == 123 && error == trace_error{errc::unknown_record, 9};
}

}  // namespace

TEST_CASE("records are told by a member, by bits or by a function, the first in the list first") {
  CHECK(tells_kinds<order::little>(bytes<7, 2, 1, 0x0d, 0, 0, 9, 0, 0, 1, 1, 1>));
  constexpr auto nothing = bytes<1, 1, 1>;
  CHECK(kinds<order::little>::kind_of(nothing.data(), no_context{}).code == errc::unknown_record);
  // On big-endian machines bit-fields begin at the most significant bit.
// With -fsanitize=undefined beside it, GCC takes no comparison of a pointer with null for a constant.
#ifndef __SANITIZE_ADDRESS__
  STATIC_REQUIRE(tells_kinds<order::little>(bytes<7, 2, 1, 0x0d, 0, 0, 9, 0, 0, 1, 1, 1>));
  STATIC_REQUIRE(tells_kinds<order::big>(bytes<7, 1, 2, 0xa1, 0, 0, 9, 0, 0, 1, 1, 1>));
#endif
  CHECK(tells_kinds<order::big>(bytes<7, 1, 2, 0xa1, 0, 0, 9, 0, 0, 1, 1, 1>));
}
