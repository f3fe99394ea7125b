// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>
#include <vector>

#include <backsight/core/record.hpp>

#include <support/byte_builder.hpp>
#include <support/catch.hpp>
#include <support/no_alloc.hpp>

using namespace backsight;
using test::bytes;

namespace {

enum class colour : std::uint8_t { red = 1, green = 2, blue = 5 };

/// One member of every sort, and a word that bit-fields share.
struct mixed {
  static constexpr field<"flag", bool> flag{};
  static constexpr field<"hue", colour, 3> hue{};
  static constexpr field<"id", std::uint32_t, 28> id{};
  static constexpr field<"change", std::int16_t> change{};
  static constexpr field<"signed_low", std::int8_t, 4> signed_low{};
  static constexpr field<"signed_high", std::int8_t, 4> signed_high{};
  static constexpr field<"tag", std::array<std::byte, 3>> tag{};
  static constexpr field<"ratio", float> ratio{};
  static constexpr field<"weight", double> weight{};
  static constexpr layout fields{
      word<32>(flag, hue, id), change, word<8>(signed_low, signed_high), tag, ratio, weight, padding<16>{}};
};
static_assert(schema<mixed> && size_of<mixed> == 24);

// flag 1, hue 5, id 0xabcdef1, change -2, signed_low -1, signed_high 7, tag 1 2 3, ratio 1, weight -2, padding.
constexpr auto little_bytes =
    bytes<0x1b, 0xef, 0xcd, 0xab, 0xfe, 0xff, 0x7f, 1, 2, 3, 0, 0, 0x80, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0, 0x5a, 0xa5>;
constexpr auto big_bytes =
    bytes<0xda, 0xbc, 0xde, 0xf1, 0xff, 0xfe, 0xf7, 1, 2, 3, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0xa5, 0x5a>;

template <order O>
constexpr bool reads_every_member(byte_view data) {
  const record<mixed, O> item(data.data());
  return item[mixed::flag] && item[mixed::hue] == colour::blue && item[mixed::id] == 0xabcdef1 &&
         item[mixed::change] == -2 && item[mixed::signed_low] == -1 && item[mixed::signed_high] == 7 &&
         item[mixed::tag] == bytes<1, 2, 3> && item[mixed::ratio] == 1.0F && item[mixed::weight] == -2.0 &&
         item.bytes().size() == 24 && item.template member_at<2>() == item[mixed::id];
}

template <order O>
constexpr owned_record<mixed, O> made() {
  return owned_record<mixed, O>{}
      .set(mixed::flag, true)
      .set(mixed::hue, colour::blue)
      .set(mixed::id, 0xabcdef1)
      .set(mixed::change, std::int16_t{-2})
      .set(mixed::signed_low, std::int8_t{-1})
      .set(mixed::signed_high, std::int8_t{7})
      .set(mixed::tag, bytes<1, 2, 3>)
      .set(mixed::ratio, 1.0F)
      .set(mixed::weight, -2.0);
}

constexpr bool writes_what_it_reads() {
  const auto little = made<order::little>();
  const auto big = made<order::big>();
  return std::equal(little_bytes.begin(), little_bytes.end() - 2, little.bytes().begin()) &&
         std::equal(big_bytes.begin(), big_bytes.end() - 2, big.bytes().begin()) && little[mixed::id] == big[mixed::id];
}

constexpr bool encodes_in_either_order() {
  const record<mixed, order::little> little(little_bytes.data());
  std::array<std::byte, 24> same{}, swapped{}, back{};
  encode<order::little>(little, same.data());
  encode<order::big>(little, swapped.data());
  encode<order::little>(record<mixed, order::big>(swapped.data()), back.data());
  return same == little_bytes && swapped == big_bytes && back == little_bytes;
}

constexpr bool leaves_the_bits_around_a_member() {
  std::array<std::byte, 24> room{};
  for (std::byte& byte : room) byte = std::byte{0xff};
  const mutable_record<mixed, order::little> item(room.data());
  item.set(mixed::hue, colour{0}).set(mixed::signed_high, std::int8_t{0});
  const bool cleared = room[0] == std::byte{0xf1} && room[6] == std::byte{0x0f};
  item.set(mixed::hue, colour{7}).set(mixed::signed_high, std::int8_t{-1});
  bool all = true;
  for (const std::byte byte : room) all = all && byte == std::byte{0xff};
  return cleared && all && item.view()[mixed::hue] == colour{7};
}

constexpr bool cuts_off_what_does_not_fit() {
  owned_record<mixed, order::big> item;
  item.set(mixed::id, 0xffffffff).set(mixed::signed_low, std::int8_t{100});
  return item[mixed::id] == 0xfffffff && item[mixed::signed_low] == 4 && item[mixed::signed_high] == 0 &&
         !item[mixed::flag] && item[mixed::hue] == colour{0};
}

/// Words of 24 and 48 bits, as PCI and audio formats have them.
struct odd_words {
  static constexpr field<"a", std::uint32_t, 24> a{};
  static constexpr field<"b", std::int64_t, 48> b{};
  static constexpr field<"c", std::uint32_t, 20> c{};
  static constexpr field<"d", std::uint8_t, 4> d{};
  static constexpr layout fields{a, b, word<24>(c, d)};
};
static_assert(size_of<odd_words> == 12);

/// Nothing but 24 bits: no window of a power of two lies inside the record.
struct alone {
  static constexpr field<"value", std::int32_t, 24> value{};
  static constexpr layout fields{value};
};
static_assert(size_of<alone> == 3);

template <order O>
constexpr bool odd_words_survive() {
  owned_record<odd_words, O> item;
  item.set(odd_words::a, 0x123456)
      .set(odd_words::b, -5)
      .set(odd_words::c, 0xabcde)
      .set(odd_words::d, std::uint8_t{0xf});
  return item[odd_words::a] == 0x123456 && item[odd_words::b] == -5 && item[odd_words::c] == 0xabcde &&
         item[odd_words::d] == 0xf;
}

constexpr bool a_lone_odd_word_survives() {
  constexpr auto data = bytes<0xfe, 0xff, 0xff>;
  constexpr auto swapped = bytes<0xff, 0xff, 0xfe>;
  owned_record<alone, order::big> item;
  item.set(alone::value, -2);
  return record<alone, order::little>(data.data())[alone::value] == -2 &&
         record<alone, order::big>(swapped.data())[alone::value] == -2 && item.bytes() == swapped;
}

/// Numbers of full width, and the least and greatest of each.
struct wide {
  static constexpr field<"u", std::uint64_t> u{};
  static constexpr field<"i", std::int64_t> i{};
  static constexpr field<"low", std::uint64_t, 63> low{};
  static constexpr field<"high", bool> high{};
  static constexpr layout fields{u, i, word<64>(low, high)};
};

template <order O>
constexpr bool wide_members_survive() {
  owned_record<wide, O> item;
  item.set(wide::u, ~std::uint64_t{0})
      .set(wide::i, std::numeric_limits<std::int64_t>::min())
      .set(wide::low, ~std::uint64_t{0} >> 1);
  const bool first = item[wide::u] == ~std::uint64_t{0} && item[wide::i] == std::numeric_limits<std::int64_t>::min() &&
                     item[wide::low] == ~std::uint64_t{0} >> 1 && !item[wide::high];
  item.set(wide::high, true).set(wide::low, 0);
  return first && item[wide::high] && item[wide::low] == 0;
}

struct packet {
  static constexpr bool has_payload = true;
  static constexpr field<"length", std::uint16_t> length{};
  static constexpr layout fields{length};
};

constexpr bool carries_its_payload() {
  constexpr auto data = bytes<3, 0, 'a', 'b', 'c'>;
  const record<packet, order::little> item(data.data(), 3);
  std::array<std::byte, 5> swapped{};
  encode<order::big>(item, swapped.data());
  return item.payload().size() == 3 && item.payload()[2] == std::byte{'c'} && item.bytes().size() == 5 &&
         swapped == bytes<0, 3, 'a', 'b', 'c'>;
}

constexpr bool compares_bytes() {
  constexpr auto a = bytes<1, 0, 'a'>;
  constexpr auto b = bytes<1, 0, 'a'>;
  constexpr auto other = bytes<1, 0, 'b'>;
  using view = record<packet, order::little>;
  return view(a.data(), 1) == view(b.data(), 1) && !(view(a.data(), 1) == view(other.data(), 1)) &&
         !(view(a.data(), 1) == view(a.data(), 0)) && view(a.data(), 0) == view(other.data(), 0) && !view() &&
         view(a.data(), 0);
}

static_assert(std::is_trivially_copyable_v<record<mixed, order::little>>);
static_assert(sizeof(record<mixed, order::little>) == sizeof(void*), "a record without payload is a pointer");
static_assert(sizeof(record<packet, order::little>) == 2 * sizeof(void*));

}  // namespace

TEST_CASE("a record reads every sort of member in both byte orders") {
  STATIC_REQUIRE(reads_every_member<order::little>(little_bytes));
  STATIC_REQUIRE(reads_every_member<order::big>(big_bytes));
  CHECK(reads_every_member<order::little>(little_bytes));
  CHECK(reads_every_member<order::big>(big_bytes));
}

TEST_CASE("an owned record writes the bytes that a record reads") {
  STATIC_REQUIRE(writes_what_it_reads());
  CHECK(writes_what_it_reads());
}

TEST_CASE("encoding gives the same bytes in the same order, and in the other order the same values") {
  STATIC_REQUIRE(encodes_in_either_order());
  CHECK(encodes_in_either_order());
}

TEST_CASE("writing a member leaves the bits around it") {
  STATIC_REQUIRE(leaves_the_bits_around_a_member());
  CHECK(leaves_the_bits_around_a_member());
}

TEST_CASE("bits of a value beyond the width of its member are cut off") {
  STATIC_REQUIRE(cuts_off_what_does_not_fit());
  CHECK(cuts_off_what_does_not_fit());
}

TEST_CASE("words of 24 and 48 bits are read and written within the record") {
  STATIC_REQUIRE(odd_words_survive<order::little>() && odd_words_survive<order::big>());
  CHECK(odd_words_survive<order::little>());
  CHECK(odd_words_survive<order::big>());
  STATIC_REQUIRE(a_lone_odd_word_survives());
  // On the heap, where AddressSanitizer sees a byte too many.
  const std::vector<std::byte> data{std::byte{1}, std::byte{0}, std::byte{0}};
  CHECK(record<alone, order::little>(data.data())[alone::value] == 1);
  CHECK(a_lone_odd_word_survives());
}

TEST_CASE("members of 63 and 64 bits keep all their bits") {
  STATIC_REQUIRE(wide_members_survive<order::little>() && wide_members_survive<order::big>());
  CHECK(wide_members_survive<order::little>());
  CHECK(wide_members_survive<order::big>());
}

TEST_CASE("a record with a payload views the bytes behind its members") {
  STATIC_REQUIRE(carries_its_payload());
  CHECK(carries_its_payload());
}

TEST_CASE("records are equal when their bytes are, payload included") {
  STATIC_REQUIRE(compares_bytes());
  CHECK(compares_bytes());
}

TEST_CASE("a mutable record changes bytes that somebody else owns") {
  auto room = little_bytes;
  mutable_record<mixed, order::little>(room.data()).set(mixed::id, 7).set(mixed::tag, bytes<9, 8, 7>);
  const record<mixed, order::little> item(room.data());
  CHECK(item[mixed::id] == 7);
  CHECK(item[mixed::hue] == colour::blue);
  CHECK(item[mixed::tag] == bytes<9, 8, 7>);
}

TEST_CASE("reading, writing and encoding a record never allocate") {
  bool good = false;
  CHECK(test::allocations_in([&] {
          good = writes_what_it_reads() && encodes_in_either_order() && reads_every_member<order::big>(big_bytes);
        }) == 0);
  CHECK(good);
}

namespace {

/// Members from the least and from the most significant bit of a word, whatever its byte order.
struct from_ends {
  static constexpr field<"low", std::uint8_t, 4> low{};
  static constexpr field<"middle", std::int32_t, 12> middle{};
  static constexpr field<"high", std::uint16_t, 16> high{};
  static constexpr field<"first", std::uint8_t, 3> first{};
  static constexpr field<"flag", bool> flag{};
  static constexpr field<"last", std::uint16_t, 12> last{};
  static constexpr layout fields{at<0>(word_lsb<32>(low, middle, high)), word_msb<16>(first, flag, last)};
};

template <order O>
constexpr bool words_fill_from_either_end() {
  std::array<std::byte, 6> data{};
  store<O>(data.data(), std::uint32_t{0x12348ff5});
  store<O>(data.data() + 4, std::uint16_t{0xbabc});
  const record<from_ends, O> view(data.data());
  if (view[from_ends::low] != 5 || view[from_ends::middle] != -0x701 || view[from_ends::high] != 0x1234) return false;
  if (view[from_ends::first] != 5 || !view[from_ends::flag] || view[from_ends::last] != 0xabc) return false;
  owned_record<from_ends, O> built;
  built.set(from_ends::low, 5).set(from_ends::middle, -0x701).set(from_ends::high, 0x1234);
  built.set(from_ends::first, 5).set(from_ends::flag, true).set(from_ends::last, 0xabc);
  return built.bytes() == data;
}

}  // namespace

TEST_CASE("words fill from their least or most significant bit, apart from the byte order") {
  STATIC_REQUIRE(words_fill_from_either_end<order::little>());
  STATIC_REQUIRE(words_fill_from_either_end<order::big>());
  CHECK(words_fill_from_either_end<order::little>());
  CHECK(words_fill_from_either_end<order::big>());
}
