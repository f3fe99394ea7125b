// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/unwind.hpp>
#include <backsight/cfi/unwind_rule.hpp>

namespace backsight::cfi {

/// One sample of a batch: where it starts, what it reads from, where its pcs go, and the outcome.
template <class Arch, memory_reader Memory>
struct batch_item {
  frame<Arch> start;
  const address_space<Arch>* space = nullptr;
  Memory memory;
  std::span<std::uint64_t> pcs;
  walk_result result;
  std::size_t user = 0;  ///< The caller's own, to know the item again.
};

/// Walks many samples at once, `Lanes` of them (16 is a good number) in turn: a lane computes where its next return address lies, asks for
/// that line of memory, and lets the others go on until it is there. Worth it where the samples do not fit the cache.
/// `next(item)` fills the next item and returns false when there are no more; `done(item)` takes a finished one.
/// Allocates nothing.
template <std::size_t Lanes, class Arch, memory_reader Memory, class Cache, class Next, class Done>
void walk_batch(Cache&& cache, Next&& next, Done&& done) {
  struct lane {
    batch_item<Arch, Memory> item;
    detail::located<Arch> at;
    // A copy: another lane may take the rule's place in the cache.
    std::array<std::byte, rule_size<Arch>> rule{};
  };
  std::array<lane, Lanes> lanes{};
  std::size_t used = 0;

  // Writes the pc of the lane's frame and works out where the next one is; a reason to stop when there is none.
  const auto advance = [&](lane& l) -> stop {
    auto& item = l.item;
    for (;;) {
      if (item.result.count == item.pcs.size()) return stop::limit;
      item.pcs[item.result.count++] = item.start.pc;
      const found_rule found = detail::look_up(*item.space, item.start.pc, item.start.lookup_address(), cache);
      if (found.rule == nullptr) return found.module == nullptr ? stop::no_module : stop::no_information;
      if (detail::is_common(found.rule)) [[likely]] {
        const stop why = detail::locate(item.start, found.rule, item.memory, l.at);
        if (why == stop::none) detail::prefetch(item.memory, l.at.return_address_at);
        std::memcpy(l.rule.data(), found.rule, l.rule.size());
        return why;
      }
      const stop why = detail::step_uncommon(item.start, *item.space, found.rule, item.memory);
      if (why != stop::none) return why;
    }
  };
  const auto refill = [&](lane& l) -> bool {
    while (next(l.item)) {
      l.item.result = {};
      l.item.result.why = advance(l);
      if (l.item.result.why == stop::none) return true;
      done(l.item);
    }
    return false;
  };

  while (used < Lanes && refill(lanes[used])) ++used;
  while (used > 0) {
    for (std::size_t i = 0; i < used;) {
      lane& l = lanes[i];
      l.at.rule = l.rule.data();
      stop why = detail::finish(l.item.start, l.at, l.item.memory);
      if (why == stop::none) [[likely]]
        why = advance(l);
      if (why != stop::none) [[unlikely]] {
        l.item.result.why = why;
        done(l.item);
        if (!refill(l)) {
          if (i != used - 1) l = lanes[used - 1];
          --used;
          continue;
        }
      }
      ++i;
    }
  }
}

}  // namespace backsight::cfi
