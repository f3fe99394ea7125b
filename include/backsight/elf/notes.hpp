// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <backsight/core/bytes.hpp>
#include <backsight/core/record.hpp>
#include <backsight/elf/schema.hpp>

namespace backsight::elf {

/// A note of an ELF file. Views.
struct note {
  std::uint32_t type = 0;
  byte_view name;          ///< With its NUL.
  byte_view description;   ///< What it holds.
  std::size_t offset = 0;  ///< Of the description, from the first note on.
};

/// Calls `f(note)` for each of the notes of a segment or section, one behind the other, until it gives false. Gives the
/// offset at which a note is cut off, or the size of `notes`. Names and descriptions are padded to 8 bytes where that
/// is the alignment, else to 4.
template <class F>
constexpr std::size_t for_each_note(byte_view notes, order byte_order, std::uint64_t alignment, F&& f) {
  constexpr std::size_t head_size = size_of<wire::note_header>;
  const std::size_t unit = alignment == 8 ? 8 : 4;
  const auto padded = [unit](std::uint64_t size) { return (size + unit - 1) / unit * unit; };
  std::size_t at = 0;
  while (notes.size() - at >= head_size) {
    const byte_view rest = notes.subspan(at);
    note found;
    std::uint32_t name_size = 0, size = 0;
    with_order(byte_order, [&](auto o) {
      const record<wire::note_header, o()> head(rest.data());
      name_size = head[wire::note_header::name_bytes];
      size = head[wire::note_header::description_bytes];
      found.type = head[wire::note_header::type];
    });
    const std::uint64_t description = head_size + padded(name_size);
    if (description > rest.size() || size > rest.size() - description) return at;
    found.name = rest.subspan(head_size, name_size);
    found.description = rest.subspan(static_cast<std::size_t>(description), size);
    found.offset = at + static_cast<std::size_t>(description);
    if (!f(found)) return notes.size();
    const std::uint64_t next = description + padded(size);
    if (next >= rest.size()) return notes.size();
    at += static_cast<std::size_t>(next);
  }
  return at;
}

}  // namespace backsight::elf
