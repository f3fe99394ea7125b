// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <backsight/core/condition.hpp>
#include <backsight/core/part.hpp>

namespace varied {

using namespace backsight;

/// One record with a member of every varying kind.
struct everything {
  static constexpr const char* name = "everything";
  static constexpr field<"kind", std::uint8_t> kind{};
  static constexpr uleb<"count"> count{};
  static constexpr sleb<"delta"> delta{};
  static constexpr c_string<"text"> text{};
  static constexpr counted_bytes<"data", count> data{};
  static constexpr field<"flag", bool, 1> flag{};
  static constexpr field<"values_count", std::uint8_t, 7> values_count{};
  static constexpr field<"extra", std::uint32_t> extra{};
  static constexpr zigzag<"more", std::int32_t> more{};
  static constexpr counted<"values", std::uint16_t, values_count> values{};
  static constexpr layout fields{
      kind,       count, delta, text, data, word<8>(flag, values_count), when<is(flag, true)>(extra, more),
      align<4>{}, values};
};
static_assert(schema<everything> && size_of<everything> == 1 && detail::layout_of<everything>::smallest == 5);

template <order O>
struct everything_format {
  using records = record_list<everything>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    return *at == std::byte{7} ? records::template kind<everything> : errc::unknown_record;
  }
};

/// A number and a value, padded to four bytes.
struct option {
  static constexpr const char* name = "option";
  static constexpr field<"code", std::uint8_t> code{};
  static constexpr field<"length", std::uint8_t> length{};
  static constexpr counted_bytes<"value", length> value{};
  static constexpr layout fields{code, length, value, align<4>{}};
};
template <order O>
struct option_format {
  using records = record_list<option>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = 2;
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    return *at == std::byte{0xee} ? errc::unknown_record : records::template kind<option>;
  }
};
struct pair {
  static constexpr const char* name = "pair";
  static constexpr field<"a", std::uint8_t> a{};
  static constexpr field<"b", std::uint16_t> b{};
  static constexpr layout fields{a, b};
};
/// Its size in front and behind, an array of records, and options in between.
struct block {
  static constexpr const char* name = "block";
  static constexpr field<"length", std::uint32_t> length{};
  static constexpr must_be<"magic", std::uint16_t, 0x1234> magic{};
  static constexpr field_in<order::big, "pair_count", std::uint16_t> pair_count{};
  static constexpr counted_records<"pairs", pair, pair_count> pairs{};
  static constexpr part<"options", option_format> options{};
  static constexpr same_as<"length_again", std::uint32_t, length> again{};
  using extent = sized_by<length>;
  static constexpr layout fields = layout{length, magic} + layout{pair_count, pairs, align<4>{}, options, again};
};
static_assert(schema<block> && size_of<block> == 8 && !has_payload<block>);

/// Its size counts words behind the head; what is behind the text is its payload.
struct note {
  static constexpr const char* name = "note";
  static constexpr field<"words", std::uint8_t> words{};
  static constexpr c_string<"text"> text{};
  using extent = sized_by<words, 1, 2>;
  static constexpr layout fields{words, text};
};
static_assert(schema<note> && has_payload<note>);

template <order O, schema S>
struct format_of_one {
  using records = record_list<S>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = 1;
  static constexpr bool head_beyond_end = true;
  static constexpr kind_result kind_of(const std::byte*, const context&) { return records::template kind<S>; }
};
template <order O>
using blocks = record_range<format_of_one<O, block>>;

}  // namespace varied
