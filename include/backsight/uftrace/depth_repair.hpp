// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <backsight/uftrace/schema.hpp>

namespace backsight::uftrace {

/// Gives back depth and address beyond 1023 levels. The recorder adds the part of the depth that does not fit its ten
/// bits to the address; from one record of a task to the next the depth changes by little, which tells how often it has
/// wrapped. One object for each task; costs a few instructions for each record.
class depth_repair {
 public:
  struct result {
    std::uint64_t depth = 0;
    std::uint64_t address = 0;
  };
  constexpr depth_repair() = default;
  /// Begins in front of a record where `height` functions are open.
  constexpr explicit depth_repair(std::uint64_t height) noexcept : height_(height), started_(true) {}

  /// Takes the entries and exits of a task in their order.
  [[nodiscard]] constexpr result operator()(record_type type, std::uint16_t stored_depth,
                                            std::uint64_t stored_address) noexcept {
    const std::uint64_t depth = stored_depth;
    if (started_) {
      // The next entry lies where the last record left the stack, the next exit one below; longjmp and exceptions leave
      // levels but never more than half of the range at once without an exit of their own.
      const std::uint64_t expected = type == record_type::entry ? height_ : (height_ == 0 ? 0 : height_ - 1);
      const std::uint64_t base = expected / 1024 * 1024;
      // From below, so that of two at the same distance the one that leaves levels is taken.
      std::uint64_t best = base >= 1024 ? base + depth - 1024 : base + depth;
      for (const std::uint64_t candidate : {base + depth, base + depth + 1024}) {
        if (distance(candidate, expected) < distance(best, expected)) best = candidate;
      }
      level_ = best;
    } else {
      level_ = depth;
      started_ = true;
    }
    height_ = type == record_type::entry ? level_ + 1 : level_;
    return {level_, stored_address - level_ / 1024};
  }
  /// The next record may be at any depth: behind lost records or an exec.
  constexpr void forget() noexcept { started_ = false; }
  /// Whether the depth of the next record tells how often it wrapped: not at the start and not behind forget().
  [[nodiscard]] constexpr bool is_known() const noexcept { return started_; }
  /// Functions that were open in front of the last record, which was of that type.
  [[nodiscard]] constexpr std::uint64_t height_before(record_type type) const noexcept {
    return type == record_type::exit ? level_ + 1 : level_;
  }
  /// How many functions are open behind the last record.
  [[nodiscard]] constexpr std::uint64_t height() const noexcept { return height_; }

 private:
  static constexpr std::uint64_t distance(std::uint64_t a, std::uint64_t b) noexcept { return a > b ? a - b : b - a; }
  std::uint64_t level_ = 0, height_ = 0;
  bool started_ = false;
};

}  // namespace backsight::uftrace
