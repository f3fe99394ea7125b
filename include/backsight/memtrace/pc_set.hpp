// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace backsight::memtrace {

/// A set of code addresses. Addresses lie close together, so the set is a bit for each address in pages of 1024.
/// Memory: about 180 bytes for each page.
class pc_set {
 public:
  static constexpr std::uint64_t page_size = 1024;
  static constexpr std::size_t words = page_size / 64;

  void insert(std::uint64_t pc) { page(pc / page_size)[pc / 64 % words] |= std::uint64_t{1} << pc % 64; }
  [[nodiscard]] bool contains(std::uint64_t pc) const {
    const auto found = pages_.find(pc / page_size);
    return found != pages_.end() && (found->second[pc / 64 % words] >> pc % 64 & 1U) != 0;
  }

  /// The number of addresses in the set. Costs time in proportion to the pages.
  [[nodiscard]] std::uint64_t size() const noexcept {
    std::uint64_t count = 0;
    for (const auto& [number, bits] : pages_) {
      for (const std::uint64_t word : bits) count += static_cast<std::uint64_t>(std::popcount(word));
    }
    return count;
  }

  /// Removes all addresses.
  void clear() {
    // Not pages_.clear(): that costs time in proportion to the most pages that there ever were.
    pages_ = {};
  }

  /// Adds all addresses of `other`.
  pc_set& operator+=(const pc_set& other) {
    for (const auto& [number, bits] : other.pages_) {
      auto& mine = pages_[number];
      for (std::size_t i = 0; i < words; ++i) mine[i] |= bits[i];
    }
    return *this;
  }

  /// The bits of the page of that number, which stay in place until clear(); made when there is none.
  [[nodiscard]] std::uint64_t* page(std::uint64_t number) { return pages_[number].data(); }

 private:
  std::unordered_map<std::uint64_t, std::array<std::uint64_t, words>> pages_;
};

/// Adds addresses to a pc_set by way of the pages of late use: a comparison and an or for each address.
class pc_inserter {
 public:
  /// From here on addresses go to `set`, which must outlive their insertion. To be called again when it was cleared.
  void attach(pc_set& set) {
    set_ = &set;
    recent_.fill({});
  }
  /// Adds `pc`. Precondition: attach() was called.
  void insert(std::uint64_t pc) {
    const std::uint64_t number = pc / pc_set::page_size;
    slot& recent = recent_[static_cast<std::size_t>(number % recent_.size())];
    if (recent.number != number || recent.bits == nullptr) [[unlikely]]
      look_up(number);
    // Most addresses are in the set already: a store for each would make the next one wait for it.
    std::uint64_t& word = recent.bits[pc / 64 % pc_set::words];
    const std::uint64_t bit = std::uint64_t{1} << pc % 64;
    if ((word & bit) == 0) word |= bit;
  }

 private:
  struct slot {
    std::uint64_t number = 0;
    std::uint64_t* bits = nullptr;
  };
  // Not inlined, so that the loop around insert() keeps its registers.
  [[gnu::noinline]] void look_up(std::uint64_t number) {
    recent_[static_cast<std::size_t>(number % recent_.size())] = {number, set_->page(number)};
  }

  pc_set* set_ = nullptr;
  std::array<slot, 256> recent_{};
};

}  // namespace backsight::memtrace
