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
