// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/elf/schema.hpp>
#include <backsight/elf/sections.hpp>

namespace backsight::elf {

/// Gives each section of an object file (ET_REL) that a program would load an address of its own, as a linker does, so
/// that an address names one place: from 1 MiB on, each in pages of its own. `bytes` is the caller's copy of the file,
/// whose section headers are changed; it must outlive the image. Errors: those of open.
[[nodiscard]] inline result<image> lay_out(std::span<std::byte> bytes) noexcept {
  const auto file = open(bytes);
  if (!file) return file.error();
  std::uint64_t table = 0, stride = 0;
  file->read_as<wire::file_header>(bytes.data() + wire::identification::size, [&](auto rec) {
    using h = typename decltype(rec)::schema_type;
    table = rec[h::shoff];
    stride = rec[h::shentsize];
  });
  constexpr std::uint64_t page = 0x1000;
  std::uint64_t next = 0x100000;
  for (const section s : file->sections()) {
    if ((s.flags & section_alloc) == 0) continue;
    // Of type, name and flags, the address is behind 8 bytes and one word of the file's class.
    std::byte* const at = bytes.data() + table + s.index * stride + 8 + file->address_size();
    with_order(file->byte_order(), [&](auto o) {
      if (file->address_size() == 8) store<o()>(at, next);
      else store<o()>(at, static_cast<std::uint32_t>(next));
    });
    if (s.size > ~std::uint64_t{0} - next - page) break;
    next = (next + s.size + page - 1) / page * page;
  }
  return open(bytes);
}

}  // namespace backsight::elf
