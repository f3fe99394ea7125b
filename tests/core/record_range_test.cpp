// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <ranges>
#include <vector>

#include <backsight/core/record_range.hpp>
#include <backsight/core/record_span.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/no_alloc.hpp>

#include "tick_format.hpp"

using namespace backsight;
using namespace ticks;
using test::byte_builder;
using test::bytes;

namespace {

using range = record_range<format>;
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
                    [&](record<closing, order::little>) { sum += 1000000; },
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

TEST_CASE("each record of a walk has its own bytes, also where common ones follow each other") {
  const auto data = bytes<3, 0, 4, 0, 6, 0, 8, 0, 3, 2, 1, 1, 2, 0, 4, 0, 5>;
  std::vector<std::size_t> sizes;
  std::size_t at = 0;
  const range records(data);
  for (const auto item : records) {
    CHECK(item.bytes().data() == data.data() + at);
    CHECK(item.offset() == at);
    sizes.push_back(item.bytes().size());
    at += item.bytes().size();
  }
  CHECK(sizes == std::vector<std::size_t>{2, 2, 2, 2, 4, 2, 2, 1});
  CHECK(at == data.size());
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

TEST_CASE("a range without its grammar gives every record in any order") {
  constexpr auto shuffled = bytes<5, 4, 0, 5, 3, 0>;
  using loose = record_range<format, grammar_check::ignored>;
  STATIC_REQUIRE_FALSE(loose(shuffled).validate());
  STATIC_REQUIRE(range(shuffled).validate() == trace_error{errc::bad_transition, 0});
  std::size_t count = 0;
  CHECK_FALSE(for_each(loose(shuffled), [&](auto) { ++count; }));
  CHECK(count == 4);
}

TEST_CASE("iterators are equal at the same place, may outlive the range, and give offsets that grow") {
  auto it = range(good).begin();
  auto other = it++;
  CHECK(it != other);
  CHECK(++other == it);
  CHECK(it.offset() == 4);
  CHECK_FALSE(it.error());
  CHECK(range(good).at(4, {}).offset() == 4);
  std::uint64_t last = 0;
  for (++it; it != std::default_sentinel; ++it) {
    CHECK(it.offset() > last);
    last = it.offset();
  }
  CHECK(it.offset() == good.size());
  CHECK(range().begin() == std::default_sentinel);
}

TEST_CASE("a run from within a run is its rest, and of another kind it is empty") {
  auto it = range(good).begin();
  CHECK(it.take_run().empty());
  ++it;
  ++it;
  const byte_view run = it.take_run();
  CHECK(run.data() == good.data() + 6);
  CHECK(run.size() == 2);
  CHECK(it.offset() == 8);
}

TEST_CASE("iterating never allocates") {
  std::uint64_t sum = 0;
  CHECK(test::allocations_in([&] { sum = sum_of_ticks(good); }) == 0);
  CHECK(sum != 0);
}

namespace {

/// Lengths and kinds that depend on what came before: a width record sets how many bytes the data records behind it
/// have; an end record ends the range whatever follows.
struct width_record {
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr field<"bytes", std::uint8_t> bytes{};
  static constexpr layout fields{tag, bytes};
};
struct data_record {
  static constexpr bool has_payload = true;
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};
struct end_record {
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};
struct width_context {
  std::size_t width = 1;
};
struct width_format {
  using records = record_list<width_record, data_record, end_record>;
  using context = width_context;
  using terminator = end_record;
  static constexpr order byte_order = order::big;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    switch (std::to_integer<int>(*at)) {
      case 0: return records::kind<width_record>;
      case 1: return records::kind<data_record>;
      case 2: return records::kind<end_record>;
      default: return errc::unknown_record;
    }
  }
  static constexpr errc check(record<width_record, byte_order> item, const context&) {
    return item[width_record::bytes] > 9 ? errc::bad_value : errc::ok;
  }
  static constexpr payload_result payload_size(record<data_record, byte_order>, const context& in) { return in.width; }
  static constexpr void advance(context& in, record<width_record, byte_order> item) {
    in.width = item[width_record::bytes];
  }
  static constexpr std::size_t resync(byte_view all, std::size_t from, context& in) {
    while (from < all.size() && all[from] != std::byte{0}) ++from;
    in.width = 0;
    return from;
  }
};
static_assert(record_format<width_format>);
using widths = record_range<width_format>;

constexpr bool follows_its_context() {
  constexpr auto data = bytes<1, 'a', 0, 3, 1, 'a', 'b', 'c', 0, 0, 1, 1>;
  std::size_t sizes = 0;
  const trace_error error = for_each(widths(data), [&](auto item) {
    if (const auto found = get_if<data_record>(item)) sizes = sizes * 10 + found.payload().size();
  });
  auto it = widths(data).begin();
  ++it;
  ++it;
  return !error && sizes == 1300 && it.context().width == 3 && !widths(bytes<1, 'a', 'b'>, {2}).validate() &&
         widths(bytes<1, 'a', 'b'>, {3}).validate() == trace_error{errc::truncated, 0};
}

constexpr bool ends_behind_its_terminator() {
  constexpr auto data = bytes<0, 0, 2, 99, 99>;
  auto it = widths(data).begin();
  ++it;
  const bool at_terminator = (*it).is<end_record>();
  ++it;
  return at_terminator && it == std::default_sentinel && !it.error() && it.offset() == 3 &&
         !record_range<width_format, grammar_check::ignored>(data).validate();
}

// The word that tells the common record lies behind another member.
struct stamped {
  [[maybe_unused]] static constexpr const char* name = "stamped";
  static constexpr std::size_t size = 6;
  static constexpr field<"time", std::uint32_t> time{};
  static constexpr field<"kind", std::uint16_t> kind{};
  static constexpr layout fields{time, kind};
};
// Its payload tells its size: one byte says how many follow.
struct counted {
  [[maybe_unused]] static constexpr const char* name = "counted";
  static constexpr std::size_t size = 6;
  static constexpr bool has_payload = true;
  static constexpr field<"time", std::uint32_t> time{};
  static constexpr field<"kind", std::uint16_t> kind{};
  static constexpr layout fields{time, kind};
};
template <order O>
struct stamp_format {
  using records = record_list<stamped, counted>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = 6;
  static constexpr common_record<stamped, std::uint16_t> common{.mask = 0xff, .value = 7, .offset = 4};
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    switch (load<std::uint16_t, O>(at + 4) & 0xffU) {
      case 7: return records::template kind<stamped>;
      case 8: return records::template kind<counted>;
      default: return errc::unknown_record;
    }
  }
  static constexpr payload_result payload_size(const record<counted, O>&, byte_view rest, const context&) {
    if (rest.empty()) return errc::truncated;
    const auto count = std::to_integer<std::size_t>(rest[0]);
    if (count == 255) return errc::bad_size;
    return 1 + count;
  }
};
template <order O>
using stamps = record_range<stamp_format<O>>;

template <order O>
constexpr bool finds_common_records_by_a_word_inside() {
  byte_builder data(O);
  // Times that look like the other kind, and one whose bytes look like the common one.
  for (std::uint32_t i = 0; i < 19; ++i) data.u32(i == 5 ? 0x00080008U : 0x00070007U + i).u16(0x100U * i + 7);
  data.u32(7).u16(8).u8(2).u8(0xaa).u8(0xbb);
  data.u32(8).u16(7);
  std::size_t common = 0, bytes_of_payload = 0;
  std::uint64_t times = 0;
  const trace_error error = for_each(stamps<O>(data.view()), [&](auto item) {
    common += item.template is<stamped>();
    if (item.template is<counted>()) bytes_of_payload += item.template as<counted>().payload().size();
    else times += item.template as<stamped>()[stamped::time];
  });
  auto it = stamps<O>(data.view()).begin();
  const byte_view run = it.take_run();
  return !error && common == 20 && bytes_of_payload == 3 && run.size() == 19 * 6 && (*it).template is<counted>() &&
         times == 18 * 0x00070007ULL + 0x00080008U + (18 * 19 / 2 - 5) + 8;
}

constexpr bool sizes_payloads_by_what_follows() {
  using little = stamps<order::little>;
  constexpr auto one = bytes<0, 0, 0, 0, 8, 0, 1, 'x'>;
  const byte_view all = one;
  return !little(all).validate() && little(all.first(7)).validate() == trace_error{errc::truncated, 0} &&
         little(all.first(6)).validate() == trace_error{errc::truncated, 0} &&
         little(bytes<0, 0, 0, 0, 8, 0, 255>).validate() == trace_error{errc::bad_size, 0} &&
         (*little(all).begin()).as<counted>().payload().size() == 2;
}

}  // namespace

TEST_CASE("the word that tells a common record may lie inside it") {
  CHECK(finds_common_records_by_a_word_inside<order::little>());
  CHECK(finds_common_records_by_a_word_inside<order::big>());
#ifndef __SANITIZE_ADDRESS__
  STATIC_REQUIRE(finds_common_records_by_a_word_inside<order::little>());
  STATIC_REQUIRE(finds_common_records_by_a_word_inside<order::big>());
#endif
}

TEST_CASE("a payload's own bytes may tell its size") {
  CHECK(sizes_payloads_by_what_follows());
#ifndef __SANITIZE_ADDRESS__
  STATIC_REQUIRE(sizes_payloads_by_what_follows());
#endif
}

TEST_CASE("a format's lengths may depend on the records before") {
// Under -fsanitize=undefined GCC 12 does not compare an address with null in a constant expression.
#ifndef __SANITIZE_ADDRESS__
  STATIC_REQUIRE(follows_its_context());
#endif
  CHECK(follows_its_context());
}

TEST_CASE("a range ends behind its terminator, whatever bytes follow") {
  STATIC_REQUIRE(ends_behind_its_terminator());
  CHECK(ends_behind_its_terminator());
}

TEST_CASE("a value that a format does not allow stops the range") {
  CHECK(widths(bytes<0, 5, 0, 10>).validate() == trace_error{errc::bad_value, 2});
}

TEST_CASE("salvage goes on with the context that the format gives for the safe place") {
  constexpr auto data = bytes<0, 1, 1, 'a', 77, 0, 0, 1, 1, 0, 12, 0, 2>;
  std::vector<std::uint64_t> offsets;
  std::vector<fault> faults;
  const std::size_t count = for_each_salvaging(
      widths(data, {}, 1000), [&](auto item) { offsets.push_back(item.offset()); },
      [&](fault f) { faults.push_back(f); });
  CHECK(count == 2);
  CHECK(offsets == std::vector<std::uint64_t>{1000, 1002, 1005, 1007, 1008, 1011});
  CHECK(faults == std::vector<fault>{{errc::unknown_record, 1004, 1}, {errc::bad_value, 1009, 2}});
}

TEST_CASE("salvage without a fault, of nothing, and of a format that cannot resume") {
  const auto ignore = [](auto&&...) {};
  CHECK(for_each_salvaging(range(good), ignore, ignore) == 0);
  CHECK(for_each_salvaging(range(byte_view{}), ignore, ignore) == 0);
  // A fault at the very end skips nothing.
  std::vector<fault> faults;
  constexpr auto note_last = bytes<3, 0>;
  CHECK(for_each_salvaging(range(note_last), ignore, [&](fault f) { faults.push_back(f); }) == 1);
  CHECK(faults == std::vector<fault>{{errc::bad_end, 2, 0}});
}

TEST_CASE("a run ends in front of a foreign record, wherever that stands") {
  for (std::size_t place = 1; place <= 40; ++place) {
    CAPTURE(place);
    byte_builder built;
    built.u8(3).u8(0);
    for (std::size_t i = 0; i < place; ++i) built.u16(2 * i);
    built.u8(3).u8(0);  // As long as a tick.
    for (std::size_t i = 0; i < 24; ++i) built.u16(2 * i);
    auto it = range(built.view()).begin();
    ++it;
    const byte_view run = it.take_run();
    CHECK(run.data() == built.view().data() + 2);
    CHECK(run.size() == 2 * place);
    REQUIRE(it != std::default_sentinel);
    CHECK((*it).is<note>());
    CHECK(it.offset() == 2 + 2 * place);
    ++it;
    CHECK(it.take_run().size() == 48);
    CHECK(it == std::default_sentinel);
    CHECK_FALSE(it.error());
  }
}

TEST_CASE("a run reaches up to the end of the range, and not into half a record") {
  for (std::size_t count = 1; count <= 40; ++count) {
    CAPTURE(count);
    byte_builder built;
    built.u8(3).u8(0);
    for (std::size_t i = 0; i < count; ++i) built.u16(2 * i);
    const auto run_of = [](byte_view view) {
      auto it = record_range<format>(view, {}, 1000).begin();
      ++it;
      const std::size_t size = it.take_run().size();
      CHECK(it == std::default_sentinel);
      return std::pair{size, it.error()};
    };
    CHECK(run_of(built.view()) == std::pair{2 * count, trace_error{}});
    built.u8(0);
    CHECK(run_of(built.view()) == std::pair{2 * count, trace_error{errc::truncated, 1002 + 2 * count}});
  }
}

namespace {

/// Goes on with the width that was in force where the damage is.
struct keeping_format : width_format {
  static constexpr std::size_t resync(byte_view all, std::size_t from, context&) {
    while (from < all.size() && all[from] != std::byte{1}) ++from;
    return from;
  }
};
/// Without a safe place to go on at.
struct stopping_format {
  using records = record_list<width_record>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    if (*at != std::byte{0}) return errc::unknown_record;
    return records::kind<width_record>;
  }
};

template <class Format>
struct salvaged {
  std::vector<std::uint64_t> offsets;
  std::vector<fault> faults;
  std::size_t count = 0;
  explicit salvaged(byte_view data, std::uint64_t base = 0) {
    count = for_each_salvaging(
        record_range<Format>(data, {}, base), [&](auto item) { offsets.push_back(item.offset()); },
        [&](fault f) { faults.push_back(f); });
  }
};

}  // namespace

TEST_CASE("salvage goes on with the context at the damage, not with that of the beginning") {
  constexpr auto data = bytes<0, 3, 1, 'a', 'b', 'c', 77, 1, 'd', 'e', 'f', 0, 2, 78, 1, 'g', 'h', 2>;
  const salvaged<keeping_format> all(data, 100);
  CHECK(all.count == 2);
  CHECK(all.offsets == std::vector<std::uint64_t>{100, 102, 107, 111, 114, 117});
  CHECK(all.faults == std::vector<fault>{{errc::unknown_record, 106, 1}, {errc::unknown_record, 113, 1}});
}

TEST_CASE("salvage goes on right behind the first byte of what cannot be decoded, and again behind the next") {
  constexpr auto data = bytes<9, 3, 0, 9, 3, 0, 4, 0, 9, 9>;
  const salvaged<format> all(data, 50);
  CHECK(all.count == 3);
  CHECK(all.offsets == std::vector<std::uint64_t>{51, 54, 56});
  CHECK(all.faults == std::vector<fault>{
                          {errc::unknown_record, 50, 1}, {errc::unknown_record, 53, 1}, {errc::unknown_record, 58, 2}});
}

TEST_CASE("salvage does not go on at the damage itself, though that looks safe") {
  constexpr auto data = bytes<3, 0, 3, 255, 3, 0, 4, 0>;
  const salvaged<format> all(data);
  CHECK(all.count == 1);
  CHECK(all.offsets == std::vector<std::uint64_t>{0, 4, 6});
  CHECK(all.faults == std::vector<fault>{{errc::bad_size, 2, 2}});
}

TEST_CASE("salvage of a format without safe places skips all from the first damage on") {
  constexpr auto data = bytes<0, 1, 5, 0, 1, 0, 1>;
  const salvaged<stopping_format> all(data, 10);
  CHECK(all.count == 1);
  CHECK(all.offsets == std::vector<std::uint64_t>{10});
  CHECK(all.faults == std::vector<fault>{{errc::unknown_record, 12, 5}});
}

TEST_CASE("an iterator from within a range counts from the range's base and may begin as a range does") {
  const record_range<format> records(good, {}, 500);
  auto it = records.at(8, {});
  CHECK(it.offset() == 508);
  CHECK((*it).is<note>());
  // A tick may not come first.
  CHECK(records.at(4, {}).error() == trace_error{errc::bad_transition, 504});
  CHECK_FALSE(records.at(good.size(), {}).error());
  CHECK(records.at(good.size(), {}) == std::default_sentinel);
}

namespace {

/// Ticks and closing records whose kind_of asks for more bytes than either has.
struct far_sighted {
  using records = record_list<tick, closing, note>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 4;
  static constexpr bool head_beyond_end = true;
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    const auto head = std::to_integer<unsigned>(*at);
    if ((head & 1U) == 0) return records::kind<tick>;
    if (head == 5) return records::kind<closing>;
    if (head == 3) return records::kind<note>;
    return errc::unknown_record;
  }
  static constexpr payload_result payload_size(record<note, byte_order> item, const context&) {
    return std::size_t{item[note::length]};
  }
};

/// A format whose resync does as `Move` says.
template <int Move>
struct stubborn : format {
  static constexpr std::size_t resync(byte_view all, std::size_t from, context&) {
    return Move == 0 ? from - 1 : Move < 0 ? 0 : all.size() + 10;
  }
};

template <class Format>
std::vector<fault> faults_of(byte_view data, std::size_t& records) {
  std::vector<fault> faults;
  // A walk that does not end fails here, not by hanging.
  const auto note = [&](fault f) {
    faults.push_back(f);
    REQUIRE(faults.size() < 10);
  };
  records = 0;
  (void)for_each_salvaging(record_range<Format>(data), [&](auto) { ++records; }, note);
  return faults;
}

}  // namespace

TEST_CASE("records at the end that are smaller than what kind_of looks at are found") {
  constexpr auto data = bytes<4, 0, 6, 0, 5, 8, 0, 3, 0, 5, 5>;
  for (std::size_t size = 0; size <= data.size(); ++size) {
    std::vector<std::uint64_t> offsets;
    const record_range<far_sighted> range(byte_view(data).first(size));
    const trace_error error = for_each(range, [&](auto item) { offsets.push_back(item.offset()); });
    std::vector<std::uint64_t> expected;
    std::size_t end = 0;
    for (const unsigned length : {2U, 2U, 1U, 2U, 2U, 1U, 1U}) {
      if (end + length > size) break;
      expected.push_back(end);
      end += length;
    }
    CAPTURE(size);
    CHECK(offsets == expected);
    CHECK(error == (end == size ? trace_error{} : trace_error{errc::truncated, end}));
  }
  // A record whose size reaches beyond the end, and a byte that begins none, are not taken for whole.
  CHECK(record_range<far_sighted>(bytes<3, 2, 'a'>).validate() == trace_error{errc::truncated, 0});
  CHECK(record_range<far_sighted>(bytes<4, 0, 7>).validate() == trace_error{errc::truncated, 2});
  CHECK(record_range<far_sighted>(bytes<4, 0, 7, 0>).validate() == trace_error{errc::truncated, 2});
  CHECK(record_range<far_sighted>(bytes<4, 0, 7, 0, 0>).validate() == trace_error{errc::truncated, 2});
  CHECK(record_range<far_sighted>(bytes<4, 0, 7, 0, 0, 0>).validate() == trace_error{errc::unknown_record, 2});
}

TEST_CASE("a resync that does not move on, or leaves the bytes, ends the walk") {
  const auto damaged = bytes<3, 0, 4, 0, 9, 9, 9, 3, 0, 6, 0>;
  std::size_t records = 0;
  CHECK(faults_of<stubborn<0>>(damaged, records) == std::vector<fault>{{errc::unknown_record, 4, 7}});
  CHECK(records == 2);
  CHECK(faults_of<stubborn<-1>>(damaged, records) == std::vector<fault>{{errc::unknown_record, 4, 7}});
  CHECK(faults_of<stubborn<1>>(damaged, records) == std::vector<fault>{{errc::unknown_record, 4, 7}});
  CHECK(records == 2);
}

namespace {

/// Its payload is all that follows, up to eight bytes.
struct greedy {
  [[maybe_unused]] static constexpr const char* name = "greedy";
  static constexpr bool has_payload = true;
  static constexpr field<"tag", std::uint8_t> tag{};
  static constexpr layout fields{tag};
};
struct greedy_format {
  using records = record_list<greedy>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte*, const context&) { return records::kind<greedy>; }
  static constexpr payload_result payload_size(const record<greedy, byte_order>&, byte_view rest, const context&) {
    return rest.size() < 8 ? rest.size() : 8;
  }
};

}  // namespace

TEST_CASE("a payload is shown what follows its record, and nothing behind the end") {
  const std::vector<std::byte> data(32);
  for (std::size_t size = 1; size <= 20; ++size) {
    CAPTURE(size);
    std::vector<std::size_t> sizes;
    const record_range<greedy_format> records(byte_view(data).first(size));
    CHECK_FALSE(for_each(records, [&](auto item) { sizes.push_back(item.bytes().size()); }));
    std::vector<std::size_t> wanted;
    for (std::size_t left = size; left != 0; left -= wanted.back()) wanted.push_back(std::min<std::size_t>(left, 9));
    CHECK(sizes == wanted);
  }
}
