// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "backsight_unwind.h"

/// The memory of another process, in pages that are kept until it is told that the process went on.
struct bsu_remote {
  explicit bsu_remote(int of) noexcept : pid(of) { forget(); }

  [[nodiscard]] std::optional<std::uint64_t> operator()(std::uint64_t address) noexcept;
  void forget() noexcept {
    for (kept& one : pages) one.address = no_page;
  }

  static constexpr std::size_t page = 4096;
  static constexpr std::uint64_t no_page = 1;
  struct kept {
    std::uint64_t address;
    std::array<std::byte, page> bytes;
  };
  int pid;
  std::array<kept, 64> pages;
};
