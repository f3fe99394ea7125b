// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

#include <backsight/analysis/by_function.hpp>
#include <backsight/analysis/call_stack.hpp>

namespace backsight::analysis {

/// Which part of the time of a call is not yet counted where it is added up for its function: calls of the function
/// inside of it were counted as they ended. So a call that never ends takes nothing away from those inside of it. Told
/// apart by the stacks of a part. A look costs a load and a comparison while a function is called on one stack, and a
/// look-up by hash when another stack had it last. Memory grows with the functions that were called and the calls that
/// are open, not with the product of functions and stacks.
class open_calls {
 public:
  /// A call of `function` begins on `stack`; gives what to keep for its leave().
  std::uint64_t enter(const call_stack& stack, std::uint64_t function) {
    cell& at = cell_of(stack, function);
    ++at.count;
    return std::exchange(at.inside, 0);
  }
  /// It ends, after `duration`; gives what to add to the total of the function. All that is given adds up to the
  /// durations of the calls that are not inside another one that ended: to be added up without looking at carries, as
  /// clocks that disagree let a call end sooner than one inside of it.
  std::uint64_t leave(const call_stack& stack, std::uint64_t function, std::uint64_t kept, std::uint64_t duration) {
    cell& at = cell_of(stack, function);
    --at.count;
    return duration - std::exchange(at.inside, kept + duration);
  }
  /// Forgets what is open: the end of a part. Costs as much as was set aside, not as much as there are functions.
  void clear() {
    aside_.clear();
    ++part_;
  }

 private:
  /// Of the stack that had the function last; those of others are aside, where calls are open.
  struct cell {
    const call_stack* stack = nullptr;
    std::uint32_t count = 0;
    std::uint32_t part = 0;
    std::uint64_t inside = 0;  ///< What calls took that ended in the innermost one that is open.
  };
  struct open {
    std::uint32_t count;
    std::uint64_t inside;
  };
  struct key {
    const call_stack* stack;
    std::uint64_t function;
    [[nodiscard]] friend bool operator==(const key&, const key&) = default;
  };
  struct key_hash {
    [[nodiscard]] std::size_t operator()(const key& of) const noexcept {
      return hash_of_pair(of.function, reinterpret_cast<std::uintptr_t>(of.stack));
    }
  };

  [[nodiscard]] cell& cell_of(const call_stack& stack, std::uint64_t function) {
    cell& at = cells_[function];
    if (at.stack != &stack || at.part != part_) [[unlikely]]
      give(at, stack, function);
    return at;
  }
  [[gnu::noinline]] void give(cell& at, const call_stack& stack, std::uint64_t function) {
    if (at.part == part_ && at.count != 0) aside_[key{at.stack, function}] = {at.count, at.inside};
    at = {.stack = &stack, .part = part_};
    if (aside_.empty()) return;
    const auto known = aside_.find(key{&stack, function});
    if (known == aside_.end()) return;
    at.count = known->second.count;
    at.inside = known->second.inside;
    aside_.erase(known);
  }

  by_function<cell> cells_;
  std::unordered_map<key, open, key_hash> aside_;
  std::uint32_t part_ = 1;
};

}  // namespace backsight::analysis
