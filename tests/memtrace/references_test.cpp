// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <backsight/memtrace/references.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::trace_builder;

namespace {

/// What a reference says, its encoding copied.
struct seen {
  trace_type type;
  std::uint16_t size;
  std::uint64_t address, pc, tid, offset;
  std::optional<std::uint64_t> target;
  std::vector<unsigned> encoding;
  bool is_new;
  bool operator==(const seen&) const = default;
};

std::vector<seen> references_of(byte_view file, reference_builder builder = {}) {
  std::vector<seen> all;
  for (const entry_view item : entry_span(file)) {
    const auto made = builder.next(item);
    if (!made) continue;
    std::vector<unsigned> code;
    for (std::size_t i = 0; i < made->encoding_size; ++i) code.push_back(std::to_integer<unsigned>(made->encoding[i]));
    all.push_back({made->type, made->size, made->address, made->pc, made->tid, made->offset, made->branch_target, code,
                   made->encoding_is_new});
  }
  return all;
}

constexpr auto marker_size = [](marker_type type) { return static_cast<std::uint16_t>(type); };

}  // namespace

TEST_CASE("a reference says everything that the records in front of it told") {
  using enum trace_type;
  trace_builder built;
  built.put(header, 0, 7).put(thread, 4, 7).put(pid, 4, 6);
  std::vector<seen> expected;
  std::uint64_t at = built.here();
  built.marker(marker_type::timestamp, 50);
  expected.push_back({marker, marker_size(marker_type::timestamp), 50, 0, 7, at, {}, {}, false});
  // Bytes in two records, the target of the branch between them and the instruction.
  built.put(encoding, 8, 0x0807060504030201).put(encoding, 2, 0x0a09).marker(marker_type::branch_target, 0x99);
  at = built.here();
  built.put(instr_return, 10, 0x1000);
  expected.push_back({instr_return, 10, 0x1000, 0x1000, 7, at, 0x99, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, true});
  at = built.here();
  built.put(read, 8, 0x7000);
  expected.push_back({read, 8, 0x7000, 0x1000, 7, at, {}, {}, false});
  // The second time the bytes are known and the target is another.
  built.marker(marker_type::branch_target, 0x98);
  at = built.here();
  built.put(instr_return, 10, 0x1000);
  expected.push_back({instr_return, 10, 0x1000, 0x1000, 7, at, 0x98, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, false});
  // A PC alone is not shown, but the data behind it has it.
  built.put(instr, 0, 0x1020);
  at = built.here();
  built.put(write, 4, 0x7004);
  expected.push_back({write, 4, 0x7004, 0x1020, 7, at, {}, {}, false});
  at = built.here();
  built.put(instr_no_fetch, 2, 0x1030);
  expected.push_back({instr_no_fetch, 2, 0x1030, 0x1030, 7, at, {}, {}, false});
  // What a chunk repeats is not shown, nor what is none of the tools' business.
  built.chunk(9, 50).put(instr_bundle, 2, 0).put(instr_maybe_fetch, 2, 0x1040).put(static_cast<trace_type>(50), 0, 0);
  at = built.here();
  built.time(60);
  expected.push_back({marker, marker_size(marker_type::timestamp), 60, 0x1030, 7, at, {}, {}, false});
  expected.push_back({marker, marker_size(marker_type::cpu_id), 0, 0x1030, 7, at + 12, {}, {}, false});
  built.thread(8);
  at = built.here();
  built.put(thread_exit, 4, 8).put(footer, 0, 0);
  expected.push_back({thread_exit, 4, 8, 0x1030, 8, at, {}, {}, false});
  const auto found = references_of(built.view());
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(found[i] == expected[i]);
  }
}

TEST_CASE("an encoding has no more bytes than a record holds, and all of them no more than an instruction's") {
  using enum trace_type;
  trace_builder built;
  built.put(encoding, 9, 0x0807060504030201).put(instr, 9, 0x10);
  built.put(encoding, 8, 0x0807060504030201)
      .put(encoding, 8, 0x1817161514131211)
      .put(encoding, 8, 0x2827262524232221)
      .put(instr, 15, 0x20);
  const auto found = references_of(built.view());
  REQUIRE(found.size() == 2);
  CHECK(found[0].encoding == std::vector<unsigned>{1, 2, 3, 4, 5, 6, 7, 8});
  CHECK(found[1].encoding ==
        std::vector<unsigned>{1, 2, 3, 4, 5, 6, 7, 8, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18});
}

TEST_CASE("new bytes of a PC replace the old ones") {
  using enum trace_type;
  trace_builder built;
  built.encoded(0x10, {0x90, 0x90, 0x90}).encoded(0x10, {0xc3}).instruction(0x10, 1);
  const auto found = references_of(built.view());
  REQUIRE(found.size() == 3);
  CHECK(found[1].encoding == std::vector<unsigned>{0xc3});
  CHECK(found[1].is_new);
  CHECK(found[2].encoding == std::vector<unsigned>{0xc3});
  CHECK_FALSE(found[2].is_new);
}

TEST_CASE("the builder knows its thread, process, window, time and place") {
  trace_builder built;
  built.header(7).unit(50, 3).chunk(9, 60).thread(8);
  reference_builder builder;
  CHECK_FALSE(builder.window());
  CHECK(builder.time() == 0);
  for (const entry_view item : entry_span(built.view())) (void)builder.next(item);
  CHECK(builder.tid() == 8);
  CHECK(builder.pid() == 1);
  CHECK(builder.window() == 3);
  CHECK(builder.time() == 60);
  CHECK(builder.offset() == built.here());
  builder.set_thread(9);
  CHECK(builder.tid() == 9);
}
