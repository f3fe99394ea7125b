// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <backsight/cfi/address_space.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/frame.hpp>
#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/table_builder.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/io/mapped_file.hpp>

#include "stack_samples.hpp"

namespace backsight::cli {

/// The files of a stack sample corpus with their tables, and the address space of each map set.
struct sample_corpus {
  using arch = cfi::arch::x86_64;
  stack_samples samples;
  std::vector<io::mapped_file> files;  ///< One for each object; empty where it is missing.
  std::vector<elf::image> images;
  std::vector<cfi::table> tables;
  std::vector<cfi::address_space<arch>> spaces;

  /// The sections of a file that hold call frame information, .eh_frame first.
  [[nodiscard]] static std::vector<cfi::section<order::little>> sections_of(const elf::image& image) {
    std::vector<cfi::section<order::little>> found;
    for (const auto kind : {cfi::section_kind::eh_frame, cfi::section_kind::debug_frame}) {
      if (const auto s = cfi::find_frame_section(image, kind)) found.emplace_back(s->bytes, s->info);
    }
    return found;
  }

  /// Loads the objects from `folder`/BUILD-ID.elf, builds their tables and maps them; gives the number of files that
  /// were there. `missing(path)` is called for each object without a file; its code then has no module. `damaged(path,
  /// error)` is called for what is wrong with a file, and left out of its table.
  template <class Missing, class Damaged>
  std::size_t load(const std::string& folder, Missing&& missing, Damaged&& damaged) {
    std::size_t found = 0;
    std::map<std::string, std::size_t> known;  // Several objects may have one file.
    std::vector<std::size_t> table_of;
    for (const stack_samples::object& object : samples.objects) {
      const auto [first, is_new] = known.emplace(object.build_id, files.size());
      table_of.push_back(first->second);
      const std::string path = folder + "/" + object.build_id + ".elf";
      auto file = is_new ? io::mapped_file::open_regular(path.c_str()) : result<io::mapped_file>(errc::not_found, 0);
      auto image = file ? elf::open(file.partial().bytes()) : result<elf::image>(errc::io, 0);
      cfi::table table;
      if (!is_new) {
        image = images[first->second];
      } else if (!file) {
        missing(object.path);
      } else {
        ++found;
        if (!image) damaged(path, image.error());
        if (image.partial().lacks_section_headers()) damaged(path, {errc::truncated, file.partial().bytes().size()});
        const auto sections = sections_of(image.partial());
        auto built = cfi::build_table<arch>(std::span<const cfi::section<order::little>>(sections),
                                            {cfi::table_profile::callee_saved, image.partial().build_id()},
                                            [&](const trace_error& error, std::uint32_t) { damaged(path, error); });
        if (built) table = std::move(built.value());
        else damaged(path, built.error());
      }
      files.push_back(std::move(file.partial()));
      images.push_back(image.partial());
      tables.push_back(std::move(table));
    }
    for (const auto& maps : samples.map_sets) {
      cfi::address_space<arch>& space = spaces.emplace_back();
      for (const stack_samples::map& map : maps) {
        for (const elf::segment segment : images[map.object].segments()) {
          constexpr std::uint64_t page = 4096;
          const bool holds = segment.type == elf::segment_load && (segment.flags & elf::segment_executable) != 0 &&
                             map.file_offset >= segment.offset / page * page &&
                             map.file_offset < segment.offset + segment.file_size;
          if (!holds) continue;
          const std::uint64_t bias = map.begin - map.file_offset + segment.offset - segment.address;
          const trace_error error =
              space.add({map.begin, map.end, bias, tables[table_of[map.object]].view(), map.object});
          if (error) damaged(samples.objects[map.object].path, error);
          break;
        }
      }
    }
    return found;
  }

  [[nodiscard]] static snapshot_reader memory_of(const stack_samples::sample& s) {
    return {s.stack.data(), s.stack_base, s.stack.size()};
  }
  [[nodiscard]] static cfi::frame<arch> first_frame(const stack_samples::sample& s) {
    return cfi::first_frame<arch>(s.registers[16], s.registers);
  }
};

}  // namespace backsight::cli
