// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/table_builder.hpp>

#include <support/catch.hpp>

#include "frame_builder.hpp"

namespace backsight::test {

/// A stack of words from 0x8000 on.
struct words {
  std::vector<std::uint64_t> values;
  std::optional<std::uint64_t> operator()(std::uint64_t address) const {
    const std::uint64_t index = (address - 0x8000) / 8;
    if (address % 8 != 0 || index >= values.size()) return std::nullopt;
    return values[static_cast<std::size_t>(index)];
  }
};

/// The functions of a frame_builder, 0x100 bytes of code each, from 0x401000 on.
struct scene {
  cfi::table table;
  cfi::address_space<cfi::arch::x86_64> space;

  explicit scene(const frame_builder& built) {
    auto made = cfi::build_table<cfi::arch::x86_64>(built.section());
    REQUIRE(made);
    table = std::move(made.value());
    REQUIRE_FALSE(space.add({0x401000, 0x402000, 0x400000, table.view(), 1}));
  }
};

inline cfi::frame<cfi::arch::x86_64> start(std::uint64_t pc, std::uint64_t rbp = 0) {
  std::array<std::uint64_t, 17> registers{};
  registers[7] = 0x8000;
  registers[6] = rbp;
  registers[16] = pc;
  return cfi::first_frame<cfi::arch::x86_64>(pc, registers);
}

}  // namespace backsight::test
