// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include <backsight/cfi/section.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>
#include <backsight/dwarf/constants.hpp>
#include <backsight/dwarf/pointer_encoding.hpp>

namespace backsight::cfi {

/// One call frame instruction as it is written: operands are not multiplied by the alignment factors of the CIE.
struct instruction {
  std::uint64_t offset = 0;                 ///< In the section.
  dwarf::call_frame code{};                 ///< With the operand bits cleared.
  std::array<std::uint64_t, 3> operands{};  ///< In the order of the file; signed ones as two's complement.
  byte_view block;                          ///< The expression, for those that have one.
};

namespace detail {

enum class operand : std::uint8_t { none, in_code, u8, u16, u32, u64, uleb, sleb, address, block };

/// The operands of an instruction (DWARF 5, table 7.29; vendor ones as in dwarf/constants.hpp); `known` is false for
/// codes that nobody defines.
struct operand_list {
  bool known = false;
  std::array<operand, 3> kinds{};
};

[[nodiscard]] constexpr operand_list operands_of(dwarf::call_frame code) noexcept {
  using enum dwarf::call_frame;
  using enum operand;
  switch (code) {
    case advance_loc:
    case restore: return {true, {in_code}};
    case offset: return {true, {in_code, uleb}};
    case nop:
    case remember_state:
    case restore_state:
    case gnu_window_save:
    case aarch64_negate_ra_state_with_pc: return {true, {}};
    case set_loc: return {true, {address}};
    case advance_loc1: return {true, {u8}};
    case advance_loc2: return {true, {u16}};
    case advance_loc4: return {true, {u32}};
    case mips_advance_loc8: return {true, {u64}};
    case restore_extended:
    case undefined:
    case same_value:
    case def_cfa_register:
    case def_cfa_offset:
    case gnu_args_size: return {true, {uleb}};
    case offset_extended:
    case register_:
    case def_cfa:
    case val_offset:
    case gnu_negative_offset_extended: return {true, {uleb, uleb}};
    case offset_extended_sf:
    case def_cfa_sf:
    case val_offset_sf: return {true, {uleb, sleb}};
    case def_cfa_offset_sf: return {true, {sleb}};
    case def_cfa_expression: return {true, {block}};
    case expression:
    case val_expression: return {true, {uleb, block}};
    case llvm_def_aspace_cfa: return {true, {uleb, uleb, uleb}};
    case llvm_def_aspace_cfa_sf: return {true, {uleb, sleb, uleb}};
  }
  return {};
}

}  // namespace detail

/// The instructions of a CIE or an FDE in their order, for looking at; the interpreter decodes its own. A view; forward
/// iteration; ends at the first that cannot be decoded, and then error() of the iterator says so.
template <order O>
class program {
 public:
  /// The instructions from `begin` to `end` of the section, with the pointer encoding and address size of the CIE.
  constexpr program(const section<O>& in, const cie& c, std::uint64_t begin, std::uint64_t end) noexcept
      : section_(in), encoding_(c.pointer_encoding), address_size_(c.address_size), begin_(begin), end_(end) {}

  class iterator {
   public:
    using value_type = instruction;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    constexpr iterator() = default;
    constexpr explicit iterator(const program& owner) noexcept
        : bases_(owner.section_.bases()),
          encoding_(owner.encoding_),
          address_size_(owner.address_size_),
          from_(owner.section_.bytes().first(static_cast<std::size_t>(owner.end_))) {
      from_.seek(owner.begin_);
      ++*this;
    }
    [[nodiscard]] constexpr const instruction& operator*() const noexcept { return now_; }
    [[nodiscard]] constexpr const instruction* operator->() const noexcept { return &now_; }
    constexpr iterator& operator++() noexcept {
      done_ = from_.at_end();
      if (!done_) decode();
      return *this;
    }
    constexpr iterator operator++(int) noexcept {
      iterator before = *this;
      ++*this;
      return before;
    }
    [[nodiscard]] constexpr const trace_error& error() const noexcept { return from_.error(); }
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, const iterator& b) noexcept {
      return a.done_ == b.done_ && (a.done_ || a.now_.offset == b.now_.offset);
    }
    [[nodiscard]] friend constexpr bool operator==(const iterator& a, std::default_sentinel_t) noexcept {
      return a.done_;
    }

   private:
    constexpr void decode() noexcept {
      now_ = {};
      now_.offset = from_.position();
      const auto byte = from_.template read<std::uint8_t>();
      const bool packed = (byte & 0xc0U) != 0;
      now_.code = static_cast<dwarf::call_frame>(packed ? byte & 0xc0U : byte);
      const detail::operand_list list = detail::operands_of(now_.code);
      if (!list.known) from_.fail(errc::unknown_record);
      for (std::size_t i = 0; i < list.kinds.size(); ++i) {
        std::uint64_t& value = now_.operands[i];
        switch (list.kinds[i]) {
          case detail::operand::none: break;
          case detail::operand::in_code: value = byte & 0x3fU; break;
          case detail::operand::u8: value = from_.template read<std::uint8_t>(); break;
          case detail::operand::u16: value = from_.template read<std::uint16_t>(); break;
          case detail::operand::u32: value = from_.template read<std::uint32_t>(); break;
          case detail::operand::u64: value = from_.template read<std::uint64_t>(); break;
          case detail::operand::uleb: value = from_.uleb128(); break;
          case detail::operand::sleb: value = static_cast<std::uint64_t>(from_.sleb128()); break;
          case detail::operand::address:
            value = dwarf::read_pointer(from_, encoding_, address_size_, bases_).address;
            break;
          case detail::operand::block: now_.block = from_.take(from_.uleb128()); break;
        }
      }
      done_ = from_.failed();
    }

    dwarf::pointer_bases bases_;
    dwarf::pointer_encoding encoding_;
    std::uint8_t address_size_ = 8;
    cursor<O> from_;
    instruction now_;
    bool done_ = true;
  };
  [[nodiscard]] constexpr iterator begin() const noexcept { return iterator(*this); }
  [[nodiscard]] constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  section<O> section_;
  dwarf::pointer_encoding encoding_;
  std::uint8_t address_size_;
  std::uint64_t begin_;
  std::uint64_t end_;
};

}  // namespace backsight::cfi
