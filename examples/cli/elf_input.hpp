// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <zlib.h>

#include <backsight/cfi/frame_sections.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/io/mapped_file.hpp>

#include "program.hpp"

namespace cli {

/// A mapped ELF file and the sections of it that were inflated.
struct elf_input {
  backsight::io::mapped_file file;
  backsight::elf::image image;
  std::vector<std::vector<std::byte>> inflated;

  int open(const std::string& path) {
    auto mapped = backsight::io::mapped_file::open(path.c_str());
    if (!mapped) return report_error(path, std::strerror(errno));
    file = std::move(mapped.value());
    const auto opened = backsight::elf::open(file.bytes());
    if (!opened) return report_error(path, opened.error());
    image = *opened;
    return success;
  }

  /// The section, inflated when it is compressed; the error otherwise.
  backsight::result<backsight::cfi::frame_section> find(backsight::cfi::section_kind kind) {
    auto found = backsight::cfi::find_frame_section(image, kind);
    if (found.error().code != backsight::errc::compressed) return found;
    const auto header = image.find_section(kind == backsight::cfi::section_kind::eh_frame ? ".eh_frame" : ".debug_frame");
    const auto packed = image.compression_of(*header);
    constexpr std::uint32_t zlib_type = 1;
    constexpr std::uint64_t most = std::uint64_t{1} << 32;
    if (!packed) return packed.error();
    if (packed->type != zlib_type || packed->size > most || packed->size / 1100 > packed->data.size()) {
      return {backsight::errc::unsupported_type, header->offset};
    }
    auto& bytes = inflated.emplace_back(static_cast<std::size_t>(packed->size));
    auto size = static_cast<uLongf>(bytes.size());
    const int code = ::uncompress(reinterpret_cast<Bytef*>(bytes.data()), &size,
                                  reinterpret_cast<const Bytef*>(packed->data.data()),
                                  static_cast<uLong>(packed->data.size()));
    if (code != Z_OK || size != bytes.size()) return {backsight::errc::bad_value, header->offset};
    return backsight::cfi::frame_section{bytes, found.partial().info};
  }
};

}  // namespace cli
