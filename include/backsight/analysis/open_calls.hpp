// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include <backsight/analysis/by_function.hpp>
#include <backsight/analysis/call_stack.hpp>

namespace backsight::analysis {

/// How many calls of each function are open on each stack of a part. A look costs a load and a comparison while a
/// function is called on one stack, and a look-up by hash when another stack had it last. Memory grows with the
/// functions that were called and the calls that are open, not with the product of functions and stacks.
class open_calls {
 public:
  /// A call of `function` begins on `stack`; gives how many of it were open there before.
  std::uint32_t enter(const call_stack& stack, std::uint64_t function) { return count_of(stack, function)++; }
  /// One that enter() was told of ends.
  void leave(const call_stack& stack, std::uint64_t function) { --count_of(stack, function); }
  /// Forgets what is open: the end of a part. Costs as much as was set aside, not as much as there are functions.
  void clear() {
    aside_.clear();
    ++part_;
  }

 private:
  /// The count of the stack that had the function last; those of others are aside, where they are not 0.
  struct cell {
    const call_stack* stack = nullptr;
    std::uint32_t count = 0;
    std::uint32_t part = 0;
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

  [[nodiscard]] std::uint32_t& count_of(const call_stack& stack, std::uint64_t function) {
    cell& at = cells_[function];
    if (at.stack != &stack || at.part != part_) [[unlikely]]
      give(at, stack, function);
    return at.count;
  }
  [[gnu::noinline]] void give(cell& at, const call_stack& stack, std::uint64_t function) {
    if (at.part == part_ && at.count != 0) aside_[key{at.stack, function}] = at.count;
    at = {.stack = &stack, .part = part_};
    if (aside_.empty()) return;
    const auto known = aside_.find(key{&stack, function});
    if (known == aside_.end()) return;
    at.count = known->second;
    aside_.erase(known);
  }

  by_function<cell> cells_;
  std::unordered_map<key, std::uint32_t, key_hash> aside_;
  std::uint32_t part_ = 1;
};

}  // namespace backsight::analysis
