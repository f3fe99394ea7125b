// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/unwind_rule.hpp>

namespace backsight::cfi {

/// A cache of rules by pc, for one thread. Entries know the address space and its state that they are from, so one cache
/// may serve many of them. 2 to the Bits entries; 34 bytes for each on x86-64.
template <class Arch, unsigned Bits = 12>
class rule_cache {
 public:
  static_assert(Bits >= 1 && Bits <= 16);

  struct entry {
    std::uint64_t address = 0;
    std::uint64_t stamp = 0;  // No address space with a module has stamp 0.
    std::array<std::byte, rule_size<Arch>> rule{};
  };
  /// The number of a pc's entry. Shifts and not a multiplication: this is on the path from one frame to the next.
  [[nodiscard]] static std::uint16_t place(std::uint64_t pc) noexcept {
    return static_cast<std::uint16_t>((pc ^ pc >> Bits) & ((std::size_t{1} << Bits) - 1));
  }
  [[nodiscard]] entry& operator[](std::uint16_t place) noexcept { return entries_[place]; }
  /// The number of the entry that the caller's frame used, the last time that this one was used in a walk.
  [[nodiscard]] std::uint16_t& after(std::uint16_t place) noexcept { return after_[place]; }
  void clear() noexcept { *this = {}; }

 private:
  std::array<entry, std::size_t{1} << Bits> entries_{};
  std::array<std::uint16_t, std::size_t{1} << Bits> after_{};
};

/// Stands for no cache: every step looks its rule up in the table.
struct no_cache {};

namespace detail {

template <class Cache>
inline constexpr bool is_no_cache = std::is_same_v<std::remove_cvref_t<Cache>, no_cache>;

/// The bytes of the rule for a frame, through the cache where there is one. The cache's place follows from the pc, so that
/// it is known one instruction before the address to look up is.
template <class Arch, class Cache>
[[nodiscard]] inline found_rule look_up(const address_space<Arch>& space, std::uint64_t pc, std::uint64_t address,
                                        Cache& cache) noexcept {
  if constexpr (is_no_cache<Cache>) {
    return space.find_rule(address);
  } else {
    auto& slot = cache[cache.place(pc)];
    if (slot.address == address && slot.stamp == space.stamp()) [[likely]]
      return {slot.rule.data(), nullptr};
    const found_rule found = space.find_rule(address);
    if (found.rule == nullptr) return found;
    slot.address = address;
    slot.stamp = space.stamp();
    std::memcpy(slot.rule.data(), found.rule, slot.rule.size());
    return {slot.rule.data(), found.module};
  }
}

/// look_up for one frame after the other. With a cache it guesses the caller's entry: then the processor goes on with
/// that rule before the return address has come from memory, which is what a hot walk waits for else.
template <class Arch, class Cache>
class rule_finder {
 public:
  rule_finder(const address_space<Arch>& space, Cache& cache, std::uint64_t pc) noexcept
      : space_(space), cache_(cache) {
    if constexpr (!is_no_cache<Cache>) last_ = guess_ = cache.place(pc);
  }
  [[nodiscard]] found_rule operator()(std::uint64_t pc, std::uint64_t address) noexcept {
    if constexpr (is_no_cache<Cache>) {
      return space_.find_rule(address);
    } else {
      auto& guessed = cache_[guess_];
      found_rule found{guessed.rule.data(), nullptr};
      if (guessed.address != address || guessed.stamp != space_.stamp()) [[unlikely]] {
        found = look_up(space_, pc, address, cache_);
        guess_ = cache_.place(pc);
        cache_.after(last_) = guess_;
      }
      last_ = guess_;
      guess_ = cache_.after(last_);
      return found;
    }
  }

 private:
  const address_space<Arch>& space_;
  Cache& cache_;
  std::uint16_t last_ = 0;
  std::uint16_t guess_ = 0;
};

}  // namespace detail

}  // namespace backsight::cfi
