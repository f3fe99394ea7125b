// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <backsight/cfi/general_rule.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/dwarf/operation.hpp>

namespace backsight::cfi::detail {

/// What the text of a rule of shape `aligned` or `signal` says, in the numbers of that rule.
struct placed_rule {
  rule_shape shape = rule_shape::general;
  std::uint8_t reg = 0;
  bool cfa_saved = false;
  std::int8_t cfa_word = 0;
  std::int8_t return_address_word = 0;
};

/// An offset in words of the machine that a lane has room for.
[[nodiscard]] constexpr std::optional<std::int8_t> words_of(std::int64_t offset, unsigned word_bytes) noexcept {
  const std::int64_t word = word_bytes;
  if (offset % word != 0 || offset / word > 127 || offset / word < -128) return std::nullopt;
  return static_cast<std::int8_t>(offset / word);
}

/// A register and an offset, and whether the value is what memory holds there.
struct plain_place {
  std::uint64_t reg = 0;
  std::int64_t offset = 0;
  bool read = false;
};
/// An expression that says no more than that: one register, and perhaps one load.
[[nodiscard]] constexpr std::optional<plain_place> plain_expression(byte_view code, unsigned word_bytes) noexcept {
  if (code.empty()) return std::nullopt;
  const auto op = dwarf::decode_operation<order::little>(code, 0, word_bytes);
  if (!op.valid() || !op.reads_register()) return std::nullopt;
  const bool read = op.next + 1 == code.size() && code[op.next] == static_cast<std::byte>(dwarf::operation::deref);
  if (!read && op.next != code.size()) return std::nullopt;
  return plain_place{op.first, op.second, read};
}

/// Works out a general rule of which every place counts from one register: those of frames whose stack was aligned, and
/// of signal frames. `on_place(register, words)` tells where each is saved, counted from the word above the register's
/// value; false refuses the text. Absent for other texts. `stack_pointer` is the machine's, which has to be the CFA.
template <class OnPlace>
[[nodiscard]] constexpr std::optional<placed_rule> place_rule(byte_view text, unsigned word_bytes,
                                                              std::uint64_t stack_pointer, OnPlace&& on_place) {
  placed_rule placed;
  std::uint64_t column = 0;
  std::int64_t cfa = 0;  // The CFA's place or value, from the register.
  bool good = true;
  const auto from_register = [&](const expression_ref& e) -> std::optional<plain_place> {
    const auto place = plain_expression(text.subspan(static_cast<std::size_t>(e.offset), e.size), word_bytes);
    return place && place->offset == static_cast<std::int32_t>(place->offset) ? place : std::nullopt;
  };
  const trace_error error = walk_general_rule(
      text,
      [&](const cfa_rule& rule, std::uint64_t return_address_column) {
        column = return_address_column;
        plain_place place{rule.reg, rule.offset, false};
        if (rule.kind == cfa_kind::expression)
          place = from_register(rule.expression).value_or(plain_place{~std::uint64_t{0}});
        else if (rule.kind != cfa_kind::register_offset) return good = false;
        const auto words = words_of(place.offset, word_bytes);
        if (!words || place.reg > 0xff) return good = false;
        placed.reg = static_cast<std::uint8_t>(place.reg);
        placed.cfa_saved = place.read;
        placed.cfa_word = *words;
        cfa = place.offset;
        return true;
      },
      [&](const register_rule& rule) {
        std::optional<std::int64_t> offset;  // From the register.
        if (rule.kind == rule_kind::at_expression) {
          const auto place = from_register(rule.expression());
          if (place && place->reg == placed.reg && !place->read) offset = place->offset;
        } else if (rule.kind == rule_kind::at_cfa_offset && rule.reg == column) {
          const auto words = words_of(rule.value, word_bytes);
          if (!words || *words == 0) return good = false;
          placed.shape = rule_shape::aligned;
          placed.return_address_word = *words;
          return true;
        } else if (rule.kind == rule_kind::at_cfa_offset && !placed.cfa_saved &&
                   rule.value == static_cast<std::int32_t>(rule.value)) {
          offset = cfa + rule.value;
        }
        if (!offset) return good = false;
        if (rule.reg == column) {
          const auto words = words_of(*offset, word_bytes);
          if (!words) return good = false;
          placed.shape = rule_shape::signal;
          placed.return_address_word = *words;
          return true;
        }
        // The caller's stack pointer is the CFA anyway.
        if (rule.reg == stack_pointer) return good = placed.cfa_saved && *offset == cfa;
        const auto words = words_of(*offset - word_bytes, word_bytes);
        return good = words && on_place(rule.reg, *words);
      });
  if (error || !good || placed.shape == rule_shape::general) return std::nullopt;
  return placed;
}

}  // namespace backsight::cfi::detail
