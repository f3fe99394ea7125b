// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace backsight::cfi {

/// Notices a walk that goes round. From frame to frame the stack pointer grows, but in a leaf function whose return
/// address is still in its register, out of a signal handler, and where code changes stacks (split stacks, coroutines):
/// those steps may lead anywhere, and must not be refused. Every round has one of them, so that only these are looked
/// at: where such a step leads is compared with where an earlier one led, the 1st, 2nd, 4th, 8th and so on in turn
/// (Brent's way to find cycles), which finds a round after at most three times its length.
class progress_guard {
 public:
  /// So many steps without progress end a walk in any case.
  static constexpr std::uint32_t most_steps_back = 4096;

  /// A step led from the stack pointer `before` to the stack pointer `now` and `pc`; false when the walk goes round.
  [[nodiscard]] constexpr bool goes_on(std::uint64_t before, std::uint64_t now, std::uint64_t pc) noexcept {
    if (now > before) [[likely]]
      return true;
    if ((pc == pc_ && now == stack_pointer_) || steps_ == most_steps_back) return false;
    ++steps_;
    if ((steps_ & (steps_ - 1)) == 0) {
      pc_ = pc;
      stack_pointer_ = now;
    }
    return true;
  }

 private:
  std::uint64_t pc_ = 0;  // No frame has this one.
  std::uint64_t stack_pointer_ = 0;
  std::uint32_t steps_ = 0;
};

}  // namespace backsight::cfi
