// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include <backsight/memtrace/record_follower.hpp>

#include "trace_builder.hpp"

#include <support/catch.hpp>

using namespace backsight;
using namespace backsight::memtrace;
using test::trace_builder;

namespace {

std::vector<record_role> roles_of(byte_view file) {
  record_follower follower;
  std::vector<record_role> roles;
  for (const entry_view item : entry_span(file)) roles.push_back(follower.next(item));
  return roles;
}

constexpr bool a_head_repeats_its_pair() {
  chunk_head head;
  if (head.repeats(marker_type::timestamp) || head.repeats(marker_type::cpu_id)) return false;
  if (!head.repeats(marker_type::record_ordinal) || head.repeats(marker_type::window_id)) return false;
  return head.repeats(marker_type::timestamp) && head.repeats(marker_type::cpu_id) &&
         !head.repeats(marker_type::timestamp) && !head.repeats(marker_type::cpu_id);
}
static_assert(a_head_repeats_its_pair());

}  // namespace

TEST_CASE("each record of a final trace has a role among its neighbours") {
  using enum trace_type;
  using enum record_role;
  CHECK(a_head_repeats_its_pair());
  trace_builder built;
  built.put(header, 0, 7).put(thread, 4, 7).time(5);
  std::vector<record_role> expected{other, other, other, other};
  built.put(encoding, 1, 0xc3).marker(marker_type::branch_target, 9).instruction(0x10, 1, instr_return);
  expected.insert(expected.end(), {in_front, in_front, record_role::instruction});
  built.put(read, 8, 0x10).instruction(0x11, 0).put(instr_no_fetch, 0, 0x12).put(instr_no_fetch, 2, 0x12);
  expected.insert(expected.end(), {other, pc_only, pc_only, record_role::instruction});
  // A read of as many bytes as the marker type's number is no marker.
  built.chunk(3, 5).time(6).put(read, static_cast<std::uint16_t>(marker_type::branch_target), 1).exit();
  expected.insert(expected.end(), {repeated, repeated, repeated, other, other, other, other, other});
  CHECK(roles_of(built.view()) == expected);
}

TEST_CASE("a follower keeps who runs what and when") {
  record_follower follower;
  CHECK_FALSE(follower.window());
  CHECK_FALSE(follower.branch_target());
  const auto next = [&](trace_type type, std::uint16_t size, std::uint64_t value) {
    (void)follower.next(type, size, value);
  };
  const auto marker = [&](marker_type type, std::uint64_t value) {
    next(trace_type::marker, static_cast<std::uint16_t>(type), value);
  };
  next(trace_type::thread, 4, 7);
  next(trace_type::pid, 4, 6);
  marker(marker_type::timestamp, 50);
  marker(marker_type::window_id, 3);
  marker(marker_type::branch_target, 0x99);
  CHECK_FALSE(follower.branch_target());
  // A PC alone is none that the target could be of.
  next(trace_type::instr, 0, 0x20);
  CHECK(follower.pc() == 0x20);
  CHECK_FALSE(follower.branch_target());
  next(trace_type::instr_return, 1, 0x30);
  CHECK(follower.branch_target() == 0x99);
  CHECK(follower.pc() == 0x30);
  next(trace_type::read, 8, 0x7000);
  CHECK(follower.pc() == 0x30);
  CHECK(follower.branch_target() == 0x99);
  next(trace_type::instr, 1, 0x40);
  CHECK_FALSE(follower.branch_target());
  CHECK(follower.tid() == 7);
  CHECK(follower.pid() == 6);
  CHECK(follower.time() == 50);
  CHECK(follower.window() == 3);
  next(trace_type::thread, 4, 8);
  CHECK(follower.tid() == 8);
  follower.set_thread(9);
  CHECK(follower.tid() == 9);
}
