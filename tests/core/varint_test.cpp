// SPDX-License-Identifier: Apache-2.0
#include <backsight/core/varint.hpp>

#include <vector>

#include <backsight/core/cursor.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;

namespace {

struct read_result {
  std::uint64_t value = 0;
  errc code = errc::ok;
  std::size_t size = 0;
  friend bool operator==(const read_result&, const read_result&) = default;
};

template <varint_form Form>
read_result read(byte_view data) {
  read_result found;
  const std::byte* const end = read_varint<Form>(data.data(), data.data() + data.size(), found.value, found.code);
  if (end == nullptr) return {0, found.code, 0};
  found.size = static_cast<std::size_t>(end - data.data());
  return found;
}

template <varint_form Form>
std::vector<std::byte> written(std::uint64_t value) {
  std::vector<std::byte> out;
  write_varint<Form>(value, [&](std::byte one) { out.push_back(one); });
  return out;
}

template <varint_form Form>
void check_round_trip(std::uint64_t value) {
  CAPTURE(value);
  const std::vector<std::byte> data = written<Form>(value);
  CHECK(read<Form>(data) == read_result{value, errc::ok, data.size()});
  for (std::size_t size = 0; size < data.size(); ++size) {
    CHECK(read<Form>(byte_view(data).first(size)) == read_result{0, errc::truncated, 0});
  }
}

}  // namespace

TEST_CASE("numbers of every length come back as they were written, and no shorter") {
  for (unsigned shift = 0; shift < 64; ++shift) {
    for (const std::uint64_t near : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
      const std::uint64_t value = (std::uint64_t{1} << shift) + near;
      check_round_trip<varint_form::uleb>(value);
      check_round_trip<varint_form::sleb>(value);
      check_round_trip<varint_form::sleb>(0 - value);
      check_round_trip<varint_form::varint>(value);
      check_round_trip<varint_form::zigzag>(value);
      check_round_trip<varint_form::zigzag>(0 - value);
    }
  }
}

TEST_CASE("LEB128 numbers are read as the cursor reads them, padded and too large ones too") {
  std::vector<std::byte> data;
  for (const unsigned fill : {0x80U, 0xffU, 0x81U}) {
    for (std::size_t length = 0; length < 13; ++length) {
      for (const unsigned last : {0x00U, 0x01U, 0x02U, 0x3fU, 0x40U, 0x7eU, 0x7fU}) {
        data.assign(length, static_cast<std::byte>(fill));
        data.push_back(static_cast<std::byte>(last));
        CAPTURE(fill, length, last);
        cursor<order::little> u(data), s(data);
        const std::uint64_t by_cursor = u.uleb128();
        const auto signed_by_cursor = static_cast<std::uint64_t>(s.sleb128());
        CHECK(read<varint_form::uleb>(data) == read_result{by_cursor, u.error().code, u.failed() ? 0 : data.size()});
        CHECK(read<varint_form::sleb>(data) ==
              read_result{signed_by_cursor, s.error().code, s.failed() ? 0 : data.size()});
      }
    }
  }
}

TEST_CASE("protobuf numbers have at most ten bytes, and what is beyond 64 bits is dropped") {
  CHECK(read<varint_form::varint>(bytes<0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f>) ==
        read_result{~std::uint64_t{0}, errc::ok, 10});
  CHECK(read<varint_form::varint>(bytes<0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00>).code ==
        errc::number_too_large);
}

TEST_CASE("a number whose tenth byte says that more follow is too large, also where nothing follows") {
  constexpr auto ten = bytes<0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80>;
  CHECK(read<varint_form::varint>(ten).code == errc::number_too_large);
  CHECK(read<varint_form::zigzag>(ten).code == errc::number_too_large);
}
