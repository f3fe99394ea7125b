// SPDX-License-Identifier: Apache-2.0
// Stands for core/format_check.hpp, core/format_hooks.hpp
#include <backsight/core/format.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

#include "tick_format.hpp"

using namespace ticks;
using test::bytes;

// Not in an unnamed namespace: Clang warns of members that nothing uses, and here nothing can.
namespace no_formats {

struct no_records {
  using records = record_list<>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte*, const context&) { return errc::unknown_record; }
};
static_assert(!record_format<no_records>);
static_assert(!record_format<int>);

}  // namespace no_formats

namespace {

struct number {
  static constexpr field<"value", std::uint8_t> value{};
  static constexpr layout fields{value};
};
struct strange_kinds {
  using records = record_list<number>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte*, const context&) {
    return record_list<note, closing, number>::kind<number>;
  }
};
static_assert(record_format<strange_kinds>);

constexpr detail::step<format> decoded(byte_view data) {
  return detail::decode<format>(data.data(), data.size(), no_context{});
}

constexpr bool is(detail::step<format> step, errc code) {
  return step.code == code && step.kind == detail::no_kind && step.end == nullptr;
}

constexpr bool decodes_one_record() {
  const byte_view tick = bytes<4, 0, 9>, note = bytes<3, 2, 'h', 'i', 9>;
  const detail::step<format> tick_step = decoded(tick), note_step = decoded(note);
  return tick_step.end == tick.data() + 2 && tick_step.kind == 0 && note_step.end == note.data() + 4 &&
         note_step.kind == 1 && is(decoded(bytes<4>), errc::truncated) &&
         is(decoded(bytes<3, 2, 'h'>), errc::truncated) && is(decoded(bytes<3, 255, 0>), errc::bad_size) &&
         is(decoded(bytes<9, 0>), errc::unknown_record) &&
         is(detail::decode<format>(nullptr, 0, no_context{}), errc::truncated);
}

}  // namespace

TEST_CASE("a format decodes the record that begins at a place, within what is there") {
  STATIC_REQUIRE(decodes_one_record());
  CHECK(decodes_one_record());
}

TEST_CASE("a format that names a kind outside of its list gives an unknown record") {
  constexpr auto data = bytes<0>;
  CHECK(detail::decode<strange_kinds>(data.data(), 1, no_context{}).code == errc::unknown_record);
}

TEST_CASE("the answers of a format hold a record of its list, or a number, or an error") {
  STATIC_REQUIRE(format::records::kind<note>.kind == format::records::index_of<note>);
  STATIC_REQUIRE(format::records::kind<note> != format::records::kind<closing>);
  STATIC_REQUIRE(format::records::kind<note>.code == errc::ok);
  STATIC_REQUIRE(kind_result(errc::bad_value).code == errc::bad_value);
  STATIC_REQUIRE(payload_result(std::size_t{3}).size == 3);
  CHECK(payload_result(errc::bad_size).code == errc::bad_size);
}
