// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>

namespace backsight::cfi {

/// A machine that frames are unwound on: a type with static members, cfi/arch/x86_64.hpp being the model. A further CPU
/// is such a header and its line in the list of cfi/arch/generic.hpp. Registers are named by their DWARF numbers.
///
/// | member | what it says |
/// |---|---|
/// | `name` | for people, and in emitted C source |
/// | `elf_machine` | e_machine of its ELF files; tables hold it |
/// | `byte_order`, `address_size` | of addresses and of the words on its stack: 4 or 8 bytes |
/// | `register_count` | a frame holds the registers below this number |
/// | `stack_pointer`, `frame_pointer` | their registers; that of the frame pointer is one of `saved` |
/// | `return_address` | the column of the return address where a CIE names none else |
/// | `saved` | the registers that a callee preserves besides the stack pointer: the lanes of a table's rules, in this
/// order, which is part of the table format |
/// | `return_address_is_pc` | that column stands for the pc itself, and expressions may read it |
/// | `signs_return_addresses` | rows may say that a return address is signed, by the call frame instruction AArch64 has
/// for it |
/// | `pushes_return_addresses` | a call pushes the return address, as the word below the CFA |
/// | `code_address(value)` | a return address as an address of code: without signature or the Thumb bit |
/// | `frame_record_offset` | where the pair of frame pointer and return address lies that frame pointers lead to,
/// counted from the frame pointer |
/// | `frame_record_return_address` | the return address in that pair; the caller's frame pointer is its first word |
/// | `frame_record_size` | from the pair to the caller's stack pointer |
template <class A>
concept architecture = requires(std::uint64_t value) {
  { A::name } -> std::convertible_to<const char*>;
  { A::elf_machine } -> std::convertible_to<std::uint16_t>;
  { A::byte_order } -> std::convertible_to<order>;
  { A::address_size } -> std::convertible_to<unsigned>;
  { A::register_count } -> std::convertible_to<unsigned>;
  { A::stack_pointer } -> std::convertible_to<unsigned>;
  { A::frame_pointer } -> std::convertible_to<unsigned>;
  { A::return_address } -> std::convertible_to<unsigned>;
  { A::saved.size() } -> std::convertible_to<std::size_t>;
  { A::saved[0] } -> std::convertible_to<std::uint8_t>;
  { A::return_address_is_pc } -> std::convertible_to<bool>;
  { A::signs_return_addresses } -> std::convertible_to<bool>;
  { A::pushes_return_addresses } -> std::convertible_to<bool>;
  { A::code_address(value) } -> std::same_as<std::uint64_t>;
  { A::frame_record_offset } -> std::convertible_to<std::int64_t>;
  { A::frame_record_return_address } -> std::convertible_to<std::int64_t>;
  { A::frame_record_size } -> std::convertible_to<std::int64_t>;
  requires A::address_size == 4 || A::address_size == 8;
  requires A::stack_pointer < A::register_count&& A::frame_pointer < A::register_count;
  requires A::return_address < A::register_count&& A::register_count <= 128;
};

}  // namespace backsight::cfi
