// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/rule_cache.hpp>
#include <backsight/cfi/saved_places.hpp>
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

namespace detail {

/// A sample on its way through a batch. Between its turns it knows its next CFA, and waits for its return address.
template <class Arch, memory_reader Memory>
class batch_lane {
 public:
  batch_item<Arch, Memory> item;

  /// Begins the item's walk; false when it has ended already.
  template <class Cache>
  [[nodiscard]] bool begin(Cache& cache) noexcept {
    item.result = {};
    pc_ = item.start.pc;
    address_ = item.start.lookup_address();
    stack_pointer_ = item.start.stack_pointer();
    frame_pointer_at_ = item.start.where[fp_column];
    object_ = nullptr;
    return look_ahead(cache);
  }
  /// Goes on with the return address that the last turn asked for; false when the walk has ended.
  template <class Cache>
  [[nodiscard]] bool go_on(Cache& cache) noexcept {
    const std::optional<std::uint64_t> word = item.memory(return_address_at_);
    if (!word) [[unlikely]]
      return end(stop::unreadable);
    const std::uint64_t caller = Arch::code_address(*word);
    if (caller == 0) [[unlikely]]
      return end(stop::outermost);
    if (cfa_ <= stack_pointer_) [[unlikely]]
      return walk_again(cache);
    pc_ = caller;
    address_ = of_signal_ ? caller : caller - 1;
    stack_pointer_ = cfa_;
    return look_ahead(cache);
  }

 private:
  static constexpr std::uint8_t fp_column = frame<Arch>::columns[Arch::frame_pointer];

  /// Writes the frame's pc, works out where its return address is and asks for it.
  template <class Cache>
  [[nodiscard]] bool look_ahead(Cache& cache) noexcept {
    if (item.result.count == item.pcs.size()) [[unlikely]]
      return end(stop::limit);
    item.pcs[item.result.count] = pc_;
    if constexpr (is_no_cache<Cache>) {
      object_ = find_near(*item.space, object_, address_);
      return follow(rule_view<Arch>(object_ == nullptr ? any_rule() : object_->table.find(address_ - object_->bias)),
                    cache);
    } else {
      const auto& entry = cache[cache.place(pc_)];
      if (entry.is(address_, item.space->stamp())) [[likely]]
        return follow(rule_view<Arch>(entry.rule.data()), cache);
      return look_up_in_table(cache);
    }
  }
  /// Looks up what the cache has not. Not in stages with a wait for each part of the table, which was tried: that gains
  /// nothing, since other lanes have used those parts shortly before.
  template <class Cache>
  [[nodiscard, gnu::noinline]] bool look_up_in_table(Cache& cache) noexcept {
    object_ = find_near(*item.space, object_, address_);
    rule_view<Arch> rule(object_ == nullptr ? any_rule() : object_->table.find(address_ - object_->bias));
    if (rule) rule = keep(*item.space, address_, rule, cache[cache.place(pc_)]);
    return follow(rule, cache);
  }
  /// Goes on by the frame's rule, where there is one.
  template <class Cache>
  [[nodiscard]] bool follow(rule_view<Arch> rule, Cache& cache) noexcept {
    if (rule) [[likely]] {
      cfa_ = usual_cfa(item.start, rule, stack_pointer_, frame_pointer_at_, item.memory);
      return_address_at_ = usual_return_address_at<Arch>(rule, cfa_);
      if (cfa_ != 0 && return_address_at_ != cfa_) [[likely]] {
        of_signal_ = false;
        return ask_for_return_address(rule, cfa_);
      }
      located<Arch> at;
      if (locate_placed_frame(item.start, rule, stack_pointer_, frame_pointer_at_, item.memory, at)) {
        cfa_ = at.cfa;
        return_address_at_ = at.return_address_at;
        of_signal_ = rule[unwind_rule::signal_frame];
        return ask_for_return_address(rule, at.places);
      }
    }
    if (!rule || rule[unwind_rule::shape] == rule_shape::outermost) {
      ++item.result.count;
      return end(rule ? stop::outermost : object_ != nullptr ? stop::no_information : stop::no_object);
    }
    return walk_again(cache);
  }
  [[nodiscard]] bool ask_for_return_address(rule_view<Arch> rule, std::uint64_t places) noexcept {
    prefetch(item.memory, return_address_at_);
    update_place<Arch>(frame_pointer_at_, rule.lanes(), fp_column, places);
    ++item.result.count;
    return true;
  }
  /// Few samples have another frame than usual ones and their last: those are walked again from their start, with all
  /// registers, which is cheaper than to carry registers along for all samples.
  template <class Cache>
  [[nodiscard]] bool walk_again(Cache& cache) noexcept {
    frame<Arch> all = item.start;
    item.result = walk(all, *item.space, item.memory, item.pcs, cache);
    return false;
  }
  [[nodiscard]] bool end(stop why) noexcept {
    item.result.why = why;
    return false;
  }

  std::uint64_t pc_ = 0;
  std::uint64_t address_ = 0;
  std::uint64_t stack_pointer_ = 0;
  std::uint64_t frame_pointer_at_ = 0;
  std::uint64_t cfa_ = 0;
  std::uint64_t return_address_at_ = 0;
  const mapped_object* object_ = nullptr;  // Where the last rule was looked up.
  bool of_signal_ = false;                 // The caller's pc is the interrupted instruction.
};

}  // namespace detail

/// Walks many samples at once, `Lanes` of them (16 is a good number) in turn: a lane works out where its next return
/// address lies, asks for that line of memory, and lets the others go on until it is there. Worth it where the samples
/// do not fit the cache. `next(item)` fills the next item and returns false when there are no more; `done(item)` takes
/// a finished one, whose start is as it was. Gives what `walk` gives. Allocates nothing.
template <std::size_t Lanes, class Arch, memory_reader Memory, class Cache, class Next, class Done>
void walk_batch(Cache&& cache, Next&& next, Done&& done) {
  std::array<detail::batch_lane<Arch, Memory>, Lanes> lanes{};
  const auto refill = [&](detail::batch_lane<Arch, Memory>& lane) -> bool {
    while (next(lane.item)) {
      if (lane.begin(cache)) return true;
      done(lane.item);
    }
    return false;
  };

  std::size_t used = 0;
  while (used < Lanes && refill(lanes[used])) ++used;
  while (used > 0) {
    for (std::size_t i = 0; i < used;) {
      if (!lanes[i].go_on(cache)) [[unlikely]] {
        done(lanes[i].item);
        if (!refill(lanes[i])) {
          if (i != used - 1) lanes[i] = lanes[used - 1];
          --used;
          continue;
        }
      }
      ++i;
    }
  }
}

}  // namespace backsight::cfi
