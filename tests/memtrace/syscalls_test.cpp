// SPDX-License-Identifier: Apache-2.0
#include <backsight/memtrace/syscalls.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::trace_builder;

namespace {

syscall_counts syscalls_in(byte_view file) {
  reference_builder builder;
  syscall_counts made;
  for (const entry_view item : entry_span(file)) {
    if (const auto one = builder.next(item)) made.on(*one);
  }
  return made;
}

}  // namespace

TEST_CASE("a system call lasts from the time in front to the time behind it") {
  trace_builder built;
  built.header().unit(1000, 0).instruction(0x1000, 2).time(1010).marker(marker_type::syscall, 1).time(1017);
  built.instruction(0x1002, 2)
      .time(2000)
      .marker(marker_type::syscall, 1)
      .marker(marker_type::maybe_blocking_syscall, 0)
      .marker(marker_type::syscall_failed, 4)
      .time(2100);
  const syscall_counts made = syscalls_in(built.instruction(0x1004, 1).exit().view());
  const auto& writes = made.counts().at(1);
  CHECK(writes.count == 2);
  CHECK(writes.may_block == 1);
  CHECK(writes.failed == 1);
  CHECK(writes.timed == 2);
  CHECK(writes.time == 107);
}

TEST_CASE("a call without a time behind it has none: an instruction or a new window comes first") {
  trace_builder built;
  built.header().unit(1000, 0).time(1010).marker(marker_type::syscall, 2).instruction(0x1000, 1).time(1500);
  built.marker(marker_type::syscall, 3).marker(marker_type::window_id, 1).time(9000);
  const syscall_counts made = syscalls_in(built.exit().view());
  CHECK(made.counts().at(2).timed == 0);
  CHECK(made.counts().at(3).timed == 0);
  CHECK(made.counts().at(3).count == 1);
}

TEST_CASE("the kernel's own instructions are part of the call") {
  trace_builder built;
  built.header()
      .unit(1000, 0)
      .time(1010)
      .marker(marker_type::syscall, 2)
      .marker(marker_type::syscall_trace_start, 2)
      .instruction(0xffff0000, 1);
  built.marker(marker_type::syscall_trace_end, 2).time(1030);
  const syscall_counts made = syscalls_in(built.exit().view());
  CHECK(made.counts().at(2).timed == 1);
  CHECK(made.counts().at(2).time == 20);
}
