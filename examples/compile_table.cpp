// SPDX-License-Identifier: Apache-2.0
// Compiles the call frame information of an ELF file to a table and asks it about an address:
//   example_compile_table FILE ADDRESS
#include <cstdio>
#include <cstdlib>

#include <backsight/cfi/cfi.hpp>
#include <backsight/io/mapped_file.hpp>

using namespace backsight;

int main(int count, char** words) {
  if (count != 3) return 2;
  // [open]
  const auto file = io::mapped_file::open(words[1]);
  if (!file) return 1;
  const auto image = elf::open(file->bytes());
  if (!image) return std::printf("%s\n", message(image.error().code)), 1;
  const auto found = cfi::find_frame_section(*image, cfi::section_kind::eh_frame);
  if (!found) return std::printf("%s\n", message(found.error().code)), 1;
  const cfi::section<order::little> section(found->bytes, found->info);
  // [open]

  // [rows]
  using arch = cfi::arch::x86_64;
  cfi::context<> memory;
  for (const cfi::entry& e : section.entries()) {
    if (e.is_cie || e.error != errc::ok) continue;
    const auto cie = section.cie_at(e.cie_offset);
    if (!cie) continue;
    const auto fde = section.parse_fde(e, *cie);
    const std::uint64_t address = std::strtoull(words[2], nullptr, 16);
    if (!fde || !fde->covers(address)) continue;
    std::printf("the function at %llx has these rows:\n", static_cast<unsigned long long>(fde->begin));
    (void)cfi::interpret<arch>(section, *fde, memory, [](const cfi::row& row) {
      std::printf("  %llx: cfa = r%u%+lld, %zu registers with a rule\n", static_cast<unsigned long long>(row.begin),
                  row.cfa.reg, static_cast<long long>(row.cfa.offset), row.rules.size());
    });
  }
  // [rows]

  // [table]
  const auto table = cfi::build_table<arch>(section, {cfi::table_profile::callee_saved, image->build_id()});
  if (!table) return std::printf("%s\n", message(table.error().code)), 1;
  std::printf("%zu bytes of .eh_frame are %zu bytes of table\n", found->bytes.size(), table->bytes().size());
  const cfi::rule_view<arch> rule(table->view().find(std::strtoull(words[2], nullptr, 16)));
  if (!rule) return std::printf("nothing is known of that address\n"), 0;
  std::printf("cfa = r%u%+d\n", unsigned{rule[cfi::unwind_rule::cfa_register]}, rule[cfi::unwind_rule::cfa_offset]);
  // [table]
}
