// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <backsight/elf/sections.hpp>

#include <support/byte_builder.hpp>

namespace backsight::test {

/// Puts small ELF files of either class and byte order together: program headers, the sections' bytes, section headers.
/// Section 0 is made, and the table of names as the last one.
class elf_builder {
 public:
  struct section {
    std::string name;
    std::uint32_t type = 1;
    std::uint64_t flags = 0, address = 0;
    std::vector<std::byte> bytes;
    std::uint32_t link = 0, info = 0;
    std::uint64_t alignment = 1, entry_size = 0;
    std::uint64_t offset = 0;  ///< Where it lies, once written.
  };
  struct segment {
    std::uint32_t type = 1, flags = 0;
    std::uint64_t offset = 0, address = 0, file_size = 0, memory_size = 0, alignment = 1;
  };

  elf_builder(order o, bool wide) : order_(o), wide_(wide) { sections.push_back({"", 0, 0, 0, {}, 0, 0, 0, 0, 0}); }

  /// Where the bytes of the first section will lie.
  [[nodiscard]] std::size_t first_offset() const { return header_size() + segments.size() * segment_size(); }
  [[nodiscard]] std::size_t header_size() const { return wide_ ? 64 : 52; }
  [[nodiscard]] std::size_t section_size() const { return wide_ ? 64 : 40; }
  [[nodiscard]] std::size_t segment_size() const { return wide_ ? 56 : 32; }
  [[nodiscard]] byte_builder bytes() const { return byte_builder(order_); }
  /// A number of the file's address size.
  byte_builder& word(byte_builder& to, std::uint64_t value) const { return wide_ ? to.u64(value) : to.u32(value); }

  [[nodiscard]] std::vector<std::byte> file() {
    std::string names(1, '\0');
    std::vector<std::size_t> name_offsets;
    for (const section& s : sections) {
      name_offsets.push_back(s.name.empty() ? 0 : names.size());
      if (!s.name.empty()) names += s.name + '\0';
    }
    std::vector<section> all = sections;
    name_offsets.push_back(names.size());
    names += std::string(".shstrtab") + '\0';
    all.push_back({".shstrtab", 3, 0, 0, {}, 0, 0, 1, 0, 0});
    for (const char c : names) all.back().bytes.push_back(static_cast<std::byte>(c));

    std::size_t at = first_offset();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i != 0) all[i].offset = at;
      if (i < sections.size()) sections[i].offset = all[i].offset;
      at += all[i].bytes.size();
    }
    section_headers = at;
    byte_builder b(order_);
    b.u8(0x7f).text("ELF").u8(wide_ ? 2 : 1).u8(order_ == order::little ? 1 : 2).u8(1).fill(9);
    b.u16(type).u16(machine).u32(1);
    word(word(word(b, entry), segments.empty() ? 0 : header_size()), at);
    b.u32(0).u16(header_size()).u16(segment_size());
    b.u16(segments_in_header < 0 ? segments.size() : static_cast<std::size_t>(segments_in_header)).u16(section_size());
    b.u16(sections_in_header < 0 ? all.size() : static_cast<std::size_t>(sections_in_header));
    b.u16(names_in_header < 0 ? all.size() - 1 : static_cast<std::size_t>(names_in_header));
    for (const segment& s : segments) {
      b.u32(s.type);
      if (wide_) b.u32(s.flags);
      word(word(word(word(word(b, s.offset), s.address), s.address), s.file_size), s.memory_size);
      if (!wide_) b.u32(s.flags);
      word(b, s.alignment);
    }
    for (const section& s : all) b.append(s.bytes);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const section& s = all[i];
      b.u32(name_offsets[i]).u32(s.type);
      const std::uint64_t size = i == 0                           ? size_of_section_0
                                 : s.type == elf::section_no_bits ? no_bits_size
                                                                  : s.bytes.size();
      word(word(word(word(b, s.flags), s.address), s.offset), size);
      b.u32(i == 0 && names_in_header == 0xffff ? all.size() - 1 : s.link).u32(s.info);
      word(word(b, s.alignment), s.entry_size);
    }
    return std::move(b.vector());
  }

  std::vector<section> sections;
  std::vector<segment> segments;
  std::uint16_t type = 3, machine = 62;
  std::uint64_t entry = 0;
  std::uint64_t no_bits_size = 0x100, size_of_section_0 = 0;
  int segments_in_header = -1, sections_in_header = -1, names_in_header = -1;
  std::size_t section_headers = 0;  ///< Where they lie, once written.

 private:
  order order_;
  bool wide_;
};

/// Calls `f(byte order, wide)` for each class and byte order.
template <class F>
void for_each_kind_of_file(F&& f) {
  for (const order o : {order::little, order::big}) {
    for (const bool wide : {false, true}) f(o, wide);
  }
}

}  // namespace backsight::test
