// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <zlib.h>

#include <backsight/cfi/frame_sections.hpp>
#include <backsight/elf/sections.hpp>

#include <support/files.hpp>

namespace backsight::test {

/// A file with its section, inflated when it is compressed.
struct loaded_section {
  std::vector<std::byte> file;
  std::vector<std::byte> inflated;
  elf::image image;
  cfi::frame_section section;
  bool found = false;

  loaded_section(const std::string& path, const std::string& name) : file(read_file(path)) {
    const auto opened = elf::open(file);
    if (!opened) return;
    image = *opened;
    const auto kind = name == ".eh_frame" ? cfi::section_kind::eh_frame : cfi::section_kind::debug_frame;
    auto s = cfi::find_frame_section(image, kind);
    section = s.partial();
    found = static_cast<bool>(s);
    if (s.error().code != errc::compressed) return;
    const auto packed = image.compression_of(*image.find_section(name));
    if (!packed) return;
    inflated.resize(static_cast<std::size_t>(packed->size));
    auto size = static_cast<uLongf>(inflated.size());
    found = ::uncompress(reinterpret_cast<Bytef*>(inflated.data()), &size,
                         reinterpret_cast<const Bytef*>(packed->data.data()),
                         static_cast<uLong>(packed->data.size())) == Z_OK;
    section.bytes = inflated;
  }
  loaded_section(const loaded_section&) = delete;
  loaded_section& operator=(const loaded_section&) = delete;
};

/// A line of tests/data/cfi/expected.tsv.
struct expectation {
  std::string file, section, kind, full, merged;
  std::size_t fdes = 0;
};

[[nodiscard]] inline std::vector<expectation> expectations() {
  std::vector<expectation> all;
  std::ifstream lines(data_path("cfi/expected.tsv"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    expectation e;
    words >> e.file >> e.section >> e.kind >> e.fdes >> e.full >> e.merged;
    all.push_back(e);
  }
  return all;
}

}  // namespace backsight::test
