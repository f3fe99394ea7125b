// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <backsight/cfi/header_table.hpp>
#include <backsight/cfi/section.hpp>
#include <backsight/core/bytes.hpp>
#include <backsight/core/error.hpp>
#include <backsight/elf/relocation_kinds.hpp>
#include <backsight/elf/sections.hpp>

namespace backsight::cfi {

/// A section with call frame information and what there is to know of it. A view of the file.
struct frame_section {
  byte_view bytes;
  section_info info;
};

namespace detail {

[[nodiscard]] constexpr bool has_code_at_zero(const elf::image& file) noexcept {
  constexpr std::uint16_t relocatable = 1;
  if (file.type() == relocatable) return true;
  for (const elf::segment s : file.segments()) {
    if (s.type == elf::segment_load && s.address == 0 && (s.flags & elf::segment_executable) != 0) return true;
  }
  return false;
}

[[nodiscard]] constexpr section_info describe(const elf::image& file, section_kind kind,
                                              std::uint64_t address) noexcept {
  section_info info;
  info.kind = kind;
  info.address_size = file.address_size();
  info.code_at_zero = has_code_at_zero(file);
  info.address = address;
  if (const auto text = file.find_section(".text")) info.text_address = text->address;
  if (const auto got = file.find_section(".got")) info.data_address = got->address;
  return info;
}

[[nodiscard]] constexpr std::optional<elf::section> frame_section_header(const elf::image& file,
                                                                         section_kind kind) noexcept {
  return file.find_section(kind == section_kind::eh_frame ? ".eh_frame" : ".debug_frame");
}

}  // namespace detail

/// The .eh_frame_hdr of a file, or of a mapped image, through its PT_GNU_EH_FRAME segment. Errors: missing_section.
[[nodiscard]] constexpr result<frame_section> find_frame_header(const elf::image& file) noexcept {
  for (const elf::segment s : file.segments()) {
    if (s.type != elf::segment_eh_frame) continue;
    const auto bytes = file.bytes_layout() == elf::image_layout::file ? file.slice(s.offset, s.file_size)
                                                                      : file.bytes_at(s.address, s.memory_size);
    if (bytes && !bytes->empty()) {
      return frame_section{*bytes, detail::describe(file, section_kind::eh_frame, s.address)};
    }
  }
  if (const auto found = file.find_section(".eh_frame_hdr"); found && found->type != elf::section_no_bits) {
    const auto bytes = file.section_bytes(*found);
    if (bytes) return frame_section{*bytes, detail::describe(file, section_kind::eh_frame, found->address)};
  }
  return {errc::missing_section, 0};
}

namespace detail {

/// The .eh_frame that PT_GNU_EH_FRAME leads to, of a file without section headers or a mapped image.
[[nodiscard]] constexpr result<frame_section> find_by_header(const elf::image& file) noexcept {
  const auto header = find_frame_header(file);
  if (!header) return header.error();
  return with_order(file.byte_order(), [&](auto o) -> result<frame_section> {
    const auto table = header_table<o()>::open(header->bytes, header->info.address, file.address_size());
    const bool known = table || table.error().code == errc::not_found || table.error().code == errc::unsupported_type ||
                       table.error().code == errc::bad_size;
    const auto at_header = [&](std::uint64_t offset) -> std::uint64_t {
      for (const elf::segment s : file.segments()) {
        if (s.type == elf::segment_eh_frame) return s.offset + offset;
      }
      return offset;
    };
    if (!known) return {table.error().code, at_header(table.error().offset)};
    frame_section out{file.bytes_from(table.partial().eh_frame_address()), header->info};
    if (out.bytes.empty()) return {errc::out_of_range, at_header(size_of<eh_frame_hdr>)};
    out.info.address = table.partial().eh_frame_address();
    const section<o()> all(out.bytes, out.info);
    out.bytes = out.bytes.first(static_cast<std::size_t>(eh_frame_extent(all, table.partial())));
    return out;
  });
}

}  // namespace detail

/// The .eh_frame or .debug_frame section of a file. The .eh_frame of a file without section headers, and of a mapped
/// image, is found through PT_GNU_EH_FRAME. Errors: errc::missing_section at offset 0 (also when it has no bytes in the
/// file); errc::compressed (inflate it, then use `describe_section` for the bytes) and errc::unrelocated (of an object
/// file; make a relocated_section of the bytes), both at the section's offset with what there is; errc::truncated;
/// those of header_table.
[[nodiscard]] constexpr result<frame_section> find_frame_section(const elf::image& file, section_kind kind) noexcept {
  if (file.sections().empty() && kind == section_kind::eh_frame) return detail::find_by_header(file);
  const auto found = detail::frame_section_header(file, kind);
  if (!found || found->type == elf::section_no_bits) return {errc::missing_section, 0};
  frame_section out{{}, detail::describe(file, kind, found->address)};
  const auto bytes = file.section_bytes(*found);
  if (!bytes) return {out, bytes.error()};
  out.bytes = *bytes;
  if (elf::needs_relocation(file, *found)) return {out, {errc::unrelocated, found->offset}};
  return out;
}

/// What to know of a section of `file` whose bytes the caller has (inflated, or found in memory) at `address`.
[[nodiscard]] constexpr section_info describe_section(const elf::image& file, section_kind kind,
                                                      std::uint64_t address) noexcept {
  return detail::describe(file, kind, address);
}

}  // namespace backsight::cfi
