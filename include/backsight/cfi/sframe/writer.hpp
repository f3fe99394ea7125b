// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <backsight/cfi/sframe/frame_rows.hpp>
#include <backsight/cfi/sframe/interval.hpp>
#include <backsight/cfi/sframe/row.hpp>
#include <backsight/cfi/sframe/row_words.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight::cfi::sframe {

/// Writes SFrame sections of version 3 from functions of call frame information. A function that SFrame cannot say
/// rightly is left out, and its reason told: a reader falls back to .eh_frame there. Functions whose rows repeat, as
/// those of PLTs do, are told once for each block.
class writer {
 public:
  /// `of` must not be abi::none.
  explicit writer(abi of) : encoder_(of) {}

  /// Adds a function; the reason why it is left out otherwise.
  [[nodiscard]] unsayable add(const frame_function& f) {
    if (!f.usual_column) return unsayable::return_column;
    if (f.moves_stack_pointer) return unsayable::stack_pointer;
    if (f.end - f.begin > 0xffffffffU) return unsayable::size;
    std::vector<interval> rows = f.rows;
    const auto known = [](const interval& one) {
      return one.row.outermost || one.row.cfa.how != place::kind::unchanged;
    };
    // A row holds to the next one, so that only addresses before the first can have none.
    const auto first = std::find_if(rows.begin(), rows.end(), known);
    rows.erase(rows.begin(), first);
    if (rows.empty()) return unsayable::gap;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::uint64_t next = i + 1 < rows.size() ? rows[i + 1].begin : f.end;
      if (!known(rows[i]) || rows[i].end != next) return unsayable::gap;
    }
    row_words::form form = row_words::form::plain;
    for (const interval& one : rows) {
      row_words::form needed = row_words::form::plain;
      if (const unsayable why = encoder_.check(one.row, needed); why != unsayable::none) return why;
      form = std::max(form, needed);
    }
    for (const piece& p : pieces_of(rows, f.begin, f.end)) {
      if (p.rows.size() > 0xffff) return unsayable::row_count;
    }
    for (const piece& p : pieces_of(rows, f.begin, f.end)) add_piece(p, f, form);
    return unsayable::none;
  }

  /// The section for the address of its first byte, with the functions that were added. Of functions that overlap the
  /// first is kept; `overlapping` is how many were not. Errors: errc::capacity (more than 4 GiB of rows).
  [[nodiscard]] result<std::vector<std::byte>> write(std::uint64_t address, std::size_t* overlapping = nullptr) {
    std::stable_sort(functions_.begin(), functions_.end(),
                     [](const one_function& a, const one_function& b) { return a.begin < b.begin; });
    std::vector<const one_function*> kept;
    std::uint64_t covered = 0, rows = 0, row_bytes = 0;
    for (const one_function& f : functions_) {
      if (f.begin < covered) continue;
      covered = f.begin + f.size;
      kept.push_back(&f);
      rows += f.rows;
      row_bytes += f.bytes;
    }
    if (overlapping != nullptr) *overlapping = functions_.size() - kept.size();
    if (row_bytes > 0xffffffffU || rows > 0xffffffffU || kept.size() > 0xffffffffU / 16) return {errc::capacity, 0};
    std::vector<std::byte> out;
    const auto put = [&](std::uint64_t value, unsigned bytes) { encoder_.put(out, value, bytes); };
    put(0xdee2, 2);
    put(3, 1);
    put(5, 1);  // Sorted; starts count from their fields.
    put(static_cast<std::uint64_t>(encoder_.machine()), 1);
    put(0, 1);
    put(static_cast<std::uint8_t>(encoder_.fixed_return_address()), 1);
    put(0, 1);
    put(kept.size(), 4);
    put(rows, 4);
    put(row_bytes, 4);
    put(0, 4);
    put(kept.size() * 16, 4);
    std::uint64_t at = 0;
    for (const one_function* f : kept) {
      put(f->begin - (address + out.size()), 8);
      put(f->size, 4);
      put(at, 4);
      at += f->bytes;
    }
    for (const one_function* f : kept) {
      const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(f->at);
      out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(f->bytes));
    }
    return out;
  }

 private:
  struct one_function {
    std::uint64_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t rows = 0;
    std::size_t at = 0, bytes = 0;  // In bytes_: the attributes and rows.
  };
  /// A part of a function that gets an entry of its own.
  struct piece {
    std::uint64_t begin = 0, end = 0;
    std::uint32_t repeat = 0;
    std::vector<interval> rows;
  };

  [[nodiscard]] static std::vector<interval> cut(const std::vector<interval>& rows, std::uint64_t begin,
                                                 std::uint64_t end) {
    std::vector<interval> some;
    for (interval one : rows) {
      one.begin = std::max(one.begin, begin);
      one.end = std::min(one.end, end);
      append_interval(some, one);
    }
    return some;
  }
  /// The rows from `begin` on repeat in blocks of so many bytes, twice at least.
  [[nodiscard]] static bool repeats(const std::vector<interval>& rows, std::uint64_t begin, std::uint64_t end,
                                    std::uint64_t block) {
    if (end - begin < 2 * block) return false;
    const std::vector<interval> one = cut(rows, begin, begin + block), all = cut(rows, begin, end);
    if (one.empty() || one.front().begin != begin) return false;
    std::vector<interval> again;
    for (std::uint64_t at = 0; at < end - begin; at += block) {
      for (interval i : one) {
        i.begin += at;
        i.end = std::min(i.end + at, end);
        append_interval(again, i);
      }
      if (again.size() > all.size() + one.size()) return false;
    }
    return std::equal(all.begin(), all.end(), again.begin(), again.end(), [](const interval& a, const interval& b) {
      return a.begin == b.begin && a.end == b.end && a.row.same_rules(b.row);
    });
  }
  /// A PLT is a block of its own, or none, and then blocks that are the same.
  [[nodiscard]] static std::vector<piece> pieces_of(const std::vector<interval>& rows, std::uint64_t begin,
                                                    std::uint64_t end) {
    if (rows.size() >= 4 && rows.front().begin == begin) {
      for (const std::uint64_t block : {8U, 16U, 32U, 64U}) {
        for (const std::uint64_t skip : {std::uint64_t{0}, block, 2 * block}) {
          if (end - begin <= skip || !repeats(rows, begin + skip, end, block)) continue;
          std::vector<piece> pieces;
          if (skip != 0) pieces.push_back({begin, begin + skip, 0, cut(rows, begin, begin + skip)});
          pieces.push_back(
              {begin + skip, end, static_cast<std::uint32_t>(block), cut(rows, begin + skip, begin + skip + block)});
          if (pieces.back().rows.size() + pieces.front().rows.size() < rows.size()) return pieces;
        }
      }
    }
    return {{begin, end, 0, rows}};
  }
  void add_piece(const piece& p, const frame_function& f, row_words::form form) {
    one_function& made = functions_.emplace_back();
    made.begin = p.begin;
    made.size = static_cast<std::uint32_t>(p.end - p.begin);
    made.rows = static_cast<std::uint32_t>(p.rows.size());
    made.at = bytes_.size();
    const unsigned width = made.size < 0x100 ? 0 : made.size < 0x10000 ? 1 : 2;
    encoder_.put(bytes_, p.rows.size(), 2);
    encoder_.put(bytes_, width | (p.repeat != 0 ? 0x10U : 0U) | (f.key_b ? 0x20U : 0U) | (f.signal_frame ? 0x80U : 0U),
                 1);
    encoder_.put(bytes_, form == row_words::form::pairs ? 1 : 0, 1);
    encoder_.put(bytes_, p.repeat, 1);
    for (const interval& one : p.rows) {
      encoder_.put(bytes_, one.begin - p.begin, 1U << width);
      encoder_.append(bytes_, one.row, form);
    }
    made.bytes = bytes_.size() - made.at;
  }

  row_words encoder_;
  std::vector<one_function> functions_;
  std::vector<std::byte> bytes_;
};

}  // namespace backsight::cfi::sframe
