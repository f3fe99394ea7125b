// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include <backsight/core/bytes.hpp>

// The headers of ELF files, whatever their class and byte order.
namespace backsight::elf {

/// One section header, widened to 64 bits. Its name points into the file.
struct section {
  std::uint32_t index = 0;
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;
  std::uint64_t alignment = 0;
  std::uint64_t entry_size = 0;
};

/// One program header, widened to 64 bits.
struct segment {
  std::uint32_t type = 0;
  std::uint32_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;
  std::uint64_t file_size = 0;
  std::uint64_t memory_size = 0;
  std::uint64_t alignment = 0;
};

/// How a compressed section is packed: type 1 is zlib, 2 is Zstandard; `data` is what to inflate to `size` bytes.
struct compression {
  std::uint32_t type = 0;
  std::uint64_t size = 0;
  byte_view data;
};

}  // namespace backsight::elf
