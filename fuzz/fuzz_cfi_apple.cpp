// SPDX-License-Identifier: Apache-2.0
// A Mach-O file with compact unwinding: every entry and its row, for both machines, with the rows of its FDEs, and a
// table made of them, which must open and have a rule where there is a row. Rows ascend; errors lie in the file.
#include <cstdint>
#include <cstdlib>

#include <backsight/cfi/apple/rows.hpp>

using namespace backsight;
namespace apple = cfi::apple;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto inside = [&](const trace_error& e) {
    if (e.offset > size) std::abort();
  };
  // The section alone, so that damage need not spare the file around it.
  if (const auto section = apple::unwind_info::open(bytes, 0x1000)) {
    std::uint64_t before = 0;
    section->for_each(
        [&](const apple::unwind_entry& e) {
          if (e.begin >= e.end || e.begin < before || e.offset > size) std::abort();
          before = e.end;
        },
        inside);
  }
  const auto from = apple::unwind_source::open(bytes);
  if (!from) return inside(from.error()), 0;
  const auto all = [&](auto arch) {
    using machine = decltype(arch);
    std::uint64_t covered = 0;
    apple::for_each_row<machine>(
        *from,
        [&](const cfi::row& r, const cfi::cie&, byte_view) {
          if (r.begin >= r.end || r.begin < covered) std::abort();
          covered = r.end;
        },
        inside);
    const auto table = apple::build_table<machine>(*from, {}, inside);
    if (!table) return;
    if (cfi::table_view::open(table->bytes()).error()) std::abort();
    apple::for_each_row<machine>(
        *from,
        [&](const cfi::row& r, const cfi::cie&, byte_view) {
          if (!table->view().find(r.begin) || !table->view().find(r.end - 1)) std::abort();
        },
        inside);
  };
  if (from->file.machine() == apple::cpu::x86_64) all(cfi::arch::x86_64{});
  else all(cfi::arch::aarch64{});
  return 0;
}
