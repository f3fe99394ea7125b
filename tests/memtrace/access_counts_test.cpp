// SPDX-License-Identifier: Apache-2.0
#include <backsight/memtrace/access_counts.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::trace_builder;

namespace {

template <class Analyzer>
Analyzer fed(byte_view file, Analyzer made) {
  reference_builder builder;
  for (const entry_view item : entry_span(file)) {
    if (const auto one = builder.next(item)) made.on(*one);
  }
  return made;
}

}  // namespace

TEST_CASE("instructions are counted by address and by bytes") {
  trace_builder built;
  built.header()
      .encoded(0x1000, {0x90})
      .instruction(0x1000, 1)
      .encoded(0x2000, {0x90})
      .encoded(0x3000, {0x48, 0x89})
      .instruction(0x4000, 3);
  built.put(trace_type::instr_no_fetch, 1, 0x1000).exit();
  const auto pcs = fed(built.view(), pc_counts());
  CHECK(pcs.counts().size() == 4);
  CHECK(pcs.counts().at(0x1000) == 2);
  const auto encodings = fed(built.view(), encoding_counts());
  encoding_counts::encoding nop, none;
  nop.bytes[0] = std::byte{0x90};
  nop.size = 1;
  CHECK(encodings.counts().size() == 3);
  CHECK(encodings.counts().at(nop) == 3);
  CHECK(encodings.counts().at(none) == 1);
}

TEST_CASE("an access counts for each block that it touches, and an endless one ends") {
  trace_builder built;
  built.header()
      .instruction(0x1000, 1)
      .put(trace_type::read, 8, 0x203c)
      .put(trace_type::write, 4, 0x2040)
      .put(trace_type::read, 0, 0x2000);
  built.put(trace_type::read, 0xffff, ~std::uint64_t{0}).exit();
  const auto lines = fed(built.view(), block_counts(64));
  CHECK(lines.counts().at(0x2000 / 64).loads == 2);
  CHECK(lines.counts().at(0x2040 / 64).loads == 1);
  CHECK(lines.counts().at(0x2040 / 64).stores == 1);
  CHECK(lines.counts().at(~std::uint64_t{0} / 64).loads == 1);
  CHECK(lines.counts().size() == 3);
  CHECK(block_counts(0).block_size() == 1);
}
