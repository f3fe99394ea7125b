// SPDX-License-Identifier: Apache-2.0
// An ELF file with call frame information: entries, CIEs, FDEs, instructions, header table, symbols. Offsets must grow.
#include <cstdint>
#include <cstdlib>

#include <backsight/cfi/frame_sections.hpp>
#include <backsight/cfi/header_table.hpp>
#include <backsight/cfi/program.hpp>
#include <backsight/elf/sections.hpp>
#include <backsight/elf/symbols.hpp>

using namespace backsight;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = elf::open(bytes);
  if (!file) return 0;
  (void)file->build_id();
  const elf::symbol_index index(*file, elf::symbols(*file));
  (void)index.find(file->entry());
  for (const elf::section s : file->sections()) {
    if (const auto relocations = elf::relocations_of(*file, s)) {
      for (const elf::relocation r : *relocations) (void)r.offset;
    }
  }
  for (const auto kind : {cfi::section_kind::eh_frame, cfi::section_kind::debug_frame}) {
    const auto found = cfi::find_frame_section(*file, kind);
    if (!found) continue;
    with_order(file->byte_order(), [&](auto o) {
      const cfi::section<o()> section(found->bytes, found->info);
      std::uint64_t next = 0;
      for (const cfi::entry& e : section.entries()) {
        if (e.offset < next || e.end <= e.offset || e.end > found->bytes.size()) std::abort();
        next = e.end;
        if (e.error != errc::ok) continue;
        const auto c = e.is_cie ? section.parse_cie(e) : section.cie_at(e.cie_offset);
        if (!c) continue;
        std::uint64_t begin = c->instructions, end = c->end;
        if (!e.is_cie) {
          const auto f = section.parse_fde(e, *c);
          if (!f) continue;
          begin = f->instructions, end = f->instructions_end;
        }
        std::uint64_t at = begin;
        for (const cfi::instruction& i : cfi::program<o()>(section, *c, begin, end)) {
          if (i.offset < at || i.offset >= end) std::abort();
          at = i.offset + 1;
        }
      }
      const auto header = cfi::find_frame_header(*file);
      if (!header) return;
      const auto table = cfi::header_table<o()>::open(header->bytes, header->info.address, file->address_size());
      if (table) (void)table->check(section);
    });
  }
  return 0;
}
