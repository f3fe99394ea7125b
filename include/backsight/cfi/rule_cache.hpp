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

/// A cache of rules by pc, for one thread. Entries know the address space and its state that they are from, so one
/// cache may serve many of them. 2 to the Bits entries of 34 bytes on x86-64, 50 on AArch64.
template <class Arch, unsigned Bits = 12>
class rule_cache {
 public:
  static_assert(Bits >= 1 && Bits <= 16);

  struct entry {
    std::uint64_t address = 0;
    std::uint64_t stamp = 0;  ///< No address space with a mapped object has stamp 0.
    std::array<std::byte, rule_size<Arch>> rule{};

    [[nodiscard]] bool is(std::uint64_t of, std::uint64_t at) const noexcept { return address == of && stamp == at; }
  };
  /// The number of a pc's entry. Shifts and not a multiplication: this is on the path from one frame to the next.
  [[nodiscard]] static std::uint16_t place(std::uint64_t pc) noexcept {
    return static_cast<std::uint16_t>((pc ^ pc >> Bits) & ((std::size_t{1} << Bits) - 1));
  }
  [[nodiscard]] entry& operator[](std::uint16_t place) noexcept { return entries_[place]; }
  /// The place of the caller's entry, the last time that a walk used this one.
  [[nodiscard]] std::uint16_t& after(std::uint16_t place) noexcept { return after_[place]; }
  void clear() noexcept { *this = {}; }

 private:
  std::array<entry, std::size_t{1} << Bits> entries_{};
  // Not in the entries: these stay in the first-level cache, so that a walk knows its next entries long before it has
  // the first of them.
  std::array<std::uint16_t, std::size_t{1} << Bits> after_{};
};

/// Stands for no cache: every step looks its rule up in the table.
struct no_cache {};

namespace detail {

template <class Cache>
inline constexpr bool is_no_cache = std::is_same_v<std::remove_cvref_t<Cache>, no_cache>;

/// The mapped object for an address, which most often is that of the callee: a comparison that is foreseen, instead of
/// a search.
template <class Arch>
[[nodiscard]] inline const mapped_object* find_near(const address_space<Arch>& space, const mapped_object* callee,
                                                    std::uint64_t address) noexcept {
  if (callee != nullptr && address - callee->begin < callee->end - callee->begin) [[likely]]
    return callee;
  return space.find(address);
}

/// Keeps a rule in the cache; gives the copy.
template <class Arch, class Entry>
[[nodiscard]] inline rule_view<Arch> keep(const address_space<Arch>& space, std::uint64_t address, rule_view<Arch> rule,
                                          Entry& entry) noexcept {
  entry.address = address;
  entry.stamp = space.stamp();
  std::memcpy(entry.rule.data(), rule.bytes(), entry.rule.size());
  return rule_view<Arch>(entry.rule.data());
}

/// Looks a rule up in the tables and keeps it in the cache.
template <class Arch, class Entry>
[[nodiscard]] found_rule<Arch> fill(const address_space<Arch>& space, std::uint64_t address, Entry& entry) noexcept {
  const found_rule<Arch> found = space.find_rule(address);
  if (!found.rule) return found;
  return {keep(space, address, found.rule, entry), found.object};
}

/// The bytes of the rule for a frame, through the cache where there is one. The cache's place follows from the pc, so
/// that it is known one instruction before the address to look up is.
template <class Arch, class Cache>
[[nodiscard]] inline found_rule<Arch> look_up(const address_space<Arch>& space, std::uint64_t pc, std::uint64_t address,
                                              Cache& cache) noexcept {
  if constexpr (is_no_cache<Cache>) {
    return space.find_rule(address);
  } else {
    auto& entry = cache[cache.place(pc)];
    if (entry.is(address, space.stamp())) [[likely]]
      return {rule_view<Arch>(entry.rule.data()), nullptr};
    return fill(space, address, entry);
  }
}

/// look_up for one frame after the other. It guesses the cache's entry of the caller: then the processor goes on with
/// that rule before the return address has come from memory, which is what a hot walk waits for else.
template <class Arch, class Cache>
class rule_finder {
 public:
  rule_finder(const address_space<Arch>& space, Cache& cache, std::uint64_t pc) noexcept
      : space_(&space), cache_(&cache), stamp_(space.stamp()), place_(cache.place(pc)) {}

  /// The rule of the guessed entry; none when that is another address's.
  [[nodiscard]] rule_view<Arch> guess(std::uint64_t address) const noexcept {
    const entry& guessed = (*cache_)[place_];
    return rule_view<Arch>(guessed.is(address, stamp_) ? guessed.rule.data() : nullptr);
  }
  /// Goes on to the caller, once a guess was right.
  void next() noexcept { place_ = cache_->after(place_); }
  /// The rule for a frame where the guess was wrong, which will be right the next time for its callee; null when the
  /// cache has none.
  [[nodiscard]] rule_view<Arch> recall(std::uint64_t pc, std::uint64_t address, std::uint64_t callee) noexcept {
    place_ = cache_->place(pc);
    const entry& found = (*cache_)[place_];
    if (!found.is(address, stamp_)) return {};
    cache_->after(cache_->place(callee)) = place_;
    return rule_view<Arch>(found.rule.data());
  }

 private:
  using entry = typename std::remove_cvref_t<Cache>::entry;
  const address_space<Arch>* space_;
  Cache* cache_;
  std::uint64_t stamp_;
  std::uint16_t place_;
};
template <class Arch, class Cache>
  requires is_no_cache<Cache>
class rule_finder<Arch, Cache> {
 public:
  rule_finder(const address_space<Arch>& space, Cache&, std::uint64_t) noexcept : space_(&space) {}
  [[nodiscard]] rule_view<Arch> guess(std::uint64_t address) noexcept {
    object_ = find_near(*space_, object_, address);
    return rule_view<Arch>(object_ == nullptr ? any_rule() : object_->table.find(address - object_->bias));
  }
  void next() const noexcept {}
  [[nodiscard]] rule_view<Arch> recall(std::uint64_t, std::uint64_t, std::uint64_t) const noexcept { return {}; }

 private:
  const address_space<Arch>* space_;
  const mapped_object* object_ = nullptr;
};

}  // namespace detail

}  // namespace backsight::cfi
