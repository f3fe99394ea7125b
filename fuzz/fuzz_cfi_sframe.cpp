// SPDX-License-Identifier: Apache-2.0
// An SFrame section: every row read, as section and as rows of call frame information, and a table made of them, which
// must open and have a rule where there is a row. Rows ascend.
#include <cstdint>
#include <cstdlib>

#include <backsight/cfi/arch/aarch64.hpp>
#include <backsight/cfi/arch/x86_64.hpp>
#include <backsight/cfi/sframe/rows.hpp>

using namespace backsight;
namespace sframe = cfi::sframe;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  for (const bool relocated : {false, true}) {
    const auto opened = sframe::section::open(bytes, 0x400000, relocated);
    if (!opened) {
      if (opened.bad.offset > size || !sframe::refuses_section(opened.bad.what)) std::abort();
      continue;
    }
    const auto ignore = [&](const sframe::problem& p) {
      if (p.offset > size) std::abort();
    };
    std::uint64_t covered = 0;
    bool ascending = true;
    sframe::for_each_row(
        opened.section,
        [&](const cfi::row& r, const sframe::function&, byte_view) {
          ascending = ascending && r.begin < r.end && (relocated || r.begin >= covered);
          covered = r.end;
        },
        ignore);
    if (relocated) continue;  // The functions of several sections.
    if (!ascending) std::abort();
    const auto table = opened.section.machine() == sframe::abi::x86_64
                           ? sframe::build_table<cfi::arch::x86_64>(opened.section, {}, ignore)
                           : sframe::build_table<cfi::arch::aarch64>(opened.section, {}, ignore);
    if (table && cfi::table_view::open(table->bytes()).error()) std::abort();
  }
  return 0;
}
