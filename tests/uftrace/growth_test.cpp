// SPDX-License-Identifier: Apache-2.0
// Time and memory grow with the input, not faster. What is counted is work: bytes that are asked for, and steps of
// searches.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <backsight/uftrace/resolver.hpp>

#include <support/catch.hpp>
#include <support/no_alloc.hpp>
#include <support/patterns.hpp>
#include <support/uftrace_builder.hpp>

using namespace backsight;
using namespace backsight::uftrace;

namespace {

std::string line(const char* kind, std::uint64_t time, const std::string& rest) {
  char text[64];
  std::snprintf(text, sizeof text, "%s timestamp=%llu.%09llu ", kind,
                static_cast<unsigned long long>(time / 1'000'000'000),
                static_cast<unsigned long long>(time % 1'000'000'000));
  return text + rest + "\n";
}
std::string session_line(std::uint64_t time, std::uint64_t pid, const std::string& sid = "0123456789abcdef") {
  return line("SESS", time, "pid=" + std::to_string(pid) + " sid=" + sid + " exename=\"/bin/prog\"");
}
std::string task_line(std::uint64_t time, std::uint64_t tid, std::uint64_t pid) {
  return line("TASK", time, "tid=" + std::to_string(tid) + " pid=" + std::to_string(pid));
}
std::string fork_line(std::uint64_t time, std::uint64_t pid, std::uint64_t parent) {
  return line("FORK", time, "pid=" + std::to_string(pid) + " ppid=" + std::to_string(parent));
}
std::string library_line(std::uint64_t time, std::uint64_t base, const std::string& name) {
  char text[64];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(base));
  return line("DLOP", time, "tid=7 sid=0123456789abcdef base=" + std::string(text) + " libname=\"" + name + "\"");
}

/// The bytes that opening such a directory asks for.
template <class Make>
std::size_t opening(Make&& make, std::size_t n) {
  test::uftrace_builder builder;
  make(builder, n);
  const auto files = builder.files();
  const std::size_t before = test::allocated_bytes();
  const auto opened = uftrace::open(files);
  const std::size_t after = test::allocated_bytes();
  CHECK(opened.partial().sessions.size() + opened.partial().tasks.size() > 0);
  return after - before;
}

/// Work for n, 2n and 4n is at most that of n log n, with room for what does not grow.
template <class Work>
void grows_with(Work&& work, std::size_t n) {
  const double one = static_cast<double>(work(n)), two = static_cast<double>(work(2 * n)),
               four = static_cast<double>(work(4 * n));
  const double steps = std::log2(static_cast<double>(n));
  INFO(one << ", " << two << ", " << four);
  CHECK(two <= 2.2 * one * (steps + 1) / steps);
  CHECK(four <= 4.4 * one * (steps + 2) / steps);
}

}  // namespace

TEST_CASE("memory grows with the sessions, also when they share a map") {
  grows_with(
      [](std::size_t size) {
        return opening(
            [](test::uftrace_builder& b, std::size_t n) {
              b.tasks.clear();
              b.map.clear();
              for (std::size_t i = 1; i <= n; ++i) {
                b.tasks += session_line(i, i);
                b.map += std::to_string(i) + "000-" + std::to_string(i) + "800 r-xp 00000000 00:00 0 /lib/" +
                         std::to_string(i % 7) + "\n";
              }
            },
            size);
      },
      500);
}

TEST_CASE("memory grows with the libraries, not with the sessions that have their id") {
  grows_with(
      [](std::size_t size) {
        return opening(
            [](test::uftrace_builder& b, std::size_t n) {
              b.tasks.clear();
              for (std::size_t i = 1; i <= n; ++i) b.tasks += session_line(i, i);
              for (std::size_t i = 1; i <= n; ++i) b.tasks += library_line(n + i, i * 65536, "l.so");
            },
            size);
      },
      500);
}

TEST_CASE("memory grows with the task lines of one task") {
  grows_with(
      [](std::size_t size) {
        return opening(
            [](test::uftrace_builder& b, std::size_t n) {
              for (std::size_t i = 1; i <= n; ++i) b.tasks += task_line(i + 2, 7, 7);
            },
            size);
      },
      500);
}

TEST_CASE("mappings of one name read its symbols once") {
  grows_with(
      [](std::size_t size) {
        return opening(
            [](test::uftrace_builder& b, std::size_t n) {
              std::string symbols;
              for (std::size_t i = 0; i < n; ++i) {
                char text[128];
                std::snprintf(text, sizeof text, "%zx-%zx r-xp 00000000 00:00 0 /%zu/x\n", 0x10000000 + i * 8192,
                              0x10000000 + i * 8192 + 4096, i);
                b.map += text;
                std::snprintf(text, sizeof text, "%zx 10 T f\n", i * 16);
                symbols += text;
              }
              b.file("x.sym", symbols);
            },
            size);
      },
      300);
}

TEST_CASE("a way up a chain of forks is short, wherever it ends") {
  const auto steps = [](std::size_t n, bool late) {
    test::uftrace_builder b;
    // Each task was forked by the one before; with `late` each has a session of its own that begins after all that is
    // asked for.
    for (std::size_t i = 8; i <= n + 8; ++i) b.tasks += fork_line(late ? 1000000 + i : 3, i, i - 1);
    const recording from = b.open();
    std::size_t all = 0;
    for (std::uint32_t i = 0; i < from.tasks.size(); ++i) {
      const session_stay stay = from.stay_at(i, 5);
      CHECK(stay.session == 0);
      all += stay.steps + 1;
    }
    return all;
  };
  grows_with([&](std::size_t n) { return steps(n, true); }, 1000);
  grows_with([&](std::size_t n) { return steps(n, false); }, 1000);
}

TEST_CASE("a library that was loaded again and again is searched once") {
  const auto steps = [](std::size_t n) {
    test::uftrace_builder b;
    for (std::size_t i = 0; i < n; ++i) b.tasks += library_line(10 + i, 0x7f0000000000, "l.so");
    for (std::size_t i = 0; i < n; ++i) b.tasks += library_line(10 + i, 0x100000000 * (i + 1), "m.so");
    b.file("l.so.sym", "0000000000001000 00000010 T f\n").file("m.so.sym", "0000000000001000 00000010 T g\n");
    const recording from = b.open();
    const uftrace::detail::loaded_libraries libraries(from.sessions[0].libraries, from.objects);
    std::size_t all = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (const std::uint64_t address :
           {std::uint64_t{0x7f0000001000}, 0x100000000 * (i + 1) + 0x1008, 0x100000000 * (i + 1)}) {
        all += 1 + libraries.each(address, 10 + i, [](const auto&, std::uint64_t, std::uint32_t) {});
      }
      CHECK(libraries.find(0x7f0000001000, 10 + i).symbol == 0);
      CHECK(libraries.find(0x7f0000001000, 9).symbol == symbol_table::none);
    }
    return all;
  };
  grows_with(steps, 500);
}

TEST_CASE("of libraries at one place the one that was loaded last before counts") {
  test::uftrace_builder b;
  b.tasks += library_line(20, 0x10000, "b.so") + library_line(10, 0x10000, "a.so") + library_line(30, 0x10000, "a.so") +
             library_line(30, 0x0fff0, "c.so");
  b.file("a.so.sym", "0000000000000100 00000010 T a\n0000000000000200 00000010 T a2\n");
  b.file("b.so.sym", "0000000000000100 00000010 T b\n").file("c.so.sym", "0000000000000110 00000010 T c\n");
  b.data(7, test::uftrace_records());
  const recording from = b.open();
  resolver names(from);
  const auto name = [&](std::uint64_t time, std::uint64_t address) {
    return names.name(names.find(0, time, address).name);
  };
  CHECK(name(9, 0x10100) == "<10100>");
  CHECK(name(10, 0x10100) == "a");
  CHECK(name(20, 0x10100) == "b");
  CHECK(name(29, 0x1010f) == "b");
  CHECK(name(30, 0x10100) == "c");  // of two at one time the later line
  CHECK(name(30, 0x10200) == "a2");
  CHECK(name(20, 0x10200) == "a2");
  CHECK(names.candidates(0, 30, 0x10100) == 3);
  CHECK(names.candidates(0, 30, 0x10200) == 1);
}
