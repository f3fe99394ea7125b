// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <backsight/cfi/sframe/section.hpp>
#include <backsight/elf/lay_out.hpp>
#include <backsight/elf/relocate.hpp>
#include <backsight/elf/sections.hpp>

#include "elf_input.hpp"
#include "program.hpp"

namespace cli {

/// A file with a .sframe section, whose relocations are applied.
struct sframe_input {
  elf_input file;
  backsight::elf::section header;
  std::vector<std::byte> bytes;
  backsight::cfi::sframe::section section;

  /// With `laid_out`, the sections of an object file get addresses of their own; else all lie at 0, as objdump has
  /// them.
  int open(const std::string& path, bool laid_out) {
    namespace bs = backsight;
    if (const int code = file.open(path); code != success) return code;
    if (laid_out) {
      if (const int code = lay_out(); code != success) return code;
    }
    const auto found_header = file.image.find_section(".sframe");
    if (!found_header) return report_error(path, {bs::errc::missing_section, 0}, ".sframe");
    header = *found_header;
    const auto found = file.image.section_bytes(header);
    if (!found) return report_error(path, found.error());
    bytes.assign(found->begin(), found->end());
    const bool object = bs::elf::needs_relocation(file.image, header);
    if (object) {
      const auto places = bs::elf::relocate(file.image, header, bytes);
      if (!places) return file.report(places.error());
    }
    const auto opened = bs::cfi::sframe::section::open(bytes, header.address, object);
    if (!opened) return report(opened.bad);
    section = opened.section;
    return success;
  }
  /// Tells what is wrong with the section.
  int report(const backsight::cfi::sframe::problem& p) const {
    return report_error(file.path, {backsight::cfi::sframe::code_of(p.what), header.offset + p.offset},
                        std::string(".sframe: ") + backsight::cfi::sframe::name_of(p.what));
  }

  /// Gives the sections of an object file addresses of their own.
  int lay_out() {
    constexpr std::uint16_t relocatable = 1;
    if (file.image.type() != relocatable) return success;
    copy_.assign(file.image.bytes().begin(), file.image.bytes().end());
    const auto image = backsight::elf::lay_out(copy_);
    if (!image) return report_error(file.path, image.error());
    file.image = *image;
    return success;
  }

 private:
  std::vector<std::byte> copy_;
};

/// `cfi sframe --check`: what .sframe and .eh_frame of the files differ in; bad_input when they do.
int check_sframe(const std::vector<std::string>& paths);

/// `cfi sframe --write`: a copy of a linked file with a section .sframe of version 3 made of its .eh_frame.
int write_sframe(const std::string& path, const std::string& output_path);

}  // namespace cli
