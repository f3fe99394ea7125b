// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <backsight/core/bytes.hpp>

namespace backsight::test {

/// Bytes written out: `bytes<0x12, 0, 0xff>`.
template <int... Values>
inline constexpr std::array<std::byte, sizeof...(Values)> bytes{static_cast<std::byte>(Values)...};

/// Puts small files together in a given byte order: `byte_builder(order::big).u16(1).u32(7).text("ab")`.
class byte_builder {
 public:
  constexpr explicit byte_builder(order byte_order = order::little) : order_(byte_order) {}

  constexpr byte_builder& u8(std::uint64_t value) { return number(value, 1); }
  constexpr byte_builder& u16(std::uint64_t value) { return number(value, 2); }
  constexpr byte_builder& u32(std::uint64_t value) { return number(value, 4); }
  constexpr byte_builder& u64(std::uint64_t value) { return number(value, 8); }
  constexpr byte_builder& fill(std::size_t count, unsigned value = 0) {
    bytes_.insert(bytes_.end(), count, static_cast<std::byte>(value));
    return *this;
  }
  constexpr byte_builder& text(std::string_view characters) {
    for (const char c : characters) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  constexpr byte_builder& append(byte_view more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }

  [[nodiscard]] constexpr std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] constexpr byte_view view() const { return bytes_; }
  [[nodiscard]] constexpr std::vector<std::byte>& vector() { return bytes_; }

 private:
  constexpr byte_builder& number(std::uint64_t value, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t byte = order_ == order::little ? i : size - 1 - i;
      bytes_.push_back(static_cast<std::byte>(value >> (byte * 8)));
    }
    return *this;
  }

  order order_;
  std::vector<std::byte> bytes_;
};

}  // namespace backsight::test
