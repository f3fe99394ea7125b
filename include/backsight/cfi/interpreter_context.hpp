// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <backsight/cfi/rule.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/bytes.hpp>

namespace backsight::cfi {

/// What the interpreter works in: the present row, the CIE's rules and the remembered states. Owned by the caller and
/// used for one FDE after the other; about 40 KB with the default capacities. Never allocates.
/// Rules bounds the rules of all remembered states together, Depth their number; more is errc::capacity.
template <std::size_t Rules = 1024, std::size_t Depth = 128>
class context {
 public:
  /// The CIE that the context holds the initial rules of.
  [[nodiscard]] constexpr const cie& current_cie() const noexcept { return cie_; }

 private:
  template <class Arch, order O, class Context>
  friend class row_machine;

  struct remembered {
    cfa_rule cfa;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
    std::uint8_t return_address_signed = 0;
  };

  /// Keeps the rules of the present row; false when there is no room for them.
  [[nodiscard]] constexpr bool remember() noexcept {
    if (depth_ == states_.size()) return false;
    remembered& state = states_[depth_++];
    state = {row_.cfa, static_cast<std::uint32_t>(pool_used_), 0, row_.return_address_signed};
    for (const register_rule& rule : row_.rules) {
      if (pool_used_ == pool_.size()) return false;
      pool_[pool_used_++] = rule;
    }
    state.count = static_cast<std::uint32_t>(pool_used_) - state.first;
    return true;
  }
  /// All rules that were remembered last come back and the CFA with them, the location stays (libgcc, libunwind,
  /// binutils). False when there are none.
  [[nodiscard]] constexpr bool restore() noexcept {
    if (depth_ == 0) return false;
    const remembered& state = states_[--depth_];
    row_.cfa = state.cfa;
    row_.return_address_signed = state.return_address_signed;
    row_.rules.clear();
    for (std::size_t i = state.first; i < state.first + state.count; ++i) row_.rules.set(pool_[i]);
    pool_used_ = state.first;
    return true;
  }
  constexpr void forget() noexcept { pool_used_ = depth_ = 0; }

  row row_;
  rule_list initial_rules_;
  cfa_rule initial_cfa_;
  cie cie_;
  const std::byte* cie_section_ = nullptr;  // Null while no CIE's initial rules are known.
  std::uint64_t highest_address_ = 0;
  std::uint64_t longest_advance_ = 0;  // In units of the code alignment.
  std::uint8_t initial_signed_ = 0;
  std::array<register_rule, Rules> pool_{};
  std::array<remembered, Depth> states_{};
  std::size_t pool_used_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace backsight::cfi
