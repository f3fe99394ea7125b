// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/emit/unwinder_c/detail/c_rows.hpp>
#include <backsight/emit/unwinder_c/detail/c_writer.hpp>
#include <backsight/emit/unwinder_c/detail/slots.hpp>

namespace backsight::emit::unwinder_c::detail {

/// Sets `pc` of the return address in a variable, as Arch::code_address does.
template <class Arch, class Out>
void write_pc(c_writer<Out>& out, const char* from) {
  if constexpr (Arch::signs_return_addresses) {
    out("  pc = (", from, " >> 55 & 1u) != 0 ? ", from, " | UINT64_C(0xffff000000000000) : ", from,
        " & UINT64_C(0xffffffffffff);\n");
  } else if constexpr (Arch::code_address(1) == 0) {
    out("  pc = ", from, " & ~UINT64_C(1);\n");
  } else {
    out("  pc = ", from, ";\n");
  }
}

/// Keeps `ra` in its own register, where the machine has one.
template <class Arch, class Out>
void write_return_address(c_writer<Out>& out, const char* context) {
  if constexpr (!Arch::return_address_is_pc) {
    const std::size_t slot = slots<Arch>::of(Arch::return_address);
    out("  ", context, "r[", slot, "] = ra;\n  ", context, "flags |= ", c_wide{slots<Arch>::flag(slot)}, ";\n");
  }
}

/// The flags that a step does not clear.
template <class Arch>
[[nodiscard]] std::uint64_t kept_flags(const c_rows<Arch>& rows) {
  std::uint64_t flags = 0x70;
  for (std::size_t slot = 0; slot < slots<Arch>::count; ++slot) flags |= rows.keeps(slot) ? slots<Arch>::flag(slot) : 0;
  return flags;
}

}  // namespace backsight::emit::unwinder_c::detail
