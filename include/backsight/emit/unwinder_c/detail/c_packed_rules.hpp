// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <backsight/cfi/general_rule.hpp>
#include <backsight/core/error.hpp>
#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/slots.hpp>

namespace backsight::emit::unwinder_c::detail {

/// The rules that are what nearly all rows are, as one shared function of emitted code takes them.
template <class Arch>
class c_packed_rules {
 public:
  using slots = unwinder_c::slots<Arch>;
  /// cfa = slot + offset; the return address and the kept preserved registers at words from the CFA, 0 for unchanged.
  struct packed {
    std::uint8_t slot = 0;
    std::int32_t offset = 0;
    std::int8_t return_address = 0;
    std::array<std::int8_t, Arch::saved.size()> saved{};
  };

  explicit c_packed_rules(const c_rows<Arch>& rows) : rows_(rows) {
    for (std::size_t i = 0; i < Arch::saved.size(); ++i) {
      if (rows.keeps(slots::of(Arch::saved[i]))) columns_.push_back(i);
    }
    for (const c_rule& rule : rows.rules()) {
      packed_.push_back(pack(rule));
      count_ += packed_.back().has_value() ? 1U : 0U;
    }
  }

  /// The preserved registers that packed rules have, by their places in Arch::saved.
  [[nodiscard]] const std::vector<std::size_t>& columns() const noexcept { return columns_; }
  /// The rule as the shared function takes it; absent for one with a function of its own.
  [[nodiscard]] const std::optional<packed>& rule(std::size_t rule) const noexcept { return packed_[rule]; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  /// The words of a packed rule: slot, return address and two columns in a byte each, then the offset; then eight
  /// columns in each word. So a call takes few and short instructions.
  [[nodiscard]] std::size_t words() const noexcept {
    return columns_.size() <= 2 ? 1 : 1 + (columns_.size() - 2 + 7) / 8;
  }
  /// Where the byte of a column is: the number of the word and that of its lowest bit.
  [[nodiscard]] static std::pair<std::size_t, unsigned> place_of(std::size_t column) noexcept {
    if (column < 2) return {0, static_cast<unsigned>(16 + column * 8)};
    return {1 + (column - 2) / 8, static_cast<unsigned>((column - 2) % 8 * 8)};
  }
  [[nodiscard]] std::uint64_t word_of(const packed& rule, std::size_t word) const noexcept {
    std::uint64_t made = 0;
    if (word == 0) {
      made = rule.slot | std::uint64_t{static_cast<std::uint8_t>(rule.return_address)} << 8 |
             std::uint64_t{static_cast<std::uint32_t>(rule.offset)} << 32;
    }
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      const auto [in, shift] = place_of(column);
      if (in == word) made |= std::uint64_t{static_cast<std::uint8_t>(rule.saved[columns_[column]])} << shift;
    }
    return made;
  }

 private:
  [[nodiscard]] std::optional<packed> pack(const c_rule& rule) const {
    if (rule.outermost || rule.signal_frame) return std::nullopt;
    constexpr std::int64_t word = Arch::address_size;
    packed made;
    bool fits = true;
    std::uint64_t column = 0;
    bool has_return_address = false;
    const auto in_words = [&](std::int64_t offset) -> std::int8_t {
      fits = fits && offset % word == 0 && offset != 0 && offset / word <= 127 && offset / word >= -128;
      return fits ? static_cast<std::int8_t>(offset / word) : std::int8_t{0};
    };
    const trace_error error = cfi::walk_general_rule(
        rows_.text(rule),
        [&](const cfi::cfa_rule& cfa, std::uint64_t return_address_column) {
          column = return_address_column;
          fits = cfa.kind == cfi::cfa_kind::register_offset && slots::of(cfa.reg) != slots::none &&
                 cfa.offset <= 0x7fffffff && cfa.offset >= -0x7fffffff - 1;
          if (!fits) return false;
          made.slot = slots::of(cfa.reg);
          made.offset = static_cast<std::int32_t>(cfa.offset);
          return true;
        },
        [&](const cfi::register_rule& r) {
          if (r.reg == column) {
            has_return_address = true;
            if (r.kind != cfi::rule_kind::at_cfa_offset) return fits = false;
            made.return_address = in_words(r.value);
            return fits;
          }
          if (r.reg == Arch::stack_pointer) return fits = r.kind == cfi::rule_kind::is_cfa_offset && r.value == 0;
          for (const std::size_t i : columns_) {
            if (Arch::saved[i] != r.reg) continue;
            if (r.kind == cfi::rule_kind::at_cfa_offset) made.saved[i] = in_words(r.value);
            else if (r.kind != cfi::rule_kind::same_value) fits = false;
            return fits;
          }
          return fits = r.kind == cfi::rule_kind::same_value;
        });
    if (error || !fits || (!has_return_address && column != Arch::return_address)) return std::nullopt;
    return made;
  }

  const c_rows<Arch>& rows_;
  std::vector<std::size_t> columns_;
  std::vector<std::optional<packed>> packed_;
  std::size_t count_ = 0;
};

}  // namespace backsight::emit::unwinder_c::detail
