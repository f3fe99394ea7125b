// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <backsight/core/bytes.hpp>

namespace backsight::test {

/// Writes XRay profiles as compiler-rt's xray_profile_collector.cpp does, in either byte order.
class xray_profile_builder {
 public:
  struct path {
    std::vector<std::int32_t> functions;  ///< the innermost first
    std::uint64_t calls, ticks;
  };

  explicit xray_profile_builder(order o) : order_(o) {}

  xray_profile_builder& header(std::uint64_t timestamp, std::uint64_t pid) {
    for (const std::uint64_t value : {std::uint64_t{0x7872617970726f66}, std::uint64_t{0x20180424}, timestamp, pid})
      put(value);
    return *this;
  }
  xray_profile_builder& block(std::uint64_t thread, const std::vector<path>& paths) {
    std::uint32_t size = 16;
    for (const path& one : paths) size += static_cast<std::uint32_t>(20 + 4 * one.functions.size());
    put(size);
    put(number_++);
    put(thread);
    for (const path& one : paths) {
      for (const std::int32_t id : one.functions) put(id);
      put(std::int32_t{0});
      put(one.calls);
      put(one.ticks);
    }
    return *this;
  }

  [[nodiscard]] byte_view view() const { return bytes_; }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  template <class T>
  void put(T value) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof(T));
    with_order(order_, [&](auto o) { store<o()>(bytes_.data() + at, value); });
  }

  std::vector<std::byte> bytes_;
  order order_;
  std::uint32_t number_ = 0;
};

}  // namespace backsight::test
