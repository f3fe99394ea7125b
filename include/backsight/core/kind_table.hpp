// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/core/format_hooks.hpp>

namespace backsight {

/// The kinds of the records of a list by a number that the records hold, below Count: for the kind_of of a format with
/// many types, made at compile time. A byte for each number.
template <class Records, std::size_t Count>
class kind_table {
  static_assert(Records::size <= 256, "backsight: a table of kinds holds at most 256 kinds of record");

 public:
  /// Every number is of that kind until set says another.
  constexpr explicit kind_table(kind_result all) noexcept {
    for (std::uint8_t& kind : kinds_) kind = static_cast<std::uint8_t>(all.kind);
  }
  constexpr void set(std::size_t number, kind_result kind) noexcept {
    kinds_[number] = static_cast<std::uint8_t>(kind.kind);
  }
  [[nodiscard]] static constexpr std::size_t size() noexcept { return Count; }
  /// Precondition: the number is below size().
  [[nodiscard]] constexpr kind_result operator[](std::size_t number) const noexcept {
    return kind_result(kind_result::number{kinds_[number]});
  }

 private:
  std::array<std::uint8_t, Count> kinds_{};
};

}  // namespace backsight
