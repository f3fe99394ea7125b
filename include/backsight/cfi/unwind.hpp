// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <type_traits>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/progress.hpp>
#include <backsight/cfi/rule_cache.hpp>
#include <backsight/cfi/rule_steps.hpp>
#include <backsight/cfi/saved_places.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/dwarf/pointer_encoding.hpp>

namespace backsight::cfi {

/// What to do where call frame information ends. Frames found so say so (frame::how).
struct fallback {
  bool frame_pointer = false;  ///< Follow the chain of frame pointers.
  unsigned scan_words = 0;     ///< Look at so many words of the stack for an address in a mapped object.
};

namespace detail {

template <class Memory>
inline void prefetch(Memory& memory, std::uint64_t address) noexcept {
  if constexpr (requires { memory.prefetch(address); }) memory.prefetch(address);
}

/// Asks for the first lines of the stack that a walk reads. Further ones the processor sees coming.
template <std::size_t Lines, class Memory>
inline void prefetch_above(Memory& memory, std::uint64_t stack_pointer) noexcept {
  if constexpr (requires { memory.prefetch(stack_pointer); }) {
    for (std::size_t i = 0; i < Lines; ++i) memory.prefetch(stack_pointer + i * 64);
  }
}

/// A reader for a loop: a copy where a copy reads the same, so that the compiler knows that nobody else changes it.
template <class Memory>
using loop_reader = std::conditional_t<std::is_const_v<std::remove_reference_t<Memory>> &&
                                           std::is_trivially_copyable_v<std::remove_reference_t<Memory>> &&
                                           sizeof(Memory) <= 4 * sizeof(void*),
                                       std::remove_reference_t<Memory>, Memory&>;

template <class Arch, class Memory>
[[nodiscard]] stop step_by_fallback(frame<Arch>& f, const address_space<Arch>& space, const fallback& way,
                                    Memory& memory, stop why) noexcept {
  const auto go_to = [&](std::uint64_t pc, std::uint64_t stack_pointer, found_by how) {
    f.pc = pc;
    f.value[Arch::return_address] = pc;
    f.value[Arch::stack_pointer] = stack_pointer;
    f.pc_is_next = false;
    f.how = how;
    return stop::none;
  };
  const std::uint64_t sp = f.stack_pointer();
  if (way.frame_pointer) {
    const auto fp = f.get(Arch::frame_pointer, memory);
    if (fp && *fp >= sp) {
      const std::uint64_t record = *fp + static_cast<std::uint64_t>(std::int64_t{Arch::frame_record_offset});
      const auto next_fp = memory(record);
      const auto pc = memory(record + Arch::frame_record_return_address);
      if (next_fp && pc && space.find(Arch::code_address(*pc) - 1) != nullptr) {
        f.value[Arch::frame_pointer] = *next_fp;
        f.where[frame<Arch>::columns[Arch::frame_pointer]] = 0;
        return go_to(Arch::code_address(*pc), record + Arch::frame_record_size, found_by::frame_pointer);
      }
    }
  }
  for (unsigned i = 0; i < way.scan_words; ++i) {
    const std::uint64_t at = sp + i * Arch::address_size;
    const auto word = memory(at);
    if (!word) break;
    const std::uint64_t pc = Arch::code_address(*word);
    if (pc != 0 && space.find_rule(pc - 1).rule) {
      return go_to(pc, at + Arch::address_size, found_by::stack_scan);
    }
  }
  return why;
}

}  // namespace detail

/// Turns a frame into its caller's; on any reason to stop the frame stays as it was. One look-up in a table (or the
/// cache) and one or two reads of memory; allocates nothing, and may be called in a signal handler.
template <class Arch, memory_reader Memory, class Cache = const no_cache>
[[nodiscard]] inline stop step(frame<Arch>& f, const address_space<Arch>& space, Memory&& memory,
                               Cache&& cache = no_cache{}, const fallback& way = {}) noexcept {
  const found_rule<Arch> found = detail::look_up(space, f.pc, f.lookup_address(), cache);
  stop why = stop::none;
  if (!found.rule) [[unlikely]] {
    why = found.object == nullptr ? stop::no_object : stop::no_information;
  } else if (found.rule[unwind_rule::shape] == rule_shape::common) [[likely]] {
    detail::located<Arch> at;
    why = detail::locate(f, found.rule, memory, at);
    if (why == stop::none) [[likely]]
      return detail::finish(f, at, memory, [] {});
    return why;
  } else {
    return detail::step_uncommon(f, space, found.rule, memory);
  }
  if (way.frame_pointer || way.scan_words != 0) return detail::step_by_fallback(f, space, way, memory, why);
  return why;
}

namespace detail {

/// The CFA of a usual frame: by a common rule that counts it from the stack pointer or the frame pointer. 0 for other
/// frames, and where the frame pointer cannot be read; no frame is there.
template <class Arch, class Memory>
[[nodiscard]] inline std::uint64_t usual_cfa(const frame<Arch>& first, rule_view<Arch> rule,
                                             std::uint64_t stack_pointer, std::uint64_t frame_pointer_at,
                                             const Memory& memory) noexcept {
  const auto head = load<std::uint32_t, order::little>(rule.bytes());
  std::uint64_t base = stack_pointer;
  if (!is_usual<Arch, Arch::stack_pointer>(head)) {
    if (!is_usual<Arch, Arch::frame_pointer>(head)) [[unlikely]]
      return 0;
    base = (frame_pointer_at != 0 ? memory(frame_pointer_at) : first.get(Arch::frame_pointer, memory)).value_or(0);
    if (base == 0) [[unlikely]]
      return 0;
  }
  const std::int64_t offset = rule[unwind_rule::cfa_offset];
  return dwarf::wrap(base + static_cast<std::uint64_t>(offset), Arch::address_size);
}
/// Where the return address of a usual frame is saved; at the CFA itself when it is in its register.
template <class Arch>
[[nodiscard]] inline std::uint64_t usual_return_address_at(rule_view<Arch> rule, std::uint64_t cfa) noexcept {
  const std::int64_t word = Arch::pushes_return_addresses ? -1 : rule[unwind_rule::return_address_word];
  return cfa + static_cast<std::uint64_t>(word * word_bytes<Arch>);
}

/// The same for a frame whose stack was aligned, as functions with vectors do, or of a signal. False for others, and
/// where the CFA cannot be read.
template <class Arch, class Memory>
[[nodiscard]] inline bool locate_placed_frame(const frame<Arch>& first, rule_view<Arch> r, std::uint64_t stack_pointer,
                                              std::uint64_t frame_pointer_at, const Memory& memory,
                                              located<Arch>& out) noexcept {
  if (!is_placed(r[unwind_rule::shape])) return false;
  std::uint64_t base = stack_pointer;
  if (r[unwind_rule::cfa_register] != Arch::stack_pointer) {
    if (r[unwind_rule::cfa_register] != Arch::frame_pointer) return false;
    base = (frame_pointer_at != 0 ? memory(frame_pointer_at) : first.get(Arch::frame_pointer, memory)).value_or(0);
  }
  return base != 0 && locate_placed(r, base, memory, out) && out.cfa != 0;
}

/// The hot part of a walk: steps by a rule that counts the CFA from the stack pointer or the frame pointer, from one
/// return address to the next on the stack, as most are. Ends at the first other frame, where the cache has no rule,
/// and sooner or later; gives the number of pcs, and `f` is the frame behind them. What one frame needs of the last is
/// kept in registers: a frame in memory costs a store and a load of each, one after the other. For the same reason
/// nothing in the loop is a call.
template <class Arch, class Memory, class Cache>
[[nodiscard, gnu::noinline]] std::size_t walk_usual(frame<Arch>& f, const address_space<Arch>& space, Memory& reader,
                                                    std::span<std::uint64_t> pcs, Cache& cache,
                                                    std::uint64_t callee) noexcept {
  constexpr std::uint8_t fp_column = frame<Arch>::columns[Arch::frame_pointer];
  const loop_reader<Memory> memory = reader;
  rule_finder<Arch, Cache> rules(space, cache, callee);
  saved_notes<Arch> saved;
  // The return address begins as the pc, which it is on most machines: compilers keep both in one register then.
  std::uint64_t pc = f.pc, stack_pointer = f.stack_pointer(), return_address = f.pc;
  std::uint64_t frame_pointer_at = f.where[fp_column];
  const std::size_t room = std::min(pcs.size(), saved.capacity);
  std::size_t count = 0;
  for (; count < room; ++count) {
    pcs[count] = pc;
    rule_view<Arch> rule = rules.guess(pc - 1);
    if (!rule) [[unlikely]]
      rule = rules.recall(pc, pc - 1, count == 0 ? callee : pcs[count - 1]);
    if (!rule) [[unlikely]]
      break;
    std::uint64_t cfa = usual_cfa(f, rule, stack_pointer, frame_pointer_at, memory);
    std::uint64_t places = cfa, return_address_at = usual_return_address_at<Arch>(rule, cfa);
    if (cfa == 0 || return_address_at == cfa) [[unlikely]] {
      // A signal frame recovers more registers than are noted here. What is found has its address taken: were it not
      // local here, the CFA of every frame would pass through memory.
      located<Arch> at;
      if (rule[unwind_rule::shape] != rule_shape::aligned || rule[unwind_rule::signal_frame] ||
          !locate_placed_frame(f, rule, stack_pointer, frame_pointer_at, memory, at))
        break;
      cfa = at.cfa;
      places = at.places;
      return_address_at = at.return_address_at;
    }
    const std::uint64_t word = memory(return_address_at).value_or(0);
    const std::uint64_t caller = Arch::code_address(word);
    if (caller == 0 || cfa <= stack_pointer) [[unlikely]]
      break;
    saved.note(count, rule, places);
    update_place<Arch>(frame_pointer_at, rule.lanes(), fp_column, places);
    return_address = word;
    pc = caller;
    stack_pointer = cfa;
    rules.next();
  }
  if (count == 0) return 0;
  saved.settle(f, count);
  f.pc = pc;
  f.value[Arch::stack_pointer] = stack_pointer;
  f.value[Arch::return_address] = return_address;
  f.pc_is_next = false;
  f.how = found_by::call_frame_information;
  return count;
}

}  // namespace detail

/// What a walk found: how many pcs it wrote, and why it ended.
struct walk_result {
  std::size_t count = 0;
  stop why = stop::none;
};

/// Walks from `f` outwards and writes the pc of each frame, that of `f` first. `f` is the last frame afterwards. A walk
/// that goes round ends with stop::no_progress.
template <class Arch, memory_reader Memory, class Cache = const no_cache>
inline walk_result walk(frame<Arch>& f, const address_space<Arch>& space, Memory&& memory, std::span<std::uint64_t> pcs,
                        Cache&& cache = no_cache{}, const fallback& way = {}) noexcept {
  detail::prefetch_above<8>(memory, f.stack_pointer());
  std::size_t count = 0;
  progress_guard progress;
  while (count < pcs.size()) {
    if (!f.pc_is_next)
      count += detail::walk_usual(f, space, memory, pcs.subspan(count), cache, count > 0 ? pcs[count - 1] : f.pc);
    if (count == pcs.size()) break;
    pcs[count++] = f.pc;
    const std::uint64_t before = f.stack_pointer();
    const stop why = step(f, space, memory, cache, way);
    if (why != stop::none) return {count, why};
    if (!progress.goes_on(before, f.stack_pointer(), f.pc)) return {count, stop::no_progress};
  }
  return {count, stop::limit};
}

/// The frames from one outwards as a range: single pass, the frame is valid until the next increment. The space, the
/// memory reader and the cache must outlive it. Ends after `limit` frames with stop::limit, and with stop::no_progress
/// where the walk goes round.
template <class Arch, memory_reader Memory, class Cache = const no_cache>
class frames {
 public:
  static constexpr std::size_t default_limit = std::size_t{1} << 20;

  frames(const frame<Arch>& first, const address_space<Arch>& space, Memory& memory, Cache& cache,
         const fallback& way = {}, std::size_t limit = default_limit) noexcept
      : frame_(first), space_(&space), memory_(&memory), cache_(&cache), way_(way), left_(limit) {
    if (limit == 0) why_ = stop::limit;
  }

  class iterator {
   public:
    using value_type = frame<Arch>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    iterator() = default;
    explicit iterator(frames& owner) noexcept : owner_(&owner) {}
    [[nodiscard]] const frame<Arch>& operator*() const noexcept { return owner_->frame_; }
    [[nodiscard]] const frame<Arch>* operator->() const noexcept { return &owner_->frame_; }
    iterator& operator++() noexcept {
      owner_->why_ = owner_->advance();
      return *this;
    }
    void operator++(int) noexcept { ++*this; }
    [[nodiscard]] friend bool operator==(const iterator& a, std::default_sentinel_t) noexcept {
      return a.owner_->why() != stop::none;
    }

   private:
    frames* owner_ = nullptr;
  };
  [[nodiscard]] iterator begin() noexcept { return iterator(*this); }
  [[nodiscard]] std::default_sentinel_t end() const noexcept { return {}; }
  /// Why the walk ended, once it has.
  [[nodiscard]] stop why() const noexcept { return why_; }

 private:
  [[nodiscard]] stop advance() noexcept {
    if (--left_ == 0) return stop::limit;
    const std::uint64_t before = frame_.stack_pointer();
    const stop why = step(frame_, *space_, *memory_, *cache_, way_);
    if (why != stop::none) return why;
    return progress_.goes_on(before, frame_.stack_pointer(), frame_.pc) ? stop::none : stop::no_progress;
  }

  frame<Arch> frame_;
  const address_space<Arch>* space_;
  Memory* memory_;
  Cache* cache_;
  fallback way_;
  std::size_t left_;
  progress_guard progress_;
  stop why_ = stop::none;
};

}  // namespace backsight::cfi
