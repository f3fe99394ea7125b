// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include <backsight/cfi/section.hpp>

#include <support/byte_builder.hpp>

namespace backsight::test {

/// An .eh_frame with one CIE (version 1, "zR", absolute 8-byte pointers, code alignment 1, data alignment -8, return
/// address 16, CFA r7+8, r16 at c-8) and FDEs with the given instructions, 0x100 bytes of code each, from 0x1000 on.
class frame_builder {
 public:
  constexpr frame_builder() {
    entry(0, byte_builder{}
                 .u8(1)
                 .text("zR")
                 .fill(1)
                 .u8(1)
                 .u8(0x78)
                 .u8(16)
                 .u8(1)
                 .u8(0)
                 .append(bytes<0x0c, 7, 8, 0x90, 1>)
                 .view());
  }
  constexpr frame_builder& fde(byte_view instructions, std::uint64_t size = 0x100) {
    entry(bytes_.size() + 4, byte_builder{}.u64(next_).u64(size).u8(0).append(instructions).view());
    next_ += 0x100;
    return *this;
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
};

}  // namespace backsight::test
