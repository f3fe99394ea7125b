// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <backsight/elf/sections.hpp>
#include <backsight/io/inflate.hpp>

namespace backsight::io {

/// The bytes of a section that is packed with zlib (SHF_COMPRESSED): a copy of the size that its header tells. Needs
/// zlib. Errors, with the offset of the section in the file: errc::unsupported_type where it is packed otherwise or
/// tells more than 4 GiB or more than zlib can make of its bytes, errc::bad_value where it is damaged or has another
/// size; errors of image::compression_of.
[[nodiscard]] inline result<std::vector<std::byte>> inflate_section(const elf::image& image,
                                                                    const elf::section& header) {
  const auto packed = image.compression_of(header);
  if (!packed) return packed.error();
  constexpr std::uint32_t zlib_type = 1;  // ELFCOMPRESS_ZLIB
  constexpr std::uint64_t most = std::uint64_t{1} << 32, most_times = 1100;
  if (packed->type != zlib_type || packed->size > most || packed->size > std::numeric_limits<std::size_t>::max() / 2 ||
      packed->size / most_times > packed->data.size()) {
    return {errc::unsupported_type, header.offset};
  }
  std::vector<std::byte> out(static_cast<std::size_t>(packed->size));
  inflate_reader reader(packed->data, {.ratio = most_times});
  const auto size = reader.read(out);
  std::byte beyond{};
  if (!size || *size != out.size() || reader.read({&beyond, 1}).partial() != 0) return {errc::bad_value, header.offset};
  return out;
}

}  // namespace backsight::io
