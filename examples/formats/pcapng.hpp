// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <backsight/core/file.hpp>
#include <backsight/core/part.hpp>
#include <backsight/core/tagged_format.hpp>

/// Packet captures of the form pcapng. Source of the layouts: draft-ietf-opsawg-pcapng, sections 3 and 4.
namespace pcapng {

using namespace backsight;

/// An option: a number, and a value padded to four bytes.
struct option {
  static constexpr const char* name = "option";
  static constexpr field<"code", std::uint16_t> code{};
  static constexpr field<"length", std::uint16_t> length{};
  static constexpr counted_bytes<"value", length> value{};
  static constexpr layout fields{code, length, value, align<4>{}};
};
struct end_of_options : option {
  static constexpr const char* name = "end_of_options";
  static constexpr auto told_by = is(code, 0);
};
template <order O>
struct options_format : tagged_format<O, end_of_options, option> {
  using terminator = end_of_options;
};

/// What all blocks begin and end with.
struct block {
  static constexpr field<"type", std::uint32_t> type{};
  static constexpr field<"total_length", std::uint32_t> total_length{};
  static constexpr part<"options", options_format> options{};
  static constexpr same_as<"total_length_again", std::uint32_t, total_length> again{};
  static constexpr layout head{type, total_length};
  static constexpr layout tail{options, again};
  using extent = sized_by<total_length>;
};
struct section_header : block {
  static constexpr const char* name = "section_header";
  static constexpr auto told_by = is(type, 0x0a0d0d0a);
  static constexpr must_be<"byte_order_magic", std::uint32_t, 0x1a2b3c4d> magic{};
  static constexpr must_be<"major_version", std::uint16_t, 1> major_version{};
  static constexpr field<"minor_version", std::uint16_t> minor_version{};
  static constexpr field<"section_length", std::int64_t> section_length{};
  static constexpr layout fields = head + layout{magic, major_version, minor_version, section_length} + tail;
};
struct interface_description : block {
  static constexpr const char* name = "interface_description";
  static constexpr auto told_by = is(type, 1);
  static constexpr field<"link_type", std::uint16_t> link_type{};
  static constexpr field<"snap_length", std::uint32_t> snap_length{};
  static constexpr layout fields = head + layout{link_type, padding<16>{}, snap_length} + tail;
};
struct enhanced_packet : block {
  static constexpr const char* name = "enhanced_packet";
  static constexpr auto told_by = is(type, 6);
  static constexpr field<"interface", std::uint32_t> interface{};
  static constexpr field<"time_high", std::uint32_t> time_high{};
  static constexpr field<"time_low", std::uint32_t> time_low{};
  static constexpr field<"captured_length", std::uint32_t> captured_length{};
  static constexpr field<"original_length", std::uint32_t> original_length{};
  static constexpr counted_bytes<"data", captured_length> data{};
  static constexpr layout lengths{captured_length, original_length};
  static constexpr layout fields =
      head + layout{interface, time_high, time_low} + lengths + layout{data, align<4>{}} + tail;
};
struct simple_packet : block {
  static constexpr const char* name = "simple_packet";
  static constexpr auto told_by = is(type, 3);
  static constexpr field<"original_length", std::uint32_t> original_length{};
  static constexpr rest_bytes<"data"> data{};
  static constexpr layout fields = head + layout{original_length, data, again};
};
struct other_block : block {
  static constexpr const char* name = "block";
  static constexpr rest_bytes<"body"> body{};
  static constexpr layout fields = head + layout{body, again};
};

/// A capture: sections, each in a byte order of its own.
struct file {
  template <order O>
  using format = tagged_format<O, section_header, interface_description, enhanced_packet, simple_packet, other_block>;
  using magic = magic_at<8, std::uint32_t, 0x1a2b3c4d>;
  using section = magic_at<0, std::uint32_t, 0x0a0d0d0a>;
};
static_assert(file_format<file>);

}  // namespace pcapng
