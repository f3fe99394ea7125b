// SPDX-License-Identifier: Apache-2.0
#include "as/uftrace/call_stacks.hpp"

#include <cstdint>
#include <vector>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using namespace cli::as_uftrace;
namespace fn = test::fn;

namespace {

/// A recording of so many tasks without files.
recording tasks_without_files(std::size_t count, std::uint16_t max_stack = 1024) {
  recording from;
  from.info.max_stack = max_stack;
  from.data.resize(count);
  return from;
}

merged_record made(record_type type, std::uint64_t time, std::uint16_t depth, std::uint64_t address,
                   std::uint32_t index, record_source source) {
  merged_record r;
  r.time = time;
  r.address = address;
  r.data_index = index;
  r.depth = depth;
  r.type = type;
  r.source = source;
  return r;
}
merged_record entry(std::uint64_t time, std::uint16_t depth, std::uint64_t address, std::uint32_t index = 0) {
  return made(record_type::entry, time, depth, address, index, record_source::task_file);
}
merged_record exit(std::uint64_t time, std::uint16_t depth, std::uint64_t address, std::uint32_t index = 0) {
  return made(record_type::exit, time, depth, address, index, record_source::task_file);
}
merged_record lost(std::uint64_t count = 1, std::uint32_t index = 0) {
  return made(record_type::lost, 0, 77, count, index, record_source::task_file);
}
merged_record event(std::uint64_t time, std::uint64_t id, record_source source = record_source::perf_file) {
  return made(record_type::event, time, 0, id, 0, source);
}
merged_record in_kernel(merged_record r) {
  r.source = record_source::kernel_file;
  return r;
}

/// What a frame accounts.
struct account {
  std::uint64_t total = 0, child = 0;
  bool valid = false;
  friend bool operator==(const account&, const account&) = default;
};
std::ostream& operator<<(std::ostream& out, const account& a) {
  return out << "{" << a.total << ", " << a.child << ", " << a.valid << "}";
}

/// The stacks of one task and what they say.
struct stacks_of_one {
  explicit stacks_of_one(stack_options options = {}, std::uint16_t max_stack = 1024)
      : from(tasks_without_files(1, max_stack)), stacks(from, options) {}

  stacks_of_one& operator<<(const merged_record& r) {
    stacks.consume(r);
    return *this;
  }
  task_stack& task() { return stacks.all()[0]; }
  account at(std::int64_t level) {
    const frame* const f = stacks.slot(task(), level);
    return f == nullptr ? account{} : account{f->total, f->child, f->valid};
  }
  std::pair<std::int64_t, std::int64_t> heights() { return {task().height, task().user_height}; }

  recording from;
  call_stacks stacks;
};
using heights = std::pair<std::int64_t, std::int64_t>;

}  // namespace

TEST_CASE("an exit tells how long its function took, and its caller that that was a callee's time") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << entry(110, 1, fn::a);
  CHECK(s.at(0) == account{100, 0, true});
  CHECK(s.at(1) == account{110, 0, true});
  CHECK(s.heights() == heights{2, 2});
  CHECK(s.stacks.address(s.task(), 0) == fn::main);
  CHECK(s.stacks.address(s.task(), 1) == fn::a);
  s << exit(150, 1, fn::a);
  CHECK(s.at(1) == account{40, 0, false});
  CHECK(s.at(0) == account{100, 40, true});
  CHECK(s.heights() == heights{1, 1});
  s << entry(160, 1, fn::b) << exit(163, 1, fn::b) << exit(200, 0, fn::main);
  CHECK(s.at(1) == account{3, 0, false});
  CHECK(s.at(0) == account{100, 43, false});
  CHECK(s.heights() == heights{0, 0});
  CHECK(s.task().last_time == 200);
  CHECK(s.task().consumed_time == 200);
}

TEST_CASE("callees never took longer than their caller") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << entry(110, 1, fn::a) << exit(170, 1, fn::a) << exit(130, 0, fn::main);
  CHECK(s.at(0) == account{30, 30, false});
  stacks_of_one equal;
  equal << entry(100, 0, fn::main) << entry(100, 1, fn::a) << exit(130, 1, fn::a) << exit(130, 0, fn::main);
  CHECK(equal.at(0) == account{30, 30, false});
}

TEST_CASE("a first record below the top finds its callers open since then") {
  stacks_of_one s;
  s << entry(100, 2, fn::b);
  CHECK(s.heights() == heights{3, 1});
  CHECK(s.at(0) == account{100, 0, true});
  CHECK(s.at(1) == account{100, 0, true});
  CHECK(s.stacks.address(s.task(), 0) == 0);
  CHECK(s.stacks.address(s.task(), 1) == 0);
  CHECK(s.stacks.address(s.task(), 2) == fn::b);
  CHECK(s.task().credit == 1024);
}

TEST_CASE("a first record that is an exit belongs to a function that took no time") {
  stacks_of_one s;
  s << exit(100, 2, fn::b);
  CHECK(s.heights() == heights{2, 0});
  CHECK(s.at(2) == account{0, 0, false});
  CHECK(s.at(1) == account{100, 0, true});
  CHECK(s.at(0) == account{100, 0, true});
  CHECK(s.at(3) == account{});
  s << exit(130, 1, fn::a) << exit(180, 0, fn::main);
  CHECK(s.at(1) == account{30, 0, false});
  CHECK(s.at(0) == account{80, 30, false});
  // With nothing open an exit accounts nothing, and what is there stays.
  s << exit(190, 0, fn::main);
  CHECK(s.heights() == heights{0, 0});
  CHECK(s.at(0) == account{80, 30, false});
}

TEST_CASE("a first record of the scheduler counts as one of depth 0, other events as none") {
  stacks_of_one out;
  out << event(90, task_new) << event(91, watch_cpu, record_source::task_file);
  CHECK_FALSE(out.task().started);
  CHECK(out.heights() == heights{0, 0});
  out << event(100, sched_out);
  CHECK(out.task().started);
  CHECK(out.heights() == heights{1, 0});
  CHECK(out.at(0) == account{100, 0, true});
  CHECK(out.stacks.address(out.task(), 0) == sched_out);
  stacks_of_one in;
  in << event(100, sched_in);
  CHECK(in.heights() == heights{0, 0});
  CHECK(in.at(0) == account{0, 0, false});
}

TEST_CASE("waits are frames that are no functions of the program") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << event(120, sched_out);
  CHECK(s.heights() == heights{2, 1});
  s << event(150, sched_in);
  CHECK(s.heights() == heights{1, 1});
  CHECK(s.at(1) == account{30, 0, false});
  CHECK(s.at(0) == account{100, 30, true});
  s << event(160, sched_out_preempted) << event(161, sched_in) << event(170, task_exit);
  CHECK(s.at(0) == account{100, 31, true});
  CHECK(s.heights() == heights{1, 1});
  // Those of the task's own file as well; a merged one of both halves is none.
  s << event(180, sched_out, record_source::task_file) << event(185, sched_in, record_source::task_file)
    << event(186, sched_both);
  CHECK(s.at(0) == account{100, 36, true});
}

TEST_CASE("a child begins at the depth of the fork that made it") {
  recording from = tasks_without_files(3);
  from.tasks = {{7, 7, 0, 1, {}, {}}, {8, 8, 7, 2, {}, {}}, {9, 9, 55, 3, {}, {}}};
  for (std::uint32_t i = 0; i < 3; ++i) {
    from.data[i].task = i;
    from.data_index.emplace(7 + i, i);
  }
  call_stacks stacks(from, {});
  stacks.consume(entry(100, 0, fn::fork, 0));
  stacks.all()[0].shown_depth = 4;
  stacks.note(stacks.all()[0], special_function::fork);
  CHECK(stacks.all()[0].fork_depth == 5);
  stacks.consume(exit(110, 1, fn::fork, 1));
  CHECK(stacks.all()[1].shown_depth == 5);
  CHECK(stacks.all()[1].height == 1);
  // Its parent has no file.
  stacks.consume(exit(110, 1, fn::fork, 2));
  CHECK(stacks.all()[2].shown_depth == 0);
}

TEST_CASE("a child of a task that never forked begins at depth 0") {
  recording from = tasks_without_files(2);
  from.tasks = {{7, 7, 0, 1, {}, {}}, {8, 8, 7, 2, {}, {}}};
  for (std::uint32_t i = 0; i < 2; ++i) {
    from.data[i].task = i;
    from.data_index.emplace(7 + i, i);
  }
  call_stacks stacks(from, {});
  stacks.consume(entry(100, 0, fn::main, 0));
  stacks.consume(lost(1, 1));
  stacks.consume(in_kernel(entry(110, 0, fn::a, 1)));
  CHECK_FALSE(stacks.all()[1].depth_known);  // only a fork tells it behind a loss
  CHECK(stacks.all()[1].shown_depth == 0);
  CHECK(stacks.all()[1].height == 1);
}

TEST_CASE("lost records end what lies above the program's functions") {
  stacks_of_one s;
  // The slot above the stack still holds how long its last function took: 40.
  s << entry(100, 0, fn::main) << entry(110, 1, fn::a) << entry(120, 2, fn::b) << exit(160, 2, fn::b);
  s << lost();
  CHECK(s.task().lost);
  CHECK_FALSE(s.task().depth_known);
  CHECK(s.heights() == heights{2, 2});
  CHECK(s.at(2) == account{1, 0, false});
  CHECK(s.at(1) == account{110, 41, true});
  CHECK(s.at(0) == account{100, 0, true});
}

TEST_CASE("lost records end an open wait, with the arithmetic of uftrace") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << event(120, sched_out) << lost();
  const std::uint64_t wrapped = std::uint64_t{1} - 120;
  CHECK(s.at(2) == account{1, 0, false});
  CHECK(s.at(1) == account{wrapped, 1, true});
  CHECK(s.at(0) == account{100, wrapped, true});
}

TEST_CASE("lost records leave no callee that took longer than its caller") {
  stacks_of_one s;
  s << exit(10, 2, fn::b);  // two callers are open since 10, none of them entered here
  s << entry(10, 2, fn::b) << entry(20, 3, fn::c) << exit(90, 3, fn::c);
  CHECK(s.heights() == heights{3, 1});
  s << lost();
  // The slot above holds 70: so "now" is 71.
  CHECK(s.at(3) == account{1, 0, false});
  CHECK(s.at(2) == account{61, 61, true});  // 71 - 10; its callee took 70 and 1
  CHECK(s.at(1) == account{61, 61, true});
  CHECK(s.at(0) == account{10, 61, true});  // below the functions that were entered here: untouched
}

TEST_CASE("behind lost records the next one tells the height, and its frames begin right before it") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << lost() << entry(500, 1, fn::a);
  CHECK(s.heights() == heights{2, 2});
  CHECK_FALSE(s.task().lost);
  // From the user height, 1, to that and the depth: 2.
  CHECK(s.at(0).total == 100);
  CHECK(s.at(1) == account{500, 0, true});
  CHECK(s.at(2) == account{499, 0, false});
  CHECK(s.at(3) == account{});
}

TEST_CASE("behind lost records all slots that begin are there") {
  stacks_of_one s;
  for (std::uint16_t depth = 0; depth < 10; ++depth) s << entry(100U + depth, depth, fn::a);
  s << lost() << entry(500, 10, fn::b);
  CHECK(s.heights() == heights{11, 11});
  CHECK(s.at(10) == account{500, 0, true});
  CHECK(s.at(19) == account{499, 0, false});
  CHECK(s.at(20) == account{499, 0, false});
}

TEST_CASE("behind lost records the slots of as many levels above the open functions begin") {
  // Five functions are open; one is entered at level 600. Slots 5 to 605 begin.
  stacks_of_one s;
  for (std::uint16_t depth = 0; depth < 5; ++depth) s << entry(100U + depth, depth, fn::a);
  s << lost() << entry(500, 600, fn::b);
  CHECK(s.heights() == heights{601, 6});
  CHECK(s.at(600) == account{500, 0, true});
  for (const std::int64_t level : {5, 6, 599, 601, 602, 605}) {
    CAPTURE(level);
    CHECK(s.at(level).total == 499);
  }
  CHECK(s.at(606) == account{});
}

TEST_CASE("behind lost records an exit ends a function that began right before it") {
  stacks_of_one s;
  s << exit(10, 3, fn::c);
  CHECK(s.heights() == heights{3, 0});
  s << lost() << exit(500, 2, fn::b);
  CHECK(s.heights() == heights{2, 0});
  CHECK(s.at(2) == account{1, 0, false});
  CHECK(s.at(1) == account{499, 1, true});
  CHECK(s.at(0) == account{499, 0, true});
  s << exit(600, 1, fn::a) << exit(700, 0, fn::main);
  CHECK(s.at(1) == account{101, 1, false});
  CHECK(s.at(0) == account{201, 101, false});
}

TEST_CASE("a record of the scheduler behind lost records counts as one of depth 0") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << entry(110, 1, fn::a) << event(120, sched_out) << lost() << event(500, sched_in);
  CHECK(s.heights() == heights{0, 2});
  CHECK(s.at(0).valid == false);
  CHECK(s.at(2) == account{499, 0, true});  // from the user height on
  CHECK(s.at(1) == account{110, std::uint64_t{1} - 120, true});
}

TEST_CASE("an event that is none of the scheduler does not end the look for the height behind lost records") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << lost() << event(200, watch_cpu, record_source::task_file);
  CHECK(s.task().lost);
  s << exit(500, 3, fn::c);
  CHECK_FALSE(s.task().lost);
  CHECK(s.heights() == heights{3, 0});
}

TEST_CASE("levels from the limit on are counted and not kept") {
  stacks_of_one s({}, 2);
  s << entry(100, 0, fn::main) << entry(110, 1, fn::a);
  CHECK(s.stacks.show_entry(s.task()));
  s << entry(120, 2, fn::b);
  CHECK(s.heights() == heights{3, 3});
  CHECK(s.stacks.slot(s.task(), 2) == nullptr);
  CHECK(s.stacks.address(s.task(), 2) == 0);
  CHECK_FALSE(s.stacks.show_entry(s.task()));
  s << exit(150, 2, fn::b);
  CHECK_FALSE(s.stacks.show_exit(s.task()));
  CHECK(s.at(1) == account{110, 0, true});
  s << exit(160, 1, fn::a);
  CHECK(s.stacks.show_exit(s.task()));
  CHECK(s.at(1) == account{50, 0, false});
  CHECK(s.at(0) == account{100, 50, true});
  // Slots grow up to the limit only, also for a first record far down.
  stacks_of_one deep({}, 5);
  deep << exit(100, 9, fn::b);
  CHECK(deep.task().height == 9);
  CHECK(deep.task().frames.size() == 5);
  CHECK(deep.at(4) == account{100, 0, true});
}

TEST_CASE("stacks grow with the depth") {
  stacks_of_one s;
  for (std::uint16_t depth = 0; depth < 100; ++depth) s << entry(depth, depth, fn::a);
  CHECK(s.heights() == heights{100, 100});
  for (std::uint16_t depth = 100; depth-- != 0;) {
    s << exit(300U - depth, depth, fn::a);
    CHECK(s.at(depth).total == 300U - 2U * depth);
  }
  CHECK(s.heights() == heights{0, 0});
  stacks_of_one far;
  far << exit(100, 500, fn::b);
  CHECK(far.task().height == 500);
  CHECK(far.at(499) == account{100, 0, true});
}

TEST_CASE("the depth filter shows so many levels and their exits") {
  stacks_of_one s({.depth = 2});
  s << entry(100, 0, fn::main);
  CHECK(s.stacks.show_entry(s.task()));
  s << entry(110, 1, fn::a);
  CHECK(s.stacks.show_entry(s.task()));
  CHECK(s.task().credit == 0);
  CHECK_FALSE(call_stacks::show_event(s.task()));
  s << entry(120, 2, fn::b);
  CHECK_FALSE(s.stacks.show_entry(s.task()));
  CHECK(s.task().credit == 0);
  s << exit(130, 2, fn::b);
  CHECK_FALSE(s.stacks.show_exit(s.task()));
  s << exit(140, 1, fn::a);
  CHECK(s.stacks.show_exit(s.task()));
  CHECK(s.task().credit == 1);
  CHECK(call_stacks::show_event(s.task()));
  s << exit(150, 0, fn::main);
  CHECK(s.stacks.show_exit(s.task()));
  CHECK(s.task().credit == 2);
  CHECK_FALSE(call_stacks::show_event(s.task()));  // nothing of the program is open
  stacks_of_one none({.depth = 0});
  none << entry(100, 0, fn::main);
  CHECK_FALSE(none.stacks.show_entry(none.task()));
}

TEST_CASE("events show while a function that the task entered is open") {
  stacks_of_one s;
  s << exit(90, 1, fn::a);
  CHECK(s.task().height == 1);
  CHECK_FALSE(call_stacks::show_event(s.task()));  // an inherited function is not one that it entered
  s << entry(100, 1, fn::a);
  CHECK(call_stacks::show_event(s.task()));
  s << exit(110, 1, fn::a) << exit(120, 0, fn::main);
  CHECK(s.heights() == heights{0, 0});
  s << entry(130, 0, fn::main);
  CHECK(s.heights() == heights{1, 1});  // the exits before did not make it less than nothing
  CHECK(call_stacks::show_event(s.task()));
}

TEST_CASE("setjmp is where longjmp goes, for all tasks") {
  recording from = tasks_without_files(2);
  call_stacks stacks(from, {});
  task_stack& first = stacks.all()[0];
  task_stack& second = stacks.all()[1];
  stacks.consume(entry(100, 0, fn::main));
  stacks.consume(entry(110, 1, fn::setjmp));
  first.shown_depth = 1;
  stacks.note(first, special_function::setjmp);
  CHECK(stacks.jumps() == 1);
  stacks.consume(exit(120, 1, fn::setjmp));
  stacks.consume(entry(130, 1, fn::a));
  stacks.consume(entry(140, 2, fn::longjmp));
  stacks.note(first, special_function::longjmp);
  stacks.apply(first, special_function::longjmp);
  CHECK((first.height == 2 && first.user_height == 2 && first.shown_depth == 2));
  CHECK(stacks.jumps() == 1);
  // The second return of setjmp ends the slot, which the function a has used since.
  stacks.consume(exit(150, 1, fn::setjmp));
  CHECK(stacks.slot(first, 1)->total == 20);
  CHECK((first.height == 1 && first.user_height == 1));
  stacks.consume(entry(160, 0, fn::longjmp, 1));
  stacks.apply(second, special_function::longjmp);
  CHECK((second.height == 2 && second.user_height == 2 && second.shown_depth == 2));
  // Nothing was entered in that slot: its exit takes no time, neither its own nor its caller's.
  stacks.consume(exit(170, 1, fn::setjmp, 1));
  CHECK((stacks.slot(second, 1)->total == 0 && stacks.slot(second, 0)->child == 0));
}

TEST_CASE("exec forgets what is open") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << entry(110, 1, fn::execv);
  s.task().shown_depth = 2;
  s.stacks.apply(s.task(), special_function::exec);
  CHECK(s.heights() == heights{0, 0});
  CHECK(s.task().shown_depth == 0);
  CHECK(s.at(0) == account{100, 0, true});
  s.stacks.apply(s.task(), special_function::setjmp);
  s.stacks.apply(s.task(), special_function::fork);
  s.stacks.apply(s.task(), special_function::none);
  CHECK(s.heights() == heights{0, 0});
}

TEST_CASE("a function without an exit took until the end, and not less than its callees") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << entry(110, 1, fn::a) << entry(120, 2, fn::b) << exit(170, 2, fn::b);
  frame* const top = s.stacks.close_unfinished(s.task(), 150);
  REQUIRE(top == s.stacks.slot(s.task(), 1));
  CHECK(s.at(1) == account{50, 50, true});  // 40 until the end, but 50 below it
  CHECK(s.at(0) == account{100, 50, true});
  CHECK(s.stacks.close_unfinished(s.task(), 250) == s.stacks.slot(s.task(), 0));
  CHECK(s.at(0) == account{150, 50, true});
  CHECK(s.task().height == 0);
  stacks_of_one beyond({}, 1);
  beyond << entry(100, 0, fn::main) << entry(110, 1, fn::a);
  CHECK(beyond.stacks.close_unfinished(beyond.task(), 150) == nullptr);
  CHECK(beyond.task().height == 1);
  CHECK(beyond.at(0) == account{100, 0, true});
}

TEST_CASE("functions of the kernel stand on those of the program") {
  stacks_of_one s;
  s << entry(100, 0, fn::main) << in_kernel(entry(110, 0, fn::a)) << in_kernel(entry(120, 1, fn::b));
  CHECK(s.heights() == heights{3, 1});
  CHECK(s.task().in_kernel);
  CHECK_FALSE(s.task().outside_program);
  CHECK(s.task().last_time == 120);
  s << in_kernel(exit(130, 1, fn::b));
  CHECK(s.at(2) == account{10, 0, false});
  CHECK(s.at(1) == account{110, 10, true});
  // The exit of the other one is missing: the program forgets it.
  s << exit(200, 0, fn::main);
  CHECK(s.heights() == heights{0, 0});
  CHECK_FALSE(s.task().in_kernel);
  CHECK(s.at(0) == account{100, 0, false});
}

TEST_CASE("what the kernel left open does not take levels of the depth filter") {
  stacks_of_one s({.depth = 3});
  s << entry(100, 0, fn::main);
  CHECK(s.stacks.show_entry(s.task()));
  s << in_kernel(entry(110, 0, fn::a));
  CHECK(s.stacks.show_entry(s.task()));
  CHECK(s.task().credit == 1);
  s << entry(200, 1, fn::b);
  CHECK(s.task().credit == 2);
  CHECK(s.heights() == heights{2, 2});
}

TEST_CASE("the kernel outside of functions of the program is not shown") {
  stacks_of_one s;
  s << in_kernel(entry(100, 0, fn::a));
  CHECK(s.task().outside_program);
  CHECK_FALSE(s.stacks.show_entry(s.task()));
  s << in_kernel(exit(110, 0, fn::a));
  CHECK(s.at(0) == account{10, 0, false});
  CHECK_FALSE(s.stacks.show_exit(s.task()));
  s << in_kernel(event(115, 7, record_source::kernel_file));
  CHECK_FALSE(s.task().outside_program);
  s << entry(120, 0, fn::main);
  CHECK_FALSE(s.task().outside_program);
  CHECK(s.stacks.show_entry(s.task()));
  CHECK(s.heights() == heights{1, 1});
}

TEST_CASE("a first record of the kernel counts its own levels") {
  stacks_of_one s;
  s << in_kernel(exit(100, 2, fn::a));
  CHECK(s.heights() == heights{2, 0});
  stacks_of_one behind_loss;
  behind_loss << entry(10, 0, fn::main) << in_kernel(lost()) << in_kernel(exit(100, 1, fn::a));
  CHECK(behind_loss.heights() == heights{2, 1});  // two levels of the kernel's on one of the program's, and one left
  CHECK_FALSE(behind_loss.task().lost);
}

TEST_CASE("a loss of the kernel ends its turn") {
  stacks_of_one s;
  s << in_kernel(entry(100, 0, fn::a));
  CHECK((s.task().in_kernel && s.task().outside_program));
  s << in_kernel(lost());
  CHECK_FALSE(s.task().in_kernel);
  CHECK_FALSE(s.task().outside_program);
  CHECK(s.task().lost);
}

TEST_CASE("what the scheduler does ends the kernel's turn") {
  for (const std::uint64_t id : {std::uint64_t{sched_out}, std::uint64_t{sched_in}}) {
    stacks_of_one s;
    s << entry(100, 0, fn::main) << in_kernel(entry(110, 0, fn::a));
    CHECK(s.task().in_kernel);
    s << event(120, id);
    CHECK_FALSE(s.task().in_kernel);
  }
}

TEST_CASE("a function filter counts what is open of its functions") {
  function_filter filter({});
  REQUIRE(filter.add("main", names::pattern_kind::exact, {filter_action::kind::include, false, {}}) == errc::ok);
  REQUIRE(filter.add("b", names::pattern_kind::exact, {filter_action::kind::exclude, false, {}}) == errc::ok);
  REQUIRE(filter.add("c", names::pattern_kind::exact, {filter_action::kind::none, false, 1}) == errc::ok);
  test::uftrace_builder directory;
  directory.data(7, test::uftrace_records());
  const recording from = directory.open();
  resolver names(from);
  call_stacks stacks(from, {.depth = 4, .functions = &filter});
  task_stack& t = stacks.all()[0];
  CHECK(t.outside);
  const auto enter = [&](std::uint64_t time, std::uint16_t depth, std::uint64_t address) {
    const function& f = names.find(0, time, address);
    const bool expected = stacks.would_show_entry(t, names, f);
    stacks.consume(entry(time, depth, address));
    const bool shown = stacks.show_entry(t, names, f);
    CHECK(shown == expected);
    return shown;
  };
  const auto leave = [&](std::uint64_t time, std::uint16_t depth, std::uint64_t address) {
    stacks.consume(exit(time, depth, address));
    return stacks.show_exit(t);
  };
  CHECK_FALSE(enter(100, 0, fn::a));
  CHECK_FALSE(call_stacks::show_event(t));
  CHECK(enter(110, 1, fn::main));
  CHECK((t.included == 1 && t.credit == 3 && !t.outside));
  CHECK(call_stacks::show_event(t));
  CHECK(enter(120, 2, fn::main));
  CHECK((t.included == 2 && t.credit == 3));
  CHECK_FALSE(enter(130, 3, fn::b));
  CHECK((t.excluded == 1 && t.outside));
  stacks.note(t, special_function::setjmp);
  CHECK(stacks.jumps() == 0);  // not where nothing is shown
  CHECK_FALSE(enter(140, 4, fn::main));
  CHECK(t.included == 2);
  CHECK_FALSE(leave(150, 4, fn::main));
  CHECK_FALSE(leave(160, 3, fn::b));
  CHECK((t.excluded == 0 && !t.outside && t.included == 2 && t.credit == 3));
  CHECK(enter(170, 3, fn::c));
  CHECK(t.credit == 0);
  CHECK_FALSE(enter(180, 4, fn::a));
  CHECK_FALSE(leave(185, 4, fn::a));
  CHECK(leave(190, 3, fn::c));
  CHECK(t.credit == 3);
  CHECK(leave(200, 2, fn::main));
  CHECK((t.included == 1 && !t.outside));
  CHECK(leave(210, 1, fn::main));
  CHECK((t.included == 0 && t.outside));
  CHECK_FALSE(leave(220, 0, fn::a));
}

TEST_CASE("the end of a task is that of its last record, of its source or of the damage behind it") {
  test::uftrace_builder directory;
  test::uftrace_records seven, eight;
  seven.entry(100, 0, fn::main).entry(200, 1, fn::a);
  eight.entry(110, 0, fn::main).exit(150, 0, fn::main).u64(170).u64(0);
  directory.tasks += "TASK timestamp=0.000000003 tid=8 pid=7\n";
  directory.data(7, seven).data(8, eight);
  directory.perf(test::uftrace_perf_records().sched_out(120, 8).sched_out(300, 7).sched_in(400, 8));
  const recording from = directory.open();
  const auto ends = [&](merge_options options) {
    resolver names(from);
    merged_records records(names, options);
    call_stacks stacks(from, {});
    for (merged_record r; records.next(r);) stacks.consume(r);
    return std::pair(stacks.end_time(stacks.all()[0], records, 0), stacks.end_time(stacks.all()[1], records, 1));
  };
  using pair = std::pair<std::uint64_t, std::uint64_t>;
  CHECK(ends({.scheduler = false}) == pair{200, 170});
  CHECK(ends({}) == pair{400, 400});  // events of the scheduler share a place
  CHECK(ends({.shorter_than = 1}) == pair{300, 400});
  CHECK(ends({.closes_at = 350}) == pair{350, 350});
}

TEST_CASE("a record of the kernel behind the scheduler's is the last of its task") {
  test::uftrace_builder directory;
  directory.data(7, test::uftrace_records().entry(100, 0, fn::main));
  directory.perf(test::uftrace_perf_records().sched_out(200, 7).sched_in(300, 7).task(900, 8, 7));
  using kernel = test::uftrace_kernel_records;
  directory.kernel(kernel().entry(400, 7, 0, kernel::k0).exit(450, 7, 0, kernel::k0));
  const recording from = directory.open();
  resolver names(from);
  merged_records records(names, {});
  call_stacks stacks(from, {});
  for (merged_record r; records.next(r);) stacks.consume(r);
  CHECK(stacks.end_time(stacks.all()[0], records, 0) == 450);
}

TEST_CASE("a function that is hidden takes no level from those that it calls") {
  function_filter filter({});
  REQUIRE(filter.add("a", names::pattern_kind::exact, {filter_action::kind::none, true, {}}) == errc::ok);
  test::uftrace_builder directory;
  directory.data(7, test::uftrace_records());
  const recording from = directory.open();
  resolver names(from);
  call_stacks stacks(from, {.depth = 2, .functions = &filter});
  task_stack& t = stacks.all()[0];
  const auto enter = [&](std::uint64_t time, std::uint16_t depth, std::uint64_t address) {
    stacks.consume(entry(time, depth, address));
    return stacks.show_entry(t, names, names.find(0, time, address));
  };
  const auto leave = [&](std::uint64_t time, std::uint16_t depth, std::uint64_t address) {
    stacks.consume(exit(time, depth, address));
    return stacks.show_exit(t);
  };
  CHECK(enter(100, 0, fn::main));
  CHECK_FALSE(enter(110, 1, fn::a));
  CHECK(t.credit == 1);
  CHECK(enter(120, 2, fn::b));
  CHECK_FALSE(enter(130, 3, fn::c));
  CHECK_FALSE(leave(140, 3, fn::c));
  CHECK(leave(150, 2, fn::b));
  CHECK_FALSE(leave(160, 1, fn::a));
  CHECK(leave(170, 0, fn::main));
  CHECK(t.credit == 2);
}
