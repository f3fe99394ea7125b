// SPDX-License-Identifier: Apache-2.0
#include <backsight/uftrace/files/task_list.hpp>

#include <string>
#include <string_view>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using test::view_of;

namespace {

bool reads(std::string_view line) {
  const std::string text = std::string(line) + '\n';
  const task_list list = read_task_text(view_of(text));
  CHECK(list.events.size() + list.faults.size() == 1);
  return !list.events.empty();
}

}  // namespace

TEST_CASE("each line of task.txt gives all of its fields") {
  const task_list list =
      read_task_text(view_of("SESS timestamp=1.000000005 pid=3 sid=0123456789abcdef exename=\"/bin/a\"\n"
                             "TASK timestamp=2.5 tid=4 pid=3\nFORK timestamp=3.000000000 pid=6 ppid=3\n"
                             "DLOP timestamp=4.000000001 tid=4 sid=fedcba9876543210 base=7f00 libname=\"./l.so\"\n"));
  CHECK(list.faults.empty());
  REQUIRE(list.events.size() == 4);
  const auto& [session, thread, fork, library] =
      std::tie(list.events[0], list.events[1], list.events[2], list.events[3]);
  CHECK((session.kind == task_event_kind::session && session.time == 1'000'000'005 && session.pid == 3 &&
         session.tid == 3));
  CHECK((session.sid == "0123456789abcdef" && session.name == "/bin/a" && session.parent == 0));
  CHECK((thread.kind == task_event_kind::task && thread.time == 2'500'000'000 && thread.tid == 4 && thread.pid == 3));
  CHECK((fork.kind == task_event_kind::fork && fork.time == 3'000'000'000 && fork.pid == 6 && fork.tid == 6 &&
         fork.parent == 3));
  CHECK((library.kind == task_event_kind::dlopen && library.time == 4'000'000'001 && library.tid == 4 &&
         library.base == 0x7f00));
  CHECK((library.sid == "fedcba9876543210" && library.name == "./l.so"));
}

TEST_CASE("numbers in task.txt end where their fields do") {
  CHECK(reads("TASK timestamp=1.0 tid=2147483647 pid=1"));
  CHECK_FALSE(reads("TASK timestamp=1.0 tid=2147483648 pid=1"));
  CHECK_FALSE(reads("TASK timestamp=1.0 tid= pid=1"));
  CHECK_FALSE(reads("TASK timestamp=1.0 tid=1"));
  CHECK_FALSE(reads("TASK timestamp=1.0tid=1 pid=1"));
  CHECK_FALSE(reads("TASK timestamp=1 tid=1 pid=1"));
  CHECK(reads("TASK timestamp=18000000000.0 tid=1 pid=1"));
  CHECK_FALSE(reads("TASK timestamp=18000000001.0 tid=1 pid=1"));
  CHECK_FALSE(reads("FORK timestamp=1.0 pid=1"));
  CHECK_FALSE(reads("FORK timestamp=1.0 ppid=1"));
  CHECK_FALSE(reads("TASK"));
  CHECK_FALSE(reads("TAS"));
}

TEST_CASE("names in task.txt end at the last quote, session ids after 16 characters") {
  CHECK(reads("SESS timestamp=1.0 pid=1 sid=0123456789abcdef exename=\"\""));
  CHECK_FALSE(reads("SESS timestamp=1.0 pid=1 sid=0123456789abcdef exename=\""));
  CHECK_FALSE(reads("SESS timestamp=1.0 pid=1 sid=0123456789abcde exename=\"a\""));
  CHECK_FALSE(reads("SESS timestamp=1.0 pid=1 sid=0123456789abcdef0 exename=\"a\""));
  CHECK_FALSE(reads("SESS timestamp=1.0 pid=1 sid=0123456789abcdef exename=a"));
  CHECK_FALSE(reads("SESS timestamp=1.0 pid=1 sid=01234567"));
  CHECK_FALSE(reads("DLOP timestamp=1.0 tid=1 sid=0123456789abcdef base=x libname=\"a\""));
  CHECK_FALSE(reads("DLOP timestamp=1.0 sid=0123456789abcdef base=1 libname=\"a\""));
}

TEST_CASE("lines of task.txt that are not understood are listed with place, size and kind of fault") {
  const std::string_view text =
      "\nTASK timestamp=1.0 tid=1 pid=1\nODD\nTASK x\nDLOPtimestamp=1\nFORK timestamp=1.0 pid=2 ppid=1\nend\n";
  const task_list list = read_task_text(view_of(text));
  CHECK(list.events.size() == 2);
  REQUIRE(list.faults.size() == 4);
  CHECK(list.faults[0] == fault{errc::unknown_record, text.find("ODD"), 4});
  CHECK(list.faults[1] == fault{errc::bad_text, text.find("TASK x"), 7});
  CHECK(list.faults[2] == fault{errc::bad_text, text.find("DLOP"), 16});
  CHECK(list.faults[3] == fault{errc::unknown_record, text.find("end"), 4});
}

TEST_CASE("a task.txt that ends inside a line says so") {
  const std::string_view text = "TASK timestamp=1.0 tid=1 pid=1\nTASK timestamp=1.0 tid=21 pid=1";
  const task_list list = read_task_text(view_of(text));
  CHECK(list.events.size() == 2);
  CHECK(list.faults == std::vector<fault>{{errc::truncated, text.size(), 0}});
}
