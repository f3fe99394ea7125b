// SPDX-License-Identifier: Apache-2.0
// Stands for uftrace/files/task_messages.hpp, uftrace/trace.hpp
#include <backsight/uftrace/trace.hpp>

#include <string>
#include <string_view>
#include <vector>

#include <support/catch.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;
using records = test::uftrace_records;

namespace {

std::string session_line(std::string_view time, int pid, char sid, std::string_view program) {
  return "SESS timestamp=" + std::string(time) + " pid=" + std::to_string(pid) + " sid=" + std::string(16, sid) +
         " exename=\"" + std::string(program) + "\"\n";
}
/// The references of a task to sessions: `0 from 100, 1 from 200 until 300`.
std::string stays(const recording& from, std::uint32_t tid) {
  std::string text;
  for (const session_reference& r : from.tasks.at(from.find_task(tid)).sessions) {
    if (!text.empty()) text += ", ";
    text += std::to_string(r.session) + " from " + std::to_string(r.from);
    if (r.until != ~std::uint64_t{0}) text += " until " + std::to_string(r.until);
  }
  return text;
}

}  // namespace

TEST_CASE("a task belongs to the latest session of its process that had begun") {
  test::uftrace_builder directory;
  directory.tasks = session_line("0.000000100", 7, 'a', "/bin/one") + session_line("0.000000200", 7, 'b', "/bin/two") +
                    session_line("0.000000200", 7, 'c', "/bin/three") +
                    session_line("0.000000150", 8, 'd', "/bin/other") +
                    "TASK timestamp=0.000000199 tid=11 pid=7\nTASK timestamp=0.000000200 tid=12 pid=7\n"
                    "TASK timestamp=0.000000099 tid=13 pid=7\nTASK timestamp=0.000000100 tid=14 pid=7\n";
  const recording from = directory.open();
  CHECK(stays(from, 11) == "0 from 199");
  CHECK(stays(from, 12) == "2 from 200");  // of two that began at once the later one in the file
  CHECK(stays(from, 13) == "");
  CHECK(stays(from, 14) == "0 from 100");
  CHECK(from.tasks[from.find_task(12)].comm == "three");
  CHECK(from.tasks[from.find_task(13)].comm.empty());
}

TEST_CASE("an exec ends a task's stay in its session where the next one begins") {
  test::uftrace_builder directory;
  directory.tasks = session_line("0.000000100", 7, 'a', "/bin/one") + "TASK timestamp=0.000000110 tid=7 pid=7\n" +
                    session_line("0.000000200", 7, 'b', "/bin/a_name_of_16_ch") +
                    "TASK timestamp=0.000000210 tid=7 pid=7\n";
  const recording from = directory.open();
  CHECK(stays(from, 7) == "0 from 110 until 210, 1 from 210");
  const std::uint32_t task = from.find_task(7);
  CHECK(from.tasks[task].comm == "a_name_of_16_ch");
  CHECK(from.session_at(task, 109) == -1);
  CHECK(from.session_at(task, 110) == 0);
  CHECK(from.session_at(task, 209) == 0);
  CHECK(from.session_at(task, 210) == 1);
  CHECK(from.session_at(99, 110) == -1);
}

TEST_CASE("names of tasks are the program's, cut to 15 characters, also before their line comes") {
  test::uftrace_builder directory;
  directory.tasks = session_line("0.000000100", 7, 'a', "/bin/one") + "TASK timestamp=0.000000110 tid=7 pid=7\n" +
                    session_line("0.000000200", 7, 'b', "/bin/0123456789abcdef");
  const recording from = directory.open();
  CHECK(from.tasks[0].comm == "0123456789abcde");
  CHECK(stays(from, 7) == "0 from 110");
}

TEST_CASE("a child takes the session of its parent") {
  test::uftrace_builder directory;
  directory.tasks = session_line("0.000000100", 7, 'a', "/bin/one") + "TASK timestamp=0.000000110 tid=7 pid=7\n" +
                    "FORK timestamp=0.000000120 pid=8 ppid=7\nFORK timestamp=0.000000130 pid=9 ppid=8\n"
                    "FORK timestamp=0.000000119 pid=10 ppid=8\nFORK timestamp=0.000000120 pid=11 ppid=8\n"
                    "TASK timestamp=0.000000140 tid=15 pid=9\n";
  const recording from = directory.open();
  CHECK(stays(from, 8) == "0 from 120");
  // Process 8 has no session of its own: the parent's last stay that had begun.
  CHECK(stays(from, 9) == "0 from 130");
  CHECK(stays(from, 10) == "");
  CHECK(stays(from, 11) == "");
  CHECK(from.tasks[from.find_task(9)].parent == 8);
  CHECK(from.tasks[from.find_task(9)].time == 130);
  // Before the fork the parent's session holds; a thread without one asks its process.
  CHECK(from.session_at(from.find_task(9), 125) == 0);
  CHECK(from.session_at(from.find_task(9), 109) == -1);
  CHECK(from.session_at(from.find_task(15), 131) == 0);
  CHECK(from.find_task(99) == task_data::no_task);
}

TEST_CASE("tasks that are each other's parents have an end") {
  test::uftrace_builder directory;
  directory.tasks = "FORK timestamp=0.000000120 pid=8 ppid=9\nFORK timestamp=0.000000130 pid=9 ppid=8\n";
  const recording from = directory.open();
  CHECK(from.session_at(0, 500) == -1);
  CHECK(from.tasks.size() == 2);
}

TEST_CASE("libraries belong to the first session of their id, by process and start") {
  test::uftrace_builder directory;
  directory.tasks = session_line("0.1", 7, 'a', "/bin/one") + session_line("0.2", 8, 'b', "/bin/one") +
                    session_line("0.3", 9, 'a', "/bin/one") +
                    "DLOP timestamp=0.000000005 tid=7 sid=aaaaaaaaaaaaaaaa base=7f00 libname=\"x.so\"\n";
  const recording from = directory.open();
  REQUIRE(from.sessions.size() == 3);
  REQUIRE(from.sessions[0].libraries.size() == 1);
  CHECK((from.sessions[0].libraries[0].start == 0x7f00 && from.sessions[0].libraries[0].time == 5));
  CHECK(from.sessions[0].libraries[0].end == ~std::uint64_t{0});
  CHECK(from.sessions[1].libraries.empty());
  CHECK(from.sessions[2].libraries.empty());
}

TEST_CASE("a library whose session no line before it names is a fault with its line") {
  test::uftrace_builder directory;
  const std::string first = session_line("0.000000100", 7, 'a', "/bin/one");
  const std::string foreign = "DLOP timestamp=0.000000105 tid=7 sid=bbbbbbbbbbbbbbbb base=7f00 libname=\"x.so\"\n";
  const std::string own = "DLOP timestamp=0.000000106 tid=7 sid=aaaaaaaaaaaaaaaa base=7f00 libname=\"y.so\"\n";
  directory.tasks = first + foreign + own + session_line("0.000000200", 7, 'b', "/bin/two");
  const recording from = directory.open();
  std::vector<fault> faults;
  for (const file_fault& f : from.faults) {
    if (f.file == "task.txt") faults.push_back(f.fault);
  }
  CHECK(faults == std::vector{fault{errc::unpaired_record, first.size(), foreign.size()}});
  REQUIRE(from.sessions.size() == 2);
  CHECK(from.sessions[0].libraries.size() == 1);
  CHECK(from.sessions[1].libraries.empty());
}

TEST_CASE("mappings are sorted by address, without the tracer's, and Python's functions come before") {
  test::uftrace_builder directory;
  directory.map =
      "5000-6000 r-xp 0 0 0 /lib/b.so\n2000-3000 r-xp 0 0 0 /lib/libmcount.so\n3000-4000 r-xp 0 0 0 /lib/a.so\n";
  const auto starts = [](const recording& from) {
    std::vector<std::uint64_t> all;
    for (const auto& m : from.sessions.at(0).mappings) all.push_back(m.start);
    return all;
  };
  CHECK(starts(directory.open()) == std::vector<std::uint64_t>{0x3000, 0x5000});
  // They have numbers for addresses; their mapping ends with a page.
  for (const auto& [count, end] : {std::pair{1, 4096}, {4095, 4096}, {4096, 4096}, {4097, 8192}}) {
    CAPTURE(count);
    std::string symbols;
    for (int i = 1; i <= count; ++i) {
      char line[32];
      std::snprintf(line, sizeof line, "%016x T f\n", i);
      symbols += line;
    }
    test::uftrace_builder with_python = directory;
    with_python.file("python.fake.sym", symbols);
    const recording python = with_python.open();
    CHECK(starts(python) == std::vector<std::uint64_t>{0, 0x3000, 0x5000});
    CHECK(python.sessions[0].mappings[0].end == static_cast<std::uint64_t>(end));
  }
}

TEST_CASE("data files come in the order of info, scheduler files by name, the kernel's by number") {
  test::uftrace_builder directory;
  directory.data(9, records().entry(1, 0, 2)).no_data(5).data(7, records());
  directory.with(feature::perf_event)
      .with(feature::kernel)
      .file("kernel_header", std::string_view("PAGE_SIZE: 4096\n"));
  for (const char* const name : {"perf-cpu2.dat", "perf-cpu10.dat", "perf-cpu0.dat", "perf-cpu1.da", "kernel-cpu10.dat",
                                 "kernel-cpu2.dat", "kernel-cpu0.dat"})
    directory.file(name, std::string_view(name));
  const recording from = directory.open();
  REQUIRE(from.data.size() == 3);
  CHECK((from.data[0].tid == 9 && from.data[0].present && from.data[0].bytes.size() == 16 &&
         from.data[0].file == "9.dat"));
  CHECK((from.data[1].tid == 5 && !from.data[1].present && from.data[1].bytes.empty()));
  CHECK((from.data[2].tid == 7 && from.data[2].present && from.data[2].task == 0));
  CHECK((from.data[0].task == task_data::no_task && from.data_index.at(7) == 2));
  std::vector<std::string> names;
  for (const perf_data& p : from.perf) names.push_back(p.file);
  for (const directory_file& k : from.kernel.files) names.push_back(k.name);
  CHECK(names == std::vector<std::string>{"perf-cpu0.dat", "perf-cpu10.dat", "perf-cpu2.dat", "kernel-cpu0.dat",
                                          "kernel-cpu2.dat", "kernel-cpu10.dat"});
  directory.features = 0;
  const recording without = directory.open();
  CHECK((without.perf.empty() && without.kernel.files.empty()));
}

TEST_CASE("faults of all text files are told with their files") {
  test::uftrace_builder directory;
  directory.tasks += "NEWS\n";
  directory.map += "bad\n";
  directory.symbols += "worse\n";
  directory.file("events.txt", std::string_view("EVENT: 1000000 a:b\nEVENT:\n\nEVENT: 5\nEVENT: 7 c"))
      .data(7, records());
  const recording from = directory.open();
  std::string all;
  for (const file_fault& f : from.faults) {
    all += f.file + ": " + std::string(message(f.fault.code)) + " at " + std::to_string(f.fault.offset) + ", " +
           std::to_string(f.fault.skipped) + '\n';
  }
  CHECK(all ==
        "task.txt: unknown kind of record at 113, 5\nsid-0123456789abcdef.map: a line is not well formed at 102, 4\n"
        "prog.sym: a line is not well formed at 284, 6\nevents.txt: a line is not well formed at 19, 7\n"
        "events.txt: a line is not well formed at 27, 9\n");
  CHECK(from.user_events == std::vector<std::pair<std::uint64_t, std::string_view>>{{7, "c"}, {1000000, "a:b"}});
}

TEST_CASE("without the file info there is no recording") {
  test::uftrace_builder directory;
  auto files = directory.files();
  files.erase(files.begin());
  CHECK(uftrace::open(files).error() == trace_error{errc::not_found, 0});
  directory.version = 9;
  CHECK(uftrace::open(directory.files()).error() == trace_error{errc::unsupported_version, 8});
  directory.version = 4;
  directory.info_lines = {{2, "rubbish\n"}};
  const auto opened = uftrace::open(directory.files());
  REQUIRE(opened);
  REQUIRE(opened->faults.size() == 1);
  CHECK((opened->faults[0].file == "info" && opened->faults[0].fault == fault{errc::bad_text, 40, 0}));
}

TEST_CASE("specifications of info go where they belong") {
  test::uftrace_builder directory;
  directory.info_lines = {
      {10,
       "argspec:lines=7\nargspec:f@arg1;g@arg2\nretspec:f@retval\nargauto:h@arg1\nretauto:h@retval;i@retval\n"
       "enumauto:enum e {A}\nauto-args:1\nargspec:k@arg3\n"}};
  const recording from = directory.open();
  const value_rules& rules = from.values;
  CHECK((rules.arguments.all().size() == 3 && rules.arguments.all()[2].pattern.text() == "k"));
  CHECK((rules.returns.all().size() == 1 && rules.returns_among_arguments.all().empty()));
  CHECK((rules.automatic_arguments.find("h") != nullptr && rules.automatic_arguments.find("i") == nullptr));
  CHECK((rules.automatic_returns.find("h") != nullptr && rules.automatic_returns.find("i") != nullptr));
  CHECK((from.auto_enumerations.all.size() == 1 && from.auto_enumerations.find("e") != nullptr && rules.all_automatic));
  directory.info_lines = {{10, "argspec:lines=1\nauto-args:0\n"}};
  CHECK_FALSE(directory.open().values.all_automatic);
  directory.info_lines = {{10, "argspec:lines=1\nargspec:f@arg1,retval\n"}};
  CHECK(directory.open().values.returns_among_arguments.all().size() == 1);
}
