// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/relocated_section.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/io/file_kind.hpp>
#include <backsight/io/inflate_section.hpp>

#include "program.hpp"
#include "terminal.hpp"

namespace cli {

/// A mapped ELF file and the sections of it that were inflated or relocated.
struct elf_input {
  std::string path;
  input file;
  backsight::elf::image image;
  std::list<std::vector<std::byte>> inflated;
  std::list<backsight::cfi::relocated_section> relocated;
  int damage = success;  ///< bad_input when the file is damaged, which has been reported, but can be read.

  int open(const std::string& name) {
    path = name;
    const auto is_elf = [](backsight::byte_view head) {
      const auto kind = backsight::io::file_kind_of(head);
      return kind == backsight::io::file_kind::elf || kind == backsight::io::file_kind::core;
    };
    if (!file.open(path, is_elf)) return bad_input;
    if (!is_elf(file.bytes())) return report_error(path, {backsight::errc::bad_magic, 0});
    const auto opened = backsight::elf::open(file.bytes());
    if (!opened) return report_error(path, opened.error());
    image = *opened;
    if (image.lacks_section_headers())
      damage = report_error(path, {backsight::errc::truncated, file.bytes().size()}, "the section headers");
    return success;
  }

  /// The section, inflated when it is compressed and relocated when it needs to be; the error otherwise.
  backsight::result<backsight::cfi::frame_section> find(backsight::cfi::section_kind kind) {
    auto found = backsight::cfi::find_frame_section(image, kind);
    if (found.error().code == backsight::errc::compressed) {
      const auto header = image.find_section(name_of(kind));
      auto unpacked = backsight::io::inflate_section(image, *header);
      if (!unpacked) return unpacked.error();
      found.partial().bytes = inflated.emplace_back(std::move(unpacked).value());
      found = backsight::elf::needs_relocation(image, *header)
                  ? backsight::result<backsight::cfi::frame_section>(found.partial(),
                                                                     {backsight::errc::unrelocated, header->offset})
                  : backsight::result<backsight::cfi::frame_section>(found.partial());
    }
    if (found.error().code != backsight::errc::unrelocated) return found;
    auto made = backsight::cfi::relocated_section::make(image, kind, found.partial().bytes);
    if (!made) return made.error();
    return relocated.emplace_back(std::move(made.value())).section();
  }

  /// Reports an error of find().
  int report(const backsight::trace_error& error) const {
    std::string detail;
    if (error.code == backsight::errc::unknown_relocation) {
      detail = "type " + std::to_string(backsight::elf::relocation_type_at(image, error.offset));
    }
    return report_error(path, error, detail);
  }

  /// The sections of the kinds `wanted` (all when it is empty) that are there, .eh_frame first, for what counts in
  /// addresses: of an object file only the code of one of its sections, `code`, or .text when that is empty. Not
  /// `success` when an error was reported.
  int find_all(const std::string& wanted, const std::string& code,
               std::vector<backsight::cfi::frame_section>& sections) {
    using backsight::cfi::section_kind;
    for (const auto kind : {section_kind::eh_frame, section_kind::debug_frame}) {
      if (!wanted.empty() && wanted != name_of(kind)) continue;
      const auto found = find(kind);
      if (found) sections.push_back(*found);
      else if (found.error().code != backsight::errc::missing_section) return report(found.error());
    }
    if (sections.empty()) return report({backsight::errc::missing_section, 0});
    return choose_code(code);
  }

  static const char* name_of(backsight::cfi::section_kind kind) {
    return kind == backsight::cfi::section_kind::eh_frame ? ".eh_frame" : ".debug_frame";
  }

  /// Leaves the FDEs of one section of code in what was relocated, and says so when there were others.
  int choose_code(const std::string& wanted) {
    std::vector<std::uint32_t> present;
    for (const auto& section : relocated) {
      const auto more = section.code_sections();
      present.insert(present.end(), more.begin(), more.end());
    }
    std::sort(present.begin(), present.end());
    present.erase(std::unique(present.begin(), present.end()), present.end());
    if (wanted.empty() && present.size() < 2) return success;
    std::string names;
    const std::string name = wanted.empty() ? ".text" : wanted;
    for (const std::uint32_t index : present) {
      const std::string one = index < image.sections().size() ? std::string(image.sections()[index].name) : "?";
      if (one != name) {
        names += ' ' + one;
        continue;
      }
      std::size_t left_out = 0;
      for (auto& section : relocated) left_out += section.keep_code_of(index);
      if (left_out != 0 && wanted.empty()) {
        note("backsight: %s: %zu functions of other sections than .text are left out; --code chooses one\n",
             path.c_str(), left_out);
      }
      return success;
    }
    if (present.empty()) say("backsight: %s: --code is for object files\n", path.c_str());
    else say("backsight: %s: --code must name one of:%s\n", path.c_str(), names.c_str());
    return usage;
  }
};

}  // namespace cli
