// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include <backsight/cfi/sframe/row.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi::sframe {

/// Why a function cannot be said in SFrame.
enum class unsayable : std::uint8_t {
  none,
  return_column,   ///< Its return address is in another register than the machine's.
  stack_pointer,   ///< The caller's stack pointer is not the CFA.
  size,            ///< It has 4 GiB or more.
  row_count,       ///< It has more than 65,535 rows.
  gap,             ///< Addresses behind its first row have no rule for the CFA, or it has no row.
  cfa,             ///< The CFA follows from more than a register, an offset and a load.
  return_address,  ///< The return address is nowhere that a row can tell.
  frame_pointer,   ///< The frame pointer is nowhere that a row can tell.
};
inline constexpr std::size_t unsayable_count = static_cast<std::size_t>(unsayable::frame_pointer) + 1;
/// A text for the reason; static, never null.
[[nodiscard]] constexpr const char* name_of(unsayable why) noexcept {
  constexpr std::array<const char*, unsayable_count> names{
      "none", "return column", "stack pointer", "size", "row count", "gap", "CFA", "return address", "frame pointer"};
  return names[static_cast<std::size_t>(why)];
}

/// Encodes rows of version 3 for one machine.
class row_words {
 public:
  /// How the rows of a function are written: by the machine's own registers, or with register and kind of each place.
  enum class form : std::uint8_t { plain, pairs };

  explicit row_words(abi of) noexcept : abi_(of), registers_(registers_of(of)) {}

  [[nodiscard]] abi machine() const noexcept { return abi_; }
  [[nodiscard]] std::int8_t fixed_return_address() const noexcept { return abi_ == abi::x86_64 ? -8 : 0; }

  /// Whether a row can be said at all, and in which form.
  [[nodiscard]] unsayable check(const sframe_row& r, form& needed) const noexcept {
    using enum place::kind;
    needed = form::plain;
    if (r.outermost) return unsayable::none;
    const bool arm = abi_ == abi::aarch64_little || abi_ == abi::aarch64_big;
    if (r.cfa.how == at_register) {
      needed = form::pairs;
    } else if (r.cfa.how != is_register) {
      return unsayable::cfa;
    } else if (r.cfa.reg != registers_.stack_pointer && r.cfa.reg != registers_.frame_pointer) {
      needed = form::pairs;
    }
    if (r.cfa.reg >= 1U << 13 || !fits(r.cfa.offset) || (scaled() && (r.cfa.offset - 160) % 8 != 0))
      return unsayable::cfa;
    const auto is_said = [&](const place& p) {
      switch (p.how) {
        case unchanged: return true;
        // Of s390x rows without pairs, 0 says nothing.
        case at_cfa:
          if (scaled() && (p.offset == 0 || p.offset % 2 != 0)) needed = form::pairs;
          return fits(p.offset);
        case at_register:
        case is_register: needed = form::pairs; return p.reg < 1U << 13 && fits(p.offset);
        default: return false;
      }
    };
    const bool fixed = is_fixed(r.return_address);
    if (!fixed && !is_said(r.return_address)) return unsayable::return_address;
    if (fixed_return_address() != 0 && !fixed) {
      if (r.return_address.how == unchanged) return unsayable::return_address;
      needed = form::pairs;
    }
    if (!is_said(r.frame_pointer)) return unsayable::frame_pointer;
    if (arm) {
      if (needed == form::pairs)
        return r.cfa.how == is_register && is_own(r.cfa.reg) ? unsayable::return_address : unsayable::cfa;
      if (r.return_address.how == unchanged && r.frame_pointer.how != unchanged) return unsayable::frame_pointer;
    }
    return unsayable::none;
  }

  /// Appends what follows a row's start, in that form or a wider one than check() says.
  void append(std::vector<std::byte>& out, const sframe_row& r, form as) const {
    words w;
    if (!r.outermost) {
      const std::int64_t cfa = scaled() ? (r.cfa.offset - 160) / 8 : r.cfa.offset;
      const bool frame_pointer = r.frame_pointer.how != place::kind::unchanged;
      const bool return_address = r.return_address.how != place::kind::unchanged && !is_fixed(r.return_address);
      if (as == form::plain) {
        w.add(cfa);
        if (fixed_return_address() == 0 && (return_address || frame_pointer)) w.add(r.return_address.offset);
        if (frame_pointer) w.add(r.frame_pointer.offset);
      } else {
        w.add_control(r.cfa);
        w.add(cfa);
        if (return_address) w.add_pair(r.return_address);
        else if (frame_pointer) w.add_control({});
        if (frame_pointer) w.add_pair(r.frame_pointer);
      }
    }
    const bool from_stack_pointer = as == form::plain && !r.outermost && r.cfa.reg == registers_.stack_pointer;
    put(out,
        (from_stack_pointer ? 1U : 0U) | w.count << 1U | w.size_code << 5U | (r.return_address_signed ? 0x80U : 0U), 1);
    for (unsigned i = 0; i < w.count; ++i) put(out, static_cast<std::uint64_t>(w.values[i]), 1U << w.size_code);
  }

  /// Appends a number in the machine's byte order.
  void put(std::vector<std::byte>& out, std::uint64_t value, unsigned bytes) const {
    const bool big = abi_ == abi::aarch64_big || abi_ == abi::s390x;
    for (unsigned i = 0; i < bytes; ++i) out.push_back(static_cast<std::byte>(value >> 8 * (big ? bytes - 1 - i : i)));
  }

 private:
  /// The words of a row, and the width that the widest needs.
  struct words {
    std::array<std::int64_t, 6> values{};
    unsigned count = 0;
    unsigned size_code = 0;

    void add(std::int64_t value) {
      add(value, static_cast<std::int8_t>(value) == value, static_cast<std::int16_t>(value) == value);
    }
    void add_control(const place& of) {
      using enum place::kind;
      const bool reg = of.how == at_register || of.how == is_register, read = of.how == at_register || of.how == at_cfa;
      const std::int64_t control =
          of.how == unchanged ? 0 : std::int64_t{reg ? of.reg : 0} << 3 | (read ? 2 : 0) | (reg ? 1 : 0);
      add(control, control <= 0xff, control <= 0xffff);
    }
    void add_pair(const place& of) {
      add_control(of);
      add(of.offset);
    }

   private:
    void add(std::int64_t value, bool fits8, bool fits16) {
      values[count++] = value;
      const unsigned needed = fits8 ? 0 : fits16 ? 1 : 2;
      if (needed > size_code) size_code = needed;
    }
  };

  [[nodiscard]] static bool fits(std::int64_t value) noexcept { return value == static_cast<std::int32_t>(value); }
  [[nodiscard]] bool scaled() const noexcept { return abi_ == abi::s390x; }
  [[nodiscard]] bool is_own(std::uint32_t reg) const noexcept {
    return reg == registers_.stack_pointer || reg == registers_.frame_pointer;
  }
  [[nodiscard]] bool is_fixed(const place& p) const noexcept {
    return fixed_return_address() != 0 && p.how == place::kind::at_cfa && p.offset == fixed_return_address();
  }

  abi abi_;
  registers registers_;
};

}  // namespace backsight::cfi::sframe
