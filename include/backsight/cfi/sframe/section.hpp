// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <backsight/cfi/sframe/defect.hpp>
#include <backsight/cfi/sframe/row.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cfi::sframe {

/// An SFrame section of version 1 to 3, of either byte order. A view of its bytes, which must outlive it.
class section {
 public:
  section() = default;

  /// What open gives: the section, and what refuses it.
  struct opened;
  /// Checks the header and that all parts lie inside the bytes. `address` is that of the section's first byte.
  /// `relocated` is said of an object file's section, whose starts count from their own fields once relocations were
  /// applied.
  [[nodiscard]] static opened open(byte_view bytes, std::uint64_t address, bool relocated = false);

  [[nodiscard]] unsigned version() const noexcept { return version_; }
  [[nodiscard]] std::uint8_t flags() const noexcept { return flags_; }
  [[nodiscard]] sframe::abi machine() const noexcept { return abi_; }
  [[nodiscard]] order byte_order() const noexcept { return order_; }
  [[nodiscard]] int fixed_frame_pointer() const noexcept { return fixed_frame_pointer_; }
  [[nodiscard]] int fixed_return_address() const noexcept { return fixed_return_address_; }
  [[nodiscard]] std::uint32_t function_count() const noexcept { return function_count_; }
  [[nodiscard]] std::uint32_t row_count() const noexcept { return row_count_; }
  [[nodiscard]] std::uint32_t row_bytes() const noexcept { return row_bytes_; }
  [[nodiscard]] byte_view bytes() const noexcept { return bytes_; }
  static constexpr std::uint8_t flag_sorted = 1, flag_frame_pointer = 2, flag_relative_starts = 4;

  /// The function at a place of the list (below function_count()), without its rows; `bad` is what is wrong with it.
  [[nodiscard]] function function_at(std::uint32_t index, problem& bad) const noexcept;
  /// Calls `f(sframe_row)` for the rows of a function, ascending, up to the first that is wrong, which is told.
  template <class F>
  problem for_each_row(const function& of, F&& f) const;
  /// Checks everything: calls `on_problem(problem, index)` for each function that is to be left out, by its place in
  /// the list, and once for the number of rows with index function_count(). At most n log n time.
  template <class OnProblem>
  void check(OnProblem&& on_problem) const;

 private:
  [[nodiscard]] std::uint64_t number(std::uint64_t offset, unsigned bytes) const noexcept {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) {
      const auto at = static_cast<std::size_t>(offset + (order_ == order::little ? bytes - 1 - i : i));
      value = value << 8 | std::to_integer<std::uint64_t>(bytes_[at]);
    }
    return value;
  }
  [[nodiscard]] std::int64_t signed_number(std::uint64_t offset, unsigned bytes) const noexcept {
    const unsigned unused = 64 - 8 * bytes;
    return static_cast<std::int64_t>(number(offset, bytes) << unused) >> unused;
  }
  [[nodiscard]] std::uint64_t entry_bytes() const noexcept { return version_ == 1 ? 17 : version_ == 2 ? 20 : 16; }
  [[nodiscard]] std::uint64_t start_of(std::uint64_t entry) const noexcept {
    const auto start = static_cast<std::uint64_t>(signed_number(entry, version_ == 3 ? 8 : 4));
    return start + address_ + (relative_ ? entry : 0);
  }
  [[nodiscard]] problem open_parts(bool relocated) noexcept;
  /// Decodes the words of a row; false for a number of words that there is not.
  [[nodiscard]] problem decode_words(const function& of, std::uint64_t at, std::uint8_t info, std::uint64_t words,
                                     sframe_row& out) const noexcept;
  [[nodiscard]] problem decode_pairs(std::uint64_t at, unsigned count, unsigned bytes, std::uint64_t words,
                                     sframe_row& out) const noexcept;

  static constexpr std::uint64_t most_shared = 64;

  byte_view bytes_;
  std::uint64_t address_ = 0;
  std::uint64_t functions_ = 0, rows_ = 0, rows_end_ = 0;  // Offsets in the section.
  std::uint32_t function_count_ = 0, row_count_ = 0, row_bytes_ = 0;
  std::uint8_t version_ = 0, flags_ = 0;
  sframe::abi abi_ = sframe::abi::none;
  order order_ = order::little;
  std::int8_t fixed_frame_pointer_ = 0, fixed_return_address_ = 0;
  bool relative_ = false, apart_ = false;
};

struct section::opened {
  sframe::section section;
  problem bad;
  [[nodiscard]] explicit operator bool() const noexcept { return !bad; }
};

inline section::opened section::open(byte_view bytes, std::uint64_t address, bool relocated) {
  opened made;
  made.section.bytes_ = bytes;
  made.section.address_ = address;
  made.bad = made.section.open_parts(relocated);
  return made;
}

inline problem section::open_parts(bool relocated) noexcept {
  const std::uint64_t size = bytes_.size();
  if (size < 4) return {defect::short_preamble, 0};
  if (number(0, 2) != 0xdee2) {
    order_ = order::big;
    if (number(0, 2) != 0xdee2) return {defect::magic, 0};
  }
  version_ = std::to_integer<std::uint8_t>(bytes_[2]);
  if (version_ < 1 || version_ > 3) return {defect::version, 2};
  flags_ = std::to_integer<std::uint8_t>(bytes_[3]);
  constexpr std::array<std::uint8_t, 4> known{0, 3, 7, 5};
  if (size < 28) return {defect::short_header, size};
  if ((flags_ & ~known[version_]) != 0) return {defect::flags, 3};
  const auto machine = std::to_integer<std::uint8_t>(bytes_[4]);
  if (machine < 1 || machine > 4) return {defect::abi, 4};
  abi_ = static_cast<sframe::abi>(machine);
  const bool big = abi_ == sframe::abi::aarch64_big || abi_ == sframe::abi::s390x;
  if (big != (order_ == order::big)) return {defect::byte_order, 4};
  fixed_frame_pointer_ = static_cast<std::int8_t>(number(5, 1));
  fixed_return_address_ = static_cast<std::int8_t>(number(6, 1));
  const std::uint64_t base = 28 + number(7, 1);
  if (base > size) return {defect::aux_header, 7};
  function_count_ = static_cast<std::uint32_t>(number(8, 4));
  row_count_ = static_cast<std::uint32_t>(number(12, 4));
  row_bytes_ = static_cast<std::uint32_t>(number(16, 4));
  functions_ = base + number(20, 4);
  rows_ = base + number(24, 4);
  rows_end_ = rows_ + row_bytes_;
  const std::uint64_t functions_end = functions_ + function_count_ * entry_bytes();
  if (functions_ > size || functions_end > size) return {defect::fde_count, 8};
  if (rows_ > size || rows_end_ > size) return {defect::fre_length, 16};
  if (rows_ < functions_end) return {defect::sub_sections_overlap, 24};
  relative_ = relocated || (flags_ & flag_relative_starts) != 0;
  // The functions of an object file lie in sections that all begin at 0.
  apart_ = relocated;
  if ((flags_ & flag_sorted) != 0 && !apart_) {
    for (std::uint32_t i = 1; i < function_count_; ++i) {
      const std::uint64_t entry = functions_ + i * entry_bytes();
      if (start_of(entry) < start_of(entry - entry_bytes())) return {defect::not_sorted, entry};
    }
  }
  return {};
}

inline function section::function_at(std::uint32_t index, problem& bad) const noexcept {
  bad = {};
  function f;
  const std::uint64_t entry = functions_ + index * entry_bytes();
  f.entry_offset = entry;
  f.begin = start_of(entry);
  const std::uint64_t start_field = version_ == 3 ? 8 : 4;
  f.size = static_cast<std::uint32_t>(number(entry + start_field, 4));
  const std::uint64_t offset_field = entry + start_field + 4;
  std::uint64_t first = rows_ + number(offset_field, 4);
  const std::uint64_t attributes = version_ == 3 ? 5 : 0;
  std::uint8_t info = 0, info2 = 0;
  if (version_ == 3) {
    if (first > rows_end_ || rows_end_ - first < attributes) return bad = {defect::fre_offset, offset_field}, f;
    f.row_count = static_cast<std::uint32_t>(number(first, 2));
    info = static_cast<std::uint8_t>(number(first + 2, 1));
    info2 = static_cast<std::uint8_t>(number(first + 3, 1));
    f.repeat = static_cast<std::uint32_t>(number(first + 4, 1));
    first += attributes;
    f.signal_frame = (info & 0x80U) != 0;
  } else {
    f.row_count = static_cast<std::uint32_t>(number(entry + 12, 4));
    info = static_cast<std::uint8_t>(number(entry + 16, 1));
    f.repeat = version_ == 2 ? static_cast<std::uint32_t>(number(entry + 17, 1)) : 16;
    if (first > rows_end_ || (first == rows_end_ && f.row_count != 0))
      return bad = {defect::fre_offset, offset_field}, f;
  }
  f.rows_offset = first;
  f.key_b = (info & 0x20U) != 0;
  const bool repeats = (info & 0x10U) != 0;
  if ((info & 15U) > 2) return bad = {defect::fre_type, entry}, f;
  f.start_bytes = static_cast<std::uint8_t>(1U << (info & 15U));
  if ((info2 & 31U) > 1) return bad = {defect::fde_type, entry}, f;
  f.flexible = (info2 & 31U) == 1;
  if (repeats && f.repeat == 0) return bad = {defect::rep_size_0, entry}, f;
  if (!repeats) f.repeat = 0;
  // Before anybody makes room for so many.
  if (std::uint64_t{f.row_count} * (f.start_bytes + 1U) > rows_end_ - first) bad = {defect::fre_count, first};
  return f;
}

template <class F>
problem section::for_each_row(const function& of, F&& f) const {
  std::uint64_t at = of.rows_offset;
  std::optional<std::uint32_t> before;
  for (std::uint32_t i = 0; i < of.row_count; ++i) {
    const std::uint64_t place = at;
    if (rows_end_ - at < of.start_bytes + 1U) return {defect::fre_past_end, place};
    sframe_row row;
    row.start = static_cast<std::uint32_t>(number(at, of.start_bytes));
    const auto info = static_cast<std::uint8_t>(number(at + of.start_bytes, 1));
    at += of.start_bytes + 1U;
    const unsigned size_code = info >> 5U & 3U;
    if (size_code == 3) return {defect::word_size, place + of.start_bytes};
    const std::uint64_t bytes = std::uint64_t{info >> 1U & 15U} << size_code;
    if (rows_end_ - at < bytes) return {defect::fre_past_end, place};
    if (const problem bad = decode_words(of, place + of.start_bytes, info, at, row)) return bad;
    at += bytes;
    if (before && row.start <= *before) return {defect::rows_not_ascending, place};
    before = row.start;
    // A row at the very end of its function is what gas writes, and says nothing.
    const std::uint32_t end = of.repeat != 0 ? of.repeat : of.size;
    if (row.start > end) return {defect::row_past_function, place};
    f(row);
  }
  return {};
}

inline problem section::decode_words(const function& of, std::uint64_t at, std::uint8_t info, std::uint64_t words,
                                     sframe_row& out) const noexcept {
  const registers regs = registers_of(abi_);
  const unsigned count = info >> 1U & 15U, bytes = 1U << (info >> 5U & 3U);
  if (count == 0) {
    out.outermost = true;
    return {};
  }
  using enum place::kind;
  // x86-64 has no signed return addresses; gas 2.40 sets the bit there.
  out.signed_bit = (info & 0x80U) != 0;
  out.return_address_signed =
      out.signed_bit && (abi_ == sframe::abi::aarch64_big || abi_ == sframe::abi::aarch64_little);
  if (fixed_return_address_ != 0) out.return_address = {at_cfa, 0, fixed_return_address_};
  if (fixed_frame_pointer_ != 0) out.frame_pointer = {at_cfa, 0, fixed_frame_pointer_};
  if (of.flexible) return decode_pairs(at, count, bytes, words, out);
  const unsigned most = 1U + (fixed_return_address_ == 0 ? 1U : 0U) + (fixed_frame_pointer_ == 0 ? 1U : 0U);
  if (count > most) return {defect::word_count, at};
  unsigned next = 0;
  const auto word = [&] { return signed_number(words + std::uint64_t{next++} * bytes, bytes); };
  const bool scaled = abi_ == sframe::abi::s390x;
  const std::int64_t offset = word();
  out.cfa = {is_register, (info & 1U) != 0 ? regs.stack_pointer : regs.frame_pointer,
             scaled ? 8 * offset + 160 : offset};
  const auto saved = [&](std::int64_t value) -> place {
    if (!scaled) return {at_cfa, 0, value};
    if (value == 0) return {};
    // Version 2 for s390x: an odd word is a register and not a place.
    if ((value & 1) != 0) return {is_register, static_cast<std::uint32_t>(value >> 1), 0};
    return {at_cfa, 0, value};
  };
  if (fixed_return_address_ == 0 && next < count) {
    const std::int64_t value = word();
    out.return_address_padding = scaled && value == 0;
    out.return_address = saved(value);
  }
  if (fixed_frame_pointer_ == 0 && next < count) out.frame_pointer = saved(word());
  return {};
}

inline problem section::decode_pairs(std::uint64_t at, unsigned count, unsigned bytes, std::uint64_t words,
                                     sframe_row& out) const noexcept {
  using enum place::kind;
  unsigned next = 0;
  const auto control = [&] { return number(words + std::uint64_t{next++} * bytes, bytes); };
  const auto offset = [&] { return signed_number(words + std::uint64_t{next++} * bytes, bytes); };
  const auto from = [&](std::uint64_t word) -> place {
    const bool reg = (word & 1U) != 0, read = (word & 2U) != 0;
    std::int64_t value = offset();
    return {reg ? (read ? at_register : is_register) : (read ? at_cfa : is_cfa),
            reg ? static_cast<std::uint32_t>(word >> 3) : 0, value};
  };
  if (count < 2) return {defect::word_count, at};
  const std::uint64_t cfa = control();
  if ((cfa & 1U) == 0) return {defect::cfa_without_register, at};
  out.cfa = from(cfa);
  if (abi_ == sframe::abi::s390x) out.cfa.offset = 8 * out.cfa.offset + 160;
  for (place* to : {&out.return_address, &out.frame_pointer}) {
    if (next == count) return {};
    const std::uint64_t word = control();
    if (word == 0) {
      out.return_address_padding = out.return_address_padding || to == &out.return_address;
      continue;
    }
    if (next == count) return {defect::word_count, at};
    *to = from(word);
  }
  return next == count ? problem{} : problem{defect::word_count, at};
}

template <class OnProblem>
void section::check(OnProblem&& on_problem) const {
  struct range {
    std::uint64_t begin, end;
    std::uint32_t index;
  };
  std::vector<range> ranges;
  std::vector<problem> found(function_count_);
  std::uint64_t rows = 0, decoded = 0;
  for (std::uint32_t i = 0; i < function_count_; ++i) {
    const function f = function_at(i, found[i]);
    rows += f.row_count;
    // Functions may share rows, but no writer makes them share so many that reading all takes long.
    if (!found[i] && (decoded += f.row_count) > most_shared * (row_bytes_ + std::uint64_t{function_count_})) {
      found[i] = {defect::fre_count, f.rows_offset};
    }
    if (!found[i]) found[i] = for_each_row(f, [](const sframe_row&) {});
    ranges.push_back({f.begin, f.begin + f.size, i});
  }
  std::sort(ranges.begin(), ranges.end(),
            [](const range& a, const range& b) { return a.begin != b.begin ? a.begin < b.begin : a.index < b.index; });
  std::uint64_t covered = 0;
  bool any = false;
  for (const range& r : ranges) {
    if (found[r.index]) continue;
    if (any && r.begin < covered && !apart_) {
      found[r.index] = {defect::functions_overlap, functions_ + r.index * entry_bytes()};
      continue;
    }
    if (r.end > r.begin) covered = r.end, any = true;
  }
  for (std::uint32_t i = 0; i < function_count_; ++i) {
    if (found[i]) on_problem(found[i], i);
  }
  if (rows != row_count_) on_problem(problem{defect::fre_total, 12}, function_count_);
}

}  // namespace backsight::cfi::sframe
