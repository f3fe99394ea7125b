// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <backsight/core/record_range.hpp>

namespace ticks {

using namespace backsight;

/// A small format: ticks of two bytes with bit 0 clear, notes of two bytes and a payload, and closing records.
struct tick {
  static constexpr const char* name = "tick";
  static constexpr field<"is_meta", bool, 1> is_meta{};
  static constexpr field<"value", std::uint16_t, 15> value{};
  static constexpr layout fields{word<16>(is_meta, value)};
};
struct note {
  static constexpr const char* name = "note";
  static constexpr bool has_payload = true;
  static constexpr field<"is_meta", bool, 1> is_meta{};
  static constexpr field<"kind", std::uint8_t, 7> kind{};
  static constexpr field<"length", std::uint8_t> length{};
  static constexpr layout fields{word<8>(is_meta, kind), length};
};
struct closing {
  static constexpr field<"is_meta", bool, 1> is_meta{};
  static constexpr field<"kind", std::uint8_t, 7> kind{};
  static constexpr layout fields{word<8>(is_meta, kind)};
};

struct format {
  using records = record_list<tick, note, closing>;
  using context = no_context;
  static constexpr order byte_order = order::little;
  static constexpr std::size_t head_bytes = 1;
  static constexpr common_record<tick, std::uint16_t> common{.mask = 1, .value = 0};
  static constexpr auto transitions = grammar<records>{}
                                          .start<note>()
                                          .follow<note, note, tick, closing>()
                                          .follow<tick, tick, note, closing>()
                                          .follow<closing, note>()
                                          .finish<tick, closing>();
  static constexpr kind_result kind_of(const std::byte* at, const context&) {
    const auto head = std::to_integer<unsigned>(*at);
    if ((head & 1U) == 0) return records::kind<tick>;
    if (head >> 1 == 1) return records::kind<note>;
    if (head >> 1 == 2) return records::kind<closing>;
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
static_assert(record_format<format>);

}  // namespace ticks
