// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace backsight::dwarf {

/// Call frame instructions. Source: DWARF 5, section 7.24; the vendor ones: GNU binutils include/dwarf2.def and
/// LLVM Dwarf.def. The three with operands in the opcode hold them in their low six bits.
enum class call_frame : std::uint8_t {
  advance_loc = 0x40,
  offset = 0x80,
  restore = 0xc0,
  nop = 0x00,
  set_loc = 0x01,
  advance_loc1 = 0x02,
  advance_loc2 = 0x03,
  advance_loc4 = 0x04,
  offset_extended = 0x05,
  restore_extended = 0x06,
  undefined = 0x07,
  same_value = 0x08,
  register_ = 0x09,
  remember_state = 0x0a,
  restore_state = 0x0b,
  def_cfa = 0x0c,
  def_cfa_register = 0x0d,
  def_cfa_offset = 0x0e,
  def_cfa_expression = 0x0f,
  expression = 0x10,
  offset_extended_sf = 0x11,
  def_cfa_sf = 0x12,
  def_cfa_offset_sf = 0x13,
  val_offset = 0x14,
  val_offset_sf = 0x15,
  val_expression = 0x16,
  mips_advance_loc8 = 0x1d,
  aarch64_negate_ra_state_with_pc = 0x2c,
  gnu_window_save = 0x2d,  ///< On AArch64: negate_ra_state.
  gnu_args_size = 0x2e,
  gnu_negative_offset_extended = 0x2f,
  llvm_def_aspace_cfa = 0x30,
  llvm_def_aspace_cfa_sf = 0x31,
};

/// The name of a call frame instruction as tools print it, without DW_CFA_; null for an unknown one. Give the opcode
/// with its operand bits cleared for the three that hold one. `aarch64` decides what 0x2d means.
[[nodiscard]] constexpr const char* name_of(call_frame code, bool aarch64 = false) noexcept {
  switch (code) {
    case call_frame::advance_loc: return "advance_loc";
    case call_frame::offset: return "offset";
    case call_frame::restore: return "restore";
    case call_frame::nop: return "nop";
    case call_frame::set_loc: return "set_loc";
    case call_frame::advance_loc1: return "advance_loc1";
    case call_frame::advance_loc2: return "advance_loc2";
    case call_frame::advance_loc4: return "advance_loc4";
    case call_frame::offset_extended: return "offset_extended";
    case call_frame::restore_extended: return "restore_extended";
    case call_frame::undefined: return "undefined";
    case call_frame::same_value: return "same_value";
    case call_frame::register_: return "register";
    case call_frame::remember_state: return "remember_state";
    case call_frame::restore_state: return "restore_state";
    case call_frame::def_cfa: return "def_cfa";
    case call_frame::def_cfa_register: return "def_cfa_register";
    case call_frame::def_cfa_offset: return "def_cfa_offset";
    case call_frame::def_cfa_expression: return "def_cfa_expression";
    case call_frame::expression: return "expression";
    case call_frame::offset_extended_sf: return "offset_extended_sf";
    case call_frame::def_cfa_sf: return "def_cfa_sf";
    case call_frame::def_cfa_offset_sf: return "def_cfa_offset_sf";
    case call_frame::val_offset: return "val_offset";
    case call_frame::val_offset_sf: return "val_offset_sf";
    case call_frame::val_expression: return "val_expression";
    case call_frame::mips_advance_loc8: return "MIPS_advance_loc8";
    case call_frame::aarch64_negate_ra_state_with_pc: return "AARCH64_negate_ra_state_with_pc";
    case call_frame::gnu_window_save: return aarch64 ? "AARCH64_negate_ra_state" : "GNU_window_save";
    case call_frame::gnu_args_size: return "GNU_args_size";
    case call_frame::gnu_negative_offset_extended: return "GNU_negative_offset_extended";
    case call_frame::llvm_def_aspace_cfa: return "LLVM_def_aspace_cfa";
    case call_frame::llvm_def_aspace_cfa_sf: return "LLVM_def_aspace_cfa_sf";
  }
  return nullptr;
}

/// Operations of location expressions. Source: DWARF 5, section 7.7.1.
enum class operation : std::uint8_t {
  addr = 0x03,
  deref = 0x06,
  const1u = 0x08,
  const1s = 0x09,
  const2u = 0x0a,
  const2s = 0x0b,
  const4u = 0x0c,
  const4s = 0x0d,
  const8u = 0x0e,
  const8s = 0x0f,
  constu = 0x10,
  consts = 0x11,
  dup = 0x12,
  drop = 0x13,
  over = 0x14,
  pick = 0x15,
  swap = 0x16,
  rot = 0x17,
  xderef = 0x18,
  abs = 0x19,
  and_ = 0x1a,
  div = 0x1b,
  minus = 0x1c,
  mod = 0x1d,
  mul = 0x1e,
  neg = 0x1f,
  not_ = 0x20,
  or_ = 0x21,
  plus = 0x22,
  plus_uconst = 0x23,
  shl = 0x24,
  shr = 0x25,
  shra = 0x26,
  xor_ = 0x27,
  bra = 0x28,
  eq = 0x29,
  ge = 0x2a,
  gt = 0x2b,
  le = 0x2c,
  lt = 0x2d,
  ne = 0x2e,
  skip = 0x2f,
  lit0 = 0x30,
  lit31 = 0x4f,
  reg0 = 0x50,
  reg31 = 0x6f,
  breg0 = 0x70,
  breg31 = 0x8f,
  regx = 0x90,
  fbreg = 0x91,
  bregx = 0x92,
  piece = 0x93,
  deref_size = 0x94,
  xderef_size = 0x95,
  nop = 0x96,
  call_frame_cfa = 0x9c,
  bit_piece = 0x9d,
  implicit_value = 0x9e,
  stack_value = 0x9f,
};

}  // namespace backsight::dwarf
