// SPDX-License-Identifier: Apache-2.0
// The index of a 32-bit ARM file: every entry and its opcodes as a row, and a table made of the rows, which must open
// and have a rule where there is a row. Rows ascend; errors lie in the file.
#include <cstdint>
#include <cstdlib>

#include <backsight/cfi/exidx/rows.hpp>
#include <backsight/elf/sections.hpp>

using namespace backsight;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const byte_view bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = elf::open(bytes);
  if (!file) return 0;
  const auto index = cfi::exidx::index::open(*file);
  if (index.error() && index.error().offset > size) std::abort();
  const cfi::exidx::index& from = index.partial();
  const auto inside = [&](const trace_error& e) {
    if (e.offset > size) std::abort();
  };
  std::uint64_t covered = 0;
  bool ascending = true;
  cfi::exidx::for_each_row(
      from,
      [&](const cfi::row& r, const cfi::exidx::entry& of) {
        ascending = ascending && r.begin < r.end && r.begin >= covered && r.begin == of.begin;
        covered = r.end;
        for (const cfi::register_rule& rule : r.rules) {
          if (rule.reg >= 15) std::abort();
        }
      },
      inside);
  if (!ascending) std::abort();
  const auto table = cfi::exidx::build_table(from, {}, inside);
  if (!table) return 0;
  if (cfi::table_view::open(table->bytes()).error()) std::abort();
  cfi::exidx::for_each_row(
      from,
      [&](const cfi::row& r, const cfi::exidx::entry&) {
        if (!table->view().find(r.begin) || !table->view().find(r.end - 1)) std::abort();
      },
      inside);
  return 0;
}
