// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <backsight/cfi/section.hpp>

#include <support/byte_builder.hpp>

namespace backsight::test {

/// An .eh_frame with one CIE (version 1, "zR", absolute 8-byte pointers, code alignment 1, data alignment -8, return
/// address 16, CFA r7+8, r16 at c-8) and FDEs with the given instructions, 0x100 bytes of code each, from 0x1000 on.
class frame_builder {
 public:
  constexpr frame_builder() { cie("zR", bytes<0x0c, 7, 8, 0x90, 1>); }
  /// Another CIE of that kind for the FDEs from here on: with these letters (of z, R and S), instructions, and return
  /// address column.
  constexpr frame_builder& cie(std::string_view augmentation, byte_view instructions, unsigned return_address = 16) {
    cie_offset_ = bytes_.size();
    entry(0, byte_builder{}
                 .u8(1)
                 .text(augmentation)
                 .fill(1)
                 .u8(1)
                 .u8(0x78)
                 .u8(return_address)
                 .u8(1)
                 .u8(0)
                 .append(instructions)
                 .view());
    return *this;
  }
  /// The offset of the CIE of the next FDE, and another one for it.
  [[nodiscard]] constexpr std::uint64_t cie_offset() const { return cie_offset_; }
  constexpr frame_builder& use_cie(std::uint64_t offset) { return cie_offset_ = offset, *this; }

  constexpr frame_builder& fde(byte_view instructions, std::uint64_t size = 0x100) {
    fde_at(next_, instructions, size);
    next_ += 0x100;
    return *this;
  }
  constexpr frame_builder& fde_at(std::uint64_t begin, byte_view instructions, std::uint64_t size) {
    return entry(bytes_.size() + 4 - cie_offset_,
                 byte_builder{}.u64(begin).u64(size).u8(0).append(instructions).view());
  }
  constexpr frame_builder& entry(std::uint64_t id, byte_view body) {
    bytes_.u32(4 + body.size()).u32(id).append(body);
    return *this;
  }
  [[nodiscard]] constexpr cfi::section<order::little> section() const { return {bytes_.view(), cfi::section_info{}}; }
  [[nodiscard]] constexpr byte_view view() const { return bytes_.view(); }

 private:
  byte_builder bytes_;
  std::uint64_t next_ = 0x1000;
  std::uint64_t cie_offset_ = 0;
};

}  // namespace backsight::test
