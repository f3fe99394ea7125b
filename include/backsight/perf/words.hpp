// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>

namespace backsight::perf {

/// Numbers of eight bytes in the byte order of the file. A view.
class word_list {
 public:
  constexpr word_list() = default;
  /// The whole words of `bytes`.
  constexpr word_list(byte_view bytes, order byte_order) noexcept
      : data_(bytes.data()), count_(bytes.size() / 8), order_(byte_order) {}

  [[nodiscard]] constexpr std::size_t size() const noexcept { return count_; }
  [[nodiscard]] constexpr bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] constexpr std::uint64_t operator[](std::size_t index) const noexcept {
    BACKSIGHT_ASSERT(index < count_);
    const std::byte* const at = data_ + index * 8;
    return order_ == order::little ? load<std::uint64_t, order::little>(at) : load<std::uint64_t, order::big>(at);
  }

 private:
  const std::byte* data_ = nullptr;
  std::size_t count_ = 0;
  order order_ = order::little;
};

/// What a number of a call chain says about those behind it: values from -4095 on are no addresses.
enum class chain_context : std::int64_t {
  hypervisor = -32,
  kernel = -128,
  user = -512,
  user_deferred = -640,
  guest = -2048,
  guest_kernel = -2176,
  guest_user = -2560,
};
/// The entry of a call chain is a context, not an address.
[[nodiscard]] constexpr bool is_context(std::uint64_t entry) noexcept { return entry > ~std::uint64_t{4095}; }

/// The value of one counter.
struct counter_value {
  std::uint64_t value = 0, id = 0, lost = 0;  ///< What read_format does not have is 0.
};

/// The values of a counter, or of a group of them. A view.
struct counter_values {
  std::uint64_t time_enabled = 0, time_running = 0;
  counter_value single;  ///< Of an event that is not read as a group.
  word_list words;  ///< Of a group: for each counter the value, its id and what was lost, as far as they are there.
  bool is_group = false, is_present = false, has_id = false, has_lost = false;

  [[nodiscard]] constexpr std::size_t stride() const noexcept {
    return std::size_t{1} + (has_id ? 1 : 0) + (has_lost ? 1 : 0);
  }
  [[nodiscard]] constexpr std::size_t size() const noexcept {
    return is_group ? words.size() / stride() : is_present ? 1 : 0;
  }
  [[nodiscard]] constexpr counter_value operator[](std::size_t index) const noexcept {
    BACKSIGHT_ASSERT(index < size());
    if (!is_group) return single;
    const std::size_t at = index * stride();
    return {words[at], has_id ? words[at + 1] : 0, has_lost ? words[at + stride() - 1] : 0};
  }
};

/// A branch that was taken. `flags`: bit 0 mispredicted, 1 predicted, 2 in a transaction, 3 abort, 4 to 19 cycles, 20
/// to 23 type.
struct branch {
  std::uint64_t from = 0, to = 0, flags = 0;
};

/// The last branches, the newest first. A view.
struct branch_stack {
  std::uint64_t hw_index = ~std::uint64_t{0};  ///< All ones: unknown.
  word_list words;
  word_list counters;

  [[nodiscard]] constexpr std::size_t size() const noexcept { return words.size() / 3; }
  [[nodiscard]] constexpr branch operator[](std::size_t index) const noexcept {
    return {words[index * 3], words[index * 3 + 1], words[index * 3 + 2]};
  }
};

/// The registers of a sample. A view.
struct register_values {
  std::uint64_t abi = 0;   ///< 0: none were recorded; 1: of a 32-bit program, 2: of a 64-bit one.
  std::uint64_t mask = 0;  ///< Bit n: the register of number n is there. The numbers are perf's own for each CPU.
  word_list values;

  /// The register of that number.
  [[nodiscard]] constexpr std::optional<std::uint64_t> operator[](unsigned number) const noexcept {
    if (number >= 64 || (mask >> number & 1U) == 0) return std::nullopt;
    const auto position = static_cast<std::size_t>(std::popcount(mask & ((std::uint64_t{1} << number) - 1)));
    if (position >= values.size()) return std::nullopt;
    return values[position];
  }
};

}  // namespace backsight::perf
