// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/cursor.hpp>
#include <backsight/core/error.hpp>
#include <backsight/dwarf/constants.hpp>

namespace backsight::dwarf {

/// One operation of an expression with its operands, decoded but not evaluated.
struct decoded_operation {
  operation code = operation::nop;  ///< As in the byte; lit0..31 and breg0..31 as they are.
  std::uint64_t first = 0;          ///< A constant (sign-extended where it is signed), a register, a size or a depth.
  std::int64_t second = 0;          ///< The offset of a register; of a branch, its distance from `next`.
  std::size_t next = 0;             ///< Where the next operation begins.
  /// truncated, unknown_record (one that call frame information may not hold), number_too_large; ok for a valid one.
  trace_error error;

  [[nodiscard]] constexpr bool valid() const noexcept { return !error; }
  [[nodiscard]] constexpr bool is_constant() const noexcept {
    const auto byte = static_cast<std::uint8_t>(code);
    return code == operation::addr || (byte >= 0x08 && byte <= 0x11) || (byte >= 0x30 && byte <= 0x4f);
  }
  [[nodiscard]] constexpr bool reads_register() const noexcept {
    const auto byte = static_cast<std::uint8_t>(code);
    return (byte >= 0x70 && byte <= 0x8f) || code == operation::bregx;
  }
};

/// Decodes the operation at `at` (below code.size()). `address_size` is the width of an addr operand. Source: DWARF 5,
/// sections 2.5.1 and 7.7.1; what 6.4.2 does not allow in call frame information is not valid.
template <order O>
[[nodiscard]] constexpr decoded_operation decode_operation(byte_view code, std::size_t at,
                                                           unsigned address_size) noexcept {
  cursor<O> from(code);
  from.seek(at);
  decoded_operation op;
  const auto byte = from.template read<std::uint8_t>();
  op.code = static_cast<operation>(byte);
  const auto as_signed = [](auto value) { return static_cast<std::uint64_t>(std::int64_t{value}); };
  using enum operation;
  if (byte >= 0x30 && byte <= 0x4f) {
    op.first = byte - 0x30U;
  } else if (byte >= 0x70 && byte <= 0x8f) {
    op.first = byte - 0x70U;
    op.second = from.sleb128();
  } else {
    switch (op.code) {
      case addr: op.first = from.read_unsigned(address_size); break;
      case const1u: op.first = from.template read<std::uint8_t>(); break;
      case const1s: op.first = as_signed(from.template read<std::int8_t>()); break;
      case const2u: op.first = from.template read<std::uint16_t>(); break;
      case const2s: op.first = as_signed(from.template read<std::int16_t>()); break;
      case const4u: op.first = from.template read<std::uint32_t>(); break;
      case const4s: op.first = as_signed(from.template read<std::int32_t>()); break;
      case const8u:
      case const8s: op.first = from.template read<std::uint64_t>(); break;
      case constu:
      case plus_uconst: op.first = from.uleb128(); break;
      case consts: op.first = static_cast<std::uint64_t>(from.sleb128()); break;
      case pick:
      case deref_size: op.first = from.template read<std::uint8_t>(); break;
      case bra:
      case skip: op.second = from.template read<std::int16_t>(); break;
      case bregx:
        op.first = from.uleb128();
        op.second = from.sleb128();
        break;
      case deref:
      case dup:
      case drop:
      case over:
      case swap:
      case rot:
      case abs:
      case and_:
      case div:
      case minus:
      case mod:
      case mul:
      case neg:
      case not_:
      case or_:
      case plus:
      case shl:
      case shr:
      case shra:
      case xor_:
      case eq:
      case ge:
      case gt:
      case le:
      case lt:
      case ne:
      case nop:
      case stack_value: break;
      default: op.error = {errc::unknown_record, at}; break;
    }
  }
  if (from.failed()) op.error = from.error();
  op.next = static_cast<std::size_t>(from.position());
  return op;
}

}  // namespace backsight::dwarf
