// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>
#include <vector>

#include <backsight/core/record_range.hpp>
#include <backsight/core/record_span.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>

using namespace backsight;
using test::bytes;
using test::byte_builder;

namespace {

/// A small format: ticks of two bytes with bit 0 clear, notes of four bytes and a payload, and closing records.
struct tick {
  static constexpr field<"is_meta", bool, 1> is_meta{};
  static constexpr field<"value", std::uint16_t, 15> value{};
  static constexpr layout fields{word<16>(is_meta, value)};
};
struct note {
  static constexpr bool has_payload = true;
  static constexpr field<"is_meta", bool, 1> is_meta{};
  static constexpr field<"kind", std::uint8_t, 7> kind{};
  static constexpr field<"length", std::uint8_t> length{};
  static constexpr layout fields{word<8>(is_meta, kind), length};
};
struct close {
  static constexpr field<"is_meta", bool, 1> is_meta{};
  static constexpr field<"kind", std::uint8_t, 7> kind{};
  static constexpr layout fields{word<8>(is_meta, kind)};
};

struct format {
  using records = record_list<tick, note, close>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
  static constexpr common_record<tick, std::uint16_t> common{.mask = 1, .value = 0};
  static constexpr auto transitions = grammar<records>{}
                                          .start<note>()
                                          .follow<note, note, tick, close>()
                                          .follow<tick, tick, note, close>()
                                          .follow<close, note>()
                                          .finish<tick, close>();
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    const auto head = std::to_integer<unsigned>(*at);
    if ((head & 1U) == 0) return records::index_of<tick>;
    if (head >> 1 == 1) return records::index_of<note>;
    if (head >> 1 == 2) return records::index_of<close>;
    return errc::unknown_record;
  }
  static constexpr payload_result payload_size(record<note, byte_order> item, const context&) {
    if (item[note::length] == 255) return errc::bad_size;
    return std::size_t{item[note::length]};
  }
  static constexpr std::size_t resync(byte_view all, std::size_t from, context&) {
    while (from < all.size() && all[from] != std::byte{3}) ++from;
    return from;
  }
};

using range = record_range<format>;
static_assert(record_format<format>);
static_assert(std::ranges::forward_range<range>);
static_assert(std::ranges::view<range>);
static_assert(std::ranges::borrowed_range<range>);
static_assert(std::ranges::random_access_range<record_span<tick, order::little>>);
static_assert(std::is_trivially_copyable_v<any_record<format>>);

constexpr auto good = bytes<3, 2, 'h', 'i', 4, 0, 6, 0, 3, 0, 8, 1, 5>;

constexpr std::uint64_t sum_of_ticks(byte_view view) {
  std::uint64_t sum = 0;
  for (const auto item : range(view)) {
    visit(item, overloaded{
                    [&](record<tick, order::little> it) { sum += it[tick::value]; },
                    [&](record<note, order::little> it) { sum += 1000 * it.payload().size(); },
                    [&](record<close, order::little>) { sum += 1000000; },
                });
  }
  return sum;
}

}  // namespace

namespace {

/// Members may be called as the optional properties of a schema are.
struct awkward_names {
  static constexpr field<"size", std::uint16_t> size{};
  static constexpr field<"name", std::uint8_t> name{};
  static constexpr field<"has_payload", std::uint8_t> has_payload{};
  static constexpr layout fields{size, name, has_payload};
};
static_assert(schema<awkward_names> && size_of<awkward_names> == 4 && !has_payload<awkward_names>);

}  // namespace

TEST_CASE("a range gives every record of good data, also in a constant expression") {
  static_assert(sum_of_ticks(good) == 1002000 + 2 + 3 + 132);
  CHECK(sum_of_ticks(good) == 1002000 + 2 + 3 + 132);
  CHECK_FALSE(range(good).validate());
}

TEST_CASE("a range works with the algorithms and views of std::ranges") {
  const range records(good);
  CHECK(std::ranges::distance(records) == 6);
  auto ticks = records | std::views::filter([](auto item) { return item.template is<tick>(); }) |
               std::views::transform([](auto item) { return item.template as<tick>(); });
  const auto largest = std::ranges::max(ticks, {}, tick::value);
  CHECK(largest[tick::value] == 132);
}

TEST_CASE("iteration stops at the first byte that cannot be decoded and says where and why") {
  const auto unknown = bytes<3, 0, 4, 0, 9, 0>;
  CHECK(range(unknown).validate() == trace_error{errc::unknown_record, 4});
  const auto size = bytes<3, 0, 4, 0, 3, 255>;
  CHECK(range(size).validate() == trace_error{errc::bad_size, 4});
  const auto first = bytes<4, 0>;
  CHECK(range(first).validate() == trace_error{errc::bad_transition, 0});
  const auto close_tick = bytes<3, 0, 5, 4, 0>;
  CHECK(range(close_tick).validate() == trace_error{errc::bad_transition, 3});
  CHECK_FALSE(record_range<format, grammar_check::ignored>(close_tick).validate());
  const auto note_last = bytes<3, 0>;
  CHECK(range(note_last).validate() == trace_error{errc::bad_end, 2});
  CHECK_FALSE(range(byte_view{}).validate());
  CHECK(record_range<format>(unknown, {}, 100).validate() == trace_error{errc::unknown_record, 104});
}

TEST_CASE("each truncation of good data ends cleanly, with all whole records kept") {
  const byte_view all(good);
  const std::vector<std::size_t> ends{0, 4, 6, 8, 10, 12, 13};
  for (std::size_t size = 0; size <= all.size(); ++size) {
    const std::vector<std::byte> copy(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size));
    const range records{byte_view(copy)};
    std::size_t count = 0;
    const trace_error error = for_each(records, [&](auto) { ++count; });
    CHECK(count == static_cast<std::size_t>(std::ranges::upper_bound(ends, size) - ends.begin()) - 1);
    if (!std::ranges::count(ends, size)) CHECK(error.code == errc::truncated);
  }
}

TEST_CASE("salvage goes on at the next safe place and lists what it skipped") {
  const auto damaged = bytes<3, 0, 4, 0, 9, 9, 9, 3, 0, 6, 0, 255>;
  std::vector<fault> faults;
  std::vector<std::uint64_t> offsets;
  const std::size_t count = for_each_salvaging(
      range(damaged), [&](auto item) { offsets.push_back(item.offset()); }, [&](fault f) { faults.push_back(f); });
  CHECK(count == 2);
  CHECK(offsets == std::vector<std::uint64_t>{0, 2, 7, 9});
  CHECK(faults == std::vector<fault>{{errc::unknown_record, 4, 3}, {errc::unknown_record, 11, 1}});
}

TEST_CASE("runs of common records are found whole, whatever their length") {
  for (std::size_t length = 0; length < 70; ++length) {
    byte_builder built;
    built.u8(3).u8(0);
    for (std::size_t i = 0; i < length; ++i) built.u16(i * 2);
    built.u8(5);
    std::size_t ticks = 0, sum = 0, runs = 0, others = 0;
    const auto error = for_each_run(
        range(built.view()),
        [&](auto run) {
          ++runs;
          ticks += run.size();
          for (const auto item : run) sum += item[tick::value];
        },
        [&](auto) { ++others; });
    CHECK_FALSE(error);
    CHECK(ticks == length);
    CHECK(sum == length * (length == 0 ? 0 : length - 1) / 2);
    CHECK(runs == (length == 0 ? 0U : 1U));
    CHECK(others == 2);
  }
}

TEST_CASE("get_if gives the record when it is of that kind") {
  const auto first = *range(good).begin();
  REQUIRE(get_if<note>(first));
  CHECK(get_if<note>(first).payload().size() == 2);
  CHECK_FALSE(get_if<tick>(first));
}
