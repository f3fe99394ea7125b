// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <utility>
#include <vector>

#include <backsight/memtrace/counts.hpp>
#include <backsight/memtrace/record_place.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::trace_builder;

TEST_CASE("threads that take turns each go on with their window, as they are counted") {
  trace_builder built;
  built.header(1, 7, 0xe40 | file_type::core_sharded).instruction(0x10, 1).unit(1000, 0).instruction(0x1000, 1);
  built.thread(2).instruction(0x2000, 1).unit(1001, 4).instruction(0x2001, 1);
  built.thread(1).instruction(0x1001, 1).unit(1002, 5).instruction(0x1002, 1).thread(2).instruction(0x2002, 1);
  built.put(trace_type::footer, 0, 0);
  record_place place;
  using at = std::pair<std::uint64_t, std::optional<std::uint64_t>>;
  std::vector<at> of_instructions;
  for (const entry_view item : entry_span(built.view())) {
    place.on(item);
    if (is_instruction(item[entry_record::type])) of_instructions.emplace_back(place.tid(), place.window());
  }
  CHECK(of_instructions == std::vector<at>{{1, {}}, {1, 0}, {2, {}}, {2, 4}, {1, 0}, {1, 5}, {2, 4}});
  final_counter counter;
  CHECK_FALSE(counter.feed(built.view()));
  counter.finish();
  for (const section_counts& section : counter.sections()) {
    std::uint64_t count = 0;
    for (const at& one : of_instructions) count += one == at{section.tid, section.window} ? 1U : 0U;
    CHECK(count == section.counts.instructions);
  }
}
