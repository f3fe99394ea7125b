// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/offset_of.hpp>
#include <backsight/core/record_range.hpp>
#include <backsight/xray/log.hpp>

namespace backsight::xray {

/// The records of a basic-mode log, behind the file header: 32 bytes each, in the order in which threads wrote them.
template <order O>
struct basic_format {
  using records = record_list<basic_function_record, basic_argument_record>;
  using context = no_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = sizeof(std::uint16_t);
  static constexpr auto transitions =
      grammar<records>{}
          .template start<basic_function_record>()
          .template follow<basic_function_record, basic_function_record, basic_argument_record>()
          .template follow<basic_argument_record, basic_function_record, basic_argument_record>()
          .template finish<basic_function_record, basic_argument_record>();

  [[nodiscard]] static constexpr kind_result kind_of(const std::byte* at, const context&) noexcept {
    constexpr std::size_t type_at = offset_of<basic_function_record>(basic_function_record::record_type);
    switch (load<std::uint16_t, O>(at + type_at)) {
      case basic_function: return records::template kind<basic_function_record>;
      case basic_argument: return records::template kind<basic_argument_record>;
      default: return errc::unknown_record;
    }
  }
  [[nodiscard]] static constexpr errc check(record<basic_function_record, O> item, const context&) noexcept {
    return item[basic_function_record::action] > function_action::enter_args ? errc::bad_value : errc::ok;
  }
  /// Records have one size, so that the next one is always found. `all` begins at a record.
  [[nodiscard]] static constexpr std::size_t resync(byte_view all, std::size_t from, context&) noexcept {
    constexpr std::size_t size = basic_function_record::size;
    const std::size_t next = (from + size - 1) / size * size;
    return next < all.size() ? next : all.size();
  }
};

/// A range over the records of a basic-mode log.
template <order O, grammar_check Check = grammar_check::enforced>
using basic_records = record_range<basic_format<O>, Check>;

/// The records of an opened basic-mode log; offsets count from the start of the log.
template <order O, grammar_check Check = grammar_check::enforced>
[[nodiscard]] constexpr basic_records<O, Check> records_of_basic(const log& opened) noexcept {
  BACKSIGHT_ASSERT(opened.type() == log_type::basic && opened.byte_order() == O);
  return basic_records<O, Check>(opened.body(), {}, size_of<file_header>);
}

}  // namespace backsight::xray
