// SPDX-License-Identifier: Apache-2.0
// The bytes are an .eh_frame: a table built from it must say what the interpreter says, at every row.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <backsight/cfi/arch/x86_64.hpp>

#include "../tests/cfi/table_against_rows.hpp"

using namespace backsight;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  cfi::section_info info;
  info.address = 0x400000;
  const cfi::section<order::little> section(bytes, info);
  // Where FDEs overlap or are in error, look-ups by single FDEs and the table's precedence differ by design; rows that
  // go backwards have no order to compare.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  const auto memory = std::make_unique<cfi::context<>>();
  for (const cfi::entry& e : section.entries()) {
    if (e.is_cie || e.error != errc::ok) continue;
    const auto c = section.cie_at(e.cie_offset);
    if (!c) continue;
    const auto f = section.parse_fde(e, *c);
    if (!f || f->begin == 0 || f->end <= f->begin) continue;
    ranges.emplace_back(f->begin, f->end);
    bool ascending = true;
    std::uint64_t before = f->begin;
    const trace_error error = cfi::interpret<cfi::arch::x86_64>(section, *f, *memory, [&](const cfi::row& r) {
      ascending = ascending && r.begin >= before && (r.end >= r.begin || r.begin >= f->end);
      before = r.begin;
    });
    if (error || !ascending) return 0;
  }
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].first < ranges[i - 1].second) return 0;
  }
  for (const auto profile : {cfi::table_profile::callee_saved, cfi::table_profile::all}) {
    const auto table = cfi::build_table<cfi::arch::x86_64>(section, {profile, {}});
    if (!table) continue;  // More rules or denser rows than the format holds.
    std::size_t compared = 0;
    const std::string difference = test::difference<cfi::arch::x86_64>(section, table->view(), compared);
    if (!difference.empty()) {
      std::fprintf(stderr, "table and interpreter differ at %s\n", difference.c_str());
      std::abort();
    }
  }
  return 0;
}
