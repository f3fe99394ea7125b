// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <backsight/core/record_range.hpp>
#include <backsight/core/varying.hpp>

/// The directories and files of DWARF line tables. Source: DWARF 5, section 6.2.4, items 13 to 20; DWARF 4, items 11
/// and 12.
namespace debug_line {

using namespace backsight;

struct format_count {
  static constexpr field<"format_count", std::uint8_t> count{};
  static constexpr layout fields{count};
};
struct entry_format {
  static constexpr uleb<"content_type", std::uint32_t> content{};
  static constexpr uleb<"form", std::uint8_t> form{};
  static constexpr layout fields{content, form};
};
struct entry_count {
  static constexpr uleb<"count"> count{};
  static constexpr layout fields{count};
};
/// One value of an entry.
template <class Member>
struct value_of {
  static constexpr Member value{};
  static constexpr layout fields{value};
};
struct block_value {
  static constexpr uleb<"length"> length{};
  static constexpr counted_bytes<"value", length> value{};
  static constexpr layout fields{length, value};
};
template <class T>
using fixed_value = value_of<field<"value", T>>;

/// Where in the two tables a record stands: first how many formats an entry has, the formats, how many entries; then
/// the values.
struct table_state {
  enum place : std::uint8_t { at_format_count, at_format, at_count, at_value, behind } next = at_format_count;
  bool is_long = false;   ///< Offsets have 64 bits.
  bool in_files = false;  ///< The second table.
  std::uint8_t formats = 0, index = 0;
  std::array<std::uint8_t, 16> contents{}, forms{};
  std::uint64_t left = 0;  ///< entries

  constexpr void next_table() noexcept {
    next = in_files ? behind : at_format_count;
    in_files = true;
  }
};

/// Version 5: what an entry consists of is told in front of the entries.
template <order O>
struct tables_format {
  using records =
      record_list<format_count, entry_format, entry_count, value_of<c_string<"value">>, value_of<uleb<"value">>,
                  block_value, fixed_value<std::uint8_t>, fixed_value<std::uint16_t>, fixed_value<std::uint32_t>,
                  fixed_value<std::uint64_t>, fixed_value<std::array<std::byte, 16>>>;
  using context = table_state;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = 1;
  template <schema S>
  static constexpr kind_result kind = records::template kind<S>;
  static constexpr kind_result kind_of(const std::byte*, const context& in) noexcept {
    switch (in.next) {
      case table_state::at_format_count: return kind<format_count>;
      case table_state::at_format: return kind<entry_format>;
      case table_state::at_count: return kind<entry_count>;
      case table_state::behind: return errc::trailing_bytes;
      case table_state::at_value: break;
    }
    switch (in.forms[in.index]) {
      case 0x08: return kind<value_of<c_string<"value">>>;             // string
      case 0x0f: return kind<value_of<uleb<"value">>>;                 // udata
      case 0x09: return kind<block_value>;                             // block
      case 0x0b: return kind<fixed_value<std::uint8_t>>;               // data1
      case 0x05: return kind<fixed_value<std::uint16_t>>;              // data2
      case 0x06: return kind<fixed_value<std::uint32_t>>;              // data4
      case 0x07: return kind<fixed_value<std::uint64_t>>;              // data8
      case 0x1e: return kind<fixed_value<std::array<std::byte, 16>>>;  // data16
      case 0x0e:                                                       // strp
      case 0x1f:                                                       // line_strp
        return in.is_long ? kind<fixed_value<std::uint64_t>> : kind<fixed_value<std::uint32_t>>;
      default: return errc::unknown_record;
    }
  }
  static constexpr errc check(const record<format_count, O>& item, const context& in) noexcept {
    return item[format_count::count] > in.forms.size() ? errc::capacity : errc::ok;
  }
  static constexpr errc check(const record<entry_count, O>& item, const context& in) noexcept {
    return item[entry_count::count] != 0 && in.formats == 0 ? errc::bad_value : errc::ok;
  }
  static constexpr void advance(context& in, const record<format_count, O>& item) noexcept {
    in.formats = item[format_count::count];
    in.index = 0;
    in.next = in.formats == 0 ? table_state::at_count : table_state::at_format;
  }
  static constexpr void advance(context& in, const record<entry_format, O>& item) noexcept {
    const auto content = item[entry_format::content];
    in.contents[in.index] = static_cast<std::uint8_t>(content < 255 ? content : 255);
    in.forms[in.index] = item[entry_format::form];
    if (++in.index == in.formats) in.next = table_state::at_count;
  }
  static constexpr void advance(context& in, const record<entry_count, O>& item) noexcept {
    in.left = item[entry_count::count];
    in.index = 0;
    in.next = table_state::at_value;
    if (in.left == 0) in.next_table();
  }
  template <schema S>
  static constexpr void advance(context& in, const record<S, O>&) noexcept {
    if (++in.index != in.formats) return;
    in.index = 0;
    if (--in.left == 0) in.next_table();
  }
};

/// Versions 2 to 4: two lists, each with an empty name behind it.
struct old_state {
  bool in_files = false;
};
struct directory {
  static constexpr c_string<"name"> path{};
  static constexpr layout fields{path};
};
struct file_name : directory {
  static constexpr uleb<"directory"> in{};
  static constexpr uleb<"time"> time{};
  static constexpr uleb<"length"> length{};
  static constexpr layout fields{path, in, time, length};
};
struct end_of_list {
  static constexpr must_be<"end", std::uint8_t, 0> end{};
  static constexpr layout fields{end};
};
template <order O>
struct old_tables_format {
  using records = record_list<directory, file_name, end_of_list>;
  using context = old_state;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte* at, const context& in) noexcept {
    if (*at == std::byte{0}) return records::template kind<end_of_list>;
    return in.in_files ? records::template kind<file_name> : records::template kind<directory>;
  }
  static constexpr void advance(context& in, const record<end_of_list, O>&) noexcept { in.in_files = true; }
};

}  // namespace debug_line
