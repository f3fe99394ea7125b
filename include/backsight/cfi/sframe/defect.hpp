// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/error.hpp>

namespace backsight::cfi::sframe {

/// What is wrong with a section. Those up to not_sorted refuse all of it, those up to functions_overlap one function;
/// the last is only told.
enum class defect : std::uint8_t {
  none,
  short_preamble,        ///< Less than the four bytes that tell the version.
  short_header,          ///< Less than a header.
  magic,                 ///< Not an SFrame section.
  version,               ///< Not version 1, 2 or 3.
  flags,                 ///< A flag that the version does not have.
  abi,                   ///< An unknown machine.
  byte_order,            ///< The bytes are not in the machine's order.
  aux_header,            ///< The auxiliary header is longer than the section.
  fde_count,             ///< The functions reach behind the section.
  fre_length,            ///< The rows reach behind the section.
  sub_sections_overlap,  ///< The rows begin among the functions.
  not_sorted,            ///< The functions do not ascend, though a flag says so.
  fre_offset,            ///< A function's first row lies behind the rows.
  fre_type,              ///< The width of row starts is none that there is.
  fde_type,              ///< The type of the function is unknown.
  rep_size_0,            ///< The rows repeat every 0 bytes.
  fre_count,             ///< More rows than there are bytes for.
  fre_past_end,          ///< A row reaches behind the rows.
  word_size,             ///< The width of a row's words is none that there is.
  word_count,            ///< A number of words that no row has.
  cfa_without_register,  ///< A CFA that counts from no register.
  rows_not_ascending,    ///< A row does not begin behind the one before.
  row_past_function,     ///< A row begins behind its function.
  rep_count,             ///< The rows repeat far more often than those of any file (found where rows are made of it).
  functions_overlap,     ///< A function begins before the end of the one before.
  fre_total,             ///< The header tells another number of rows than the functions.
};
inline constexpr std::size_t defect_count = static_cast<std::size_t>(defect::fre_total) + 1;

/// The name of a defect, such as `word-size`; static, never null.
[[nodiscard]] constexpr const char* name_of(defect what) noexcept {
  constexpr std::array<const char*, defect_count> names{"none",
                                                        "short-preamble",
                                                        "short-header",
                                                        "magic",
                                                        "version",
                                                        "flags",
                                                        "abi",
                                                        "byte-order",
                                                        "aux-header",
                                                        "fde-count",
                                                        "fre-length",
                                                        "sub-sections-overlap",
                                                        "not-sorted",
                                                        "fre-offset",
                                                        "fre-type",
                                                        "fde-type",
                                                        "rep-size-0",
                                                        "fre-count",
                                                        "fre-past-end",
                                                        "word-size",
                                                        "word-count",
                                                        "cfa-without-register",
                                                        "rows-not-ascending",
                                                        "row-past-function",
                                                        "rep-count",
                                                        "functions-overlap",
                                                        "fre-total"};
  return names[static_cast<std::size_t>(what)];
}
[[nodiscard]] constexpr bool refuses_section(defect what) noexcept {
  return what != defect::none && what <= defect::not_sorted;
}
[[nodiscard]] constexpr bool refuses_function(defect what) noexcept {
  return what > defect::not_sorted && what <= defect::functions_overlap;
}
/// The error that a defect is.
[[nodiscard]] constexpr errc code_of(defect what) noexcept {
  switch (what) {
    case defect::none: return errc::ok;
    case defect::short_preamble:
    case defect::short_header: return errc::truncated;
    case defect::magic: return errc::bad_magic;
    case defect::version: return errc::unsupported_version;
    case defect::abi: return errc::unsupported_type;
    case defect::flags:
    case defect::byte_order:
    case defect::fre_type:
    case defect::rep_size_0:
    case defect::word_size:
    case defect::cfa_without_register: return errc::bad_value;
    case defect::fde_type: return errc::unknown_record;
    case defect::rep_count: return errc::expansion;
    case defect::fre_total:
    case defect::fre_count:
    case defect::word_count: return errc::bad_size;
    case defect::fre_past_end: return errc::record_crosses_block;
    case defect::not_sorted:
    case defect::rows_not_ascending:
    case defect::functions_overlap: return errc::bad_transition;
    case defect::aux_header:
    case defect::fde_count:
    case defect::fre_length:
    case defect::sub_sections_overlap:
    case defect::fre_offset:
    case defect::row_past_function: return errc::out_of_range;
  }
  return errc::bad_value;
}

/// A defect and where it is, counted from the section's first byte.
struct problem {
  defect what = defect::none;
  std::uint64_t offset = 0;
  [[nodiscard]] explicit operator bool() const noexcept { return what != defect::none; }
  [[nodiscard]] trace_error error() const noexcept { return {code_of(what), offset}; }
  [[nodiscard]] friend bool operator==(const problem&, const problem&) = default;
};

}  // namespace backsight::cfi::sframe
