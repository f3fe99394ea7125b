// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/in_process.hpp>
#include <backsight/cfi/unwind.hpp>

/// The names of libunwind for the own architecture: a profiler that uses it includes this header instead and says
/// `using namespace backsight::libunwind;`. What is here behaves as there, but for this: the tables of the own process
/// are built at the first unw_init_local or unw_backtrace (which allocates, so make one outside of signal handlers),
/// and an address space for remote unwinding is made from the mapped objects that the caller describes.
namespace backsight::libunwind {

using unw_word_t = std::uint64_t;
using unw_regnum_t = int;
using arch = cfi::native_arch;

inline constexpr int UNW_ESUCCESS = 0;
inline constexpr int UNW_EUNSPEC = 1;
inline constexpr int UNW_EBADREG = 3;
inline constexpr int UNW_EINVAL = 8;
inline constexpr int UNW_EBADFRAME = 7;
inline constexpr int UNW_ENOINFO = 10;
inline constexpr unw_regnum_t UNW_REG_IP = -1;
inline constexpr unw_regnum_t UNW_REG_SP = -2;

/// The registers of a frame; unw_getcontext fills it.
struct unw_context_t {
  cfi::frame<arch> here;
};

/// Callbacks for remote unwinding; both give 0 for success.
struct unw_accessors_t {
  int (*access_mem)(void* space, unw_word_t address, unw_word_t* value, int write, void* argument) = nullptr;
  int (*access_reg)(void* space, unw_regnum_t reg, unw_word_t* value, int write, void* argument) = nullptr;
};

/// A process to unwind: its mapped objects and the callbacks. Must outlive the cursors.
struct unw_addr_space {
  cfi::address_space<arch> objects;
  unw_accessors_t accessors;
};
using unw_addr_space_t = unw_addr_space*;

/// A place in a walk. Trivially copyable.
struct unw_cursor_t {
  cfi::frame<arch> frame;
  const cfi::address_space<arch>* objects = nullptr;
  unw_addr_space_t remote = nullptr;
  void* argument = nullptr;
  cfi::progress_guard progress;

  /// Reads the memory of the process that is unwound.
  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) const noexcept {
    if (remote == nullptr) return cfi::own_memory{}(address);
    unw_word_t value = 0;
    if (remote->accessors.access_mem(remote, address, &value, 0, argument) != 0) return std::nullopt;
    return value;
  }
};

/// The tables of the own process; built when first used.
[[nodiscard]] inline cfi::own_process& own_objects() {
  static cfi::own_process process;
  return process;
}

/// Takes the registers of the calling function.
// Inline always: that function is the one it is inlined into. So is unw_backtrace.
[[gnu::always_inline]] inline int unw_getcontext(unw_context_t* context) noexcept {
  cfi::capture(context->here);
  return UNW_ESUCCESS;
}

/// Starts at a context of the own thread.
inline int unw_init_local(unw_cursor_t* cursor, const unw_context_t* context) {
  *cursor = {};
  cursor->frame = context->here;
  cursor->objects = &own_objects().space();
  return UNW_ESUCCESS;
}

/// Starts at the registers that access_reg gives.
inline int unw_init_remote(unw_cursor_t* cursor, unw_addr_space_t space, void* argument) noexcept {
  *cursor = {};
  cursor->objects = &space->objects;
  cursor->remote = space;
  cursor->argument = argument;
  for (unsigned reg = 0; reg < arch::register_count; ++reg) {
    unw_word_t value = 0;
    const int code = space->accessors.access_reg(space, static_cast<unw_regnum_t>(reg), &value, 0, argument);
    if (code == 0) cursor->frame.value[reg] = value;
    else cursor->frame.undefined[reg / 64] |= std::uint64_t{1} << (reg % 64);
  }
  // On x86-64 the return address column is the pc; AArch64 has the pc as register 32.
  constexpr unsigned pc = arch::return_address_is_pc ? arch::return_address : 32;
  cursor->frame.pc = cursor->frame.value[pc];
  return cursor->frame.pc != 0 ? UNW_ESUCCESS : -UNW_EBADREG;
}

/// Goes to the caller: above 0 when there is one, 0 at the outermost frame, below 0 for an error.
inline int unw_step(unw_cursor_t* cursor) noexcept {
  const unw_cursor_t& memory = *cursor;
  cfi::frame<arch>& frame = cursor->frame;
  const unw_word_t before = frame.stack_pointer();
  switch (cfi::step(frame, *cursor->objects, memory)) {
    case cfi::stop::none: return cursor->progress.goes_on(before, frame.stack_pointer(), frame.pc) ? 1 : -UNW_EBADFRAME;
    case cfi::stop::outermost: return 0;
    case cfi::stop::no_object:
    case cfi::stop::no_information: return -UNW_ENOINFO;
    case cfi::stop::unreadable: return -UNW_EINVAL;
    case cfi::stop::no_progress:
    case cfi::stop::bad_rule: return -UNW_EBADFRAME;
    case cfi::stop::limit: break;
  }
  return -UNW_EUNSPEC;
}

/// A register of the frame, by its DWARF number, UNW_REG_IP or UNW_REG_SP. -UNW_EBADREG when it is lost.
inline int unw_get_reg(const unw_cursor_t* cursor, unw_regnum_t reg, unw_word_t* value) noexcept {
  if (reg == UNW_REG_IP) return *value = cursor->frame.pc, UNW_ESUCCESS;
  if (reg == UNW_REG_SP) return *value = cursor->frame.stack_pointer(), UNW_ESUCCESS;
  if (reg < 0) return -UNW_EBADREG;
  const auto found = cursor->frame.get(static_cast<std::uint64_t>(reg), *cursor);
  if (!found) return -UNW_EBADREG;
  *value = *found;
  return UNW_ESUCCESS;
}

/// 1 when the frame was interrupted by a signal, or is the first: its pc is no return address.
[[nodiscard]] inline int unw_is_signal_frame(const unw_cursor_t* cursor) noexcept {
  const auto found = cursor->objects->find_rule(cursor->frame.lookup_address());
  return found.rule && found.rule[cfi::unwind_rule::signal_frame] ? 1 : 0;
}

/// Writes the pcs of the calling thread's frames, the calling function's first; gives their number.
[[gnu::always_inline]] inline int unw_backtrace(void** buffer, int size) {
  std::uint64_t pcs[64];
  unw_context_t context;
  unw_getcontext(&context);
  const cfi::address_space<arch>& objects = own_objects().space();
  cfi::frame<arch> f = context.here;
  std::size_t count = 0;
  for (const auto room = static_cast<std::size_t>(size < 0 ? 0 : size); count < room;) {
    const std::size_t part = room - count < 64 ? room - count : 64;
    const cfi::walk_result walked = cfi::walk(f, objects, cfi::own_memory{}, std::span(pcs, part));
    for (std::size_t i = 0; i < walked.count; ++i) buffer[count++] = reinterpret_cast<void*>(pcs[i]);
    if (walked.why != cfi::stop::limit) break;
  }
  return static_cast<int>(count);
}

}  // namespace backsight::libunwind
