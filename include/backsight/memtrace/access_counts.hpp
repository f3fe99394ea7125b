// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include <backsight/memtrace/references.hpp>

namespace backsight::memtrace {

/// How often each instruction was executed, by its address. Memory grows with the code.
class pc_counts {
 public:
  void on(const reference& item) {
    if (is_instruction(item.type)) ++counts_[item.pc];
  }
  [[nodiscard]] const std::unordered_map<std::uint64_t, std::uint64_t>& counts() const noexcept { return counts_; }

 private:
  std::unordered_map<std::uint64_t, std::uint64_t> counts_;
};

/// How often each block of data was loaded and stored, by its number: cache lines, or pages. An access to several
/// counts for each.
class block_counts {
 public:
  struct uses {
    std::uint64_t loads = 0, stores = 0;
  };
  explicit block_counts(std::uint64_t size = 64) : size_(size == 0 ? 1 : size) {}
  void on(const reference& item) {
    if (item.type != trace_type::read && item.type != trace_type::write) return;
    const std::uint64_t last = (item.address + std::max<std::uint64_t>(item.size, 1) - 1) / size_;
    for (std::uint64_t block = item.address / size_;; ++block) {
      uses& now = counts_[block];
      ++(item.type == trace_type::read ? now.loads : now.stores);
      if (block >= last) break;
    }
  }
  /// By the address of the block divided by its size.
  [[nodiscard]] const std::unordered_map<std::uint64_t, uses>& counts() const noexcept { return counts_; }
  [[nodiscard]] std::uint64_t block_size() const noexcept { return size_; }

 private:
  std::uint64_t size_;
  std::unordered_map<std::uint64_t, uses> counts_;
};

/// How often instructions of the same bytes were executed. Memory grows with the code.
class encoding_counts {
 public:
  /// The bytes of an instruction; a size of 0 stands for those without.
  struct encoding {
    std::array<std::byte, 16> bytes{};
    std::uint8_t size = 0;
    [[nodiscard]] friend bool operator==(const encoding&, const encoding&) = default;
  };
  struct hash {
    std::size_t operator()(const encoding& one) const noexcept {
      return std::hash<std::string_view>()({reinterpret_cast<const char*>(one.bytes.data()), one.size});
    }
  };

  void on(const reference& item) {
    if (!is_instruction(item.type)) return;
    encoding key;
    key.size = static_cast<std::uint8_t>(std::min<std::size_t>(item.encoding_size, key.bytes.size()));
    if (key.size != 0) std::memcpy(key.bytes.data(), item.encoding, key.size);
    ++counts_[key];
  }
  [[nodiscard]] const std::unordered_map<encoding, std::uint64_t, hash>& counts() const noexcept { return counts_; }

 private:
  std::unordered_map<encoding, std::uint64_t, hash> counts_;
};

}  // namespace backsight::memtrace
