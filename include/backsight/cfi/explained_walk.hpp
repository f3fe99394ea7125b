// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/progress.hpp>
#include <backsight/cfi/unwind.hpp>

namespace backsight::cfi {

/// From what a frame is known.
enum class frame_source : std::uint8_t {
  registers,       ///< Of the thread: the innermost frame.
  unwind_table,    ///< Call frame information.
  frame_pointer,   ///< The chain of frame pointers: frames that keep none may be missing in between.
  return_address,  ///< Of a call to where no code is: what such a call leaves, on the stack or in its register.
};

/// In words.
[[nodiscard]] constexpr const char* message(frame_source from) noexcept {
  switch (from) {
    case frame_source::registers: return "registers";
    case frame_source::unwind_table: return "unwind table";
    case frame_source::frame_pointer: return "frame pointer";
    case frame_source::return_address: return "return address";
  }
  return "unknown";
}

/// A frame of a walk and how it was found.
struct explained_frame {
  std::uint64_t pc = 0;
  bool pc_is_next = true;  ///< It is no return address: in the innermost frame, and in one that a signal interrupted.
  frame_source from = frame_source::registers;
  bool is_signal = false;  ///< What a signal handler returns to; the next frame is the one that was interrupted.

  /// What to look for to name the frame: an address in its code.
  [[nodiscard]] constexpr std::uint64_t lookup_address() const noexcept {
    return pc_is_next || is_signal ? pc : pc - 1;
  }
};

/// Walks from `f` outwards, and goes on by other ways where there is no call frame information, for one stack that is
/// worth the time.
///
/// `prepare(address)` is called with each address in code before it is looked up, to add the mapped object that is
/// there; it gives false where no code is. `on_frame(explained_frame)` is called for each frame, at most `limit` times.
/// Gives why the walk ended.
template <class Arch, memory_reader Memory, class Prepare, class OnFrame>
stop explained_walk(frame<Arch> f, const address_space<Arch>& space, Memory&& memory, std::size_t limit,
                    Prepare&& prepare, OnFrame&& on_frame) {
  frame_source from = frame_source::registers;
  progress_guard progress;
  for (std::size_t count = 0; count < limit; ++count) {
    explained_frame shown{f.pc, f.pc_is_next, from};
    const std::uint64_t before = f.stack_pointer();
    const bool is_code = prepare(f.lookup_address());
    stop why = is_code ? step(f, space, memory) : stop::no_object;
    from = frame_source::unwind_table;
    if (why == stop::no_object && f.pc_is_next && !is_code) {
      // A pointer to no function was called: nothing of it has run.
      std::optional<std::uint64_t> word;
      if constexpr (Arch::pushes_return_addresses) word = memory(before);
      else word = f.get(Arch::return_address, memory);
      const std::uint64_t caller = word ? Arch::code_address(*word) : 0;
      if (caller != 0 && prepare(caller - 1)) {
        f.pc = caller;
        f.pc_is_next = false;
        if constexpr (Arch::pushes_return_addresses) f.value[Arch::stack_pointer] = before + Arch::address_size;
        from = frame_source::return_address;
        why = stop::none;
      }
    } else if (why == stop::no_object || why == stop::no_information) {
      const auto record = f.get(Arch::frame_pointer, memory);
      const auto caller = record
                              ? memory(*record + static_cast<std::uint64_t>(std::int64_t{Arch::frame_record_offset}) +
                                       Arch::frame_record_return_address)
                              : std::nullopt;
      if (caller && prepare(Arch::code_address(*caller) - 1)) {
        why = detail::step_by_fallback(f, space, fallback{.frame_pointer = true}, memory, why);
        from = frame_source::frame_pointer;
      }
    }
    shown.is_signal = why == stop::none && f.pc_is_next;
    on_frame(shown);
    if (why != stop::none) return why;
    if (!progress.goes_on(before, f.stack_pointer(), f.pc)) return stop::no_progress;
  }
  return stop::limit;
}

}  // namespace backsight::cfi
