// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "../elf/elf_builder.hpp"

namespace backsight::test {

/// A folder that goes with the object, for copies of a recorded machine's files.
struct object_folder {
  std::string path;

  explicit object_folder(std::string_view name)
      : path((std::filesystem::temp_directory_path() /
              ("backsight_" + std::string(name) + "_" + std::to_string(::getpid())))
                 .string()) {
    std::filesystem::remove_all(path);
    std::filesystem::create_directories(path);
  }
  object_folder(const object_folder&) = delete;
  object_folder& operator=(const object_folder&) = delete;
  ~object_folder() { std::filesystem::remove_all(path); }

  void write(const std::string& name, byte_view bytes) const {
    const std::filesystem::path to = path + "/" + name;
    std::filesystem::create_directories(to.parent_path());
    std::ofstream(to, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
};

/// An ELF file with a build id of four times that byte (0: none), and what is put into it: `.text` of 0x1000 bytes at
/// 0x401000.
struct object_builder {
  struct symbol {
    std::string name;
    std::uint64_t value = 0, size = 0;
    unsigned type = 2, binding = 1;
  };

  elf_builder builder{order::little, true};

  explicit object_builder(unsigned id = 0) {
    builder.segments.push_back({1, 5, 0x1000, 0x401000, 0x1000, 0x1000, 1});
    builder.sections.push_back({".text", 1, 6, 0x401000, {}, 0, 0, 1, 0, 0});
    if (id == 0) return;
    const auto note = byte_builder().u32(4).u32(4).u32(3).text("GNU").u8(0).fill(4, id);
    builder.sections.push_back({".note.gnu.build-id", 7, 2, 0, byte_builder(note).vector(), 0, 0, 4, 0, 0});
  }
  /// A table of that type: 2 .symtab, 11 .dynsym.
  object_builder& symbols(std::uint32_t type, const std::vector<symbol>& all) {
    byte_builder table, names;
    table.fill(24);
    names.u8(0);
    for (const symbol& s : all) {
      table.u32(names.size()).u8(s.binding << 4 | s.type).u8(0).u16(1).u64(s.value).u64(s.size);
      names.text(s.name).u8(0);
    }
    const auto link = static_cast<std::uint32_t>(builder.sections.size() + 1);
    builder.sections.push_back({type == 2 ? ".symtab" : ".dynsym", type, 0, 0, table.vector(), link, 1, 8, 24, 0});
    builder.sections.push_back({type == 2 ? ".strtab" : ".dynstr", 3, 0, 0, names.vector(), 0, 0, 1, 0, 0});
    return *this;
  }
  object_builder& section(const std::string& name, byte_view bytes, std::uint64_t flags = 0) {
    builder.sections.push_back({name, 1, flags, 0, {bytes.begin(), bytes.end()}, 0, 0, 1, 0, 0});
    return *this;
  }
  [[nodiscard]] std::vector<std::byte> file() { return builder.file(); }
};

}  // namespace backsight::test
