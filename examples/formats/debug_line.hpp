// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <backsight/core/cursor.hpp>
#include <backsight/core/part.hpp>
#include <backsight/core/tagged_format.hpp>

/// DWARF line tables (.debug_line), versions 2 to 5, of 32 and 64 bits. Source: DWARF 5, section 6.2.
namespace debug_line {

using namespace backsight;

/// What the opcodes of a program depend on: the first special one, and how many operands the standard ones have.
struct program_context {
  std::uint8_t opcode_base = 1;
  number_span<std::uint8_t, order::little> operand_counts;
};
struct opcode_head {
  static constexpr field<"opcode", std::uint8_t> opcode{};
};
struct special : opcode_head {
  static constexpr layout fields{opcode};
};
struct without_operand : opcode_head {
  static constexpr layout fields{opcode};
};
struct with_number : opcode_head {
  static constexpr uleb<"operand"> operand{};
  static constexpr layout fields{opcode, operand};
};
struct advance_line : opcode_head {
  static constexpr sleb<"lines"> lines{};
  static constexpr layout fields{opcode, lines};
};
struct fixed_advance : opcode_head {
  static constexpr field<"advance", std::uint16_t> advance{};
  static constexpr layout fields{opcode, advance};
};
struct extended : opcode_head {
  static constexpr uleb<"length"> length{};
  static constexpr field<"extended_opcode", std::uint8_t> code{};
  static constexpr counted_bytes<"data", [](const auto& r) { return r[length] - 1; }> data{};
  static constexpr layout fields{opcode, length, code, data};
};
struct unknown_opcode : opcode_head {
  static constexpr bool has_payload = true;
  static constexpr layout fields{opcode};
};

template <order O>
struct program_format {
  using records =
      record_list<without_operand, with_number, advance_line, fixed_advance, special, extended, unknown_opcode>;
  using context = program_context;
  static constexpr order byte_order = O;
  static constexpr std::size_t head_bytes = 1;
  static constexpr kind_result kind_of(const std::byte* at, const context& in) noexcept {
    const auto code = std::to_integer<std::uint8_t>(*at);
    if (code >= in.opcode_base) return records::template kind<special>;
    switch (code) {
      case 0: return records::template kind<extended>;
      case 2:   // advance_pc
      case 4:   // set_file
      case 5:   // set_column
      case 12:  // set_isa
        return records::template kind<with_number>;
      case 3: return records::template kind<advance_line>;
      case 9: return records::template kind<fixed_advance>;  // advance_pc by an operand of fixed size
      default: return code < 12 ? records::template kind<without_operand> : records::template kind<unknown_opcode>;
    }
  }
  /// As many numbers as the header says.
  static constexpr payload_result payload_size(const record<unknown_opcode, O>& item, byte_view rest,
                                               const context& in) noexcept {
    cursor<O> operands(rest);
    for (unsigned left = in.operand_counts[item[opcode_head::opcode] - 1U]; left != 0; --left) (void)operands.uleb128();
    return operands.failed() ? payload_result(operands.error().code) : payload_result(operands.position());
  }
};

/// The table of one unit; Offset is u32, or u64 behind an escape.
template <class Offset>
struct unit {
  static constexpr bool is_long = sizeof(Offset) == 8;
  static constexpr must_be<"escape", std::uint32_t, 0xffffffff> escape{};
  static constexpr auto told_by = [] {
    if constexpr (is_long) return is(escape, 0xffffffff);
    else return [](const std::byte*) { return true; };
  }();
  static constexpr field<"unit_length", Offset> unit_length{};
  static constexpr field<"version", std::uint16_t> version{};
  static constexpr field<"address_size", std::uint8_t> address_size{};
  static constexpr field<"segment_selector_size", std::uint8_t> segment_selector_size{};
  static constexpr field<"header_length", Offset> header_length{};
  static constexpr field<"minimum_instruction_length", std::uint8_t> minimum_instruction_length{};
  static constexpr field<"maximum_operations_per_instruction", std::uint8_t> maximum_operations{};
  static constexpr field<"default_is_stmt", std::uint8_t> default_is_stmt{};
  static constexpr field<"line_base", std::int8_t> line_base{};
  static constexpr field<"line_range", std::uint8_t> line_range{};
  static constexpr field<"opcode_base", std::uint8_t> opcode_base{};
  static constexpr auto count = [](const auto& r) { return r[opcode_base] - 1; };
  static constexpr counted<"standard_opcode_lengths", std::uint8_t, count> operand_counts{};
  /// Directories and files: what the length of the header leaves.
  static constexpr auto left = [](const auto& r) { return r[header_length] - 4U - (r[version] >= 4) - r[opcode_base]; };
  static constexpr counted_bytes<"tables", left> tables{};
  static constexpr auto state = [](const auto& r) {
    return program_context{r[opcode_base], {r[operand_counts].bytes().data(), r[operand_counts].size()}};
  };
  static constexpr part<"program", program_format, state> program{};

  static constexpr auto start = [] {
    if constexpr (is_long) return layout{escape, unit_length, version};
    else return layout{unit_length, version};
  }();
  using extent = sized_by<unit_length, is_long ? 12 : 4>;
  static constexpr auto in_version_5 =
      when<[](const auto& r) { return r[version] >= 5; }>(address_size, segment_selector_size);
  static constexpr auto in_version_4 = when<[](const auto& r) { return r[version] >= 4; }>(maximum_operations);
  static constexpr layout sizes{in_version_5, header_length, minimum_instruction_length, in_version_4, default_is_stmt};
  static constexpr layout fields =
      start + sizes + layout{line_base, line_range, opcode_base, operand_counts, tables, program};
};

template <order O>
struct units_format : tagged_format<O, unit<std::uint64_t>, unit<std::uint32_t>> {
  template <class Offset>
  static constexpr errc check(const record<unit<Offset>, O>& item, const no_context&) noexcept {
    return item[unit<Offset>::version] < 2 || item[unit<Offset>::version] > 5 ? errc::unsupported_version : errc::ok;
  }
};

}  // namespace debug_line
