// SPDX-License-Identifier: Apache-2.0
#pragma once

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
#include <backsight/cfi/rule_cache.hpp>
#include <backsight/cfi/table.hpp>
#include <backsight/cfi/unwind_rule.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/dwarf/pointer_encoding.hpp>

namespace backsight::cfi {

/// What to do where call frame information ends. Frames found so say so (frame::how).
struct fallback {
  bool frame_pointer = false;  ///< Follow the chain of frame pointers.
  unsigned scan_words = 0;     ///< Look at so many words of the stack for an address in a module.
};

namespace detail {

template <class Arch>
inline constexpr std::int64_t word_bytes = Arch::address_size;

template <class Memory>
inline void prefetch(Memory& memory, std::uint64_t address) noexcept {
  if constexpr (requires { memory.prefetch(address); }) memory.prefetch(address);
}

/// Asks for lines of the stack some distance above the stack pointer: a walk goes upwards, and fetching the lines in
/// between costs less than waiting for those that are needed. A fixed number, because a loop to a bound that each frame
/// sets is a mispredicted branch in each.
template <std::size_t Lines, std::size_t Distance, class Memory>
inline void prefetch_above(Memory& memory, std::uint64_t stack_pointer) noexcept {
  if constexpr (requires { memory.prefetch(stack_pointer); }) {
    for (std::size_t i = 0; i < Lines; ++i) memory.prefetch(stack_pointer + Distance + i * 64);
  }
}

/// The CFA and the place of the return address, once the rule is known and before memory is read.
template <class Arch>
struct located {
  const std::byte* rule = nullptr;
  std::uint64_t cfa = 0;
  std::uint64_t return_address_at = 0;  // 0: it is in its register.
};

template <class Arch, class Memory>
[[nodiscard]] inline stop locate(const frame<Arch>& f, const std::byte* rule, Memory& memory,
                                 located<Arch>& out) noexcept {
  const rule_view r(rule);
  const std::uint8_t reg = r[unwind_rule::cfa_register];
  std::uint64_t base = f.value[Arch::stack_pointer];
  if (reg != Arch::stack_pointer) {
    if (reg >= Arch::register_count) [[unlikely]]
      return stop::bad_rule;
    const std::uint8_t column = frame<Arch>::columns[reg];
    base = f.value[reg];
    if (column != frame<Arch>::no_column && f.where[column] != 0) {
      const std::optional<std::uint64_t> saved = memory(f.where[column]);
      if (!saved) [[unlikely]]
        return stop::unreadable;
      base = *saved;
    }
  }
  out.rule = rule;
  out.cfa =
      dwarf::wrap(base + static_cast<std::uint64_t>(std::int64_t{r[unwind_rule::cfa_offset]}), Arch::address_size);
  const std::int64_t word = r[unwind_rule::return_address_word];
  out.return_address_at = word == 0 ? 0 : out.cfa + static_cast<std::uint64_t>(word * word_bytes<Arch>);
  return stop::none;
}

/// Notes where the frame of a common rule saves registers.
template <class Arch>
inline void note_saved(frame<Arch>& f, const std::byte* rule, std::uint64_t cfa) noexcept {
  const std::byte* lanes = rule + unwind_rule::size;
  for (std::size_t i = 0; i < Arch::saved.size(); ++i) {
    const std::int64_t word = load<std::int8_t, order::little>(lanes + i);
    const std::uint64_t place = cfa + static_cast<std::uint64_t>(word * word_bytes<Arch>);
    f.where[i] = word != 0 ? place : f.where[i];
  }
}

/// Where the frames of a walk saved registers, in the order of the walk. A walk needs few of the places: of the frame
/// pointer, and those of its last frame. So what rules say of them is kept as it is, and looked at when it is needed.
template <class Arch>
class saved_notes {
 public:
  void note(frame<Arch>& f, const std::byte* rule, std::uint64_t cfa) noexcept {
    if (count_ == notes_.size()) [[unlikely]]
      settle(f);
    notes_[count_].cfa = cfa;
    std::memcpy(notes_[count_].words.data(), rule + unwind_rule::size, rule_lanes<Arch>);
    ++count_;
    // The frame pointer's place always: it is the one register that common rules ask for.
    constexpr std::uint8_t fp = frame<Arch>::columns[Arch::frame_pointer];
    const std::int64_t word = load<std::int8_t, order::little>(rule + unwind_rule::size + fp);
    const std::uint64_t place = cfa + static_cast<std::uint64_t>(word * word_bytes<Arch>);
    f.where[fp] = word != 0 ? place : f.where[fp];
  }
  /// Brings the frame's places up to date: of each register the newest counts.
  void settle(frame<Arch>& f) noexcept {
    if (count_ != 0) f.how = found_by::call_frame_information;
    for (std::size_t lane = 0; lane < Arch::saved.size(); ++lane) {
      for (std::size_t i = count_; i-- > 0;) {
        const std::int64_t word = load<std::int8_t, order::little>(notes_[i].words.data() + lane);
        if (word == 0) continue;
        f.where[lane] = notes_[i].cfa + static_cast<std::uint64_t>(word * word_bytes<Arch>);
        break;
      }
    }
    count_ = 0;
  }

 private:
  struct one {
    std::uint64_t cfa;
    std::array<std::byte, rule_lanes<Arch>> words;
  };
  std::array<one, 64> notes_;
  std::size_t count_ = 0;
};

/// Reads the return address and turns the frame into its caller.
template <class Arch, class Memory>
[[nodiscard]] inline stop finish(frame<Arch>& f, const located<Arch>& at, Memory& memory) noexcept {
  std::uint64_t return_address = 0;
  if (at.return_address_at != 0) [[likely]] {
    const std::optional<std::uint64_t> read = memory(at.return_address_at);
    if (!read) [[unlikely]]
      return stop::unreadable;
    return_address = *read;
  } else {
    return_address = f.value[Arch::return_address];
  }
  const std::uint64_t pc = Arch::code_address(return_address);
  if (pc == 0) [[unlikely]]
    return stop::outermost;
  if (pc == f.pc && at.cfa == f.value[Arch::stack_pointer]) [[unlikely]]
    return stop::no_progress;
  note_saved(f, at.rule, at.cfa);
  f.value[Arch::stack_pointer] = at.cfa;
  f.value[Arch::return_address] = return_address;
  f.pc = pc;
  f.exact = rule_view(at.rule)[unwind_rule::signal_frame];
  f.how = found_by::call_frame_information;
  return stop::none;
}

/// The rare shapes.
template <class Arch, class Memory>
[[nodiscard]] stop step_uncommon(frame<Arch>& f, const address_space<Arch>& space, const std::byte* rule,
                                 Memory& memory) noexcept {
  const rule_view r(rule);
  if (r[unwind_rule::shape] == rule_shape::outermost) return stop::outermost;
  if (r[unwind_rule::shape] != rule_shape::general) return stop::no_information;
  const module* m = space.find(f.lookup_address());
  if (m == nullptr) return stop::no_module;
  const auto text = m->table.general_rule(static_cast<std::uint32_t>(r[unwind_rule::cfa_offset]));
  return apply_general(f, text, r[unwind_rule::signal_frame], memory);
}

[[nodiscard]] inline bool is_common(const std::byte* rule) noexcept {
  return (std::to_integer<unsigned>(*rule) & 7U) == static_cast<unsigned>(rule_shape::common);
}

template <class Arch, class Memory>
[[nodiscard]] stop step_by_fallback(frame<Arch>& f, const address_space<Arch>& space, const fallback& way,
                                    Memory& memory, stop why) noexcept {
  const auto take = [&](std::uint64_t pc, std::uint64_t stack_pointer, found_by how) {
    f.pc = pc;
    f.value[Arch::return_address] = pc;
    f.value[Arch::stack_pointer] = stack_pointer;
    f.exact = false;
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
        return take(Arch::code_address(*pc), record + Arch::frame_record_size, found_by::frame_pointer);
      }
    }
  }
  for (unsigned i = 0; i < way.scan_words; ++i) {
    const std::uint64_t at = sp + i * Arch::address_size;
    const auto word = memory(at);
    if (!word) break;
    const std::uint64_t pc = Arch::code_address(*word);
    if (pc != 0 && space.find_rule(pc - 1).rule != nullptr) {
      return take(pc, at + Arch::address_size, found_by::stack_scan);
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
  const found_rule found = detail::look_up(space, f.pc, f.lookup_address(), cache);
  stop why = stop::none;
  if (found.rule == nullptr) [[unlikely]] {
    why = found.module == nullptr ? stop::no_module : stop::no_information;
  } else if (detail::is_common(found.rule)) [[likely]] {
    detail::located<Arch> at;
    why = detail::locate(f, found.rule, memory, at);
    if (why == stop::none) [[likely]]
      return detail::finish(f, at, memory);
    return why;
  } else {
    return detail::step_uncommon(f, space, found.rule, memory);
  }
  if (way.frame_pointer || way.scan_words != 0) return detail::step_by_fallback(f, space, way, memory, why);
  return why;
}

/// What a walk found: how many pcs it wrote, and why it ended.
struct walk_result {
  std::size_t count = 0;
  stop why = stop::none;
};

/// Walks from `f` outwards and writes the pc of each frame, that of `f` first. `f` is the last frame afterwards.
template <class Arch, memory_reader Memory, class Cache = const no_cache>
inline walk_result walk(frame<Arch>& f, const address_space<Arch>& space, Memory&& memory, std::span<std::uint64_t> pcs,
                        Cache&& cache = no_cache{}, const fallback& way = {}) noexcept {
  // What one frame's step needs of the last is kept in variables: a frame in memory costs a store and a load of each,
  // one after the other, which is half of the time when all is in the cache.
  std::uint64_t pc = f.pc, stack_pointer = f.stack_pointer();
  std::uint64_t before_call = f.exact ? 0 : 1;
  std::size_t count = 0;
  stop why = stop::limit;
  detail::saved_notes<Arch> saved;
  detail::rule_finder<Arch, std::remove_reference_t<Cache>> find(space, cache, pc);
  detail::prefetch_above<8, 0>(memory, stack_pointer);
  while (count < pcs.size()) {
    pcs[count++] = pc;
    detail::prefetch_above<8, 512>(memory, stack_pointer);
    const found_rule found = find(pc, pc - before_call);
    if (found.rule != nullptr && detail::is_common(found.rule)) [[likely]] {
      const rule_view r(found.rule);
      const std::uint8_t reg = r[unwind_rule::cfa_register];
      std::uint64_t base = stack_pointer;
      if (reg != Arch::stack_pointer) {
        if (reg != Arch::frame_pointer) [[unlikely]]
          saved.settle(f);
        const std::optional<std::uint64_t> value = f.get(reg, memory);
        if (!value) [[unlikely]] {
          why = stop::unreadable;
          break;
        }
        base = *value;
      }
      const std::uint64_t cfa =
          dwarf::wrap(base + static_cast<std::uint64_t>(std::int64_t{r[unwind_rule::cfa_offset]}), Arch::address_size);
      const std::int64_t word = r[unwind_rule::return_address_word];
      std::uint64_t return_address = f.value[Arch::return_address];
      if (word != 0) [[likely]] {
        const std::optional<std::uint64_t> read =
            memory(cfa + static_cast<std::uint64_t>(word * detail::word_bytes<Arch>));
        if (!read) [[unlikely]] {
          why = stop::unreadable;
          break;
        }
        return_address = *read;
      }
      const std::uint64_t caller = Arch::code_address(return_address);
      if (caller == 0) [[unlikely]] {
        why = stop::outermost;
        break;
      }
      if (caller == pc && cfa == stack_pointer) [[unlikely]] {
        why = stop::no_progress;
        break;
      }
      saved.note(f, found.rule, cfa);
      f.value[Arch::return_address] = return_address;
      pc = caller;
      stack_pointer = cfa;
      before_call = r[unwind_rule::signal_frame] ? 0 : 1;
      continue;
    }
    saved.settle(f);
    f.pc = pc;
    f.value[Arch::stack_pointer] = stack_pointer;
    f.exact = before_call == 0;
    const stop here = step(f, space, memory, no_cache{}, way);
    pc = f.pc;
    stack_pointer = f.stack_pointer();
    before_call = f.exact ? 0 : 1;
    if (here != stop::none) {
      why = here;
      break;
    }
  }
  saved.settle(f);
  f.pc = pc;
  f.value[Arch::stack_pointer] = stack_pointer;
  f.exact = before_call == 0;
  return {count, why};
}

/// The frames from one outwards as a range: single pass, the frame is valid until the next increment. The space, the
/// memory reader and the cache must outlive it.
template <class Arch, memory_reader Memory, class Cache = const no_cache>
class frames {
 public:
  frames(const frame<Arch>& first, const address_space<Arch>& space, Memory& memory, Cache& cache,
         const fallback& way = {}) noexcept
      : frame_(first), space_(&space), memory_(&memory), cache_(&cache), way_(way) {}

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
      owner_->why_ = step(owner_->frame_, *owner_->space_, *owner_->memory_, *owner_->cache_, owner_->way_);
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
  frame<Arch> frame_;
  const address_space<Arch>* space_;
  Memory* memory_;
  Cache* cache_;
  fallback way_;
  stop why_ = stop::none;
};

}  // namespace backsight::cfi
