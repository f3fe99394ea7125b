// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <backsight/cfi/arch/arm.hpp>
#include <backsight/cfi/exidx/index.hpp>
#include <backsight/cfi/row_table.hpp>
#include <backsight/cfi/rule.hpp>
#include <backsight/core/error.hpp>

// Entries of .ARM.exidx as rows. Source: Exception Handling ABI for the Arm Architecture (IHI 0038), section 10.3.
namespace backsight::cfi::exidx {

/// Runs the opcodes of one function without a stack: what they pop is noted with its place.
class opcode_runner {
 public:
  explicit opcode_runner(const index& from) : from_(from) {}

  /// The row of an entry, for the whole function: right at calls, not in prologues and epilogues. Registers of floating
  /// point and of iWMMXt are passed over. Errors, at their offset in the file: unknown_record (a spare opcode),
  /// truncated (an opcode without its operand), unsupported_type (what no row can say: registers popped before another
  /// register becomes the stack pointer, and a stack pointer that is popped).
  [[nodiscard]] trace_error run(const entry& of, row& made) {
    made.rules.clear();
    made.begin = of.begin;
    made.end = of.end;
    base_ = arch::arm::stack_pointer;
    offset_ = 0;
    places_ = {};
    ended_ = refused_ = of.how == model::cant_unwind;
    for (std::size_t at = 0; !ended_ && at < of.opcodes.size();) {
      const std::size_t here = at;
      if (const errc code = execute(of.opcodes, at); code != errc::ok)
        return {code, from_.offset_in_file(of.opcodes.place_of(here))};
    }
    if (refused_) {
      made.cfa = {cfa_kind::register_offset, arch::arm::stack_pointer, 0, {}};
      (void)made.rules.set({arch::arm::return_address, rule_kind::undefined, 0, 0});
      return {};
    }
    made.cfa = {cfa_kind::register_offset, base_, offset_, {}};
    // What is popped into the pc is the return address, which the row has as r14.
    if (places_[pc]) places_[arch::arm::return_address] = places_[pc];
    for (std::uint32_t reg = 0; reg < pc; ++reg) {
      if (places_[reg] && reg != arch::arm::stack_pointer)
        (void)made.rules.set({reg, rule_kind::at_cfa_offset, 0, *places_[reg] - offset_});
    }
    return {};
  }

 private:
  static constexpr std::uint32_t pc = 15;

  /// One opcode; the numbers are those of table 4 in section 10.3.
  [[nodiscard]] errc execute(const opcode_bytes& code, std::size_t& at) {
    const std::uint8_t op = code[at++];
    const auto operand = [&]() -> std::optional<std::uint8_t> {
      if (at == code.size()) return std::nullopt;
      return code[at++];
    };
    if (op < 0x40) return move(4 + 4 * std::int64_t{op});
    if (op < 0x80) return move(-4 - 4 * std::int64_t{op & 0x3fU});
    if (op < 0x90) {
      const auto low = operand();
      if (!low) return errc::truncated;
      const std::uint32_t mask = (op & 0xfU) << 8 | *low;
      if (mask == 0) ended_ = refused_ = true;
      return pop(mask << 4);
    }
    if (op < 0xa0) return set_base(op & 0xfU);
    if (op < 0xb0) return pop(((2U << (op & 7U)) - 1) << 4 | ((op & 8U) != 0 ? 1U << 14 : 0U));
    if (op >= 0xb8 && op < 0xc0) return move(8 * (std::int64_t{op & 7U} + 1) + 4);
    if (op >= 0xc0 && op < 0xc6) return move(8 * (std::int64_t{op & 7U} + 1));
    if (op >= 0xd0 && op < 0xd8) return move(8 * (std::int64_t{op & 7U} + 1));
    switch (op) {
      case 0xb0: ended_ = true; return errc::ok;
      case 0xb2: return large_move(code, at);
      case 0xb4: return move(4);  // A return address authentication code.
      case 0xb5: return errc::ok;
      case 0xb1:
      case 0xb3:
      case 0xc6:
      case 0xc7:
      case 0xc8:
      case 0xc9: break;
      default: return errc::unknown_record;
    }
    const auto value = operand();
    if (!value) return errc::truncated;
    const bool is_mask = op == 0xb1 || op == 0xc7;
    if (is_mask && (*value == 0 || *value > 0xf)) return errc::unknown_record;
    if (op == 0xb1) return pop(*value);
    if (op == 0xc7) return move(4 * std::int64_t{std::popcount(*value)});
    return move(8 * (std::int64_t{*value & 0xfU} + 1) + (op == 0xb3 ? 4 : 0));
  }
  [[nodiscard]] errc move(std::int64_t bytes) noexcept {
    offset_ += bytes;
    return errc::ok;
  }
  [[nodiscard]] errc large_move(const opcode_bytes& code, std::size_t& at) noexcept {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (at == code.size()) return errc::truncated;
      const std::uint8_t digits = code[at++];
      // The address space ends before.
      if (shift > 28) return errc::number_too_large;
      value |= std::uint64_t{digits & 0x7fU} << shift;
      if (digits < 0x80) break;
    }
    return move(0x204 + static_cast<std::int64_t>(value << 2));
  }
  [[nodiscard]] errc set_base(std::uint32_t reg) noexcept {
    if (reg == arch::arm::stack_pointer || reg == pc) return errc::unknown_record;
    for (const auto& place : places_) {
      if (place) return errc::unsupported_type;
    }
    base_ = reg;
    offset_ = 0;
    return errc::ok;
  }
  [[nodiscard]] errc pop(std::uint32_t mask) noexcept {
    for (std::uint32_t reg = 0; reg <= pc; ++reg) {
      if ((mask >> reg & 1U) == 0) continue;
      if (reg == arch::arm::stack_pointer) return errc::unsupported_type;
      places_[reg] = offset_;
      offset_ += 4;
    }
    return errc::ok;
  }

  index from_;
  std::uint32_t base_ = 0;
  std::int64_t offset_ = 0;
  std::array<std::optional<std::int64_t>, 16> places_{};  // By register, counted from the base.
  bool ended_ = false, refused_ = false;
};

/// Calls `f(row, entry)` for each entry of an index, ascending by address; entries in error are left out, and
/// `report(trace_error)` is called for them. The row is valid during the call.
template <class F, class Report>
void for_each_row(const index& from, F&& f, Report&& report) {
  opcode_runner runner(from);
  row made;
  std::uint64_t covered = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto found = from[i];
    if (!found) {
      report(found.error());
      continue;
    }
    // One out of order is told where it lies; those behind it may be lower than those before it, too.
    if (found->begin < covered) {
      report(trace_error{errc::out_of_range, from.offset_of_entry(i)});
      continue;
    }
    covered = found->end;
    if (found->begin == found->end) continue;
    if (const trace_error error = runner.run(*found, made)) report(error);
    else f(std::as_const(made), *found);
  }
}

/// Builds an unwind table from an index, as from other sources of rows. It is right for return addresses: a function
/// has one row, also in its prologue and epilogue, where the pc of an innermost frame may lie. `report(trace_error)` is
/// called for what is left out. Errors: those of build_table_of_rows.
template <class Report>
[[nodiscard]] result<table> build_table(const index& from, const table_options& options, Report&& report) {
  cie common;
  common.return_address_register = arch::arm::return_address;
  return build_table_of_rows<arch::arm>(options, fingerprint_of_ends(from.bytes()), [&](auto&& add) {
    for_each_row(from, [&](const row& r, const entry&) { add(r, common, byte_view{}); }, report);
  });
}

}  // namespace backsight::cfi::exidx
