// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace backsight::cfi::sframe {

// Source: "The SFrame Format", versions 1 (binutils 2.40), 2 (2.41 to 2.45) and 3 (2.46 and later).

/// What a section is for: machine and byte order.
enum class abi : std::uint8_t { none, aarch64_big, aarch64_little, x86_64, s390x };

/// Where a value of the caller is, or how it is counted. A CFA without a rule is one that nobody knows.
struct place {
  enum class kind : std::uint8_t {
    unchanged,    ///< No rule.
    undefined,    ///< There is none: the outermost frame.
    at_cfa,       ///< Saved at CFA + offset.
    is_cfa,       ///< CFA + offset itself.
    at_register,  ///< Saved at register + offset.
    is_register,  ///< Register + offset itself.
    // These are of other call frame information only: `reg` bytes at `offset` of its section.
    expression,     ///< The value of an expression.
    at_expression,  ///< Saved where an expression leads.
  };
  place::kind how = kind::unchanged;
  std::uint32_t reg = 0;
  std::int64_t offset = 0;
  [[nodiscard]] friend bool operator==(const place&, const place&) = default;
};

/// From `start` on, counted from the function's begin (in a function that repeats, from its block's), this is how to
/// find the caller's frame. `outermost` frames have no caller.
struct sframe_row {
  std::uint32_t start = 0;
  bool outermost = false;
  bool return_address_signed = false;
  bool signed_bit = false;              ///< As stored, on machines without signed addresses too; objdump shows it.
  bool return_address_padding = false;  ///< A word that says nothing stands where its place would.
  place cfa, return_address, frame_pointer;
  [[nodiscard]] bool same_rules(const sframe_row& other) const noexcept {
    return outermost == other.outermost && return_address_signed == other.return_address_signed && cfa == other.cfa &&
           return_address == other.return_address && frame_pointer == other.frame_pointer;
  }
};

/// A function of a section.
struct function {
  std::uint64_t begin = 0;
  std::uint32_t size = 0;
  std::uint32_t row_count = 0;
  std::uint32_t repeat = 0;      ///< Not 0: the rows are those of a block of so many bytes, which repeats (PLTs).
  std::uint8_t start_bytes = 0;  ///< The width of row starts.
  bool signal_frame = false;
  bool flexible = false;           ///< Rows tell register and kind of each place.
  bool key_b = false;              ///< AArch64: return addresses are signed with key B.
  std::uint64_t entry_offset = 0;  ///< In the section.
  std::uint64_t rows_offset = 0;   ///< In the section: the first row.
};

/// The registers that rows name, by their DWARF numbers.
struct registers {
  std::uint32_t stack_pointer = 0, frame_pointer = 0, return_address = 0;
};
[[nodiscard]] constexpr registers registers_of(abi of) noexcept {
  switch (of) {
    case abi::x86_64: return {7, 6, 16};
    case abi::s390x: return {15, 11, 14};
    default: return {31, 29, 30};
  }
}

}  // namespace backsight::cfi::sframe
