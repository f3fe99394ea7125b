// SPDX-License-Identifier: Apache-2.0
// Adds an unwind table to an ELF file as a section, and finds it there: embed_table ELF.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/io/mapped_file.hpp>

namespace cfi = backsight::cfi;

int main(int count, char** words) {
  if (count != 2) return std::fprintf(stderr, "usage: embed_table ELF\n"), 2;
  const auto file = backsight::io::mapped_file::open(words[1]);
  if (!file) return std::fprintf(stderr, "%s: cannot be read\n", words[1]), 1;
  const auto image = backsight::elf::open(file->bytes());
  const auto frames = image ? cfi::find_frame_section(*image, cfi::section_kind::eh_frame)
                            : backsight::result<cfi::frame_section>(image.error());
  if (!frames)
    return std::fprintf(stderr, "%s:%llu: %s\n", words[1], static_cast<unsigned long long>(frames.error().offset),
                        message(frames.error().code)),
           1;

  // [embed]
  // Build the table and save it; positions do not matter, so the file is the section.
  const cfi::section<backsight::order::little> section(frames->bytes, frames->info);
  const auto table =
      cfi::build_table<cfi::arch::x86_64>(section, {cfi::table_profile::callee_saved, image->build_id()});
  if (!table) return 1;
  const auto folder = std::filesystem::temp_directory_path() / ("embed-" + std::to_string(std::rand()) + "-" +
                                                                std::filesystem::path(words[1]).filename().string());
  std::filesystem::create_directories(folder);
  const std::string saved = (folder / "table").string(), with_table = (folder / "object").string();
  const auto bytes = table->bytes();
  std::ofstream(saved, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  const std::string command =
      "objcopy --add-section .backsight_table='" + saved + "' '" + words[1] + "' '" + with_table + "'";
  if (std::system(command.c_str()) != 0) return 1;
  // [embed]

  // [find]
  // In another program: the section's bytes are the table, checked once and then used where they lie.
  const auto mapped = backsight::io::mapped_file::open(with_table.c_str());
  const auto object = mapped ? backsight::elf::open(mapped->bytes()) : backsight::result<backsight::elf::image>();
  const auto holder = object->find_section(".backsight_table");
  if (!holder) return 1;
  const auto found = cfi::table_view::open(object->section_bytes(*holder).partial());
  if (!found) return 1;
  // [find]

  std::size_t rows = 0, equal = 0;
  table->view().for_each_row([&](std::uint64_t address, std::uint32_t) {
    const cfi::any_rule here = table->view().find(address);
    const cfi::any_rule there = found->find(address);
    ++rows;
    const bool both = here && there;
    if (both ? std::memcmp(here.bytes(), there.bytes(), found->rule_bytes()) == 0 : !here && !there) ++equal;
  });
  std::printf("%zu of %zu rows found in the section\n", equal, rows);
  std::filesystem::remove_all(folder);
  return equal == rows ? 0 : 1;
}
