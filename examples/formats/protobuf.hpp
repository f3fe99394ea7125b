// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <backsight/core/record_range.hpp>
#include <backsight/core/tagged_format.hpp>
#include <backsight/core/varying.hpp>

/// The fields of protobuf messages, without their schema. Source: "Encoding" of the protobuf documentation.
namespace protobuf {

using namespace backsight;

/// What every field begins with: its number, and in the lowest three bits how it is stored.
struct field_head {
  static constexpr varint<"tag", std::uint32_t> tag{};
  static constexpr layout head{tag};
};
template <unsigned Kind>
struct field_of_kind : field_head {
  static constexpr auto told_by = [](const std::byte* at) { return (std::to_integer<unsigned>(*at) & 7U) == Kind; };
};
struct varint_field : field_of_kind<0> {
  static constexpr const char* name = "varint";
  static constexpr varint<"value"> value{};
  static constexpr layout fields = head + layout{value};
};
struct fixed64_field : field_of_kind<1> {
  static constexpr const char* name = "fixed64";
  static constexpr field<"value", std::uint64_t> value{};
  static constexpr layout fields = head + layout{value};
};
struct bytes_field : field_of_kind<2> {
  static constexpr const char* name = "bytes";
  static constexpr varint<"length"> length{};
  static constexpr counted_bytes<"data", length> data{};
  static constexpr layout fields = head + layout{length, data};
};
struct group_begin : field_of_kind<3> {
  static constexpr const char* name = "group";
  static constexpr layout fields = head;
};
struct group_end : field_of_kind<4> {
  static constexpr const char* name = "end_of_group";
  static constexpr layout fields = head;
};
struct fixed32_field : field_of_kind<5> {
  static constexpr const char* name = "fixed32";
  static constexpr field<"value", std::uint32_t> value{};
  static constexpr layout fields = head + layout{value};
};

struct format
    : tagged_format<order::little, varint_field, fixed64_field, bytes_field, group_begin, group_end, fixed32_field> {
  /// Field numbers begin at 1.
  template <schema S>
  static constexpr errc check(const record<S, order::little>& item, const no_context&) noexcept {
    return item[field_head::tag] >> 3 == 0 ? errc::bad_value : errc::ok;
  }
};
using message = record_range<format>;
static_assert(format_check<format>);

}  // namespace protobuf
